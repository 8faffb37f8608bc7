/** `ripen plan`: what the next sync would request, and why; asks the service nothing. */

import { explainPlan, type PlannedSlice, type PlanReport } from '../plan-report.ts';
import { asOfInstant, durationOf } from './instant.ts';
import { countText, groupedText } from './measure.ts';
import { namedSlices } from './named-slices.ts';
import { openConfig, simulatedNow } from './open.ts';
import { jsonLine } from './printable.ts';
import { openProgress } from './progress/progress.ts';
import type { GlobalArguments, Shell } from './shell.ts';
import { reasonsText } from './summary-text.ts';
import { indented, tableText } from './table.ts';

export interface PlanArguments extends GlobalArguments {
  readonly slice: readonly string[] | undefined;
  readonly lockWait: string;
}

/** Prints the windows that are due, slice by slice. */
export async function plan(args: PlanArguments, shell: Shell): Promise<number> {
  const lockWaitMs = durationOf(args.lockWait, '--lock-wait');
  const config = await openConfig(args, shell);
  const asOf = asOfInstant(args.asOf, shell.now()) ?? simulatedNow(config) ?? shell.now();
  const progress = openProgress(args, shell);
  const report = await explainPlan(config, {
    asOf,
    slices: namedSlices(config, args.slice),
    lockWaitMs,
    emit: progress.emit,
    signal: shell.signal,
  }).finally(() => {
    progress.close();
  });
  shell.print(args.json ? jsonLine(report) : planText(report));
  return 0;
}

/** The windows with their reasons, and what the plan saves; pure. */
export function planText(report: PlanReport): string {
  const saved = report.refetch_all_rows - report.rows_expected;
  return [
    ...report.slices.flatMap((slice) => [...sliceLines(slice), '']),
    `as of ${report.as_of}: ${countText(report.requests, 'request')}${report.rows_expected > 0 ? `, ${expected(report.rows_expected)}` : ''}`,
    ...(saved > 0
      ? [
          `refetching everything immature would ask for about ${countText(report.refetch_all_rows, 'row')}; the plan saves ${groupedText(saved)} of them`,
        ]
      : []),
  ].join('\n');
}

function sliceLines(slice: PlannedSlice): string[] {
  const unfinal = `${countText(slice.unfinal_periods, 'period')} not final, ${groupedText(slice.saved_periods)} of them not due`;
  if (slice.windows.length === 0) return [`${slice.name}: nothing due (${unfinal})`];
  const rows = slice.windows.map((window) => [
    window.first_day === window.last_day ? window.first_day : `${window.first_day} … ${window.last_day}`,
    groupedText(window.periods),
    groupedText(window.requests),
    reasonsText(window.reasons),
  ]);
  return [
    `${slice.name}: ${countText(slice.windows.length, 'window')}, ${countText(slice.requests, 'request')}, ${expected(slice.rows_expected)} (${unfinal})`,
    indented(
      tableText(
        [
          { title: 'window' },
          { title: 'periods', align: 'right' },
          { title: 'requests', align: 'right' },
          { title: 'why' },
        ],
        rows,
      ),
    ),
  ];
}

function expected(rows: number | null): string {
  return rows === null ? 'never loaded' : `about ${countText(rows, 'row')}`;
}
