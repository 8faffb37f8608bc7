/** The finality of a slice as a text: its picture, fitted to a width, with the days it spans; pure. */

import { cellWords, pictureMarks, pictureOf } from '../status/picture.ts';
import { cellStates, type SliceStatus } from '../status/status-report.ts';
import { countText, groupedText } from './measure.ts';
import { fitted, shortened, textWidth } from './text-width.ts';

/** A longer label leaves too little room for the picture; what it leaves out is in `--json`. */
const MOST_LABEL = 28;
const GAP = '  ';
/** Of `2026-02-14`. */
const DAY_LENGTH = 10;

/**
 * A line of days, a line for each group of metrics that ripen alike, and what the older periods are that did not fit.
 * Empty without a period or a metric.
 */
export function finalityLines(slice: SliceStatus, columns: number): string[] {
  const lines = pictureOf(slice.metrics);
  const newest = slice.ages.at(-1);
  if (lines.length === 0 || newest === undefined) return [];
  const labels = lines.map(({ metrics }) => labelOf(metrics, Math.min(MOST_LABEL, Math.floor(columns / 3))));
  const labelColumns = Math.max(...labels.map(textWidth));
  const room = Math.max(1, columns - labelColumns - GAP.length);
  const hidden = Math.max(0, slice.ages.length - room);
  const oldest = slice.ages[hidden] ?? newest;
  const shown = slice.ages.length - hidden;
  return [
    ' '.repeat(labelColumns) + GAP + daysLine(dayText(oldest), dayText(newest), shown, room),
    ...lines.map(({ marks }, index) => padded(labels[index] ?? '', labelColumns) + GAP + marks.slice(hidden)),
    ...(hidden === 0 ? [] : [olderText(slice, hidden)]),
  ];
}

/** The marks of the states that occur, each with its word. */
export function legendText(slices: readonly SliceStatus[]): string {
  return cellStates
    .filter((state) => slices.some(({ cells }) => cells[state] > 0))
    .map((state) => `${pictureMarks[state]} ${cellWords[state]}`)
    .join(GAP);
}

/** `installs, clicks +3`: as many names as fit, at least a part of the first. */
function labelOf(metrics: readonly string[], columns: number): string {
  for (let named = metrics.length; named > 1; named -= 1) {
    const label = metrics.slice(0, named).join(', ') + moreText(metrics.length - named);
    if (textWidth(label) <= columns) return label;
  }
  const more = moreText(metrics.length - 1);
  return shortened(metrics[0] ?? '', columns - more.length) + more;
}

function moreText(count: number): string {
  return count === 0 ? '' : ` +${count}`;
}

function dayText({ first_day: day, age_days: age }: SliceStatus['ages'][number]): string {
  return `${day} (${age <= 0 ? 'not over' : countText(age, 'day')})`;
}

/** The first and the last day over their marks; the last alone where there is no room for both. */
function daysLine(first: string, last: string, shown: number, room: number): string {
  const width = Math.min(room, Math.max(shown, last.length));
  const between = width - first.length - last.length;
  if (between >= 1) return first + ' '.repeat(between) + last;
  if (shown > 1 && first.length + last.length + 3 <= room) return `${first} … ${last}`;
  return last.length <= room ? last : fitted(last.slice(0, DAY_LENGTH), room);
}

function olderText(slice: SliceStatus, hidden: number): string {
  const older = slice.ages.slice(0, hidden);
  const counts = (['final', 'maturing', 'open', 'cut', 'empty', 'missing'] as const)
    .map((state) => ({ state, count: older.filter((period) => period.state === state).length }))
    .filter(({ count }) => count > 0);
  const [only] = counts;
  const standing =
    counts.length === 1 && only !== undefined
      ? `${hidden === 1 ? '' : 'all '}${only.state}`
      : counts.map(({ state, count }) => `${groupedText(count)} ${state}`).join(', ');
  return `before that ${countText(hidden, 'period')}, ${standing}`;
}

function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - textWidth(text)));
}
