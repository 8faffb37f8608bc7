/**
 * Rows of a document into columns.
 *
 * The first row of a body with exactly the requested keys says in which order and with which blanks they stand; later rows are
 * compared with it as bytes. A row that differs, or lacks keys, or has others besides, is read member by member; what was not
 * requested goes to a column of its own as one JSON object.
 */

import { type BodyWindow, CLOSING_BRACE, readMembers, skipBlanks, skipValue, STOPPED, textIn } from './json-tokens.ts';
import type { CellColumn } from './parquet-file.ts';
import type { Envelope } from './reading.ts';
import type { RejectedColumn } from './rejected-column.ts';
import type { TextColumn } from './text-column.ts';

const WORD_BYTES = 4;
/** Where so many first rows of a body have other keys than requested, the others do, too. */
const MOST_OTHERS = 4;

/** The bytes that stood in the first row from the value before to this one, and the column its values go to. */
class Key {
  readonly column: CellColumn;
  readonly length: number;
  /** In words, the last of which overlaps the one before. */
  readonly #words: Int32Array;

  constructor(column: CellColumn, written: Uint8Array) {
    this.column = column;
    this.length = written.length;
    const view = new DataView(written.buffer, written.byteOffset, written.length);
    this.#words = Int32Array.from({ length: Math.ceil(written.length / WORD_BYTES) }, (_, at) =>
      view.getInt32(Math.min(at * WORD_BYTES, written.length - WORD_BYTES), true),
    );
  }

  /** Where the value behind the key begins, or stopped. */
  skip({ view, end }: BodyWindow, at: number): number {
    const words = this.#words;
    const last = words.length - 1;
    const value = at + this.length;
    // The window may end before the key does; reading past its end would throw.
    if (value > end) return STOPPED;
    for (let index = 0; index < last; index += 1) {
      if (view.getInt32(at + index * WORD_BYTES, true) !== words[index]) return STOPPED;
    }
    return view.getInt32(value - WORD_BYTES, true) === words[last] ? value : STOPPED;
  }
}

/** Where the cells of a row go. */
interface RowColumns {
  readonly columns: readonly CellColumn[];
  /** Takes keys that were not requested. */
  readonly extra: TextColumn;
  readonly rejected: RejectedColumn;
  /** Keys that may be missing from every row, and those that are left out. */
  readonly optional: ReadonlySet<string>;
  readonly left: ReadonlySet<string>;
}

export class RowReader {
  readonly #into: RowColumns;
  readonly #columns: ReadonlyMap<string, CellColumn>;
  /** Whether some row so far held a key that was not requested. */
  hasExtra = false;
  #keys: readonly Key[] | null = null;
  /** Rows that taught no keys. */
  #others = 0;
  #isAlike = false;
  #seen = new Set<string>();
  #common: ReadonlySet<string> | null = null;
  #lastKeys = '';

  constructor(into: RowColumns) {
    this.#into = into;
    this.#columns = new Map(into.columns.map((column) => [column.name, column]));
  }

  /** The keys of the rows so far; the next row is the first of another body. */
  takeKeys(): Pick<Envelope, 'keys' | 'commonKeys'> {
    if (this.#isAlike) this.#see((this.#keys ?? []).map(({ column }) => column.name));
    const found = { keys: [...this.#seen], commonKeys: [...(this.#common ?? [])] };
    this.#keys = null;
    this.#others = 0;
    this.#isAlike = false;
    this.#seen = new Set();
    this.#common = null;
    this.#lastKeys = '';
    return found;
  }

  /** Reads the row that begins at `at` into the columns' cells `row`: the offset behind it, or stopped. */
  read(body: BodyWindow, at: number, row: number): number {
    const { rejected } = this.#into;
    rejected.begin();
    if (this.#others < MOST_OTHERS) this.#keys ??= this.#learn(body, at);
    let end = this.#keys === null ? STOPPED : readAlike(this.#keys, body, at, row);
    if (end === STOPPED) {
      rejected.begin();
      end = this.#readMembers(body, at, row);
      if (this.#keys === null && end !== STOPPED) this.#others += 1;
    } else {
      this.#isAlike = true;
    }
    if (end !== STOPPED) rejected.end(body, at, row);
    return end;
  }

  #readMembers(body: BodyWindow, at: number, row: number): number {
    const { columns, extra, left } = this.#into;
    const names = new Set<string>();
    const others: string[] = [];
    for (const column of columns) column.blank(row);
    const end = readMembers(body, at, (name, value) => {
      if (names.has(name)) return body.stop(value, `a row of it stated ${JSON.stringify(name)} twice`);
      names.add(name);
      const column = this.#columns.get(name);
      if (column !== undefined) return column.read(body, value, row);
      const behind = skipValue(body, value);
      const text = behind === STOPPED ? '' : textIn(body, value, behind);
      if (text === null) return body.stop(value, 'a value that is not UTF-8');
      if (!left.has(name)) others.push(`${JSON.stringify(name)}:${text}`);
      return behind;
    });
    if (end === STOPPED) return STOPPED;
    if (others.length > 0) {
      this.hasExtra = true;
      if (!extra.put(row, `{${others.join(',')}}`)) return body.stop(at, 'a value that JSON has not');
    }
    this.#see([...names]);
    return end;
  }

  #see(names: readonly string[]): void {
    const all = JSON.stringify(names);
    if (all === this.#lastKeys) return;
    this.#lastKeys = all;
    for (const name of names) this.#seen.add(name);
    this.#common = new Set([...(this.#common ?? names)].filter((name) => names.includes(name)));
  }

  /** The keys of the row at `at`; null when it has not come as a whole, or is not one of exactly the requested keys. */
  #learn(body: BodyWindow, at: number): readonly Key[] | null {
    const keys = new Map<string, Key>();
    let from = at;
    const end = readMembers(body, at, (name, value) => {
      const column = this.#columns.get(name);
      if (column === undefined || keys.has(name)) return STOPPED;
      keys.set(name, new Key(column, body.bytes.slice(from, value)));
      from = skipValue(body, value);
      return from;
    });
    const { columns, optional } = this.#into;
    const isWhole = end !== STOPPED && columns.every(({ name }) => keys.has(name) || optional.has(name));
    return isWhole ? [...keys.values()] : null;
  }
}

/** Behind a row with the same keys as the first, or stopped. */
function readAlike(keys: readonly Key[], body: BodyWindow, at: number, row: number): number {
  let next = at;
  for (const key of keys) {
    next = key.skip(body, next);
    if (next === STOPPED) return STOPPED;
    next = key.column.read(body, next, row);
    if (next === STOPPED) return STOPPED;
  }
  next = skipBlanks(body.bytes, next);
  return body.bytes[next] === CLOSING_BRACE ? next + 1 : STOPPED;
}
