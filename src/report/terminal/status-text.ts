/** A status report for people; on request slices in detail; pure. */

import {
  type CellState,
  cellStates,
  type SliceStatus,
  type StatusReport,
} from '../status/status-report.ts';
import { countText } from './measure.ts';
import { newsText } from './news-text.ts';
import { oneLine } from './printable.ts';
import {
  agreementText,
  crawlsText,
  backtestTable,
  cellWords,
  horizonsTable,
  maturationTable,
  movedTable,
  warningsTable,
  restatedTable,
  runsTable,
  sliceFacts,
  slicesTable,
  sourceText,
  unknownMaturation,
  type FactTable,
} from './status-facts.ts';
import { indented, shortened, tableText, textWidth } from './table.ts';

/** For output to a file or a program. */
const USUAL_COLUMNS = 80;
/** In wider lines it is hard to match marks with their label. */
const MAX_COLUMNS = 120;
/** More would hide the rest; `--json` has them all. */
const SHOWN = 5;
const INDENT = 2;

export interface Shown {
  readonly details?: boolean;
  readonly maturation: boolean;
  readonly backtest: boolean;
  /** News instead of anything else. */
  readonly news?: boolean;
}

const shownUsually: Shown = { maturation: false, backtest: false };

export function statusText(
  report: StatusReport,
  terminal: number | null = null,
  shown: Shown = shownUsually,
): string {
  const { health, slices, runs } = report;
  if (shown.news === true) {
    const { title, lines } = newsText(report);
    return [oneLine(health.headline), '', `${title}:`, ...lines.map(indented)].join('\n');
  }
  const hasDetails = shown.details === true || shown.maturation || shown.backtest;
  const warnings = tableLines(warningsTable(report), terminal);
  const body = hasDetails
    ? [
        ...slices.flatMap((slice) => [...sliceLines(slice, report.as_of, shown, terminal), '']),
        ...legend(slices),
      ]
    : slices.length === 0
      ? []
      : [tableText(slicesTable(report), terminal), ''];
  return [
    oneLine(health.headline),
    ...health.findings.map(({ message, hint }) => {
      const remedy = hint === null ? '' : `\n    hint: ${oneLine(hint)}`;
      return `  ${oneLine(message)}${remedy}`;
    }),
    '',
    sourceText(report),
    ...crawlsText(report),
    '',
    ...body,
    runs.length === 0 ? 'no runs yet' : tableText(runsTable(runs.slice(0, SHOWN)), terminal),
    ...(warnings.length === 0 ? [] : ['', 'warnings of the last run:', ...warnings.map(indented)]),
    ...(hasDetails || slices.length === 0
      ? []
      : ['', '`ripen status --slice NAME` shows a slice in detail']),
  ].join('\n');
}

function tableLines(
  { columns, rows }: FactTable,
  terminal: number | null,
  shown = SHOWN,
): string[] {
  if (rows.length === 0) return [];
  const text = tableText(
    { columns, rows: rows.slice(0, shown) },
    terminal === null ? null : terminal - INDENT,
  );
  return [
    ...text.split('\n'),
    ...(rows.length > shown ? [`and ${rows.length - shown} more; see --json`] : []),
  ];
}

function sliceLines(
  slice: SliceStatus,
  asOf: string,
  shown: Shown,
  terminal: number | null,
): string[] {
  const ripening = (isShown: boolean, table: FactTable): string[] =>
    isShown ? tableLines(table, terminal, Infinity) : [];
  const lines = [
    ...sliceFacts(slice, asOf),
    ...finalityLines(slice, Math.min(terminal ?? USUAL_COLUMNS, MAX_COLUMNS) - INDENT),
    ...agreementText(slice),
    ...tableLines(restatedTable(slice), terminal),
    ...tableLines(movedTable(slice), terminal),
    ...tableLines(horizonsTable(slice), terminal),
    ...ripening(shown.maturation, maturationTable(slice)),
    ...ripening(shown.backtest, backtestTable(slice)),
    ...(shown.maturation || shown.backtest ? unknownMaturation(slice) : []),
  ];
  return [slice.name, ...lines.map(indented)];
}

/** Less ink means less to rely on; a letter or sign needs attention. */
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

function legend(slices: readonly SliceStatus[]): string[] {
  const marks = cellStates.filter((state) => slices.some(({ cells }) => cells[state] > 0));
  return marks.length === 0
    ? []
    : [marks.map((state) => `${pictureMarks[state]} ${cellWords[state]}`).join('  '), ''];
}

/** A longer label would leave too little room for the picture; `--json` has all metrics. */
const MAX_LABEL = 28;

/** A line for each group of metrics that ripen alike. */
function finalityLines({ metrics, ages }: SliceStatus, columns: number): string[] {
  const alike = new Map<string, string[]>();
  for (const { metric, spans } of metrics) {
    const marks = spans.map(({ state, periods }) => pictureMarks[state].repeat(periods)).join('');
    alike.set(marks, [...(alike.get(marks) ?? []), metric]);
  }
  const newest = ages.at(-1);
  if (alike.size === 0 || newest === undefined) return [];
  const labelColumns = Math.min(MAX_LABEL, Math.floor(columns / 3));
  const labels = [...alike.values()].map((names) => labelOf(names, labelColumns));
  const width = Math.max(...labels.map(textWidth));
  const room = Math.max(1, columns - width - INDENT);
  const hidden = Math.max(0, ages.length - room);
  const span = `${ages[hidden]?.first_day ?? ''} … ${newest.first_day}`;
  const row = (label: string, text: string): string =>
    `${label}${' '.repeat(width - textWidth(label))}  ${text}`;
  return [
    row('', shortened(textWidth(span) <= room ? span : newest.first_day, room)),
    ...[...alike.keys()].map((marks, at) => row(labels[at] ?? '', marks.slice(hidden))),
    ...(hidden === 0 ? [] : [`before that ${countText(hidden, 'period')}; see --json or --html`]),
  ];
}

/** `installs +3`: the first metric, and how many others ripen alike. */
function labelOf([first = '', ...others]: readonly string[], columns: number): string {
  const more = others.length === 0 ? '' : ` +${others.length}`;
  return shortened(first, columns - more.length) + more;
}
