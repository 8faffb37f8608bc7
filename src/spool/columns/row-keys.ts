/**
 * Whether a key occurs twice in an answer, by 64 bits of each row's: found out here it costs a tenth of what a statement takes
 * that groups the rows by their keys. Equal keys are always seen; different ones may be taken for equal, so whoever is told
 * that a key may repeat has to look.
 */

import type { CellColumn } from './parquet-file.ts';

/** A column that is part of the rows' keys. */
export interface KeyColumn extends CellColumn {
  /** Adds the cells of the first rows to the keys; what reads back as the same value adds the same. */
  addTo(keys: KeyDigests, rows: number): void;
}

/** What both words of a digest begin with. */
export const SEEDS = [0x2545f491, 0x5bd1e995] as const;
/** The digests of more rows would take more than 16 MB. */
const MOST_ROWS = 2 ** 20;
const FIRST_SLOTS = 2 ** 8;

/** The digests of the keys of a group of rows, two words a row. */
export class KeyDigests {
  words = new Int32Array(0);

  /** Begins anew, for so many rows. */
  begin(rows: number): void {
    if (this.words.length < rows * 2) this.words = new Int32Array(rows * 2);
    for (let at = 0; at < rows * 2; at += 2) {
      this.words[at] = SEEDS[0];
      this.words[at + 1] = SEEDS[1];
    }
  }

  /** Adds two words of a cell to the key of a row. */
  add(row: number, low: number, high: number): void {
    this.words[row * 2] = mixed(this.words[row * 2] ?? 0, low);
    this.words[row * 2 + 1] = mixed(this.words[row * 2 + 1] ?? 0, high);
  }
}

/** A word mixed into a hash, so that each of its bits may change any bit. */
export function mixed(hash: number, word: number): number {
  const product = Math.imul(hash ^ word, 0x9e3779b1);
  return product ^ (product >>> 15);
}

/** The keys of an answer's rows. */
export class RowKeys {
  /** Whether all keys so far differ; false too where there are more than are looked at. */
  areDistinct = true;
  readonly #digests = new KeyDigests();
  /** A hash table of two words a slot, of which the second of a digest is never 0. */
  #slots = new Int32Array(FIRST_SLOTS * 2);
  #rows = 0;

  /** Takes the first rows of the columns as the next of the answer. */
  take(columns: readonly KeyColumn[], rows: number): void {
    this.areDistinct &&= this.#rows + rows <= MOST_ROWS;
    if (!this.areDistinct) return;
    this.#makeRoom(this.#rows + rows);
    this.#digests.begin(rows);
    for (const column of columns) column.addTo(this.#digests, rows);
    const { words } = this.#digests;
    for (let at = 0; at < rows * 2; at += 2) {
      if (this.#place(words[at] ?? 0, (words[at + 1] ?? 0) | 1)) continue;
      this.areDistinct = false;
      return;
    }
    this.#rows += rows;
  }

  /** Twice as many slots as rows, at least. */
  #makeRoom(rows: number): void {
    const old = this.#slots;
    let length = old.length;
    while (length < rows * 4) length *= 2;
    if (length === old.length) return;
    this.#slots = new Int32Array(length);
    for (let at = 0; at < old.length; at += 2) {
      if (old[at + 1] !== 0) this.#place(old[at] ?? 0, old[at + 1] ?? 0);
    }
  }

  /** Puts a digest into its slot; false when it is there. */
  #place(low: number, high: number): boolean {
    const slots = this.#slots;
    const mask = slots.length - 2;
    for (let at = (low << 1) & mask; ; at = (at + 2) & mask) {
      if (slots[at + 1] === 0) {
        slots[at] = low;
        slots[at + 1] = high;
        return true;
      }
      if (slots[at] === low && slots[at + 1] === high) return false;
    }
  }
}
