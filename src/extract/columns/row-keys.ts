/**
 * Finds whether a key occurs twice, by 64 bits of each row's key, at a tenth of the cost of grouping the rows. Different keys
 * may look equal, so the caller must check.
 */

/** Mixes the cells of the first rows into digests of two words. Equal values give equal digests. */
interface KeyColumn {
  mixInto(digests: Int32Array, rows: number): void;
}

/** The digests of more would take more than 16 MB. */
const MAX_ROWS = 2 ** 20;
const FIRST_SLOTS = 2 ** 8;

export function mixed(hash: number, word: number): number {
  const product = Math.imul(hash ^ word, 0x9e3779b1);
  return product ^ (product >>> 15);
}

export class RowKeys {
  /** Whether all keys so far differ. False if there are too many to check. */
  areDistinct = true;
  #digests = new Int32Array(0);
  /** A hash table, two words a slot. The second word of a digest is never 0. */
  #slots = new Int32Array(FIRST_SLOTS * 2);
  #rows = 0;

  take(columns: readonly KeyColumn[], rows: number): void {
    this.areDistinct &&= this.#rows + rows <= MAX_ROWS;
    if (!this.areDistinct) return;
    this.#rows += rows;
    this.#makeRoom();
    if (this.#digests.length < rows * 2) this.#digests = new Int32Array(rows * 2);
    const digests = this.#digests.fill(0);
    for (const column of columns) column.mixInto(digests, rows);
    for (let at = 0; at < rows * 2 && this.areDistinct; at += 2) {
      this.areDistinct = this.#place(digests[at] ?? 0, (digests[at + 1] ?? 0) | 1);
    }
  }

  #makeRoom(): void {
    const old = this.#slots;
    let length = old.length;
    while (length < this.#rows * 4) length *= 2;
    if (length === old.length) return;
    this.#slots = new Int32Array(length);
    for (let at = 0; at < old.length; at += 2) {
      if (old[at + 1] !== 0) this.#place(old[at] ?? 0, old[at + 1] ?? 0);
    }
  }

  #place(low: number, high: number): boolean {
    const slots = this.#slots;
    const mask = slots.length - 2;
    let at = (low << 1) & mask;
    for (; slots[at + 1] !== 0; at = (at + 2) & mask) {
      if (slots[at] === low && slots[at + 1] === high) return false;
    }
    slots[at] = low;
    slots[at + 1] = high;
    return true;
  }
}
