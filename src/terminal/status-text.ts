/** A status report for people: whether all is well, a line a slice, the last runs; on request one slice in detail; pure. */

import {
  type CellState,
  cellStates,
  type MetricStatus,
  periodStates,
  type SliceStatus,
  type StatusReport,
} from '../status/status-report.ts';
import { countText, groupedText } from './measure.ts';
import { oneLine } from './printable.ts';
import {
  auditText,
  crawlsText,
  backtestTable,
  cellWords,
  factText,
  maturationTable,
  oddTable,
  restatedTable,
  runsTable,
  sliceFacts,
  slicesTable,
  sourceText,
  unknownMaturation,
  unprojected,
  unmatchedText,
  type FactTable,
} from './status-facts.ts';
import { fitted, indented, shortened, textWidth } from './table.ts';

/** Where the text goes to a file or a program. */
const USUAL_COLUMNS = 80;
/** Wider lines of marks are hard to follow to their label. */
const MOST_COLUMNS = 120;
/** More would bury the rest; `--json` has them all. */
const SHOWN = 5;
const INDENT = 2;

/** What is shown besides the usual. */
export interface Shown {
  /** Whether each slice is shown in detail, not on one line. */
  readonly details?: boolean;
  readonly maturation: boolean;
  readonly backtest: boolean;
}

const shownUsually: Shown = { maturation: false, backtest: false };

/** Whether all is well, the slices, the last runs, and what was odd in the newest. */
export function statusText(report: StatusReport, terminal: number | null = null, shown: Shown = shownUsually): string {
  const { health, slices, runs } = report;
  const hasDetails = shown.details === true || shown.maturation || shown.backtest;
  const odd = oddTable(report);
  const inner = terminal === null ? null : terminal - INDENT;
  return [
    oneLine(health.headline),
    ...health.findings.map(
      ({ message, hint }) => `  ${oneLine(message)}${hint === null ? '' : `\n    hint: ${oneLine(hint)}`}`,
    ),
    '',
    sourceText(report),
    ...crawlsText(report),
    '',
    ...(hasDetails || slices.length === 0 ? [] : [factText(slicesTable(report), terminal), '']),
    ...(hasDetails ? slices.flatMap((slice) => [...sliceLines(slice, report.as_of, { shown, terminal }), '']) : []),
    ...(hasDetails ? legend(slices) : []),
    ...(runs.length === 0 ? ['no runs yet'] : [factText(runsTable(runs.slice(0, SHOWN)), terminal)]),
    ...(odd.rows.length === 0 ? [] : ['', 'warnings of the last run:', ...tableLines(odd, inner).map(indented)]),
    ...(hasDetails || slices.length === 0 ? [] : ['', '`ripen status --slice NAME` shows a slice in detail']),
  ].join('\n');
}

/** A table of which only the first rows are shown. */
function tableLines(table: FactTable, terminal: number | null): string[] {
  if (table.rows.length === 0) return [];
  const more = table.rows.length - SHOWN;
  const text = factText({ ...table, rows: table.rows.slice(0, SHOWN) }, terminal);
  return [...text.split('\n'), ...(more > 0 ? [`and ${more} more; see --json`] : [])];
}

function sliceLines(
  slice: SliceStatus,
  asOf: string,
  { shown, terminal }: { readonly shown: Shown; readonly terminal: number | null },
): string[] {
  const columns = Math.min(terminal ?? USUAL_COLUMNS, MOST_COLUMNS) - INDENT;
  const inner = terminal === null ? null : terminal - INDENT;
  const ripening = (isShown: boolean, table: FactTable, missing: readonly string[]): string[] =>
    isShown ? [...(table.rows.length === 0 ? [] : factText(table, inner).split('\n')), ...missing] : [];
  const unknown = unknownMaturation(slice).map((reason) => `maturation not known yet: ${reason}`);
  const untried = unprojected(slice).map((reason) => `not projected: ${reason}`);
  return [
    slice.name,
    ...[
      ...sliceFacts(slice, asOf),
      ...finalityLines(slice, columns),
      ...auditText(slice),
      ...unmatchedText(slice),
      ...tableLines(restatedTable(slice), inner),
      ...ripening(shown.maturation, maturationTable(slice), unknown),
      ...ripening(shown.backtest, backtestTable(slice), untried),
    ].map(indented),
  ];
}

/** From ink to nothing as there is less to rely on; what wants a look is a letter or a sign. */
const pictureMarks: Readonly<Record<CellState, string>> = {
  final: '█',
  maturing: '▒',
  open: '░',
  cut: '╌',
  empty: '○',
  rejected: '!',
  'not loaded': '?',
  missing: '·',
};

interface PictureLine {
  /** Metrics that stand alike in every period, in configured order. */
  readonly metrics: readonly string[];
  /** One mark a period, oldest first. */
  readonly marks: string;
}

/** The lines in the order of their first metrics: forty metrics have five or six ways to ripen. */
function pictureOf(metrics: readonly MetricStatus[]): PictureLine[] {
  const byMarks = new Map<string, string[]>();
  for (const { metric, spans } of metrics) {
    const marks = spans.map(({ state, periods }) => pictureMarks[state].repeat(periods)).join('');
    const alike = byMarks.get(marks);
    if (alike === undefined) byMarks.set(marks, [metric]);
    else alike.push(metric);
  }
  return [...byMarks].map(([marks, alike]) => ({ metrics: alike, marks }));
}

/** The marks of the states that occur, each with its word. */
function legend(slices: readonly SliceStatus[]): string[] {
  const marks = cellStates.filter((state) => slices.some(({ cells }) => cells[state] > 0));
  return marks.length === 0 ? [] : [marks.map((state) => `${pictureMarks[state]} ${cellWords[state]}`).join('  '), ''];
}

/** A longer label leaves too little room for the picture; what it leaves out is in `--json`. */
const MOST_LABEL = 28;

/**
 * A line of days, a line for each group of metrics that ripen alike, and what the older periods are that did not fit.
 * Empty without a period or a metric.
 */
function finalityLines(slice: SliceStatus, columns: number): string[] {
  const lines = pictureOf(slice.metrics);
  const newest = slice.ages.at(-1);
  if (lines.length === 0 || newest === undefined) return [];
  const labelColumns = Math.min(MOST_LABEL, Math.floor(columns / 3));
  const labels = lines.map(({ metrics }) => labelOf(metrics, labelColumns));
  const width = Math.max(...labels.map(textWidth));
  const room = Math.max(1, columns - width - INDENT);
  const hidden = Math.max(0, slice.ages.length - room);
  const span = `${slice.ages[hidden]?.first_day ?? ''} … ${newest.first_day}`;
  const days = textWidth(span) <= room ? span : newest.first_day;
  const row = (label: string, text: string): string => `${label}${' '.repeat(width - textWidth(label))}  ${text}`;
  return [
    row('', fitted(days, room)),
    ...lines.map(({ marks }, index) => row(labels[index] ?? '', marks.slice(hidden))),
    ...(hidden === 0 ? [] : [olderText(slice, hidden)]),
  ];
}

/** `installs +3`: the first of the metrics and how many ripen alike. */
function labelOf([first = '', ...others]: readonly string[], columns: number): string {
  const more = others.length === 0 ? '' : ` +${others.length}`;
  return shortened(first, columns - more.length) + more;
}

function olderText({ ages }: SliceStatus, hidden: number): string {
  const older = ages.slice(0, hidden);
  const counts = periodStates
    .map((state) => ({ state, count: older.filter((period) => period.state === state).length }))
    .filter(({ count }) => count > 0)
    .map(({ state, count }) => (count === hidden ? `all ${state}` : `${groupedText(count)} ${state}`));
  return `before that ${countText(hidden, 'period')}, ${counts.join(', ')}`;
}
