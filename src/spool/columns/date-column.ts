/** Columns of date dimensions. */

import type { DateDimension } from '../../model/dimension.ts';
import { type ColumnGroup, type ParquetType, widened, widenedFlags } from './parquet-file.ts';
import { type BodyWindow, QUOTE, STOPPED, wholeValue } from './json-tokens.ts';
import type { Envelope } from './reading.ts';
import type { KeyColumn, KeyDigests } from './row-keys.ts';
import { endOfRun, hashOf, TextDictionary } from './text-dictionary.ts';

const TWO_TO_32 = 2 ** 32;
const MS_PER_DAY = 86_400_000;
const MICROS_PER_MS = 1000;
const DAYS_TO_LAST_OF_WEEK = 6;

/** No label of a date has so many bytes. */
const LONGEST_LABEL = 64;

const nothing = new Uint8Array(0);
const encoder = new TextEncoder();

/** The milliseconds of an ISO instant without zone; null when the calendar does not have it. */
function instantOf(text: string): number | null {
  const ms = Date.parse(`${text}Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString() === `${text}.000Z` ? ms : null;
}

const dayForm = String.raw`[1-9]\d{3}-\d\d-\d\d`;

/** Per dimension the form of its labels; each group is the first and, for weeks, the last day named. */
const forms: Record<DateDimension, { readonly form: RegExp; readonly first: (match: readonly string[]) => string }> = {
  hour: { form: /^([1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d)$/, first: ([, hour = '']) => hour },
  day: { form: new RegExp(`^(${dayForm})$`), first: ([, day = '']) => `${day}T00:00:00` },
  week: { form: new RegExp(`^(${dayForm}) - (${dayForm})$`), first: ([, day = '']) => `${day}T00:00:00` },
  month: { form: /^([1-9]\d{3}-\d\d)$/, first: ([, month = '']) => `${month}-01T00:00:00` },
  quarter: {
    form: /^Q([1-4]) ([1-9]\d{3})$/,
    first: ([, quarter = '', year = '']) => `${year}-${String(Number(quarter) * 3 - 2).padStart(2, '0')}-01T00:00:00`,
  },
  year: { form: /^([1-9]\d{3})$/, first: ([, year = '']) => `${year}-01-01T00:00:00` },
};

/**
 * Date dimensions in their documented forms, to the first day of what the label names, or the instant of an hour.
 *
 * Labels repeat, so each distinct one is parsed and looked up in the calendar once. What labels tell about a whole answer
 * is kept beside them: the weekday that whole weeks begin with, and whether the dates came in order.
 */
export class DateColumn implements KeyColumn {
  readonly name: string;
  readonly kind: DateDimension;
  readonly type: ParquetType;
  /** The weekdays, 0 for Sunday, that labels of seven days begin with. */
  readonly weekStarts = new Set<number>();
  /** Whether no date so far came after a later one. */
  isOrdered = true;
  #badLabel: Envelope['badLabel'] = null;
  #last = -Infinity;
  #lastLabel = -1;
  readonly #words: 1 | 2;
  readonly #labels = new TextDictionary();
  /** By label, in words of 32 bits. */
  #values = new Int32Array(0);
  #cells = new Int32Array(0);
  #nulls = new Uint8Array(0);

  constructor(name: string, kind: DateDimension) {
    this.name = name;
    this.kind = kind;
    this.type = { kind: kind === 'hour' ? 'TIMESTAMP' : 'DATE' };
    this.#words = kind === 'hour' ? 2 : 1;
  }

  read(body: BodyWindow, at: number, row: number): number {
    const { bytes, view } = body;
    // Most rows are of the same date as the last.
    const expected = this.#lastLabel < 0 ? STOPPED : this.#labels.endOf(body, at, this.#lastLabel);
    if (expected !== STOPPED) return this.#put(row, this.#lastLabel, expected);
    const end = bytes[at] === QUOTE ? endOfRun(view, at + 1, QUOTE) : at;
    if (end === at || bytes[end] !== QUOTE) return this.#readText(body, at, row);
    const hash = hashOf(view, at, end + 1);
    let label = this.#labels.find(body, at, end + 1, hash);
    if (label < 0) {
      if (!this.#learn(String.fromCharCode(...bytes.subarray(at + 1, Math.min(end, at + LONGEST_LABEL))))) {
        return this.#readText(body, at, row);
      }
      label = this.#labels.add(bytes.subarray(at, end + 1), hash, nothing);
    }
    this.#lastLabel = label;
    return this.#put(row, label, end + 1);
  }

  /** A label in another writing, or none. */
  #readText(body: BodyWindow, at: number, row: number): number {
    const value = wholeValue(body, at);
    if (value === null) return STOPPED;
    const { end, written, said } = value;
    if (!this.#learn(said)) {
      this.#badLabel ??= { dimension: this.name, label: said };
      this.#nulls[row] = 1;
      return end;
    }
    const label = this.#labels.add(encoder.encode(written), hashOf(body.view, at, end), nothing);
    return this.#put(row, label, end);
  }

  /** The first label of the rows so far that is no date; the next row is the first of another body. */
  takeBadLabel(): Envelope['badLabel'] {
    const bad = this.#badLabel;
    this.#badLabel = null;
    return bad;
  }

  blank(row: number): void {
    this.#nulls[row] = 1;
  }

  #put(row: number, label: number, end: number): number {
    this.#nulls[row] = 0;
    if (this.#words === 1) {
      const value = this.#values[label] ?? 0;
      this.#cells[row] = value;
      this.#follow(value);
    } else {
      const [low, high] = [this.#values[label * 2] ?? 0, this.#values[label * 2 + 1] ?? 0];
      this.#cells[row * 2] = low;
      this.#cells[row * 2 + 1] = high;
      this.#follow(high * TWO_TO_32 + (low >>> 0));
    }
    return end;
  }

  #follow(value: number): void {
    if (value < this.#last) this.isOrdered = false;
    this.#last = value;
  }

  /** Notes the value of the next label; false when it is no date. */
  #learn(label: string): boolean {
    const { form, first } = forms[this.kind];
    const match = form.exec(label);
    const ms = match === null ? null : instantOf(first(match));
    if (match === null || ms === null) return false;
    const [, , last] = match;
    if (this.kind === 'week' && last !== undefined) {
      const lastMs = instantOf(`${last}T00:00:00`);
      if (lastMs === null) return false;
      if (lastMs - ms === DAYS_TO_LAST_OF_WEEK * MS_PER_DAY) this.weekStarts.add(new Date(ms).getUTCDay());
    }
    const value = this.#words === 1 ? ms / MS_PER_DAY : ms * MICROS_PER_MS;
    if (!Number.isSafeInteger(value)) return false;
    const at = this.#labels.size * this.#words;
    if (at + this.#words > this.#values.length) this.#values = widened(this.#values, Math.max(64, at * 2));
    this.#values[at] = value | 0;
    if (this.#words === 2) this.#values[at + 1] = Math.floor(value / TWO_TO_32);
    return true;
  }

  get textBytes(): number {
    return this.#labels.textBytes;
  }

  grow(rows: number): void {
    this.#cells = widened(this.#cells, rows * this.#words);
    this.#nulls = widenedFlags(this.#nulls, rows);
  }

  group(rows: number): ColumnGroup {
    return {
      nulls: this.#nulls.subarray(0, rows),
      cells: this.#cells.subarray(0, rows * this.#words),
      words: this.#words,
      dictionary: null,
    };
  }

  addTo(keys: KeyDigests, rows: number): void {
    const [cells, words] = [this.#cells, this.#words];
    for (let row = 0; row < rows; row += 1) {
      const at = row * words;
      keys.add(row, cells[at] ?? 0, cells[at + words - 1] ?? 0);
    }
  }

  clear(): void {
    this.#labels.clear();
    this.#lastLabel = -1;
  }
}
