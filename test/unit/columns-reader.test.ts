/** The column reader: saved bodies, a real thread, real files. Random documents are in test/property/columns.test.ts. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { Secret } from '../../src/config/secret.ts';
import { BIGINT, MONEY } from '../../src/model/column-type.ts';
import { openColumnReader, type ColumnReader } from '../../src/extract/columns/column-reader.ts';
import type { SavedBytes, SliceColumns } from '../../src/extract/columns/reading.ts';
import { literal } from '../../src/warehouse/sql.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { openScratch } from '../support/scratch-warehouse.ts';

let directory = '';
let warehouse: Warehouse;
let reader: ColumnReader;
let made = 0;

beforeAll(async () => {
  const scratch = await openScratch();
  ({ directory, warehouse } = scratch);
  reader = openColumnReader();
  return scratch.close;
});

afterAll(async () => reader.close());

const columns: SliceColumns = {
  dimensions: ['day', 'app'],
  metrics: [
    { id: 'installs', type: BIGINT },
    { id: 'cost', type: MONEY },
  ],
};

/** Rows with a text of their own each; the cost of every seventh is NULL. */
function bodyOf(rows: number, app = 'app'): string {
  const texts = Array.from({ length: rows }, (_, at) => {
    const cost = at % 7 === 0 ? 'null' : `"${at}.5"`;
    return `{"day":"2026-01-${String(1 + (at % 28)).padStart(2, '0')}","app":"${app}${at}","installs":"${at}","cost":${cost}}`;
  });
  return `{"rows":[${texts.join(',')}],"totals":{"installs":1.0}}`;
}

const fresh = (name: string): string => {
  made += 1;
  return join(directory, `${made}.${name}`);
};

async function saved(
  body: string | Uint8Array,
  encoding: SavedBytes['encoding'] = 'identity',
): Promise<SavedBytes> {
  const path = fresh('body');
  await writeFile(path, body);
  return { path, encoding, plainBytes: body.length };
}

const sums = z.object({
  rows: z.string(),
  apps: z.string(),
  installs: z.string(),
  cost: z.string(),
  free: z.string(),
});

const sumsOf = async (path: string): Promise<unknown> =>
  warehouse.rows(
    `select count(*) as rows, count(distinct app) as apps, sum(installs) as installs, sum(cost) as cost,
        count(*) filter (where cost is null) as free
     from read_parquet(${literal(path)})`,
    [],
    sums,
  );

/** What `sumsOf` says of `bodyOf`, once or several times with the same texts. */
function expectedSums(rows: number, times = 1): unknown {
  const numbers = Array.from({ length: rows }, (_, at) => at);
  const paid = numbers.filter((at) => at % 7 !== 0);
  const sum = (of: readonly number[]): number =>
    of.reduce((total, each) => total + each, 0) * times;
  return [
    {
      rows: String(rows * times),
      apps: String(rows),
      installs: String(sum(numbers)),
      cost: `${(sum(paid) + (paid.length * times) / 2).toFixed(1)}00000`,
      free: String((rows - paid.length) * times),
    },
  ];
}

test('two saved bodies of one answer, one of them gzip, become one Parquet file', async () => {
  const to = fresh('parquet');
  const bodies = [await saved(bodyOf(100)), await saved(gzipSync(bodyOf(100)), 'gzip')];
  const keys = ['day', 'app', 'installs', 'cost'];
  const members = new Map([['totals', '{"installs":1.0}']]);
  const body = { rows: 100, members, keys, commonKeys: keys, badLabel: null, because: null };
  expect(await reader.read({ bodies, columns, to })).toMatchObject({
    bodies: [body, body],
    unfit: new Map(),
    hasExtra: false,
    hasRejected: false,
    isOrdered: false,
    isDistinct: false,
  });
  expect(await sumsOf(to)).toEqual(expectedSums(100, 2));
});

test('four plain bodies that are read at once each become a file of their own rows', async () => {
  const own = openColumnReader();
  const requests = await Promise.all(
    [3000, 3000, 2900, 3100].map(async (rows, at) => {
      return { bodies: [await saved(bodyOf(rows, `app ${at} `))], columns, to: fresh('parquet') };
    }),
  );
  const read = await Promise.all(requests.map(async (request) => own.read(request)));
  await own.close();
  expect(read.map(({ bodies }) => bodies[0]?.rows)).toEqual([3000, 3000, 2900, 3100]);
  for (const [at, { to }] of requests.entries()) {
    const apps = `select distinct split_part(app, ' ', 2) as app from read_parquet(${literal(to)})`;
    expect(await warehouse.rows(apps, [], z.object({ app: z.string() }))).toEqual([
      { app: String(at) },
    ]);
  }
});

test('a body that breaks off amid a row leaves nothing of it in the rows of the next body', async () => {
  const to = fresh('parquet');
  const whole = '{"rows":[{"day":"2026-01-01","app":"a","installs":"1","cost":"1.0"}]}';
  const bodies = [
    await saved('{"rows":[{"attr_dependency":{"partner_id":"7"}'),
    await saved(whole),
  ];
  const read = await reader.read({ bodies, columns, to });
  expect(read.bodies.map(({ rows, because }) => [rows, because === null])).toEqual([
    [0, false],
    [1, true],
  ]);
  const query = `select attr_dependency::varchar as ids from read_parquet(${literal(to)})`;
  expect(await warehouse.rows(query, [], z.object({ ids: z.string().nullable() }))).toEqual([
    { ids: null },
  ]);
});

test('130,000 rows with as many texts and a NULL in every seventh become two groups that read back whole', async () => {
  const to = fresh('parquet');
  const body = await saved(bodyOf(130_000));
  expect(await reader.read({ bodies: [body], columns, to })).toMatchObject({
    bodies: [{ rows: 130_000 }],
  });
  expect(await sumsOf(to)).toEqual(expectedSums(130_000));
  const groups = await warehouse.rows(
    `select distinct row_group_num_rows as rows from parquet_metadata(${literal(to)}) order by rows`,
    [],
    z.object({ rows: z.string() }),
  );
  expect(groups).toEqual([{ rows: '7120' }, { rows: '122880' }]);
});

test('30 MB of texts that are all different end groups early, and read back whole', async () => {
  const to = fresh('parquet');
  const body = await saved(bodyOf(30_000, 'x'.repeat(1000)));
  expect(await reader.read({ bodies: [body], columns, to })).toMatchObject({
    bodies: [{ rows: 30_000 }],
  });
  expect(await sumsOf(to)).toEqual(expectedSums(30_000));
  const groups = await warehouse.rows(
    `select count(distinct row_group_id)::integer as groups from parquet_metadata(${literal(to)})`,
    [],
    z.object({ groups: z.number() }),
  );
  expect(groups[0]?.groups).toBeGreaterThan(1);
});

test.each([
  ['cut short', (body: Buffer) => body.subarray(0, -20)],
  [
    'with a flipped byte',
    (body: Buffer) => Buffer.concat([body.subarray(0, 60), Buffer.from([255]), body.subarray(61)]),
  ],
  ['followed by something else', (body: Buffer) => Buffer.concat([body, Buffer.from('tail')])],
  ['that is none', () => Buffer.from(bodyOf(1))],
])('a gzip body %s is no answer, and says why', async (_, change) => {
  const body = await saved(change(gzipSync(bodyOf(1000))), 'gzip');
  const read = await reader.read({ bodies: [body], columns, to: fresh('parquet') });
  expect(read.bodies.map(({ because }) => because?.slice(0, 31))).toEqual([
    'it was not complete, valid gzip',
  ]);
});

const row = '{"app":"a","installs":"1"}';
test.each([
  '',
  '[]',
  '{"error":"no"}',
  '{"rows":null}',
  '{"rows":{}}',
  '{"rows":[null]}',
  '{"rows":[{"app":"a","app":"b"}]}',
  `{"rows":[${row},{"app":"a","installs":"1","app":"a"}]}`,
  `{"rows":[${row},{"app":"a","installs":01}]}`,
  String.raw`{"rows":[{"app":"\x41"}]}`,
  '{"rows":[{"app":"\t"}]}',
  `{"rows":[${row},]}`,
  `{"rows":[${row}],}`,
  '{"rows":[{"app":"a",}]}',
  `{"rows":[${row}${row}]}`,
  `{"rows":[${row}],"rows":[]}`,
  String.raw`{"rows":[],"ro\u0077s":[]}`,
  '{"rows":[],"x":1,"x":1}',
  '{"rows":[],"x":tru}',
  '{"rows":[],"x":01}',
  `{"rows":[${row},{"app":"a"`,
  `{"rows":[${row}]`,
  '{"rows":[],"x":1',
  `{"rows":[${row}]}{"rows":[]}`,
  `{"rows":[${row}]}\0`,
  `{"rows":[],"x":${'['.repeat(600)}${']'.repeat(600)}}`,
])('%s is no whole report', async (body) => {
  const read = await reader.read({ bodies: [await saved(body)], columns, to: fresh('parquet') });
  expect(read.bodies.map(({ because }) => because)).not.toContain(null);
});

test('decimals are counted of whole numbers, of each body by itself', async () => {
  const costs = ['"1.25"', '1.123456', '7', '1.23456e2', '0.10', '12345.678E-1'];
  const bodies = await Promise.all(costs.map((cost) => saved(`{"rows":[{"cost":${cost}}]}`)));
  const read = await reader.read({ bodies, columns, to: fresh('parquet') });
  const counted = read.bodies.map(({ digits }) => digits.get('cost'));
  expect(counted).toEqual([2, 6, undefined, 3, 1, 4]);
});

/** A body whose one row has a label of a date dimension; what was read of it, and the label as it is stored. */
async function readLabel(name: string, label: string | null) {
  const to = fresh('parquet');
  const bodies = [await saved(JSON.stringify({ rows: [{ [name]: label }] }))];
  const read = await reader.read({ bodies, columns: { dimensions: [name], metrics: [] }, to });
  const stored = z.object({ label: z.string().nullable() });
  const sql = `select "${name}"::varchar as label from read_parquet(${literal(to)})`;
  return { ...read.bodies[0], stored: (await warehouse.rows(sql, [], stored))[0]?.label };
}

test.each([
  ['day', '2024-02-29', '2024-02-29'],
  ['week', '2026-01-04 - 2026-01-10', '2026-01-04'],
  ['month', '2026-12', '2026-12-01'],
  ['quarter', 'Q4 2026', '2026-10-01'],
  ['year', '1969', '1969-01-01'],
  ['hour', '1969-12-31T23:59:59', '1969-12-31 23:59:59'],
  ['hour', '9999-12-31T23:00:00', '9999-12-31 23:00:00'],
])('a %s written as %s is stored as %s', async (name, label, stored) => {
  expect(await readLabel(name, label)).toMatchObject({ badLabel: null, because: null, stored });
});

test.each([
  ['day', null],
  ['day', ''],
  ['day', '2026-02-30'],
  ['day', '2026-1-1'],
  ['day', '2026-01-01T00:00:00'],
  ['day', '0000-01-01'],
  ['week', '2026-01-04'],
  ['week', '2026-01-04 - 2026-02-31'],
  ['month', '2026-13'],
  ['quarter', 'Q5 2026'],
  ['year', '20260'],
  ['hour', '2026-01-01T24:00:00'],
  ['hour', '2026-01-01T23:59:60'],
  ['hour', '2026-01-01T10:00:00Z'],
])('a %s written as %j is not a date', async (name, label) => {
  expect(await readLabel(name, label)).toMatchObject({ badLabel: { label: label ?? 'null' } });
});

test('rows with a credential in a text, in a key that was not requested or in a metric make their body unusable, here and in the thread', async () => {
  const token = new Secret('t0ken-in-rows').reveal();
  const plain = { day: '2026-01-01', app: 'a', installs: 1, cost: 1 };
  for (const change of [{ app: `<${token}>` }, { other: [token] }, { cost: token }]) {
    for (const rows of [1, 30_000]) {
      const filling = Array.from({ length: rows }, (_, at) => ({ ...plain, app: `app ${at}` }));
      const body = await saved(JSON.stringify({ rows: [{ ...plain, ...change }, ...filling] }));
      const read = await reader.read({ columns, bodies: [body], to: fresh('parquet') });
      expect(read.bodies[0]?.because).toBe('its rows contained a credential of ripen');
    }
  }
  const clean = await saved(
    JSON.stringify({ rows: [{ ...plain, app: token.slice(1) }], debug: token }),
  );
  const read = await reader.read({ columns, bodies: [clean], to: fresh('parquet') });
  expect(read.bodies[0]?.because).toBeNull();
});

test('a body that is not there and a Parquet file that is there already are failures of the disk; the next reading works', async () => {
  const body = await saved(bodyOf(1));
  const bodies = [{ ...body, path: fresh('missing'), encoding: 'gzip' as const }];
  const missing = reader.read({ bodies, columns, to: fresh('parquet') });
  await expect(missing).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  const taken = reader.read({ bodies: [body], columns, to: body.path });
  await expect(taken).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect(await readFile(body.path, 'utf8')).toBe(bodyOf(1));
  const to = fresh('parquet');
  expect(await reader.read({ bodies: [body], columns, to })).toMatchObject({
    bodies: [{ rows: 1 }],
  });
});

test('closing rejects what is under way, and what waits for its turn', async () => {
  const own = openColumnReader();
  // More than is read without a thread.
  const bodies = [await saved(bodyOf(50_000))];
  const readings = [1, 2].map(async () => own.read({ bodies, columns, to: fresh('parquet') }));
  await own.close();
  for (const reading of readings) await expect(reading).rejects.toThrow('thread');
});
