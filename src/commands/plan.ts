/** `ripen plan`: what the next sync would request, and why; asks the service nothing. */

import { plan as planNext, type PlanReport } from '../index.ts';
import type { PlannedSlice, PlannedStar } from '../run/plan-report.ts';
import { countText, groupedText, minuteText, percentText } from '../terminal/measure.ts';
import type { GlobalArguments } from '../terminal/shell.ts';
import { reasonsText } from '../terminal/summary-text.ts';
import { indented, tableText } from '../terminal/table.ts';
import { presented } from './verb.ts';

interface PlanArguments extends GlobalArguments {
  readonly slice: readonly string[] | undefined;
  readonly lockWait: string;
}

/** Prints what is due, a line a slice; of slices that are named window by window. */
export const plan = presented({
  offline: true,
  act: async (config, stated, { slice }: PlanArguments) => planNext(config, { ...stated, slices: slice }),
  text: (report, { slice }, terminal) => planText(report, slice !== undefined, terminal),
});

/** The slices or their windows, with the reasons, and what the plan saves; pure. */
export function planText(report: PlanReport, hasDetails: boolean, terminal: number | null = null): string {
  const { slices, as_of: asOf, requests, rows_expected: rows, saved_rows: saved, refetch_all_rows: all } = report;
  const unknown = slices.filter((slice) => slice.requests > 0 && slice.rows_expected === null).length;
  const parts = [
    countText(requests, 'request'),
    ...(rows > 0 ? [`about ${countText(rows, 'row')}`] : []),
    ...(unknown > 0 ? [`and ${countText(unknown, 'slice')} of unknown size`] : []),
  ];
  const details = (slice: PlannedSlice): string => [detailsText(slice), ...starLines([slice])].join('\n');
  const body = hasDetails
    ? slices.map(details).join('\n\n')
    : [slicesText(slices, terminal), ...starLines(slices)].join('\n');
  return [
    ...(slices.length === 0 ? [] : [body, '']),
    `as of ${minuteText(asOf)}: ${parts.join(', ')}`,
    ...(saved > 0
      ? [
          `refetching everything immature would be about ${countText(all, 'row')}; the plan saves ${percentText(saved, all)} of them`,
        ]
      : []),
    ...(hasDetails || slices.length === 0 ? [] : ['`ripen plan --slice NAME` shows the windows']),
  ].join('\n');
}

const numbers = (...titles: readonly string[]) => titles.map((title) => ({ title, align: 'right' }) as const);

function slicesText(slices: readonly PlannedSlice[], terminal: number | null): string {
  const columns = [
    { title: 'slice', shrinks: true },
    ...numbers('windows', 'requests', 'rows'),
    { title: 'why', shrinks: true },
  ];
  const rows = slices.map((slice) => [
    slice.name,
    groupedText(slice.windows.length),
    groupedText(slice.requests),
    slice.rows_expected === null ? '?' : groupedText(slice.rows_expected),
    whyText(slice),
  ]);
  return tableText(columns, rows, terminal);
}

/** More names make a line longer, not clearer. */
const MOST_NAMES = 5;

/** What each star stands for, and which of it is new. */
const starLines = (slices: readonly PlannedSlice[]): string[] =>
  slices.flatMap(({ name, stars }) => (stars ?? []).map((star) => `  ${name}: ${starText(star)}`));

function starText({ pattern, metrics, new_metrics: added }: PlannedStar): string {
  const shown = (names: readonly string[]): string =>
    names.length > MOST_NAMES
      ? `${names.slice(0, MOST_NAMES).join(', ')} and ${names.length - MOST_NAMES} more`
      : names.join(', ');
  const isAllNew = added.length === metrics.length;
  const news = added.length === 0 || isAllNew ? '' : `; new: ${shown(added)}`;
  return `${pattern} stands for ${countText(metrics.length, isAllNew ? 'new metric' : 'metric')}: ${shown(metrics)}${news}`;
}

/** Why the windows of a slice are due, or why none is. */
function whyText(slice: PlannedSlice): string {
  if (slice.windows.length === 0) return `nothing due: ${idleText(slice)}`;
  const reasons: Record<string, number> = {};
  for (const window of slice.windows) {
    for (const [reason, count] of Object.entries(window.reasons)) reasons[reason] = (reasons[reason] ?? 0) + count;
  }
  return isNeverLoaded(slice)
    ? `never loaded, ${countText(reasons['new'] ?? slice.periods, 'period')}`
    : reasonsText(reasons) + goingText(slice);
}

/** What is lost for good once the meaning changed. */
const goingText = ({ released_periods: released = 0 }: PlannedSlice): string =>
  released === 0 ? '' : `; ${countText(released, 'released period')} will go from the copies`;

function idleText({ reversed_period: reversed, periods, unfinal_periods: unfinal }: PlannedSlice): string {
  if (reversed !== null)
    return `its date period ends on ${reversed.last_day}, before it begins, on ${reversed.first_day}`;
  if (periods === 0) return 'no day of its date period has begun';
  return unfinal === 0 ? 'every period is final' : `${countText(unfinal, 'period')} not final, none due`;
}

/** Whether nothing is known of its rows, and no change of its meaning is why. */
const isNeverLoaded = ({ windows, rows_expected: rows }: PlannedSlice): boolean =>
  rows === null && !windows.some(({ reasons }) => (reasons['meaning changed'] ?? 0) > 0);

function detailsText(slice: PlannedSlice): string {
  const { name, windows, requests, rows_expected: rows } = slice;
  if (windows.length === 0) return `${name}: ${whyText(slice)}`;
  const known = rows === null ? '' : `, about ${countText(rows, 'row')}`;
  const head = `${name}: ${countText(windows.length, 'window')}, ${countText(requests, 'request')}${known}`;
  // The first answers size the windows of a slice that was never loaded: those of the plan mean little.
  if (isNeverLoaded(slice)) return `${head}, ${whyText(slice)}; the first answers size the rest`;
  const hasBatches = windows.some((window) => window.metrics !== undefined);
  const table = tableText(
    [
      { title: 'window' },
      ...numbers(hasBatches ? 'periods × metrics' : 'periods', 'requests', 'rows'),
      { title: 'why' },
    ],
    windows.map((window) => [
      window.first_day === window.last_day ? window.first_day : `${window.first_day} … ${window.last_day}`,
      hasBatches ? `${groupedText(window.periods)} × ${groupedText(window.metrics ?? 0)}` : groupedText(window.periods),
      groupedText(window.requests),
      window.rows_expected === null ? '?' : groupedText(window.rows_expected),
      reasonsText(window.reasons),
    ]),
  );
  const { unfinal_periods: unfinal, saved_periods: saved } = slice;
  const rest = saved === 0 ? [] : [`${countText(unfinal, 'period')} not final, ${groupedText(saved)} of them not due`];
  return [head, ...[table, ...rest].map(indented)].join('\n');
}
