import { readdirSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { Writable } from 'node:stream';

import { beforeEach, describe, expect, test } from 'vitest';

import { readConfig } from '../../src/config/read-config.ts';
import { addDays, day } from '../../src/model/calendar.ts';
import { exportSlice, type Exported, type ExportOptions } from '../../src/publish/export.ts';
import { assertOutput } from '../../src/publish/places/destinations.ts';
import { ask, openSample, rowsOf, type Sample } from '../support/sample-warehouse.ts';

let sample: Sample;

beforeEach(async () => {
  sample = await openSample(4, 5);
});

const nowhere = new Writable();

function exportTo(
  name: string,
  change: Partial<ExportOptions> = {},
  stream = nowhere,
): Promise<Exported> {
  const output = name === '-' ? '-' : sample.path(name);
  return exportSlice(sample.warehouse, {
    slice: 'network_daily',
    output,
    mode: 0o640,
    stream,
    ...change,
  });
}

describe('an export', () => {
  test.each(['rows.parquet', 'rows.csv'])(
    'to %s holds the 20 rows exactly, whole and with the rights asked for',
    async (name) => {
      expect(await exportTo(name)).toMatchObject({ rows: 20 });
      const path = sample.path(name);
      const exact = `sum(installs::hugeint)::varchar as installs, sum(revenue::varchar::decimal(38,10))::varchar as revenue,
        count(distinct network)::integer as networks, min(day::date)::varchar as first`;
      const reader = name === 'rows.csv' ? `read_csv('${path}', all_varchar = true)` : `'${path}'`;
      expect(await ask(':memory:', `select ${exact} from ${reader}`)).toEqual(
        await rowsOf(sample.warehouse, `select ${exact} from network_daily`),
      );
      expect((await stat(path)).mode & 0o777).toBe(0o640);
      expect(readdirSync(sample.directory).filter((file) => file.includes('unfinished'))).toEqual(
        [],
      );
    },
  );

  test('to rows.ndjson writes 20 lines with every digit of long numbers', async () => {
    await exportTo('rows.ndjson');
    const text = await readFile(sample.path('rows.ndjson'), 'utf8');
    expect(text.trimEnd().split('\n')).toHaveLength(20);
    expect(text).toContain('"revenue":123456789012345678.0000000001,');
    expect(text).toContain('"installs":9007199254740993,');
  });

  test('from the 2nd to the 3rd holds those 2 days of 4, both included', async () => {
    await exportTo('rows.parquet', { from: day('2026-01-02'), to: day('2026-01-03') });
    expect(
      await ask(
        ':memory:',
        `select min(day)::varchar as a, max(day)::varchar as b, count(*)::integer as n from '${sample.path('rows.parquet')}'`,
      ),
    ).toEqual([{ a: '2026-01-02', b: '2026-01-03', n: 10 }]);
  });

  test.each([
    ['week', '2025-12-29', '2026-01-05'],
    ['month', '2026-01-01', '2026-02-01'],
    ['quarter', '2026-01-01', '2026-04-01'],
    ['year', '2026-01-01', '2027-01-01'],
  ])(
    'of a table by %s from %s holds each one whole of which it has a day',
    async (grain, one, next) => {
      await sample.warehouse.alter(
        `create table main.buckets as select unnest([date '${one}', date '${next}']) as "${grain}", 1 as installs`,
      );
      for (const [from, to, rows] of [
        [one, one, 1],
        ['2026-01-02', '2026-01-03', 1],
        [addDays(day(next), -1), next, 2],
        [next, null, 1],
      ] as const) {
        const days = { from: day(from), to: to === null ? null : day(to) };
        expect(await exportTo('buckets.csv', { table: 'buckets', ...days })).toMatchObject({
          rows,
        });
      }
    },
  );

  test('of final values alone has NULL in the 10 cells that are not', async () => {
    await exportTo('rows.parquet', { finalOnly: true });
    expect(
      await ask(
        ':memory:',
        `select count(*)::integer as n, count(installs)::integer as final from '${sample.path('rows.parquet')}'`,
      ),
    ).toEqual([{ n: 20, final: 10 }]);
  });

  test('to a stream that is closed early is no failure', async () => {
    const closed = new Writable({
      write(_chunk, _encoding, done) {
        done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' }));
      },
    });
    expect(await exportTo('-', { format: 'ndjson' }, closed)).toMatchObject({ rows: 20 });
  });
});

describe('a CSV', () => {
  test('defuses the 7 beginnings of a formula in text, leaves negative numbers, NULL and empty text as they are', async () => {
    await sample.warehouse.run('delete from network_daily');
    await sample.warehouse.run(
      `insert into network_daily
       select DATE '2026-01-01', '', unnest(['=1+1', '+1', '-1', '@a', e'\\tx', e'\\rx', e'\\n=1', 'a=1', '']), -1, -0.5, null, -1.5, '{}', null, 1`,
    );
    await exportTo('rows.csv');
    const read = await ask(
      ':memory:',
      `select network, installs, cost, revenue is null as missing from read_csv('${sample.path('rows.csv')}', all_varchar = true) order by network`,
    );
    expect(new Set(read.map(({ network }) => network ?? ''))).toEqual(
      new Set(["'=1+1", "'+1", '-1', "'@a", "'\tx", "'\rx", "'\n=1", 'a=1', '']),
    );
    expect(read[0]).toMatchObject({ installs: '-1', cost: '-0.500000', missing: true });
    expect(await readFile(sample.path('rows.csv'), 'utf8')).toContain(
      '2026-01-01,"","",-1,-0.500000,,-1.5,{},',
    );
  });
});

describe('exporting refuses', () => {
  test.each([
    ['Parquet that is compressed once more', 'rows.parquet.gz', {}],
    ['an extension it does not know', 'rows.xlsx', {}],
    ['a stream without a format', '-', {}],
    ['a slice that was never loaded', 'rows.csv', { slice: 'nobody' }],
    [
      'days from the 3rd to the 2nd',
      'rows.csv',
      { from: day('2026-01-03'), to: day('2026-01-02') },
    ],
    ['days of a table without a date', 'rows.csv', { table: 'apps', from: day('2026-01-01') }],
  ])('%s, and writes nothing', async (_what, name, change) => {
    await expect(exportTo(name, change)).rejects.toMatchObject({ code: 'USAGE_INVALID' });
    expect(readdirSync(sample.directory).filter((file) => file.startsWith('rows'))).toEqual([]);
  });

  test('a directory that is not there, as STORAGE_FAILED, and keeps the file of before where it is', async () => {
    await writeFile(sample.path('rows.csv'), 'old');
    await expect(exportTo('nowhere/rows.csv')).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    expect(await readFile(sample.path('rows.csv'), 'utf8')).toBe('old');
  });

  test('an output that ripen reads or writes by itself, and no other', async () => {
    await writeFile(sample.path('token'), 'abc', { mode: 0o600 });
    await writeFile(
      sample.path('ripen.yaml'),
      `service: { base_url: https://a.example.com, reports_url: https://b.example.com, token_file: token }
warehouse: warehouse.duckdb
publish: [{ duckdb: copy.duckdb }, { parquet: lake }]
slices: [{ name: daily, dimensions: [day], metrics: [installs], date_period: "2026-01-01:yesterday" }]`,
    );
    const config = await readConfig({ directory: sample.directory, environment: {} });
    await assertOutput(config, sample.path('rows.csv'));
    const own = [
      'ripen.yaml',
      'token',
      'warehouse.duckdb',
      'warehouse.duckdb.archive/x.csv',
      'copy.duckdb',
      'lake/x.csv',
    ];
    for (const name of own) {
      const refused = assertOutput(config, sample.path(name));
      await expect(refused, name).rejects.toMatchObject({ code: 'USAGE_INVALID' });
    }
  });
});
