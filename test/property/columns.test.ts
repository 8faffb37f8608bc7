/**
 * The column reader against two oracles: what it takes as texts is what `lossless-json` parses, cell by cell, and what it takes in
 * the types of its columns is what SQL makes of those texts: random documents, on a real DuckDB. `RIPEN_COLUMNS_DOCUMENTS` sets
 * their number; a failure names the seed of its document.
 */

import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { parse, stringify } from 'lossless-json';
import { beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { weekStartsOf } from '../../src/load/check.ts';
import { resolveTexts } from '../../src/load/odd-texts.ts';
import { hasOddTexts } from '../../src/load/stage.ts';
import { type Columns, createTable } from '../../src/load/target.ts';
import { countUndated, typeRows } from '../../src/load/text-sql.ts';
import { duplicateKeys, stagedTexts, staging, WINDOW } from '../../src/load/window-sql.ts';
import { canonicalJson } from '../../src/model/canonical-json.ts';
import { choose, mix } from '../../src/simulator/world/hash.ts';
import type { ColumnsRead, SliceColumns } from '../../src/spool/columns/reading.ts';
import { SliceReading } from '../../src/spool/columns/slice-reading.ts';
import { count, identifier, literal } from '../../src/warehouse/sql.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { reportDocument, slices } from '../support/report-documents.ts';
import { openScratch } from '../support/scratch-warehouse.ts';

const DOCUMENTS = Number(process.env['RIPEN_COLUMNS_DOCUMENTS'] ?? 2400);
const SEED = Number(process.env['RIPEN_COLUMNS_SEED'] ?? 1);
const BATCH = 800;

let directory = '';
let warehouse: Warehouse;

beforeAll(async () => {
  const scratch = await openScratch();
  ({ directory, warehouse } = scratch);
  return scratch.close;
});

/** Reads a body that arrives in pieces of random sizes; why it is not taken, or what was read. */
function readInPieces(
  columns: SliceColumns,
  body: Buffer,
  { to, seed, textsBecause }: { readonly to: string; readonly seed: number; readonly textsBecause: string | null },
): ColumnsRead | string {
  const reading = new SliceReading({ columns, to }, textsBecause);
  for (let at = 0, piece = 0; at < body.length; piece += 1) {
    const end = at + 1 + choose(mix(seed, piece), choose(seed, 3) === 0 ? 7 : body.length);
    if (reading.take(body.subarray(at, end)) !== null) break;
    at = end;
  }
  const because = reading.endBody();
  if (because === null) return reading.finish();
  reading.abandon();
  return because;
}

/** A document that was taken as texts, and perhaps in types. */
interface Taken {
  readonly seed: number;
  readonly body: Buffer;
  readonly texts: { readonly file: string; readonly read: ColumnsRead };
  readonly typed: { readonly file: string; readonly read: ColumnsRead } | null;
}

function takeBatch(columns: SliceColumns, seeds: readonly number[], folder: string): Taken[] {
  return seeds.flatMap((seed): Taken[] => {
    const { body, isOdd } = reportDocument(columns, seed);
    const [file, textFile] = [join(folder, `${seed}.parquet`), join(folder, `${seed}.texts.parquet`)];
    const typed = readInPieces(columns, body, { to: file, seed, textsBecause: null });
    const texts = readInPieces(columns, body, { to: textFile, seed, textsBecause: 'a test' });
    if (typeof typed === 'string' && !isOdd)
      throw new Error(`Did not take ${JSON.stringify({ seed, typed, body: String(body) })}`);
    if (typeof texts === 'string') {
      if (typeof typed !== 'string')
        throw new Error(`Took no texts of ${JSON.stringify({ seed, texts, body: String(body) })}`);
      return [];
    }
    return [
      {
        seed,
        body,
        texts: { file: textFile, read: texts },
        typed: typeof typed === 'string' ? null : { file, read: typed },
      },
    ];
  });
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

const inJson = (value: unknown): string | null => (typeof value === 'string' ? JSON.stringify(value) : inText(value));

function refuseDuplicate({ key }: { readonly key: string }): never {
  throw new SyntaxError(`Duplicate key ${key}`);
}

/** The rows of a document as its oracle has them; null where it has words that JSON has not, or a key twice in an object, which stays. */
function rowsByOracle({ body, seed }: Taken, requested: readonly string[]): Row[] | null {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  if (/NaN|Infinity/.test(text)) return null;
  let document: unknown;
  try {
    document = parse(text.replace(/^\u{feff}/u, ''), null, { onDuplicateKey: refuseDuplicate });
  } catch (error) {
    if (error instanceof SyntaxError && error.message.startsWith('Duplicate key')) return null;
    throw error;
  }
  if (!isRecord(document) || !Array.isArray(document['rows'])) throw new Error(`No document: ${seed}`);
  return document['rows'].map((row: unknown): Row => {
    const cells = isRecord(row) ? row : {};
    const known = new Set([...requested, 'attr_dependency']);
    const extra = Object.entries(cells).filter(([name]) => !known.has(name));
    const named = [
      ...requested.map((name) => [name, Object.hasOwn(cells, name) ? inText(cells[name]) : null] as const),
      ['attr_dependency', inJson(cells['attr_dependency'])] as const,
      ['_extra', extra.length === 0 ? null : inText(Object.fromEntries(extra))] as const,
    ];
    return Object.fromEntries(named);
  });
}

const plainNumber = /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/;

/** Bare numbers and objects are taken as they are written, equal members too, which the oracle forgets. */
function respelled(text: string | null): string | null {
  if (text !== null && /^[{[]/.test(text) && isOfOracle(text)) return canonicalJson(stringify(parse(text)) ?? '');
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

async function expectAsByOracle(taken: readonly Taken[], columns: Columns): Promise<void> {
  const requested = [...columns.dimensions, ...columns.metrics.map(({ id }) => id)];
  const names = [...requested, 'attr_dependency', '_extra'];
  for (const each of taken) {
    const expected = rowsByOracle(each, requested);
    if (expected === null) continue;
    const cells = names.map((name) => `${identifier(name)}::varchar as ${identifier(name)}`).join(', ');
    const stored = await warehouse.rows(
      `select ${cells} from read_parquet(${literal(each.texts.file)})`,
      [],
      z.record(z.string(), z.string().nullable()),
    );
    const alike = (rows: readonly Row[]): unknown =>
      rows.map((row) => Object.fromEntries(names.map((name) => [name, respelled(row[name] ?? null)])));
    expect({ seed: each.seed, rows: alike(stored) }).toEqual({ seed: each.seed, rows: alike(expected) });
  }
}

const requestedPart = { firstBody: 0, bodies: 1, pages: { length: 1 }, types: null, partNo: 0 };

/** Fills `typed` from the texts by the steps of a load; none of them may be refused, widened or rejected. */
async function storeBySql(columns: Columns, taken: readonly Taken[]): Promise<void> {
  const parts = taken.map(({ seed, texts: { file } }) => ({ ...requestedPart, file, windowNo: seed }));
  await warehouse.run(stagedTexts(columns, parts));
  await warehouse.run(typeRows(columns, new Set(), new Set()));
  await warehouse.run(createTable('held', columns).replace('create table', 'create or replace temp table'));
  const { plain, notNumbers, widened } = await resolveTexts(warehouse, columns, 'held');
  expect({ notNumbers, widened: [...widened] }).toEqual({ notNumbers: [], widened: [] });
  await warehouse.run(typeRows(columns, new Set(plain.map(({ metric }) => metric)), new Set()));
  expect(await hasOddTexts(warehouse)).toBe(false);
  const undated = countUndated(columns);
  const [found] = undated === null ? [] : await warehouse.rows(undated, [], z.object({ rows: count }));
  expect(found?.rows ?? 0).toBe(0);
}

const difference = z.object({ window_no: z.number(), side: z.string(), row: z.string() });

/** Rows that only one of the two ways has. */
async function differences(columns: Columns, taken: readonly Taken[]): Promise<z.infer<typeof difference>[]> {
  const doubles = new Set(columns.metrics.filter(({ type }) => type.kind === 'DOUBLE').map(({ id }) => id));
  const names = [...columns.dimensions, ...columns.metrics.map(({ id }) => id)];
  // As text, a double shows its every bit.
  const cells = names.map((name) => (doubles.has(name) ? `${identifier(name)}::varchar` : identifier(name)));
  const files = taken.map(({ typed }) => literal(typed?.file ?? '')).join(', ');
  const seeds = `[${taken.map(({ seed }) => seed).join(', ')}][file_index::bigint + 1]::integer`;
  const fast = `select ${seeds} as window_no, ${cells.join(', ')}, attr_dependency::varchar from read_parquet([${files}])`;
  const slow = `select ${WINDOW} as window_no, ${cells.join(', ')}, attr_dependency::varchar from ${staging.typed}`;
  const typed = [...names, 'attr_dependency'].map(identifier).join(', ');
  const types = await warehouse.rows(
    `select
        (select to_json(list(column_type)) from (describe select ${typed} from ${staging.typed})) as slow,
        (select to_json(list(column_type)) from (describe select ${typed} from read_parquet([${files}]))) as fast`,
    [],
    z.object({ slow: z.string(), fast: z.string() }),
  );
  expect(types.map(({ fast: each }) => each)).toEqual(types.map(({ slow: each }) => each));
  return warehouse.rows(
    `with fast as materialized (${fast}), slow as materialized (${slow})
     select window_no, 'only the column reader' as side, to_json(f)::varchar as "row" from (from fast except all from slow) as f
     union all
     select window_no, 'only SQL' as side, to_json(s)::varchar as "row" from (from slow except all from fast) as s
     order by all limit 10`,
    [],
    difference,
  );
}

/** What the labels say about each document, by both readers. */
async function expectSameWeeks(columns: Columns, taken: readonly Taken[]): Promise<void> {
  if (!columns.dimensions.includes('week')) return;
  const weekStarts = await weekStartsOf(warehouse);
  for (const { seed, typed } of taken) {
    expect({ seed, weekStart: typed?.read.weekStartsOn }).toEqual({ seed, weekStart: weekStarts.get(seed) ?? null });
  }
}

/** Whether a key repeats in each document, by both readers; how often it does. */
async function expectSameRepeats(columns: Columns, taken: readonly Taken[]): Promise<number> {
  const windows = taken.map(({ seed }) => seed);
  const twice = await warehouse.rows(duplicateKeys(columns, windows), [], z.object({ window_no: z.number() }));
  const repeating = new Set(twice.map(({ window_no: windowNo }) => windowNo));
  expect(taken.filter(({ typed }) => typed?.read.isDistinct === false).map(({ seed }) => seed)).toEqual(
    windows.filter((seed) => repeating.has(seed)),
  );
  return repeating.size;
}

test(`of ${DOCUMENTS} random documents, those that the column reader takes are stored cell by cell as the oracle reads and SQL types them`, async () => {
  let [accepted, repeating] = [0, 0];
  for (let first = 0; first < DOCUMENTS; first += BATCH) {
    const slice = slices[choose(first / BATCH, slices.length)];
    if (slice === undefined) throw new RangeError('No slice.');
    const folder = join(directory, String(first));
    await mkdir(folder);
    const seeds = Array.from({ length: Math.min(BATCH, DOCUMENTS - first) }, (_, at) => SEED * 10_000_000 + first + at);
    const all = takeBatch(slice, seeds, folder);
    const taken = all.filter(({ typed }) => typed !== null);
    const columns: Columns = {
      dimensions: slice.dimensions.map(({ name }) => name),
      metrics: slice.metrics.map(({ name, type }) => ({
        id: name,
        type,
        declared: type,
        additive: true,
        isAssumed: false,
      })),
    };
    await expectAsByOracle(all, columns);
    await storeBySql(columns, taken);
    expect(await differences(columns, taken)).toEqual([]);
    await expectSameWeeks(columns, taken);
    const repeated = await expectSameRepeats(columns, taken);
    repeating += repeated;
    accepted += taken.length;
    await rm(folder, { recursive: true });
  }
  expect(repeating / accepted).toBeGreaterThan(0.01);
  // Of documents that are odd in half of the cases, neither nearly all nor nearly none are taken.
  expect(accepted / DOCUMENTS).toBeGreaterThan(0.5);
  expect(accepted / DOCUMENTS).toBeLessThan(0.8);
}, 7_200_000);
