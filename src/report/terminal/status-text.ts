/** A status report for people; on request slices in detail; pure. */

import { cellStates, type SliceStatus, type StatusReport } from '../status/status-report.ts';
import { countText } from '../../model/measure.ts';
import { withHint } from './failure-text.ts';
import { newsText } from './news-text.ts';
import { oneLine } from './printable.ts';
import * as facts from './status-facts.ts';
import { indented, shortened, type Table, tableText, textWidth } from './table.ts';

/** For output to a file or a program. */
const USUAL_COLUMNS = 80;
/** In wider lines it is hard to match marks with their label. */
const MAX_COLUMNS = 120;
/** More would hide the rest; `--json` has them all. */
const SHOWN = 5;
const INDENT = 2;

export function statusText(
  report: StatusReport,
  terminal: number | null = null,
  shown: Partial<Record<'details' | 'maturation' | 'backtest' | 'news', boolean>> = {},
): string {
  const { maturation = false, backtest = false } = shown;
  const { health, slices, runs } = report;
  const headline = oneLine(health.headline);
  if (shown.news === true) {
    const { title, lines } = newsText(report);
    return [headline, '', `${title}:`, ...lines.map(indented)].join('\n');
  }
  const inner = terminal === null ? null : terminal - INDENT;
  const tableLines = ({ columns, rows }: Table, most = SHOWN) => {
    if (rows.length === 0) return [];
    const text = tableText({ columns, rows: rows.slice(0, most) }, inner);
    const more = rows.length > most ? [`and ${rows.length - most} more; see --json`] : [];
    return [...text.split('\n'), ...more];
  };
  const lines = [headline];
  for (const { message, hint } of health.findings)
    lines.push(indented(withHint(oneLine(message), hint)));
  lines.push('', facts.sourceText(report), ...facts.crawlsText(report), '');
  const hasDetails = shown.details === true || maturation || backtest;
  if (hasDetails) {
    for (const slice of slices) {
      const tables = [
        facts.restatedTable(slice),
        facts.movedTable(slice),
        facts.horizonsTable(slice),
      ];
      const ofSlice = [
        ...facts.sliceFacts(slice, report.as_of),
        ...finalityLines(slice, Math.min(inner ?? USUAL_COLUMNS - INDENT, MAX_COLUMNS - INDENT)),
        ...facts.agreementText(slice.control, slice.no_control),
        ...tables.flatMap((table) => tableLines(table)),
        ...(maturation ? tableLines(facts.maturationTable(slice), Infinity) : []),
        ...(backtest ? tableLines(facts.backtestTable(slice), Infinity) : []),
        ...(maturation || backtest ? facts.unknownMaturation(slice) : []),
      ];
      lines.push(slice.name, ...ofSlice.map(indented), '');
    }
    const states = cellStates.filter((state) => slices.some(({ cells }) => cells[state] > 0));
    const marks = states.map(
      (state) => `${facts.cellLooks[state].mark} ${facts.cellLooks[state].word}`,
    );
    if (marks.length > 0) lines.push(marks.join('  '), '');
  } else if (slices.length > 0) {
    lines.push(tableText(facts.slicesTable(report), terminal), '');
  }
  const newest = runs.slice(0, SHOWN);
  lines.push(runs.length === 0 ? 'no runs yet' : tableText(facts.runsTable(newest), terminal));
  const warnings = tableLines(facts.warningsTable(report));
  if (warnings.length > 0) lines.push('', 'warnings of the last run:', ...warnings.map(indented));
  if (!hasDetails && slices.length > 0)
    lines.push('', '`ripen status --slice NAME` shows a slice in detail');
  return lines.join('\n');
}

/** A longer label would leave too little room for the picture; `--json` has all metrics. */
const MAX_LABEL = 28;

function finalityLines(slice: SliceStatus, columns: number) {
  const { ages } = slice;
  const alike = facts.alikeMetrics(slice);
  const newest = ages.at(-1);
  if (alike.length === 0 || newest === undefined) return [];
  const labelColumns = Math.min(MAX_LABEL, Math.floor(columns / 3));
  const labels = alike.map(([{ metric }, ...others]) => {
    const more = others.length === 0 ? '' : ` +${others.length}`;
    return shortened(metric, labelColumns - more.length) + more;
  });
  const width = Math.max(...labels.map(textWidth));
  const room = Math.max(1, columns - width - INDENT);
  const hidden = Math.max(0, ages.length - room);
  const span = `${ages[hidden]?.first_day ?? ''} … ${newest.first_day}`;
  const row = (label: string, text: string) =>
    `${label}${' '.repeat(width - textWidth(label))}  ${text}`;
  return [
    row('', shortened(textWidth(span) <= room ? span : newest.first_day, room)),
    ...alike.map(([{ spans }], at) => {
      const marks = spans
        .map(({ state, periods }) => facts.cellLooks[state].mark.repeat(periods))
        .join('');
      return row(labels[at] ?? '', marks.slice(hidden));
    }),
    ...(hidden === 0 ? [] : [`before that ${countText(hidden, 'period')}; see --json or --html`]),
  ];
}
