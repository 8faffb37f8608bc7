/**
 * Aligned text tables, and texts cut to fit. The maintained libraries measure with an emoji list of 2019 and fit no table to a
 * terminal.
 */

import stringWidth from 'string-width';

import { sumOf } from '../../model/measure.ts';
import { oneLine } from './printable.ts';

export interface Table<Cell = string> {
  /** Left out if a heading or the first column says it; never shown as text. */
  readonly title?: string;
  /** Headings. `#` before one marks numbers, `~` cells that may be cut: names may, texts that people copy may not. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** Returns a heading without its mark. */
export const headingOf = (column: string) => column.replace(/^[#~]/, '');

const GAP = '  ';
const ELLIPSIS = '…';
/** A name cut shorter than this says nothing. */
const MIN_WIDTH = 8;

/** Two for a wide character or an emoji, none for a combining mark. */
export function textWidth(text: string): number {
  // Plain text, the usual case, needs no character tables; compiling them takes a tenth of the start-up time.
  return /^[ -~…]*$/.test(text) ? text.length : stringWidth(text);
}

/** Cuts between visible characters, and in the middle, as similar names differ in their ends. */
export function shortened(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  if (columns < 1) return '';
  const segments = Array.from(new Intl.Segmenter('en').segment(text), ({ segment }) => segment);
  const fitting = (from: readonly string[], room: number) => {
    let width = 0;
    const more = from.findIndex((segment) => (width += textWidth(segment)) > room);
    return more === -1 ? from : from.slice(0, more);
  };
  const endColumns = Math.floor((columns - 1) / 2);
  const start = fitting(segments, columns - 1 - endColumns).join('');
  const end = fitting(segments.toReversed(), endColumns).toReversed().join('');
  return start.trimEnd() + ELLIPSIS + end.trimStart();
}

export function tableText({ columns, rows }: Table, terminal: number | null = null): string {
  const lines = [
    columns.map(headingOf),
    ...rows.map((row) => columns.map((_, at) => oneLine(row[at] ?? ''))),
  ];
  const widths = columns.map((_, at) =>
    Math.max(...lines.map((line) => textWidth(line[at] ?? ''))),
  );
  const least = columns.map((column, at) =>
    column.startsWith('~') ? Math.max(MIN_WIDTH, textWidth(column) - 1) : (widths[at] ?? 0),
  );
  const whole = sumOf(widths) + GAP.length * (widths.length - 1);
  for (let excess = terminal === null ? 0 : whole - terminal; excess > 0; excess -= 1) {
    const room = widths.map((width, at) => (width > (least[at] ?? 0) ? width : 0));
    const widest = room.indexOf(Math.max(...room));
    if ((room[widest] ?? 0) > 0) widths[widest] = (widths[widest] ?? 0) - 1;
  }
  const padded = (cell: string, at: number) => {
    const text = shortened(cell, widths[at] ?? 0);
    const blanks = ' '.repeat((widths[at] ?? 0) - textWidth(text));
    return columns[at]?.startsWith('#') === true ? blanks + text : text + blanks;
  };
  return lines.map((line) => line.map(padded).join(GAP).trimEnd()).join('\n');
}

export const wrapped = (text: string, columns: number): string =>
  filled(oneLine(text).split(' '), ' ', columns);

export function filled(parts: readonly string[], gap: string, columns: number): string {
  const lines: string[] = [];
  for (const part of parts) {
    const longer = `${lines.at(-1) ?? ''}${gap}${part}`;
    if (lines.length > 0 && textWidth(longer) <= columns) lines.splice(-1, 1, longer);
    else lines.push(part);
  }
  return lines.join('\n');
}

export const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, GAP);
