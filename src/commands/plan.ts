/** `ripen plan`: what the next sync would request, and why; asks the service nothing. */

import { plan as planNext, type PlanReport } from '../index.ts';
import type { PlannedSlice, PlannedStar } from '../run/plan-report.ts';
import { countText, groupedText, minuteText, percentText } from '../terminal/measure.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { reasonsText } from '../terminal/summary-text.ts';
import { indented, tableText } from '../terminal/table.ts';
import { printResult, withConfig } from './verb.ts';

export interface PlanArguments extends GlobalArguments {
  readonly slice: readonly string[] | undefined;
  readonly lockWait: string;
}

/** Prints the windows that are due, slice by slice. */
export async function plan(args: PlanArguments, shell: Shell): Promise<number> {
  const report = await withConfig(args, shell, true, async (config, stated) =>
    planNext(config, { ...stated, slices: args.slice }),
  );
  printResult(args, shell, report, () => planText(report));
  return 0;
}

/** The windows with their reasons, and what the plan saves; pure. */
export function planText(report: PlanReport): string {
  const unknown = report.slices.filter((slice) => slice.requests > 0 && slice.rows_expected === null);
  return [
    ...report.slices.flatMap((slice) => [...sliceLines(slice), '']),
    `as of ${minuteText(report.as_of)}: ${countText(report.requests, 'request')}${totalText(report.rows_expected, unknown)}`,
    ...(report.saved_rows > 0
      ? [
          `everything immature would be about ${countText(report.refetch_all_rows, 'row')}: ${percentText(report.saved_rows, report.refetch_all_rows)} of them are saved`,
        ]
      : []),
  ].join('\n');
}

function totalText(rows: number, unknown: readonly PlannedSlice[]): string {
  const known = rows > 0 ? `, about ${countText(rows, 'row')}` : '';
  if (unknown.length === 0) return known;
  const because = unknown.some(hasChanged) ? 'whose rows nobody knows' : 'never loaded';
  return `${known}${known === '' ? ', ' : ' and '}those of ${countText(unknown.length, 'slice')} ${because}`;
}

/** Whether what it means has changed since it was loaded. */
const hasChanged = ({ windows }: PlannedSlice): boolean =>
  windows.some(({ reasons }) => (reasons['meaning changed'] ?? 0) > 0);

function sliceLines(slice: PlannedSlice): string[] {
  if (slice.windows.length === 0) {
    return [`${slice.name}: nothing due`, ...(slice.stars ?? []).map(starLine), ...unfinalLines(slice)];
  }
  // Only windows that had to be divided before take more than one.
  const hasParts = slice.requests > slice.windows.length;
  const rows = slice.windows.map((window) => [
    window.first_day === window.last_day ? window.first_day : `${window.first_day} … ${window.last_day}`,
    groupedText(window.periods),
    ...(hasParts ? [groupedText(window.requests)] : []),
    window.rows_expected === null ? '?' : groupedText(window.rows_expected),
    reasonsText(window.reasons),
  ]);
  return [
    `${slice.name}: ${countText(slice.windows.length, 'window')}, ${countText(slice.requests, 'request')}, ${expected(slice)}${guessed(slice)}`,
    indented(
      tableText(
        [
          { title: 'window' },
          { title: 'periods', align: 'right' },
          ...(hasParts ? ([{ title: 'requests', align: 'right' }] as const) : []),
          { title: 'rows', align: 'right' },
          { title: 'why' },
        ],
        rows,
      ),
    ),
    ...(slice.stars ?? []).map(starLine),
    ...unfinalLines(slice),
  ];
}

/** More names make a line longer, not clearer. */
const MOST_NAMES = 5;

function starLine({ pattern, metrics, new_metrics: added }: PlannedStar): string {
  const shown = (names: readonly string[]): string =>
    names.length > MOST_NAMES
      ? `${names.slice(0, MOST_NAMES).join(', ')} and ${names.length - MOST_NAMES} more`
      : names.join(', ');
  const isAllNew = added.length === metrics.length;
  const news = added.length === 0 || isAllNew ? '' : `; new: ${shown(added)}`;
  return `  ${pattern} stands for ${countText(metrics.length, isAllNew ? 'new metric' : 'metric')}: ${shown(metrics)}${news}`;
}

function unfinalLines(slice: PlannedSlice): string[] {
  const { reversed_period: reversed } = slice;
  return [
    ...(reversed === null
      ? []
      : [`  its date period ends on ${reversed.last_day}, before it begins, on ${reversed.first_day}`]),
    ...finalityLines(slice),
  ];
}

function finalityLines(slice: PlannedSlice): string[] {
  if (slice.periods === 0) return ['  no day that has begun lies in its date period'];
  if (slice.unfinal_periods === 0) return ['  every period is final'];
  if (slice.saved_periods === 0) return [];
  return [
    indented(
      `${countText(slice.unfinal_periods, 'period')} not final, ${groupedText(slice.saved_periods)} of them not due`,
    ),
  ];
}

/** The sizes of a slice nothing is known of are where a sync begins, not where it ends. */
function guessed({ windows, rows_expected: rows }: PlannedSlice): string {
  return rows === null && windows.length > 1 ? '; what comes first sizes the rest' : '';
}

function expected(slice: PlannedSlice): string {
  const { rows_expected: rows } = slice;
  if (rows !== null) return `about ${countText(rows, 'row')}${hasChanged(slice) ? ', as its meaning changed' : ''}`;
  return hasChanged(slice) ? 'its meaning changed' : 'never loaded before';
}
