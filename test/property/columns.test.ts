/**
 * Wherever the column reader does not give up, every cell is what the SQL way stores: random documents through both, on a
 * real DuckDB. `RIPEN_COLUMNS_DOCUMENTS` sets their number; a failure names the seed of its document.
 */

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';

import { beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { inspect } from '../../src/load/documents.ts';
import type { Answer } from '../../src/load/load-result.ts';
import { weekStartsOf } from '../../src/load/check.ts';
import { resolveTexts } from '../../src/load/odd-texts.ts';
import { canonicalise, hasOddTexts } from '../../src/load/stage.ts';
import { type Columns, createTable } from '../../src/load/target.ts';
import { countUndated, stagedRows, typeRows } from '../../src/load/text-sql.ts';
import { duplicateKeys, staging, WINDOW } from '../../src/load/window-sql.ts';
import { choose, mix } from '../../src/simulator/world/hash.ts';
import type { ColumnsRead, GaveUp, SliceColumns } from '../../src/spool/columns/reading.ts';
import { SliceReading } from '../../src/spool/columns/slice-reading.ts';
import { LongNumberQuoter } from '../../src/spool/long-numbers.ts';
import { count, identifier, literal } from '../../src/warehouse/sql.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { reportDocument, slices } from '../support/report-documents.ts';
import { openScratch } from '../support/scratch-warehouse.ts';

const DOCUMENTS = Number(process.env['RIPEN_COLUMNS_DOCUMENTS'] ?? 2400);
const SEED = Number(process.env['RIPEN_COLUMNS_SEED'] ?? 1);
const BATCH = 800;
const MAX_OBJECT_SIZE = 16 * 1024 * 1024;

let directory = '';
let warehouse: Warehouse;

beforeAll(async () => {
  const scratch = await openScratch();
  ({ directory, warehouse } = scratch);
  return scratch.close;
});

/** A document the reader took, and what it made of it. */
interface Taken {
  readonly seed: number;
  readonly json: string;
  readonly parquet: string;
  readonly read: ColumnsRead;
}

/** Reads a body that arrives in pieces of random sizes. */
function readInPieces(columns: SliceColumns, body: Buffer, to: string, seed: number): ColumnsRead | GaveUp {
  const reading = new SliceReading({ columns, to });
  for (let at = 0, piece = 0; at < body.length; piece += 1) {
    const end = at + 1 + choose(mix(seed, piece), choose(seed, 3) === 0 ? 7 : body.length);
    if (!reading.take(body.subarray(at, end))) break;
    at = end;
  }
  reading.endBody();
  return reading.finish();
}

const errorMembers = ['error', 'errors', 'error_code', 'detail'];

async function takeBatch(columns: SliceColumns, seeds: readonly number[], folder: string): Promise<Taken[]> {
  const taken: Taken[] = [];
  for (const seed of seeds) {
    const { body, isOdd } = reportDocument(columns, seed);
    const parquet = join(folder, `${seed}.parquet`);
    const read = readInPieces(columns, body, parquet, seed);
    if ('gaveUp' in read) {
      if (!isOdd)
        throw new Error(`Gave up an ordinary document: ${JSON.stringify({ seed, read, body: String(body) })}`);
      continue;
    }
    // Rows beside an error are no answer: who reads the envelope refuses them.
    const [{ members } = { members: new Map<string, string>() }] = read.envelopes;
    if (errorMembers.some((name) => !isNothing(members.get(name) ?? 'null'))) continue;
    const json = join(folder, `${seed}.json`);
    const mayRound = /\d[\d.]{15}/.test(body.toString('latin1'));
    await writeFile(json, mayRound ? await buffer(Readable.from([body]).pipe(new LongNumberQuoter())) : body);
    taken.push({ seed, json, parquet, read });
  }
  return taken;
}

const isNothing = (json: string): boolean => ['null', '{}', '""', '[]'].includes(json);

/** The items of a member that is a list or stands for one. */
function itemsOf(json: string): string[] {
  if (isNothing(json)) return [];
  const said: unknown = JSON.parse(json);
  const items: readonly unknown[] = Array.isArray(said) ? said : [said];
  return items.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
}

const plainTotals = z.record(z.string(), z.union([z.string(), z.number()])).nullable();

/** What the documents say beside their rows, by both readers. */
function expectSameEnvelope({ seed, read }: Taken, answer: Answer): void {
  const [envelope] = read.envelopes;
  const member = (name: string): string => envelope?.members.get(name) ?? 'null';
  const paging: unknown = JSON.parse(member('pagination'));
  expect({
    seed,
    rows: read.rows,
    warnings: [...itemsOf(member('warnings')), ...itemsOf(member('data_warnings'))],
    pagination: isNothing(member('pagination')) ? null : paging,
  }).toEqual({ seed, rows: answer.rowCount, warnings: answer.warnings, pagination: answer.pagination });
  const totals = plainTotals.safeParse(JSON.parse(member('totals')));
  if (!totals.success) return;
  const stated = new Map(Object.entries(totals.data ?? {}).map(([name, total]) => [name, Number(total)]));
  expect({ seed, stated }).toEqual({
    seed,
    stated: new Map([...answer.totals].map(([name, text]) => [name, Number(text)])),
  });
}

/** Fills `typed` from the documents by the steps of a load; none of them may be refused, widened or rejected. */
async function storeBySql(columns: Columns, taken: readonly Taken[]): Promise<void> {
  const answers = await inspect(
    warehouse,
    taken.map(({ json }) => json),
    MAX_OBJECT_SIZE,
  );
  for (const [place, answer] of answers.entries()) {
    const mine = taken[place];
    if (mine === undefined || 'because' in answer) throw new Error(`Refused: ${JSON.stringify({ mine, answer })}`);
    const requested = [...columns.dimensions, ...columns.metrics.map(({ id }) => id)];
    const known = new Set([...requested, 'attr_dependency']);
    const missing = requested.filter((name) => answer.rowCount > 0 && !answer.commonKeys.has(name));
    const added = [...answer.keys].filter((name) => !known.has(name));
    expect({ missing, added }).toEqual({ missing: [], added: [] });
    expectSameEnvelope(mine, answer);
  }
  await warehouse.run(
    `create or replace temp table ${staging.answers} as
     select unnest(from_json($1::json, '[{"path":"VARCHAR","parquet":"VARCHAR","window_no":"INTEGER"}]'), recursive := true), 0 as part_no`,
    [JSON.stringify(taken.map(({ json, parquet, seed }) => ({ path: json, parquet, window_no: seed })))],
  );
  await warehouse.run(stagedRows(columns));
  await warehouse.run(typeRows(columns, new Set(), new Set()));
  await warehouse.run(createTable('held', columns).replace('create table', 'create or replace temp table'));
  const { plain, notNumbers, widened } = await resolveTexts(warehouse, columns, 'held');
  expect({ notNumbers, widened: [...widened] }).toEqual({ notNumbers: [], widened: [] });
  await warehouse.run(typeRows(columns, new Set(plain.map(({ metric }) => metric)), new Set()));
  expect(await hasOddTexts(warehouse)).toBe(false);
  await canonicalise(warehouse, 'typed');
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
  const files = taken.map(({ parquet }) => literal(parquet)).join(', ');
  const fast = `select a.window_no, ${cells.join(', ')}, p.attr_dependency::varchar
    from read_parquet([${files}], filename = true) as p join ${staging.answers} as a on a.parquet = p.filename`;
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
  for (const { seed, read } of taken) {
    expect({ seed, weekStart: read.weekStartsOn }).toEqual({ seed, weekStart: weekStarts.get(seed) ?? null });
  }
}

/** Whether a key repeats in each document, by both readers; how often it does. */
async function expectSameRepeats(columns: Columns, taken: readonly Taken[]): Promise<number> {
  const windows = taken.map(({ seed }) => seed);
  const twice = await warehouse.rows(duplicateKeys(columns, windows), [], z.object({ window_no: z.number() }));
  const repeating = new Set(twice.map(({ window_no: windowNo }) => windowNo));
  expect(taken.filter(({ read }) => !read.isDistinct).map(({ seed }) => seed)).toEqual(
    windows.filter((seed) => repeating.has(seed)),
  );
  return repeating.size;
}

test(`of ${DOCUMENTS} random documents, those that the column reader takes are stored cell by cell as SQL stores them`, async () => {
  let [accepted, repeating] = [0, 0];
  for (let first = 0; first < DOCUMENTS; first += BATCH) {
    const slice = slices[choose(first / BATCH, slices.length)];
    if (slice === undefined) throw new RangeError('No slice.');
    const folder = join(directory, String(first));
    await mkdir(folder);
    const seeds = Array.from({ length: Math.min(BATCH, DOCUMENTS - first) }, (_, at) => SEED * 10_000_000 + first + at);
    const taken = await takeBatch(slice, seeds, folder);
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
