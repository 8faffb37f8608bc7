/** Columns of date dimensions: the first day of what a label names, or the instant of an hour. */

import type { DateDimension } from '../../model/dimension.ts';
import { type BodyWindow, STOPPED, wholeValue } from './json-tokens.ts';
import type { BodyRead } from './reading.ts';
import { DictionaryColumn } from './text-column.ts';

const MS_PER_DAY = 86_400_000;
const MICROS_PER_MS = 1000n;

const decoder = new TextDecoder();
const dayForm = String.raw`[1-9]\d{3}-\d\d-\d\d`;

/** The form of the labels, and the first day or instant of one. A week's form also captures its last day. */
const forms: Record<DateDimension, readonly [RegExp, (match: readonly string[]) => string]> = {
  hour: [/^([1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d)$/, ([, hour = '']) => hour],
  day: [new RegExp(`^(${dayForm})$`), ([, day = '']) => day],
  week: [new RegExp(`^(${dayForm}) - (${dayForm})$`), ([, day = '']) => day],
  month: [/^([1-9]\d{3}-\d\d)$/, ([, month = '']) => `${month}-01`],
  quarter: [
    /^Q([1-4]) ([1-9]\d{3})$/,
    ([, quarter, year = '']) => `${year}-${String(Number(quarter) * 3 - 2).padStart(2, '0')}-01`,
  ],
  year: [/^([1-9]\d{3})$/, ([, year = '']) => `${year}-01-01`],
};

/** Of a day, its first one. */
function instantOf(text: string): number | null {
  const whole = text.includes('T') ? text : `${text}T00:00:00`;
  const ms = Date.parse(`${whole}Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString() === `${whole}.000Z` ? ms : null;
}

export class DateColumn extends DictionaryColumn {
  readonly kind: DateDimension;
  isOrdered = true;
  #latest = -Infinity;
  #badLabel: BodyRead['badLabel'] = null;

  constructor(kind: DateDimension) {
    super(kind, { kind: kind === 'hour' ? 'TIMESTAMP' : 'DATE' }, (written) =>
      valueOf(written, kind),
    );
    this.kind = kind;
  }

  protected override readOther(body: BodyWindow, at: number, row: number): number {
    return this.readNew(body, at, row);
  }

  protected refuse(body: BodyWindow, at: number, end: number): number {
    const value = wholeValue(body, at);
    if (value === null) return STOPPED;
    this.#badLabel ??= { dimension: this.name, label: value.unquoted };
    return end;
  }

  /** The next row is of another body. */
  takeBadLabel(): BodyRead['badLabel'] {
    const bad = this.#badLabel;
    this.#badLabel = null;
    return bad;
  }

  follow(rows: number): void {
    const { plainValues } = this.dictionary;
    const values = new DataView(plainValues.buffer);
    let last = -1;
    for (let row = 0; row < rows; row += 1) {
      const entry = this.cells[row] ?? 0;
      if (entry === last || this.nulls[row] === 1) continue;
      last = entry;
      const value =
        this.kind === 'hour'
          ? Number(values.getBigInt64(entry * 8, true))
          : values.getInt32(entry * 4, true);
      if (value < this.#latest) this.isOrdered = false;
      this.#latest = value;
    }
  }
}

function valueOf(written: Uint8Array, kind: DateDimension): Uint8Array | null {
  const text = decoder.decode(written);
  const label = text.startsWith('"') ? String(JSON.parse(text)) : text;
  const [form, first] = forms[kind];
  const match = form.exec(label);
  const ms = match === null ? null : instantOf(first(match));
  if (match === null || ms === null) return null;
  const [, , last] = match;
  if (kind === 'week' && instantOf(last ?? '') === null) return null;
  const value =
    kind === 'hour' ? BigInt64Array.of(BigInt(ms) * MICROS_PER_MS) : Int32Array.of(ms / MS_PER_DAY);
  return new Uint8Array(value.buffer);
}
