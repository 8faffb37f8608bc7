/** `ripen plan`. */

import { plan as planNext, type PlanReport } from '../index.ts';
import type { PlannedSlice } from '../run/plan-report.ts';
import { countText, daysText, groupedText, minuteText, percentText } from '../model/measure.ts';
import { reasonsText } from '../report/terminal/summary-text.ts';
import { indented, tableText } from '../report/terminal/table.ts';
import { offline } from './verb.ts';
import type { Arguments } from './words.ts';

export const plan = offline(async (config, options, { slice }: Arguments<'plan'>) => {
  const report = await planNext(config, { ...options, slices: slice });
  return { json: report, text: (columns) => planText(report, slice !== undefined, columns) };
});

export function planText(
  report: PlanReport,
  hasDetails: boolean,
  terminal: number | null = null,
): string {
  const { slices, as_of: asOf, rows_expected: rows, saved_rows: saved } = report;
  const unknown = slices.filter((slice) => slice.requests > 0 && slice.rows_expected === null);
  const parts = [countText(report.requests, 'request')];
  if (rows > 0) parts.push(`about ${countText(rows, 'row')}`);
  if (unknown.length > 0) parts.push(`and ${countText(unknown.length, 'slice')} of unknown size`);
  const table = {
    columns: ['~slice', '#windows', '#requests', '#rows', '~why'],
    rows: slices.map((slice) => [
      slice.name,
      groupedText(slice.windows.length),
      groupedText(slice.requests),
      expectedText(slice.rows_expected),
      whyText(slice),
    ]),
  };
  const body = hasDetails ? slices.map(detailsText).join('\n\n') : tableText(table, terminal);
  const lines = slices.length === 0 ? [] : [body, ''];
  lines.push(`as of ${minuteText(asOf)}: ${parts.join(', ')}`);
  const { refetch_all_rows: all } = report;
  if (saved > 0)
    lines.push(
      `refetching everything immature would be about ${countText(all, 'row')}; the plan saves ${percentText(saved, all)} of them`,
    );
  if (!hasDetails && slices.length > 0) lines.push('`ripen plan --slice NAME` shows the windows');
  return lines.join('\n');
}

const expectedText = (rows: number | null) => (rows === null ? '?' : groupedText(rows));

function whyText(slice: PlannedSlice) {
  const { windows, periods, reasons, reversed_period: reversed, unfinal_periods: unfinal } = slice;
  if (windows.length > 0 && isNeverLoaded(slice))
    return `never loaded, ${countText(reasons.new ?? periods, 'period')}`;
  if (windows.length > 0) return reasonsText(reasons);
  if (reversed !== null)
    return `nothing due: its date period ends on ${reversed.last_day}, before it begins, on ${reversed.first_day}`;
  if (periods === 0) return 'nothing due: no day of its date period has begun';
  return `nothing due: ${unfinal === 0 ? 'every period is final' : `${countText(unfinal, 'period')} maturing`}`;
}

const isNeverLoaded = ({ reasons, rows_expected: rows }: PlannedSlice) =>
  rows === null && reasons['meaning changed'] === undefined;

function detailsText(slice: PlannedSlice) {
  const { name, windows, requests, rows_expected: expected, saved_periods: saved } = slice;
  if (windows.length === 0) return `${name}: ${whyText(slice)}`;
  const size = expected === null ? '' : `, about ${countText(expected, 'row')}`;
  const head = `${name}: ${countText(windows.length, 'window')}, ${countText(requests, 'request')}${size}`;
  // The windows of a slice that was never loaded are sized by its first answers; those of the plan mean little.
  if (isNeverLoaded(slice)) return `${head}, ${whyText(slice)}; the first answers size the rest`;
  const hasBatches = windows.some(({ metrics }) => metrics !== undefined);
  const extent = hasBatches ? '#periods × metrics' : '#periods';
  const columns = ['window', extent, '#requests', '#rows', 'why'];
  const rows = windows.map(({ periods, metrics = 0, ...window }) => [
    daysText(window.first_day, window.last_day),
    `${groupedText(periods)}${hasBatches ? ` × ${groupedText(metrics)}` : ''}`,
    groupedText(window.requests),
    expectedText(window.rows_expected),
    reasonsText(window.reasons),
  ]);
  const lines = [tableText({ columns, rows })];
  const unfinal = countText(slice.unfinal_periods, 'period');
  if (saved > 0) lines.push(`${unfinal} not final, ${groupedText(saved)} of them not due`);
  return [head, ...lines.map(indented)].join('\n');
}
