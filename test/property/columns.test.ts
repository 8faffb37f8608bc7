/**
 * The column reader against an oracle: what it takes of random documents is what `lossless-json` parses, cell by cell, on a real
 * DuckDB. `RIPEN_COLUMNS_DOCUMENTS` sets their number; a failure names the seed of its document.
 */

import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { parse, stringify } from 'lossless-json';
import { beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { canonicalJson } from '../../src/model/canonical-json.ts';
import {
  type ColumnType,
  digitsOf,
  formatDecimal,
  parseDecimal,
  widen,
} from '../../src/model/column-type.ts';
import { type DateDimension, isDateDimension } from '../../src/model/dimension.ts';
import { choose, mix } from '../../src/simulator/world/hash.ts';
import {
  ATTR_DEPENDENCY,
  type ColumnsRead,
  EXTRA,
  REJECTED,
  type SliceColumns,
} from '../../src/extract/columns/reading.ts';
import { SliceReading } from '../../src/extract/columns/slice-reading.ts';
import { identifier, literal } from '../../src/warehouse/sql.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { reportDocument, slices } from '../support/report-documents.ts';
import { openScratch } from '../support/scratch-warehouse.ts';

const DOCUMENTS = Number(process.env['RIPEN_COLUMNS_DOCUMENTS'] ?? 800);
const SEED = Number(process.env['RIPEN_COLUMNS_SEED'] ?? 1);
const BATCH = 200;

let directory = '';
let warehouse: Warehouse;

beforeAll(async () => {
  const scratch = await openScratch();
  ({ directory, warehouse } = scratch);
  return scratch.close;
});

/** A document that was taken. */
interface Taken {
  readonly seed: number;
  readonly body: Buffer;
  readonly file: string;
  readonly read: ColumnsRead;
}

/** Reads a body that arrives in pieces of random sizes; none where it is not one whole report, as only an odd one may be. */
function takeDocument(columns: SliceColumns, seed: number, folder: string): Taken[] {
  const { body, isOdd } = reportDocument(columns, seed);
  const file = join(folder, `${seed}.parquet`);
  const reading = new SliceReading({ columns, to: file });
  for (let at = 0, piece = 0; at < body.length; piece += 1) {
    const end = at + 1 + choose(mix(seed, piece), choose(seed, 3) === 0 ? 7 : body.length);
    if (reading.take(body.subarray(at, end)) !== null) break;
    at = end;
  }
  reading.endBody();
  const read = reading.finish();
  const because = read.bodies[0]?.because ?? null;
  if (because === null) return [{ seed, body, file, read }];
  if (!isOdd)
    throw new Error(`Did not take ${JSON.stringify({ seed, because, body: String(body) })}`);
  return [];
}

type Row = Readonly<Record<string, string | null>>;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const inText = (value: unknown): string | null =>
  value === null || value === undefined
    ? null
    : typeof value === 'string'
      ? value
      : canonicalJson(stringify(value) ?? '');

const inJson = (value: unknown): string | null =>
  typeof value === 'string' ? JSON.stringify(value) : inText(value);

/** U+FFFD stands for half a surrogate. */
const wellFormed = (_: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed() : value;

function refuseDuplicate({ key }: { readonly key: string }): never {
  throw new SyntaxError(`Duplicate key ${key}`);
}

/** The rows of a document as its oracle has them; null where it has words that JSON has not, or a key twice in an object, which stays. */
function rowsByOracle({ body, seed }: Taken, requested: readonly string[]): Row[] | null {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  if (/NaN|Infinity/.test(text)) return null;
  let document: unknown;
  try {
    document = parse(text.replace(/^\u{feff}/u, ''), wellFormed, {
      onDuplicateKey: refuseDuplicate,
    });
  } catch (error) {
    if (error instanceof SyntaxError && error.message.startsWith('Duplicate key')) return null;
    throw error;
  }
  if (!isRecord(document) || !Array.isArray(document['rows']))
    throw new Error(`No document: ${seed}`);
  return document['rows'].map((row: unknown): Row => {
    const cells = isRecord(row) ? row : {};
    const known = new Set([...requested, 'attr_dependency']);
    const extra = Object.entries(cells).filter(([name]) => !known.has(name));
    const named = [
      ...requested.map(
        (name) => [name, Object.hasOwn(cells, name) ? inText(cells[name]) : null] as const,
      ),
      ['attr_dependency', inJson(cells['attr_dependency'])] as const,
      ['_extra', extra.length === 0 ? null : inText(Object.fromEntries(extra))] as const,
    ];
    return Object.fromEntries(named);
  });
}

const plainNumber = /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/;

/** Bare numbers and objects are taken as they are written, equal members too, which the oracle forgets. */
function respelled(text: string | null): string | null {
  if (text !== null && /^[{[]/.test(text) && isOfOracle(text))
    return canonicalJson(stringify(parse(text)) ?? '');
  return text !== null && plainNumber.test(text) ? canonicalJson(text) : text;
}

function isOfOracle(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

const dateOf: Record<DateDimension, (stored: string) => string> = {
  hour: (stored) => stored.replace(' ', 'T'),
  day: (stored) => stored,
  week: (stored) => stored,
  month: (stored) => stored.slice(0, 7),
  quarter: (stored) => `Q${Math.ceil(Number(stored.slice(5, 7)) / 3)} ${stored.slice(0, 4)}`,
  year: (stored) => stored.slice(0, 4),
};

/** What a metric's text comes to in a column, in one comparable form. */
function numberOf(text: string | null, type: ColumnType): string | null {
  if (text === null || /^ *$/.test(text)) return null;
  const decimal = parseDecimal(text);
  if (decimal === null) return 'rejected';
  if (type.kind === 'DOUBLE')
    return Number.isFinite(Number(text)) ? String(Number(text)) : 'rejected';
  const { whole, fraction } = digitsOf(decimal);
  if (whole <= type.whole && fraction <= type.fraction) return formatDecimal(decimal);
  return widen(type, { whole, fraction }) === null ? 'rejected' : 'unfit';
}

const storedNumber = (text: string | null, { kind }: ColumnType): string | null => {
  if (text === null) return null;
  const decimal = parseDecimal(text);
  return kind === 'DOUBLE' || decimal === null ? String(Number(text)) : formatDecimal(decimal);
};

async function storedRows({ dimensions, metrics }: SliceColumns, file: string): Promise<Row[]> {
  const names = [...dimensions, ...metrics.map(({ id }) => id)];
  const cells = [...names, ATTR_DEPENDENCY, EXTRA, REJECTED].map(
    (name) => `${identifier(name)}::varchar as ${identifier(name)}`,
  );
  const sql = `select ${cells.join(', ')} from read_parquet(${literal(file)})`;
  return warehouse.rows(sql, [], z.record(z.string(), z.string().nullable()));
}

const rejectedShape = z.object({ reasons: z.array(z.object({ metric: z.string() })) });

/** A document's rows, as stored and as the oracle has them; what it rejects, cannot hold, or takes for no date besides. */
async function compared(
  columns: SliceColumns,
  taken: Taken,
): Promise<{ readonly found: unknown; readonly expected: unknown } | null> {
  const { dimensions, metrics } = columns;
  const expected = rowsByOracle(taken, [...dimensions, ...metrics.map(({ id }) => id)]);
  if (expected === null) return null;
  const { unfit, bodies, hasExtra } = taken.read;
  const isWrong = bodies.some(({ badLabel }) => badLabel !== null);
  const stored = await storedRows(columns, taken.file);
  const unfitOf = new Set<string>();
  let isWrongByOracle = false;
  const rows = expected.map((row, at) => {
    const held = stored[at] ?? {};
    const rejected = held[REJECTED] ?? null;
    const rejecting =
      rejected === null
        ? []
        : rejectedShape.parse(JSON.parse(rejected)).reasons.map(({ metric }) => metric);
    const cells = dimensions.map((name) => {
      const [text, value] = [row[name] ?? null, held[name] ?? null];
      if (!isDateDimension(name)) return [name, respelled(text), respelled(value)];
      // A dimension that rows lack fails the window by itself.
      if (value === null)
        isWrongByOracle = isWrong || bodies.every(({ commonKeys }) => commonKeys.includes(name));
      return [
        name,
        value === null ? null : name === 'week' ? text?.slice(0, 10) : text,
        value === null ? null : dateOf[name](value),
      ];
    });
    const numbers = metrics.map(({ id: name, type }) => {
      const [number, value] = [
        numberOf(row[name] ?? null, type),
        storedNumber(held[name] ?? null, type),
      ];
      if (number === 'unfit') unfitOf.add(name);
      if (number === 'rejected')
        return [name, number, rejecting.includes(name) ? 'rejected' : value];
      return [name, number, number === 'unfit' ? 'unfit' : value];
    });
    const objects = [ATTR_DEPENDENCY, EXTRA].map((name) => [
      name,
      respelled(row[name] ?? null),
      respelled(held[name] ?? null),
    ]);
    return [...cells, ...numbers, ...objects];
  });
  const side = (place: 1 | 2): unknown =>
    rows.map((row) => row.map((cell) => [cell[0], cell[place]]));
  const hasExtraByOracle = expected.some((row) => (row[EXTRA] ?? null) !== null);
  return {
    found: [side(2), stored.length, [...unfit.keys()].toSorted(), isWrong, hasExtra],
    expected: [
      side(1),
      expected.length,
      [...unfitOf].toSorted(),
      isWrongByOracle,
      hasExtraByOracle,
    ],
  };
}

/** Whether a document's keys repeat, by the engine. */
async function repeats({ dimensions }: SliceColumns, file: string): Promise<boolean> {
  const key = [...dimensions.map((name) => identifier(name)), ATTR_DEPENDENCY].join(', ');
  const sql = `select 1 as one from read_parquet(${literal(file)}) group by ${key} having count(*) > 1`;
  return (await warehouse.rows(sql, [], z.unknown())).length > 0;
}

test(`of ${DOCUMENTS} random documents, those that are whole reports are stored cell by cell as the oracle reads them`, async () => {
  let [accepted, repeating] = [0, 0];
  for (let first = 0; first < DOCUMENTS; first += BATCH) {
    const slice = slices[(first / BATCH) % slices.length];
    if (slice === undefined) throw new RangeError('No slice.');
    const folder = join(directory, String(first));
    await mkdir(folder);
    const seeds = Array.from(
      { length: Math.min(BATCH, DOCUMENTS - first) },
      (_, at) => SEED * 10_000_000 + first + at,
    );
    const all = seeds.flatMap((seed) => takeDocument(slice, seed, folder));
    for (const taken of all) {
      const { seed } = taken;
      const both = await compared(slice, taken);
      if (both === null) continue;
      expect({ seed, is: both.found }).toEqual({ seed, is: both.expected });
      if (taken.read.bodies[0]?.badLabel !== null) continue;
      const isRepeating = await repeats(slice, taken.file);
      expect({ seed, isDistinct: taken.read.isDistinct }).toEqual({
        seed,
        isDistinct: !isRepeating,
      });
      if (isRepeating) repeating += 1;
    }
    accepted += all.length;
    await rm(folder, { recursive: true });
  }
  expect(repeating / accepted).toBeGreaterThan(0.01);
  expect(accepted / DOCUMENTS).toBeGreaterThan(0.7);
  expect(accepted / DOCUMENTS).toBeLessThan(0.95);
}, 7_200_000);
