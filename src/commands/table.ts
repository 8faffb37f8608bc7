/** A table of text, columns aligned by characters, for a terminal. */

import { oneLine } from './printable.ts';

export interface Column {
  readonly title: string;
  /** Numbers stand to the right; text, the default, to the left. */
  readonly align?: 'left' | 'right';
}

const GAP = '  ';

/** The lines of a table, the titles first; columns are as wide as their widest cell. Cells may hold outside text. */
export function tableText(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const clean = rows.map((row) => columns.map((_, index) => oneLine(row[index] ?? '')));
  const widths = columns.map((column, index) =>
    Math.max(width(column.title), ...clean.map((row) => width(row[index] ?? ''))),
  );
  const line = (cells: readonly string[]): string =>
    columns
      .map((column, index) => aligned(cells[index] ?? '', widths[index] ?? 0, column.align ?? 'left'))
      .join(GAP)
      .trimEnd();
  return [columns.map((column) => column.title), ...clean].map(line).join('\n');
}

function aligned(cell: string, columnWidth: number, align: 'left' | 'right'): string {
  const blanks = ' '.repeat(Math.max(0, columnWidth - width(cell)));
  return align === 'right' ? blanks + cell : cell + blanks;
}

/** Characters, not UTF-16 units, so that an emoji in a name is one. */
function width(text: string): number {
  return Array.from(text).length;
}

/** Every line of a text that is not empty, two blanks further in. */
export function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, GAP);
}
