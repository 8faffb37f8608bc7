/** What a status report says, as sentences and tables that the text and the page both render; pure. */

import { FEWEST_PERIODS } from '../insight/development.ts';
import { AUDITED_DAYS } from '../status/status-report.ts';
import type { CellState, MetricHistory, RunStatus, SliceStatus, StatusReport } from '../status/status-report.ts';
import {
  amountText,
  clockText,
  countText,
  elapsedText,
  groupedText,
  minuteText,
  percentText,
  runText,
} from './measure.ts';
import { tableText, type Column } from './table.ts';

/** The states in words, as a legend of the picture says them. */
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

/** A table with what its rows are about. */
export interface FactTable {
  /** Empty where a heading, or the first column, says it. */
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
}

/** Columns by their titles; one that begins with `#` holds numbers, one with `~` may be cut. */
const columnsOf = (...titles: readonly string[]): Column[] =>
  titles.map((title) => ({
    title: title.replace(/^[#~]/, ''),
    align: title.startsWith('#') ? 'right' : 'left',
    shrinks: title.startsWith('~'),
  }));

/** The lines of a table for a terminal, null without one. */
export const factText = ({ columns, rows }: FactTable, terminal: number | null): string =>
  tableText(columns, rows, terminal);

/** What was read, and the instant it is judged at. */
export function sourceText({ warehouse, snapshot, as_of: asOf }: StatusReport): string {
  if (snapshot === null) return `${warehouse}, as of ${minuteText(asOf)}`;
  return `${snapshot}, the published copy, as a run holds ${warehouse}; as of ${minuteText(asOf)}`;
}

/** How old the crawls of links are, in one line; none without a crawl. */
export function crawlsText({ crawls, as_of: asOf }: StatusReport): string[] {
  const [oldest, newest] = [crawls[0], crawls.at(-1)];
  if (oldest === undefined || newest === undefined) return [];
  const age = (at: string): string => elapsedText(Math.max(0, Date.parse(asOf) - Date.parse(at)));
  const first = `links of ${countText(crawls.length, 'app')} crawled, the oldest (${oldest.app_token}) ${age(oldest.crawled_at)} ago`;
  return [crawls.length === 1 ? first : `${first}, the newest ${age(newest.crawled_at)} ago`];
}

/** Freshness, coverage and finality of every slice, one row each. */
export function slicesTable({ slices, as_of: asOf }: StatusReport): FactTable {
  return {
    title: '',
    columns: columnsOf('~slice', '#final', '#periods', '#rows', 'newest', 'next (UTC)'),
    rows: slices.map((slice) => [
      slice.name,
      percentText(slice.cells.final, slice.cells.expected),
      `${groupedText(slice.periods.loaded)}/${groupedText(slice.periods.expected)}`,
      groupedText(slice.rows),
      slice.newest_period ?? (slice.newest_fetch_at === null ? 'never loaded' : 'no rows'),
      dueText(slice.next_refresh_at, asOf),
    ]),
  };
}

/** `2026-02-15 00:00` (UTC), or that something is due by now. */
function dueText(next: string | null, asOf: string): string {
  if (next === null) return 'nothing';
  return next <= asOf ? 'now' : clockText(next);
}

/** What is loaded of a slice, how fresh it is, whether it changes its meaning, and what audits found: a sentence each. */
export function sliceFacts(slice: SliceStatus, asOf: string): string[] {
  const { periods, rows, cells, newest_period: newest, newest_fetch_at: fetchedAt, next_refresh_at: next } = slice;
  const { building_periods: building, released_periods: released } = slice;
  if (periods.expected === 0)
    return ['no period: its date period has not begun or ends before it begins, or `retain` keeps none of it'];
  if (fetchedAt === null) return [`never loaded; ${countText(periods.expected, 'period')} to load`];
  const share = percentText(cells.final, cells.expected);
  const due = next === null ? 'nothing more expected' : `due ${dueText(next, asOf)}`;
  return [
    `${groupedText(periods.loaded)} of ${countText(periods.expected, 'period')} loaded, ${countText(rows, 'row')}; ${share} of ${countText(cells.expected, 'cell')} final`,
    `${newest === null ? 'no period has rows' : `rows up to ${newest}`}, fetched ${minuteText(fetchedAt)}, ${due}`,
    ...(building === null
      ? []
      : [`its meaning changed: ${countText(building, 'period')} of the new table loaded, the old one is served`]),
    ...(released === 0
      ? []
      : [`${countText(released, 'period')} released by \`retain\`, held by Delta tables with keep_released alone`]),
  ];
}

/** The sentence about final cells that were fetched again; none before the first. */
export function auditText({ audited }: SliceStatus): string[] {
  if (audited === null) return [];
  const { cells, periods, changed, drawn_periods: drawn, drawn_changed: wrong, wrong_share_below: below } = audited;
  const counted = `final cells fetched again in ${AUDITED_DAYS} days: ${groupedText(cells)} of ${countText(periods, 'period')}, ${groupedText(changed)} changed`;
  if (below === null) return [counted];
  const share = `fewer than ${roundedUp(100 * below)} % of the final cells drawn from were wrong`;
  return [
    `${counted}; of ${countText(drawn, 'period')} drawn at random ${percentText(wrong, drawn)}: with 95 % confidence ${share}`,
  ];
}

/** To two digits, never below what it is: 0.0241 is 0.025. */
function roundedUp(percent: number): number {
  const unit = 10 ** (Math.floor(Math.log10(percent)) - 1);
  return Number((Math.ceil(percent / unit) * unit).toPrecision(2));
}

/** The rows that found no link or partner, and where; none of a slice that has neither. */
export function unmatchedText({ name, unmatched }: SliceStatus): string[] {
  if (unmatched === null || unmatched.rows === 0) return [];
  const { days, rows, unmatched_rows: without, names } = unmatched;
  if (without === 0) return [`every row of the last ${days} days found its link or partner`];
  const named = names.map((each) => `${each.name ?? 'without a name'} ${groupedText(each.unmatched_rows)}`).join(', ');
  return [
    `${groupedText(without)} of ${countText(rows, 'row')} of the last ${days} days (${percentText(without, rows)}) found no link or partner: ${named}; see ${name}_links`,
  ];
}

const amountOrNone = (amount: number | null): string => (amount === null ? 'none' : amountText(amount));
const shareOf = (change: number, before: number | null, isComparable: boolean): string =>
  !isComparable || before === null || before === 0 ? '' : percentText(change, before, 'signed');

/** What each metric means and whether it adds up, as the comment of its column says; when it is final, and by which rule. */
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

/** What moved in 7 days, by metric. */
export const restatedTable = ({ restated }: SliceStatus): FactTable => ({
  title: '',
  columns: columnsOf('~restated in 7 days', '#periods', '#before', '#after', '#change', '#'),
  rows: restated.map(({ metric, periods, first_values: first, before, after, change }) => [
    metric,
    groupedText(periods),
    amountOrNone(before),
    amountOrNone(after),
    amountText(change, 'signed'),
    shareOf(change, before, first === 0),
  ]),
});

/** The totals of single periods that moved most in 7 days. */
export const moversTable = ({ movers }: SliceStatus): FactTable => ({
  title: 'What moved most, by period',
  columns: columnsOf('~metric', '#period', '#before', '#after', '#change', '#'),
  rows: movers.map(({ metric, period, before, after, change }) => [
    metric,
    period,
    amountOrNone(before),
    amountOrNone(after),
    amountText(change, 'signed'),
    shareOf(change, before, before !== null),
  ]),
});

/** As many as stand beside a name on a usual terminal. */
const MOST_AGES = 9;

/** How much of a final total is known at each age, a row a metric; of many ages some, evenly chosen. */
export function maturationTable({ maturation }: SliceStatus): FactTable {
  const known = [...new Set(maturation.map(({ age_days: age }) => age))].sort((a, b) => a - b);
  const shown = Math.min(known.length, MOST_AGES);
  const ages = Array.from(
    { length: shown },
    (_, index) => known[Math.round((index * (known.length - 1)) / Math.max(1, shown - 1))] ?? 0,
  );
  const medians = new Map(
    maturation.map(({ metric, age_days: age, share_median: share }) => [`${age} ${metric}`, Math.round(100 * share)]),
  );
  return {
    title: 'Known of the final total by age in days: the median in percent',
    columns: columnsOf('~% known at age', ...ages.map((age) => `#${age}`)),
    rows: [...new Set(maturation.map(({ metric }) => metric))].map((metric) =>
      [metric].concat(ages.map((age) => String(medians.get(`${age} ${metric}`) ?? ''))),
    ),
  };
}

/** What the projections that are made would have come to, beside the values as they were. */
export function backtestTable({ backtest }: SliceStatus): FactTable {
  const share = (of: number | null): string => (of === null ? '' : percentText(of, 1));
  return {
    title: 'Projections put to the test: median error against what became final',
    columns: columnsOf('~median error of projections', '#age', '#periods', '#projected', '#as is', '#in interval'),
    rows: backtest
      .filter(({ reason }) => reason === null)
      .map((age) => [
        age.metric,
        String(age.age_days),
        groupedText(age.cohorts),
        share(age.median_abs_error),
        share(age.median_abs_error_as_is),
        share(age.coverage),
      ]),
  };
}

/** Why metrics are projected at no age: the reason at the age that was tried most, a sentence for those that share it. */
export function unprojected(slice: SliceStatus): string[] {
  if (slice.backtest.length === 0) return unknownMaturation(slice);
  const projected = new Set(slice.backtest.flatMap(({ metric, reason }) => (reason === null ? [metric] : [])));
  const reasons = new Map<string, string>();
  for (const { metric, reason } of slice.backtest.toSorted((one, other) => one.cohorts - other.cohorts)) {
    if (reason !== null && !projected.has(metric)) reasons.set(metric, reason);
  }
  return sharedReasons([...reasons]);
}

/** Enough to see which; `--json` has them all. */
const NAMED = 5;

/** Why it is not known how values mature, one sentence for the metrics with the same reason; none where it is known of each. */
export function unknownMaturation({ maturation, histories }: SliceStatus): string[] {
  if (histories.every(({ horizon_days: horizon }) => horizon === null))
    return ['no total of it was measured that becomes final'];
  const unknown = histories.filter(
    ({ metric, horizon_days: horizon }) => horizon !== null && maturation.every((age) => age.metric !== metric),
  );
  return sharedReasons(unknown.map((each) => [each.metric, reasonOf(each)]));
}

function sharedReasons(each: readonly (readonly [metric: string, reason: string])[]): string[] {
  return [...new Set(each.map(([, reason]) => reason))].map((shared) => {
    const metrics = each.flatMap(([metric, reason]) => (reason === shared ? [metric] : []));
    const more = metrics.length > NAMED ? ` and ${metrics.length - NAMED} more` : '';
    return `${metrics.slice(0, NAMED).join(', ')}${more}: ${shared}`;
  });
}

function reasonOf({ matured_periods: matured, most_at_one_age: most }: MetricHistory): string {
  if (matured === null || most === null) return 'not measured yet';
  const became = `${countText(matured, 'period')} became final after an earlier fetch`;
  if (matured < FEWEST_PERIODS) return `${became}; ${FEWEST_PERIODS} are needed`;
  if (most < FEWEST_PERIODS)
    return `${became}, at most ${most} of them fetched at the same age; ${FEWEST_PERIODS} are needed`;
  return `${became}; no age has ${FEWEST_PERIODS} of them with a total above zero and half of those that could be fetched at it`;
}

/** The periods of a slice, newest first. */
export const periodsTable = ({ ages }: SliceStatus, most: number): FactTable => ({
  title: `${ages.length > most ? `The newest ${most} periods` : 'Every period'}: age, state, rows`,
  columns: columnsOf('period', '#age', 'state', '#rows', '#rejected', 'fetched', 'next refresh'),
  rows: ages
    .slice(-most)
    .toReversed()
    .map((period) => [
      period.first_day === period.last_day ? period.first_day : `${period.first_day} … ${period.last_day}`,
      period.age_days <= 0 ? '' : countText(period.age_days, 'day'),
      cellWords[period.state],
      period.rows === null ? '' : groupedText(period.rows),
      period.rejected === null || period.rejected === 0 ? '' : groupedText(period.rejected),
      period.fetched_at === null ? '' : minuteText(period.fetched_at),
      period.next_refresh_at === null ? '' : minuteText(period.next_refresh_at),
    ]),
});

/** The last runs, newest first. */
export function runsTable(runs: readonly RunStatus[]): FactTable {
  const known = (count: number | null): string => (count === null ? '' : groupedText(count));
  return {
    title: '',
    columns: columnsOf('run', 'command', 'as of', '#took', '#rows', '#requests', '~status'),
    rows: runs.map((run) => [
      runText(run.run_id),
      run.command,
      minuteText(run.as_of),
      run.finished_at === null ? '' : elapsedText(Date.parse(run.finished_at) - Date.parse(run.started_at)),
      known(run.rows_loaded),
      known(run.requests),
      runStatusText(run),
    ]),
  };
}

/** `partial, 2 failures (exit 75)`. */
function runStatusText({ status, failures, exit_code: exitCode }: RunStatus): string {
  const what = status === 'running' ? 'did not finish' : status;
  const failed = failures.length === 0 ? '' : `, ${countText(failures.length, 'failure')}`;
  return `${what}${failed}${exitCode === null || exitCode === 0 ? '' : ` (exit ${exitCode})`}`;
}

/** Warnings and rejected rows of the newest run. */
export const oddTable = ({ warnings, rejected_rows: rejected }: StatusReport): FactTable => ({
  title: 'Warnings of the last run',
  columns: columnsOf('code', 'slice', 'window', '~what'),
  rows: [
    ...warnings.map(({ code, slice, window, message }) => [code, slice ?? '', window ?? '', message]),
    ...rejected.map(({ slice, window, reason, rows }) => [
      'rejected',
      slice,
      window,
      `${countText(rows, 'row')}: ${reason}`,
    ]),
  ],
});
