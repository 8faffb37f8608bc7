/** The facts of a status report for both the text and the page. Pure. */

import { MIN_PERIODS } from '../../insight/ripening.ts';
import { alike } from '../../model/alike.ts';
import { alikeSlices } from '../status/failure-groups.ts';
import type { CellState, RunStatus, SliceStatus, StatusReport } from '../status/status-report.ts';
import {
  amountText,
  clockText,
  countText,
  elapsedText,
  groupedText,
  minuteText,
  namesText,
  percentText,
  runText,
} from '../../model/measure.ts';
import { type Table } from './table.ts';

/** Marks of less ink mean less to rely on; a letter or sign needs attention. */
export const cellLooks: Readonly<Record<CellState, { word: string; mark: string }>> = {
  final: { mark: '█', word: 'final' },
  maturing: { mark: '▒', word: 'maturing' },
  open: { mark: '░', word: 'not over yet' },
  cut: { mark: '╌', word: 'cut by the date period' },
  empty: { mark: '○', word: 'no rows, to be confirmed' },
  rejected: { mark: '!', word: 'rows rejected' },
  'not loaded': { mark: '?', word: 'metric not loaded yet' },
  missing: { mark: '·', word: 'missing' },
};

export function sourceText({ warehouse, snapshot, as_of: asOf }: StatusReport) {
  if (snapshot === null) return `${warehouse}, as of ${minuteText(asOf)}`;
  return `${snapshot}, the published copy, as a run holds ${warehouse}; as of ${minuteText(asOf)}`;
}

export function crawlsText({ crawls }: StatusReport) {
  const [oldest] = crawls;
  if (oldest === undefined) return [];
  const last = minuteText((crawls.at(-1) ?? oldest).crawled_at);
  const first = minuteText(oldest.crawled_at);
  const earliest = first === last ? '' : `, the first (${oldest.app_token}) ${first}`;
  return [`links of ${countText(crawls.length, 'app')} last crawled ${last}${earliest}`];
}

export const slicesTable = ({ slices, as_of: asOf }: StatusReport): Table => ({
  columns: ['~slice', '#final', '#periods', '#rows', 'newest', 'next (UTC)'],
  rows: slices.map((slice) => [
    slice.name,
    percentText(slice.cells.final, slice.cells.expected),
    `${groupedText(slice.periods.loaded)}/${groupedText(slice.periods.expected)}`,
    groupedText(slice.rows),
    slice.newest_period ?? (slice.newest_fetch_at === null ? 'never loaded' : 'no rows'),
    slice.next_refresh_at === null ? 'nothing' : dueText(slice.next_refresh_at, asOf),
  ]),
});

const dueText = (next: string, asOf: string) => (next <= asOf ? 'now' : clockText(next));

export function sliceFacts(slice: SliceStatus, asOf: string) {
  const { periods, rows, cells, building_periods: building } = slice;
  const { newest_period: newest, newest_fetch_at: fetchedAt, next_refresh_at: next } = slice;
  if (periods.expected === 0)
    return [
      'no period: its date period has not begun or ends before it begins, or `retain` keeps none of it',
    ];
  if (fetchedAt === null) return [`never loaded; ${countText(periods.expected, 'period')} to load`];
  const share = percentText(cells.final, cells.expected);
  const due = next === null ? 'nothing more expected' : `due ${dueText(next, asOf)}`;
  const newestRows = newest === null ? 'no period has rows' : `rows up to ${newest}`;
  const facts = [
    `${groupedText(periods.loaded)} of ${countText(periods.expected, 'period')} loaded, ${countText(rows, 'row')}; ${share} of ${countText(cells.expected, 'cell')} final`,
    `${newestRows}, fetched ${minuteText(fetchedAt)}, ${due}`,
  ];
  const loaded = countText(building ?? 0, 'period');
  if (building !== null)
    facts.push(`its meaning changed: ${loaded} of the new table loaded, the old one is served`);
  return facts;
}

export function agreementOf(slices: readonly SliceStatus[]): SliceStatus['control'] {
  const compared = slices
    .flatMap(({ control }) => control ?? [])
    .filter(({ totals }) => totals > 0);
  if (compared.length === 0) return null;
  return compared.reduce((one, other) => ({
    read_at: one.read_at < other.read_at ? one.read_at : other.read_at,
    totals: one.totals + other.totals,
    moved: one.moved + other.moved,
    moved_final: one.moved_final + other.moved_final,
  }));
}

export function agreementText(control: SliceStatus['control'], reason: string | null = null) {
  if (control === null)
    return reason === null ? [] : [`no control totals, maturation or projections: ${reason}`];
  const { totals, moved, read_at: readAt } = control;
  if (totals === 0) return ['no total was compared with the service yet'];
  const differing = moved === 0 ? 'all' : `${groupedText(moved)} of`;
  const verb = moved === 0 ? 'agree with' : 'differ from';
  return [
    `${differing} ${countText(totals, 'total')} ${verb} the service, as of ${minuteText(readAt)}`,
  ];
}

export const alikeMetrics = ({ metrics }: SliceStatus) =>
  alike(metrics, ({ spans }) => spans.map(({ state, periods }) => `${state} ${periods}`).join());

export const dictionaryTable = ({ metrics }: SliceStatus): Table => ({
  title: 'What each metric means, and when it is final',
  columns: ['metric', '~meaning', 'final after', '~because'],
  rows: metrics
    .filter(({ kind }) => kind !== null)
    .map(({ metric, meaning, horizon_days: days, horizon_from: from }) => [
      metric,
      meaning ?? '',
      days === null ? 'never' : countText(days, 'day'),
      from ?? '',
    ]),
});

export const restatedTable = ({ restated }: SliceStatus): Table => ({
  columns: ['~restated in 7 days', '#periods', '#before', '#after', '#change', '#'],
  rows: restated.map(({ metric, periods, first_values: first, before, after, change }) => [
    metric,
    groupedText(periods),
    ...[before, after].map((amount) => (amount === null ? 'none' : amountText(amount))),
    amountText(change, 'signed'),
    first > 0 || before === null || before === 0
      ? ''
      : percentText(change, Math.abs(before), 'signed'),
  ]),
});

export const movedTable = ({ moved }: SliceStatus): Table => ({
  title: 'Periods whose control totals moved, and when that was last found',
  columns: ['~control totals moved', '#metrics', 'found (UTC)'],
  rows: moved.map(({ period, metrics, moved_at: at }) => [
    period,
    groupedText(metrics),
    clockText(at),
  ]),
});

/** As many as fit beside a name on a usual terminal. */
const MAX_AGES = 9;

/** The ages of some rows, ascending; of many an even selection. */
function shownAges(rows: readonly { readonly age_days: number }[]) {
  const all = [...new Set(rows.map(({ age_days: age }) => age))].sort((a, b) => a - b);
  const step = Math.max(1, (all.length - 1) / (MAX_AGES - 1));
  return all.slice(0, MAX_AGES).map((_, at) => all[Math.round(at * step)] ?? 0);
}

export function maturationTable({ maturation }: SliceStatus): Table {
  const ages = shownAges(maturation);
  const rows = alike(maturation, ({ metric }) => metric).map((shares) => {
    const cells = ages.map((age) => {
      const share = shares.find(({ age_days: at }) => at === age)?.share_median;
      return share === undefined ? '' : String(Math.round(100 * share));
    });
    return [shares[0].metric].concat(cells);
  });
  const columns = ['~% known at age', ...ages.map((age) => `#${age}`)];
  return { title: MATURATION_TITLE, columns, rows };
}

export const MATURATION_TITLE = 'Known of the final total by age in days: the median in percent';

export const horizonsTable = ({ horizons }: SliceStatus): Table => ({
  title: 'Horizons and what the history supports, in days',
  columns: ['~horizon', '#now', '#moved after', '#supported', '#moved after'],
  rows: horizons
    .filter(
      ({ horizon_days: days, supported_days: supported, final_moved: moved }) =>
        moved > 0 || (supported ?? days) !== days,
    )
    .map((horizon) => [
      horizon.metric,
      String(horizon.horizon_days ?? 'never'),
      `${groupedText(horizon.final_moved)} of ${groupedText(horizon.final_periods)}`,
      String(horizon.supported_days ?? 'none'),
      `${groupedText(horizon.supported_moved)} of ${groupedText(horizon.supported_periods)}`,
    ]),
});

export function backtestTable({ backtest }: SliceStatus): Table {
  const scores = alike(backtest, ({ metric }) => metric).flatMap((ofMetric) => {
    const ages = shownAges(ofMetric);
    return ofMetric.filter(({ age_days: age }) => ages.includes(age));
  });
  return {
    title: 'Projections in the backtest: median error compared with what became final',
    columns: '~median error,#age,#periods,#projected,#as is,#in interval,~basis'.split(','),
    rows: scores.map((score) => {
      const shares = [score.median_abs_error, score.median_abs_error_as_is, score.coverage];
      const texts = shares.map((share) => (share === null ? '' : percentText(share, 1)));
      const row = [score.metric, String(score.age_days), groupedText(score.cohorts)];
      return row.concat(texts, score.basis);
    }),
  };
}

export function unknownMaturation(slice: SliceStatus) {
  const measured = new Set(slice.maturation.map(({ metric }) => metric));
  const unknown = slice.horizons
    .filter(({ metric, horizon_days: horizon }) => horizon !== null && !measured.has(metric))
    .map(({ metric }) => metric);
  if (unknown.length === 0 || slice.no_control !== null) return [];
  return [
    `the maturation of ${namesText(unknown)} is not known yet: it needs ${MIN_PERIODS} final periods that were read at the same age`,
  ];
}

export const runsTable = (runs: readonly RunStatus[]): Table => ({
  columns: ['run', 'command', 'as of', '#took', '#rows', '#requests', '~status'],
  rows: runs.map((run) => {
    const { started_at: started, finished_at: finished, failures, exit_code: exitCode } = run;
    const status = run.status === 'running' ? 'did not finish' : run.status;
    const failed = failures.length === 0 ? '' : `, ${countText(failures.length, 'failure')}`;
    const exit = (exitCode ?? 0) === 0 ? '' : ` (exit ${exitCode})`;
    return [
      runText(run.run_id),
      run.command,
      minuteText(run.as_of),
      finished === null ? '' : elapsedText(Date.parse(finished) - Date.parse(started)),
      run.rows_loaded === null ? '' : groupedText(run.rows_loaded),
      run.requests === null ? '' : groupedText(run.requests),
      `${status}${failed}${exit}`,
    ];
  }),
});

export const warningsTable = ({ warnings, rejected_rows: rejected }: StatusReport): Table => ({
  title: 'Warnings of the last run',
  columns: ['code', 'slice', 'window', '~what'],
  rows: [
    ...alikeSlices(warnings).map(({ slices, first }) => {
      return [first.code, slices ?? '', first.window ?? '', first.message];
    }),
    ...rejected.map(({ slice, window, rows, reason }) => {
      return ['rejected', slice, window, `${countText(rows, 'row')}: ${reason}`];
    }),
  ],
});
