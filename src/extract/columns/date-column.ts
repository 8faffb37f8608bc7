/** Columns of date dimensions: the first day of what a label names, or the instant of an hour. */

import type { DateDimension } from '../../model/dimension.ts';
import { type BodyWindow, STOPPED, wholeValue } from './json-tokens.ts';
import type { BodyRead } from './reading.ts';
import { DictionaryColumn } from './text-column.ts';

const MS_PER_DAY = 86_400_000;
const MICROS_PER_MS = 1000n;

const decoder = new TextDecoder();
const dayForm = String.raw`[1-9]\d{3}-\d\d-\d\d`;

/** The form of the labels, and the first instant of one. A week's form also captures its last day. */
const forms: Record<
  DateDimension,
  { readonly form: RegExp; readonly first: (match: readonly string[]) => string }
> = {
  hour: { form: /^([1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d)$/, first: ([, hour = '']) => hour },
  day: { form: new RegExp(`^(${dayForm})$`), first: ([, day = '']) => `${day}T00:00:00` },
  week: {
    form: new RegExp(`^(${dayForm}) - (${dayForm})$`),
    first: ([, day = '']) => `${day}T00:00:00`,
  },
  month: { form: /^([1-9]\d{3}-\d\d)$/, first: ([, month = '']) => `${month}-01T00:00:00` },
  quarter: {
    form: /^Q([1-4]) ([1-9]\d{3})$/,
    first: ([, quarter = '', year = '']) =>
      `${year}-${String(Number(quarter) * 3 - 2).padStart(2, '0')}-01T00:00:00`,
  },
  year: { form: /^([1-9]\d{3})$/, first: ([, year = '']) => `${year}-01-01T00:00:00` },
};

function instantOf(text: string): number | null {
  const ms = Date.parse(`${text}Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString() === `${text}.000Z` ? ms : null;
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
  const { form, first } = forms[kind];
  const match = form.exec(label);
  const ms = match === null ? null : instantOf(first(match));
  if (match === null || ms === null) return null;
  const [, , last] = match;
  if (kind === 'week' && instantOf(`${last}T00:00:00`) === null) return null;
  const value =
    kind === 'hour' ? BigInt64Array.of(BigInt(ms) * MICROS_PER_MS) : Int32Array.of(ms / MS_PER_DAY);
  return new Uint8Array(value.buffer);
}
