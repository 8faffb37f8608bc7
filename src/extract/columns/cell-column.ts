/** The base of all columns: cells are read row by row and written as a group. */

import { type BodyWindow } from './json-tokens.ts';
import type { ColumnGroup, ParquetType } from './parquet-file.ts';

export function widened(old: Int32Array, cells: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(cells);
  larger.set(old.subarray(0, Math.min(old.length, cells)));
  return larger;
}

export abstract class CellColumn {
  readonly name: string;
  readonly type: ParquetType;
  /** 32-bit words per cell. */
  readonly #words: 1 | 2 | 4;
  protected cells = new Int32Array(0);
  protected nulls = new Uint8Array(0);

  protected constructor(name: string, type: ParquetType, words: 1 | 2 | 4) {
    this.name = name;
    this.type = type;
    this.#words = words;
  }

  /** Returns the offset after the value at `at`, or `STOPPED`. A row may be read more than once. */
  abstract read(body: BodyWindow, at: number, row: number): number;

  /** Bytes that depend on the content of the rows, not on their number. */
  get textBytes(): number {
    return 0;
  }

  /** An unfinished row may have left a value. */
  blank(row: number): void {
    this.nulls[row] = 1;
  }

  /** A new cell is NULL until it is read, as rows may lack a column. */
  grow(rows: number): void {
    this.cells = widened(this.cells, rows * this.#words);
    const old = this.nulls.subarray(0, rows);
    this.nulls = new Uint8Array(rows).fill(1, old.length);
    this.nulls.set(old);
  }

  group(rows: number): ColumnGroup {
    return {
      nulls: this.nulls.subarray(0, rows),
      cells: this.cells.subarray(0, rows * this.#words),
      words: this.#words,
      dictionary: null,
    };
  }

  clear(): void {
    this.nulls.fill(1);
  }
}
