/**
 * A table of text, columns aligned, as a terminal or a script reads it, and texts cut to fit; pure.
 *
 * Own and small: the kept libraries measure with a list of emoji of 2019, so that a later one moves their columns, and
 * none fits a table to a terminal. How wide a character is, a library says.
 */

import stringWidth from 'string-width';

import { oneLine } from './printable.ts';

export interface Column {
  readonly title: string;
  /** Numbers stand to the right; text, the default, to the left. */
  readonly align?: 'left' | 'right';
  /** Whether its cells may be cut where the table is wider than the terminal; names may, what is copied may not. */
  readonly shrinks?: boolean;
}

const GAP = '  ';
const ELLIPSIS = '…';
/** A name cut shorter than this tells nothing. */
const LEAST_WIDTH = 8;

/** Columns: two for a wide character or an emoji, none for a combining mark. */
export function textWidth(text: string): number {
  // Plain text, which most is, needs no tables of characters: to compile them takes a tenth of a start.
  return /^[ -~…]*$/.test(text) ? text.length : stringWidth(text);
}

/** The text in at most `columns`, cut in its middle, as names of one kind differ in how they end. */
export function shortened(text: string, columns: number): string {
  return textWidth(text) <= columns ? text : cut(text, columns, Math.floor((columns - 1) / 2));
}

/** The text in at most `columns`, cut at its end. */
export function fitted(text: string, columns: number): string {
  return textWidth(text) <= columns ? text : cut(text, columns, 0);
}

/** With so many columns of its end kept; cut between the characters that a reader sees. */
function cut(text: string, columns: number, endColumns: number): string {
  if (columns < 1) return '';
  const segments = [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)].map(
    ({ segment }) => segment,
  );
  const fitting = (from: readonly string[], room: number): readonly string[] => {
    let width = 0;
    const more = from.findIndex((segment) => (width += textWidth(segment)) > room);
    return more === -1 ? from : from.slice(0, more);
  };
  const start = fitting(segments, columns - 1 - endColumns).join('');
  const end = fitting(segments.toReversed(), endColumns).toReversed().join('');
  return start.trimEnd() + ELLIPSIS + end.trimStart();
}

/**
 * The lines of a table, the titles first; columns are as wide as their widest cell. Cells may hold outside text. Within
 * `columns` of a terminal the widest cells that may are cut; without a terminal (null) every cell is whole.
 */
export function tableText(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  terminal: number | null = null,
): string {
  const clean = rows.map((row) => columns.map((_, index) => oneLine(row[index] ?? '')));
  const natural = columns.map((column, index) =>
    Math.max(textWidth(column.title), ...clean.map((row) => textWidth(row[index] ?? ''))),
  );
  const widths = terminal === null ? natural : shrunk(columns, natural, terminal);
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ align }, index) => {
        const text = shortened(cells[index] ?? '', widths[index] ?? 0);
        const blanks = ' '.repeat(Math.max(0, (widths[index] ?? 0) - textWidth(text)));
        return align === 'right' ? blanks + text : text + blanks;
      })
      .join(GAP)
      .trimEnd();
  return [columns.map((column) => column.title), ...clean].map(line).join('\n');
}

/** The widths with the widest that may shrink made smaller, one column at a time, until the table fits or none can. */
function shrunk(columns: readonly Column[], natural: readonly number[], terminal: number): readonly number[] {
  const widths = [...natural];
  const floor = (index: number): number => Math.max(LEAST_WIDTH, textWidth(columns[index]?.title ?? ''));
  let excess = widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1)) - terminal;
  for (; excess > 0; excess -= 1) {
    const candidates = widths
      .map((width, index) => ({ width, index }))
      .filter(({ width, index }) => columns[index]?.shrinks === true && width > floor(index));
    const [widest] = candidates.toSorted((one, other) => other.width - one.width);
    if (widest === undefined) return widths;
    widths[widest.index] = widest.width - 1;
  }
  return widths;
}

/** A text in lines of at most so many columns, where its words allow it. */
export function wrapped(text: string, columns: number): string {
  const lines: string[] = [];
  for (const word of oneLine(text).split(' ')) {
    const longer = `${lines.at(-1) ?? ''} ${word}`;
    if (lines.length > 0 && textWidth(longer) <= columns) lines.splice(-1, 1, longer);
    else lines.push(word);
  }
  return lines.join('\n');
}

/** Every line of a text that is not empty, two blanks further in. */
export function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, GAP);
}
