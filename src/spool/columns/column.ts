/** What every kind of column can do: read one cell of a row from the body, and hand over a group of rows. */

import type { BodyWindow } from './body-window.ts';
import type { ParquetType } from './parquet-file.ts';

/** The cells of one column in a group of rows; valid until the column's next change. */
export interface ColumnGroup {
  /** 1 where a cell is NULL, one byte per row. */
  readonly nulls: Uint8Array;
  /** The values one behind the other; those of NULL cells mean nothing. With a dictionary, the numbers of its entries. */
  readonly cells: Int32Array;
  /** 32-bit words per value. */
  readonly words: 1 | 2;
  /** Distinct values in Parquet's plain encoding, and how many. */
  readonly dictionary: { readonly values: Uint8Array; readonly size: number } | null;
}

export interface Column {
  readonly name: string;
  readonly type: ParquetType;
  /** Reads the cell whose value begins at `at`: the offset behind it, or stopped. A row may be read more than once. */
  read(body: BodyWindow, at: number, row: number): number;
  /** Makes room for so many rows. */
  grow(rows: number): void;
  /** The first rows. */
  group(rows: number): ColumnGroup;
  /** Forgets the rows, keeps the memory. */
  clear(): void;
  /** Bytes held that grow with what the rows say, not with their number. */
  readonly heldBytes: number;
}

/** A larger array with the same cells. */
export function widened(old: Int32Array, cells: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(cells);
  larger.set(old.subarray(0, Math.min(old.length, cells)));
  return larger;
}

/** A larger array with the same flags. */
export function widenedFlags(old: Uint8Array, rows: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(rows);
  larger.set(old.subarray(0, Math.min(old.length, rows)));
  return larger;
}
