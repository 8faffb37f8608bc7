/** The facts of a status report, as sentences and tables for both the text and the page. Pure. */

import { MIN_PERIODS } from '../../insight/ripening.ts';
import { alikeSlices } from '../status/failure-groups.ts';
import type {
  CellState,
  MetricStatus,
  RunStatus,
  SliceStatus,
  StatusReport,
} from '../status/status-report.ts';
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
} from './measure.ts';
import { columnsOf, type Table } from './table.ts';

export const cellWords: Readonly<Record<CellState, string>> = {
  final: 'final',
  maturing: 'maturing',
  open: 'not over yet',
  cut: 'cut by the date period',
  empty: 'no rows, to be confirmed',
  rejected: 'rows rejected',
  'not loaded': 'metric not loaded yet',
  missing: 'missing',
};

export interface FactTable extends Table {
  /** Left out if a heading or the first column says it. */
  readonly title?: string;
}

export function sourceText({ warehouse, snapshot, as_of: asOf }: StatusReport): string {
  if (snapshot === null) return `${warehouse}, as of ${minuteText(asOf)}`;
  return `${snapshot}, the published copy, as a run holds ${warehouse}; as of ${minuteText(asOf)}`;
}

export function crawlsText({ crawls }: StatusReport): string[] {
  const [oldest, newest] = [crawls[0], crawls.at(-1)];
  if (oldest === undefined || newest === undefined) return [];
  const [first, last] = [minuteText(oldest.crawled_at), minuteText(newest.crawled_at)];
  const earliest = first === last ? '' : `, the first (${oldest.app_token}) ${first}`;
  return [`links of ${countText(crawls.length, 'app')} last crawled ${last}${earliest}`];
}

export const slicesTable = ({ slices, as_of: asOf }: StatusReport): FactTable => ({
  columns: columnsOf('~slice', '#final', '#periods', '#rows', 'newest', 'next (UTC)'),
  rows: slices.map((slice) => [
    slice.name,
    percentText(slice.cells.final, slice.cells.expected),
    `${groupedText(slice.periods.loaded)}/${groupedText(slice.periods.expected)}`,
    groupedText(slice.rows),
    slice.newest_period ?? (slice.newest_fetch_at === null ? 'never loaded' : 'no rows'),
    slice.next_refresh_at === null ? 'nothing' : dueText(slice.next_refresh_at, asOf),
  ]),
});

/** `2026-02-15 00:00` (UTC), or `now` if something is due already. */
const dueText = (next: string, asOf: string): string => (next <= asOf ? 'now' : clockText(next));

export function sliceFacts(slice: SliceStatus, asOf: string): string[] {
  const { periods, rows, cells, building_periods: building } = slice;
  const { newest_period: newest, newest_fetch_at: fetchedAt, next_refresh_at: next } = slice;
  if (periods.expected === 0)
    return [
      'no period: its date period has not begun or ends before it begins, or `retain` keeps none of it',
    ];
  if (fetchedAt === null) return [`never loaded; ${countText(periods.expected, 'period')} to load`];
  const share = percentText(cells.final, cells.expected);
  const due = next === null ? 'nothing more expected' : `due ${dueText(next, asOf)}`;
  const facts = [
    `${groupedText(periods.loaded)} of ${countText(periods.expected, 'period')} loaded, ${countText(rows, 'row')}; ${share} of ${countText(cells.expected, 'cell')} final`,
    `${newest === null ? 'no period has rows' : `rows up to ${newest}`}, fetched ${minuteText(fetchedAt)}, ${due}`,
  ];
  if (building !== null)
    facts.push(
      `its meaning changed: ${countText(building, 'period')} of the new table loaded, the old one is served`,
    );
  return facts;
}

/** Returns how far the totals of all slices agree with the service; null if none was compared. */
export function agreementOf(slices: readonly SliceStatus[]): SliceStatus['control'] {
  const compared = slices
    .flatMap(({ control }) => control ?? [])
    .filter(({ totals }) => totals > 0);
  const [oldest, ...others] = compared.toSorted((a, b) => (a.read_at < b.read_at ? -1 : 1));
  if (oldest === undefined) return null;
  return others.reduce(
    (sum, { totals, moved, moved_final: final }) => ({
      read_at: sum.read_at,
      totals: sum.totals + totals,
      moved: sum.moved + moved,
      moved_final: sum.moved_final + final,
    }),
    oldest,
  );
}

/** Returns the sentence that says whether the loaded totals agree with the service. */
export function agreementText({
  control,
  no_control: reason,
}: Pick<SliceStatus, 'control' | 'no_control'>): string[] {
  if (control === null)
    return reason === null ? [] : [`no control totals, maturation or projections: ${reason}`];
  const { totals, moved, read_at: readAt } = control;
  if (totals === 0) return ['no total was compared with the service yet'];
  const at = `as of ${minuteText(readAt)}`;
  return [
    moved === 0
      ? `all ${countText(totals, 'total')} agree with the service, ${at}`
      : `${groupedText(moved)} of ${countText(totals, 'total')} differ from the service, ${at}`,
  ];
}

/** Groups the metrics whose periods are in the same states. */
export function alikeMetrics({
  metrics,
}: SliceStatus): (readonly [MetricStatus, ...MetricStatus[]])[] {
  const groups = new Map<string, [MetricStatus, ...MetricStatus[]]>();
  for (const metric of metrics) {
    const key = metric.spans.map(({ state, periods }) => `${state} ${periods}`).join();
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [metric]);
    else group.push(metric);
  }
  return [...groups.values()];
}

/** The meaning is the comment of its column. */
export const dictionaryTable = ({ metrics }: SliceStatus): FactTable => ({
  title: 'What each metric means, and when it is final',
  columns: columnsOf('metric', '~meaning', 'final after', '~because'),
  rows: metrics
    .filter(({ kind }) => kind !== null)
    .map(({ metric, meaning, horizon_days: days, horizon_from: from }) => [
      metric,
      meaning ?? '',
      days === null ? 'never' : countText(days, 'day'),
      from ?? '',
    ]),
});

/** The last column is the change in percent, empty if a period had no value before. */
export const restatedTable = ({ restated }: SliceStatus): FactTable => ({
  columns: columnsOf('~restated in 7 days', '#periods', '#before', '#after', '#change', '#'),
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

/** The night that the control totals of periods last moved. */
export const movedTable = ({ moved }: SliceStatus): FactTable => ({
  title: 'Periods whose control totals moved, and when that was last found',
  columns: columnsOf('~control totals moved', '#metrics', 'found (UTC)'),
  rows: moved.map(({ period, metrics, moved_at: at }) => [
    period,
    groupedText(metrics),
    clockText(at),
  ]),
});

/** As many as fit beside a name on a usual terminal. */
const MAX_AGES = 9;

/** The ages of some rows, ascending; of many an even selection. */
function shownAges(rows: readonly { readonly age_days: number }[]): number[] {
  const all = [...new Set(rows.map(({ age_days: age }) => age))].sort((a, b) => a - b);
  const last = Math.min(all.length, MAX_AGES) - 1;
  return all
    .slice(0, MAX_AGES)
    .map((_, at) => all[Math.round((at * (all.length - 1)) / Math.max(1, last))] ?? 0);
}

/** A row for each metric. */
export function maturationTable({ maturation }: SliceStatus): FactTable {
  const ages = shownAges(maturation);
  const shares = new Map(
    maturation.map((each) => [`${each.age_days} ${each.metric}`, each.share_median]),
  );
  const percent = (share = Number.NaN): string =>
    Number.isNaN(share) ? '' : String(Math.round(100 * share));
  return {
    title: 'Known of the final total by age in days: the median in percent',
    columns: columnsOf('~% known at age', ...ages.map((age) => `#${age}`)),
    rows: [...new Set(maturation.map(({ metric }) => metric))].map((metric) =>
      [metric].concat(ages.map((age) => percent(shares.get(`${age} ${metric}`)))),
    ),
  };
}

/** The horizons that moved totals contradict, or that the history supports better. */
export const horizonsTable = ({ horizons }: SliceStatus): FactTable => ({
  title: 'Horizons and what the history supports, in days',
  columns: columnsOf('~horizon', '#now', '#moved after', '#supported', '#moved after'),
  rows: horizons
    .filter(
      ({ horizon_days: days, supported_days: supported, final_moved: moved }) =>
        moved > 0 || (supported !== null && supported !== days),
    )
    .map((each) => [
      each.metric,
      each.horizon_days === null ? 'never' : String(each.horizon_days),
      `${groupedText(each.final_moved)} of ${groupedText(each.final_periods)}`,
      each.supported_days === null ? 'none' : String(each.supported_days),
      `${groupedText(each.supported_moved)} of ${groupedText(each.supported_periods)}`,
    ]),
});

const shareText = (share: number | null): string => (share === null ? '' : percentText(share, 1));

/** Beside the errors of the values as they were. Readers do not see projections that did poorly. */
export function backtestTable({ backtest }: SliceStatus): FactTable {
  const metrics = [...new Set(backtest.map(({ metric }) => metric))];
  const shown = metrics.flatMap((metric) => {
    const scores = backtest.filter((score) => score.metric === metric);
    const ages = new Set(shownAges(scores));
    return scores.filter(({ age_days: age }) => ages.has(age));
  });
  return {
    title: 'Projections in the backtest: median error compared with what became final',
    columns: columnsOf(
      '~median error',
      '#age',
      '#periods',
      '#projected',
      '#as is',
      '#in interval',
      '~basis',
    ),
    rows: shown.map((score) => [
      score.metric,
      String(score.age_days),
      groupedText(score.cohorts),
      shareText(score.median_abs_error),
      shareText(score.median_abs_error_as_is),
      shareText(score.coverage),
      score.basis,
    ]),
  };
}

/** Names the metrics that become final but whose maturation is not known yet. */
export function unknownMaturation({
  maturation,
  horizons,
  no_control: noControl,
}: SliceStatus): string[] {
  const known = new Set(maturation.map(({ metric }) => metric));
  const unknown = horizons
    .filter(({ metric, horizon_days: horizon }) => horizon !== null && !known.has(metric))
    .map(({ metric }) => metric);
  if (unknown.length === 0 || noControl !== null) return [];
  return [
    `the maturation of ${namesText(unknown)} is not known yet: it needs ${MIN_PERIODS} final periods that were read at the same age`,
  ];
}

export const runsTable = (runs: readonly RunStatus[]): FactTable => ({
  columns: columnsOf('run', 'command', 'as of', '#took', '#rows', '#requests', '~status'),
  rows: runs.map((run) => {
    const { started_at: started, finished_at: finished, failures, exit_code: exitCode } = run;
    const status = run.status === 'running' ? 'did not finish' : run.status;
    const failed = failures.length === 0 ? '' : `, ${countText(failures.length, 'failure')}`;
    const exit = exitCode === null || exitCode === 0 ? '' : ` (exit ${exitCode})`;
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

export const warningsTable = ({ warnings, rejected_rows: rejected }: StatusReport): FactTable => ({
  title: 'Warnings of the last run',
  columns: columnsOf('code', 'slice', 'window', '~what'),
  rows: [
    ...alikeSlices(warnings).map(({ slices, first: { code, window, message } }) => [
      code,
      slices ?? '',
      window ?? '',
      message,
    ]),
    ...rejected.map(({ slice, window, rows, reason }) => [
      'rejected',
      slice,
      window,
      `${countText(rows, 'row')}: ${reason}`,
    ]),
  ],
});
