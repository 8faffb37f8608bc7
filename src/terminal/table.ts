/**
 * A table of text, columns aligned, as a terminal or a script reads it.
 *
 * Own and small: the kept libraries measure with a list of emoji of 2019, so that a later one moves their columns, and
 * none fits a table to a terminal. How wide a character is, a library says.
 */

import { oneLine } from './printable.ts';
import { shortened, textWidth } from './text-width.ts';

export interface Column {
  readonly title: string;
  /** Numbers stand to the right; text, the default, to the left. */
  readonly align?: 'left' | 'right';
  /** Whether its cells may be cut where the table is wider than the terminal; names may, what is copied may not. */
  readonly shrinks?: boolean;
}

const GAP = '  ';
/** A name cut shorter than this tells nothing. */
const LEAST_WIDTH = 8;

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
      .map((column, index) => aligned(cells[index] ?? '', widths[index] ?? 0, column.align ?? 'left'))
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

function aligned(cell: string, columnWidth: number, align: 'left' | 'right'): string {
  const text = shortened(cell, columnWidth);
  const blanks = ' '.repeat(Math.max(0, columnWidth - textWidth(text)));
  return align === 'right' ? blanks + text : text + blanks;
}

/** Every line of a text that is not empty, two blanks further in. */
export function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, GAP);
}
