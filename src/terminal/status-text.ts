/** A status report for people; pure. */

import type { Health, RunStatus, SliceStatus, StatusReport } from '../status/status-report.ts';
import { finalityLines, legendText } from './finality-text.ts';
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
import { oneLine } from './printable.ts';
import { auditText, ripeningLines, shownUsually, type Shown } from './ripening-text.ts';
import { indented, tableText } from './table.ts';

/** Where the text goes to a file or a program. */
const USUAL_COLUMNS = 80;
/** Wider lines of marks are hard to follow to their label. */
const MOST_COLUMNS = 120;
/** More would bury the slices; `--json` has them all. */
const SHOWN = 5;
const INDENT = 2;

/** Whether all is well, the slices with their pictures, the last runs, and what was odd in the newest. */
export function statusText(report: StatusReport, terminal: number | null = null, shown: Shown = shownUsually): string {
  const columns = Math.min(terminal ?? USUAL_COLUMNS, MOST_COLUMNS);
  return [
    ...healthLines(report.health),
    sourceText(report),
    '',
    ...report.slices.flatMap((slice) => [
      ...sliceLines(slice, report.as_of, columns, terminal),
      ...ripeningLines(slice, shown, terminal),
      '',
    ]),
    ...legend(report.slices),
    ...(report.runs.length === 0 ? ['no runs yet'] : [runsTable(report.runs.slice(0, SHOWN), terminal)]),
    ...oddities(report),
  ].join('\n');
}

/** What was read, and the instant it is judged at. */
export function sourceText({ warehouse, snapshot, as_of: asOf }: StatusReport): string {
  if (snapshot === null) return `${warehouse}, as of ${minuteText(asOf)}`;
  return `${snapshot}, the published copy, as a run holds ${warehouse}; as of ${minuteText(asOf)}`;
}

function healthLines({ headline, findings }: Health): string[] {
  const lines = findings.flatMap(({ message, hint }) => [
    `  ${oneLine(message)}`,
    ...(hint === null ? [] : [`    hint: ${oneLine(hint)}`]),
  ]);
  return [oneLine(headline), ...lines, ''];
}

function legend(slices: readonly SliceStatus[]): string[] {
  const text = legendText(slices);
  return text === '' ? [] : [text, ''];
}

function sliceLines(slice: SliceStatus, asOf: string, columns: number, terminal: number | null): string[] {
  return [
    slice.name,
    ...indentedLines([
      coverageText(slice),
      ...(slice.newest_fetch_at === null ? [] : [freshnessText(slice, asOf)]),
      ...buildingLines(slice),
      ...finalityLines(slice, columns - INDENT),
      ...auditText(slice),
      ...restatedLines(slice, terminal === null ? null : terminal - INDENT),
    ]),
  ];
}

/** `120 of 120 periods loaded, 24,685 rows; 88 % of 1,200 cells final`. */
function coverageText({ periods, rows, cells, newest_fetch_at: fetchedAt }: SliceStatus): string {
  if (periods.expected === 0)
    return 'no period: its date period has not begun or ends before it begins, or `retain` keeps none of it';
  if (fetchedAt === null) return `never loaded; ${countText(periods.expected, 'period')} to load`;
  const share = percentText(cells.final, cells.expected);
  return `${groupedText(periods.loaded)} of ${countText(periods.expected, 'period')} loaded, ${countText(rows, 'row')}; ${share} of ${countText(cells.expected, 'cell')} final`;
}

function freshnessText(slice: SliceStatus, asOf: string): string {
  const { newest_period: newest, newest_fetch_at: fetchedAt, next_refresh_at: next } = slice;
  return [
    newest === null ? 'no period has rows' : `rows up to ${newest}`,
    fetchedAt === null ? 'never fetched' : `fetched ${minuteText(fetchedAt)}`,
    dueText(next, asOf),
  ].join(', ');
}

/** `due 2026-02-15 00:00` (UTC, as the instant before it), or that something is due by now. */
function dueText(next: string | null, asOf: string): string {
  if (next === null) return 'nothing more expected';
  return next <= asOf ? 'due now' : `due ${clockText(next)}`;
}

function buildingLines({ building_periods: building }: SliceStatus): string[] {
  if (building === null) return [];
  return [`its meaning changed: ${countText(building, 'period')} of the new table loaded, the old one is served`];
}

function restatedLines({ restated }: SliceStatus, terminal: number | null): string[] {
  if (restated.length === 0) return [];
  const rows = restated
    .slice(0, SHOWN)
    .map(({ metric, periods, first_values: first, before, change }) => [
      metric,
      groupedText(periods),
      amountText(change, 'signed'),
      first > 0 || before === null || before === 0 ? '' : percentText(change, before, 'signed'),
    ]);
  const table = tableText(
    [
      { title: 'restated in 7 days', shrinks: true },
      { title: 'periods', align: 'right' },
      { title: 'change', align: 'right' },
      { title: '', align: 'right' },
    ],
    rows,
    terminal,
  );
  const more = restated.length - rows.length;
  return [...table.split('\n'), ...(more > 0 ? [`and ${countText(more, 'metric')} more; see --json`] : [])];
}

function runsTable(runs: readonly RunStatus[], terminal: number | null): string {
  return tableText(
    [
      { title: 'run' },
      { title: 'command' },
      { title: 'as of' },
      { title: 'took', align: 'right' },
      { title: 'rows', align: 'right' },
      { title: 'requests', align: 'right' },
      { title: 'status', shrinks: true },
    ],
    runs.map((run) => [
      runText(run.run_id),
      run.command,
      minuteText(run.as_of),
      run.finished_at === null ? '' : elapsedText(Date.parse(run.finished_at) - Date.parse(run.started_at)),
      run.rows_loaded === null ? '' : groupedText(run.rows_loaded),
      run.requests === null ? '' : groupedText(run.requests),
      runStatusText(run),
    ]),
    terminal,
  );
}

/** `partial, 2 failures (exit 75)`. */
function runStatusText({ status, failures, exit_code: exitCode }: RunStatus): string {
  const what = status === 'running' ? 'did not finish' : status;
  const failed = failures.length === 0 ? '' : `, ${countText(failures.length, 'failure')}`;
  return `${what}${failed}${exitCode === null || exitCode === 0 ? '' : ` (exit ${exitCode})`}`;
}

function oddities(report: StatusReport): string[] {
  const warnings = report.warnings.map(
    (warning) =>
      `${[warning.slice, warning.window, warning.code].filter((word) => word !== null).join(' ')}: ${oneLine(warning.message)}`,
  );
  const rejected = report.rejected_rows.map(
    (rows) => `${rows.slice} ${rows.window}: ${countText(rows.rows, 'row')}: ${oneLine(rows.reason)}`,
  );
  return [...section('warnings of the last run', warnings), ...section('rows rejected by the last run', rejected)];
}

function section(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  const more = lines.length - SHOWN;
  const shown = [...lines.slice(0, SHOWN), ...(more > 0 ? [`and ${more} more; see --json`] : [])];
  return ['', `${title}:`, indented(shown.join('\n'))];
}

function indentedLines(lines: readonly string[]): string[] {
  return lines.map((line) => indented(line));
}
