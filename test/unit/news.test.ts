/** Which totals are news: those that the service states differently although their time had come; and how items are told. */

import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';

import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/read-config.ts';
import { readStatus } from '../../src/report/status/status.ts';
import type { NewsItem } from '../../src/report/status/status-report.ts';
import { newsText } from '../../src/report/terminal/news-text.ts';
import { fingerprintOf } from '../../src/model/slice.ts';
import { insertRows, statement } from '../../src/warehouse/sql.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { storeRows } from '../support/ledger-rows.ts';
import { openScratch } from '../support/scratch-warehouse.ts';
import { sampleReport, sampleSlice } from '../support/status-sample.ts';

let config: Config;
let directory: string;
let warehouse: Warehouse;

const nightOf = (day: string): string => `${day} 06:00:00`;
const AS_OF = new Date('2026-02-14T06:00:00Z');

beforeEach(async () => {
  const scratch = await openScratch();
  ({ warehouse, directory } = scratch);
  const names = ['daily', 'other', 'older', 'old'];
  configure(...names.map((name) => [name, 'day', 'installs'] as const));
  for (const day of ['2026-02-12', '2026-02-13', '2026-02-14'])
    await storeRows(warehouse, 'ripen.runs', { run_id: day, started_at: nightOf(day) });
  await holdSlice('daily');
  return scratch.close;
});

/** Configures slices of a metric each. */
function configure(
  ...slices: readonly (readonly [name: string, dimensions: string, metric: string])[]
) {
  const listed = slices.map(
    ([name, dimensions, metric]) =>
      `{ name: ${name}, dimensions: [${dimensions}], metrics: [${metric}], date_period: "2026-02-10:yesterday" }`,
  );
  const text = `service: simulator\nwarehouse: w.duckdb\nslices: [${listed.join(', ')}]\n`;
  config = parseConfig(text, { file: 'ripen.yaml', directory, environment: {} });
}

/** A slice with a plain metric, final after 7 days, and one of age 3; the day is loaded. */
async function holdSlice(slice: string, day = '2026-02-10'): Promise<void> {
  await storeRows(warehouse, 'ripen.slice_tables', { slice, control: 'totals' });
  const metrics = [
    { slice, metric: 'installs', position: 0, comparable_seconds: 0 },
    { slice, metric: 'revenue_d3', position: 1, comparable_seconds: 4 * 86_400 },
  ];
  await storeRows(warehouse, 'ripen.slice_metrics', ...metrics);
  await storeRows(warehouse, 'ripen.periods', { slice, start_day: day, state: 'maturing' });
}

/** The control totals that a night read of some metrics, of which these changed. */
async function read(
  night: string,
  changed: Readonly<Record<string, number | null>>,
  metrics = ['installs', 'revenue_d3'],
  at = nightOf(night),
): Promise<void> {
  const reading = { control: 'totals', run_id: night, read_at: at };
  const days = { start_day: '2026-01-01', end_day: night };
  await insertRows(warehouse, 'ripen.control_readings', [{ ...reading, ...days, metrics }]);
  const rows = Object.entries(changed).map(([key, value]) => {
    const [metric = '', startsAt = ''] = key.split('@');
    return { control: 'totals', metric, starts_at: startsAt, seen_at: at, value };
  });
  await insertRows(warehouse, 'ripen.control_totals', rows);
}

const moved = async (since: Date | null = null): Promise<string[]> => {
  const { news } = await readStatus(config, warehouse, AS_OF, null, since);
  return news.items
    .filter(({ kind }) => kind.endsWith('total moved'))
    .map(({ kind, slice, name, periods, before, after, found_at: at }) =>
      [at.slice(0, 10), kind, slice, name, periods, before, after].join(' '),
    );
};

describe('a total', () => {
  test('that moved since the run before is told for every configured slice compared with it, an earlier one is not', async () => {
    await holdSlice('other');
    await read('2026-02-12', { 'installs@2026-02-10': 5 });
    await read('2026-02-13', { 'installs@2026-02-10': 6 });
    await read('2026-02-14', { 'installs@2026-02-10': 8 });
    expect(await moved()).toEqual([
      '2026-02-14 total moved daily installs 1 6 8',
      '2026-02-14 total moved other installs 1 6 8',
    ]);
    expect(await moved(new Date('2026-02-12T06:00:00Z'))).toHaveLength(4);
    configure(['daily', 'day', 'installs']);
    expect(await moved()).toEqual(['2026-02-14 total moved daily installs 1 6 8']);
  });

  test('whose time had not come when it was read before has only grown', async () => {
    // Age 3 of the 10th is over on the 15th.
    await holdSlice('older', '2026-02-08');
    await read('2026-02-13', { 'revenue_d3@2026-02-10': 5, 'revenue_d3@2026-02-08': 5 });
    await read('2026-02-14', { 'revenue_d3@2026-02-10': 9, 'revenue_d3@2026-02-08': 7 });
    expect(await moved()).toEqual(['2026-02-14 total moved older revenue_d3 1 5 7']);
  });

  test('that does not add up is not summed over periods', async () => {
    await storeRows(warehouse, 'ripen.periods', { slice: 'daily', start_day: '2026-02-09' });
    await warehouse.run('update ripen.slice_metrics set additive = false');
    await read('2026-02-13', { 'installs@2026-02-09': 2, 'installs@2026-02-10': 3 });
    await read('2026-02-14', { 'installs@2026-02-09': 2.1, 'installs@2026-02-10': 2.4 });
    const { news, ...report } = await readStatus(config, warehouse, AS_OF);
    expect(news.items).toMatchObject([{ periods: 2, before: null, after: null }]);
    expect(newsText({ news, ...report }).lines[0]).toBe(
      '2026-02-14 06:00 daily: installs of 2 periods (2026-02-09 … 2026-02-10) moved, at most -20 %',
    );
  });

  test('is final by its horizon, and restless if that was told of the metric', async () => {
    await holdSlice('old', '2026-02-01');
    await read('2026-02-13', { 'installs@2026-02-01': 5 });
    await read('2026-02-14', { 'installs@2026-02-01': 4 });
    expect(await moved()).toEqual(['2026-02-14 final total moved old installs 1 5 4']);
    const message =
      'Most final totals of a new event, installs moved in each of the last 3 nights.';
    await storeRows(warehouse, 'ripen.warnings', {
      slice: 'old',
      code: 'METRIC_RESTLESS',
      message,
    });
    const told = await warehouse.rows(statement('control/restless_told'), ['old'], z.unknown());
    expect(new Set(told)).toEqual(new Set([{ metric: 'a new event' }, { metric: 'installs' }]));
    // Only counted: totals of different metrics do not add up.
    expect(await moved()).toEqual(['2026-02-14 restless total moved old  1  ']);
    // Of a metric that came to rest, few move.
    const days = ['2026-01-30', '2026-01-31', '2026-02-01'];
    await storeRows(warehouse, 'ripen.loads', { slice: 'old', start_day: '2026-02-01' });
    await warehouse.run(`delete from ripen.periods where slice = 'old'`);
    const periods = days.map((day) => ({ slice: 'old', start_day: day }));
    await storeRows(warehouse, 'ripen.periods', ...periods);
    expect(await moved()).toEqual(['2026-02-14 final total moved old installs 1 5 4']);
    // Most of those that are read: older ones cannot move.
    await warehouse.run(`update ripen.control_readings set start_day = '2026-02-01'`);
    expect(await moved()).toEqual(['2026-02-14 restless total moved old  1  ']);
  });
});

describe('how far the totals agree', () => {
  const agreement = async (): Promise<unknown[]> => {
    const report = await readStatus(config, warehouse, new Date('2026-02-14T12:00:00Z'));
    const controls = report.slices.map(
      ({ control }) => `${control?.totals} ${control?.moved} ${control?.read_at.slice(11)}`,
    );
    return [...controls, newsText(report).lines.at(-1)];
  };

  /** Gives the stored tables the meaning of the configured slices. */
  async function holdMeaning(): Promise<void> {
    const [slice] = config.slices;
    if (slice === undefined) throw new Error('no slice');
    const fingerprint = fingerprintOf(slice);
    await storeRows(warehouse, 'ripen.loads', { slice: 'daily', fingerprint });
    for (const table of ['slice_tables', 'periods'])
      await warehouse.run(`update ripen.${table} set fingerprint = '${fingerprint}'`);
  }

  test('is not known of a slice that is configured with another meaning since', async () => {
    configure(['daily', 'day', 'installs']);
    await holdMeaning();
    await read('2026-02-12', { 'installs@2026-02-10': 1 });
    // What was loaded without control totals is not compared.
    await read('2026-02-13', { 'installs@2026-02-10': 1 });
    expect((await agreement())[0]).toBe('0 0 06:00:00Z');
    await warehouse.run(`update ripen.periods set fetched_at = '2026-02-13 06:30:00'`);
    await read('2026-02-14', { 'installs@2026-02-10': 3 });
    expect((await agreement())[0]).toBe('1 1 06:00:00Z');
    configure(['daily', 'day, app_token', 'installs']);
    expect(await agreement()).toEqual([
      '0 0 06:00:00Z',
      expect.stringMatching(/there are no control totals to compare with$/),
    ]);
  });

  test('is that of the night they were read, until they are read again', async () => {
    configure(['daily', 'day', 'revenue_d3']);
    await warehouse.run(`delete from ripen.slice_metrics where metric = 'installs'`);
    await holdMeaning();
    await warehouse.run(`update ripen.loads set metrics = ['revenue_d3']`);
    await read('2026-02-13', { 'revenue_d3@2026-02-10': 1 });
    await warehouse.run(`update ripen.periods set fetched_at = '2026-02-13 06:30:00'`);
    await read('2026-02-14', { 'revenue_d3@2026-02-10': 3 });
    const at = new Date('2026-02-15T12:00:00Z');
    const [slice] = (await readStatus(config, warehouse, at)).slices;
    // Age 3 of the 10th was over on the 15th; until then it grew.
    expect(slice?.control).toMatchObject({ totals: 0, moved: 0 });
    await read('2026-02-15', {}, ['revenue_d3']);
    const [again] = (await readStatus(config, warehouse, at)).slices;
    expect(again?.control).toMatchObject({ totals: 1, moved: 1 });
  });
});

describe('a day that is loaded late', () => {
  const load = async (night: string, day: string): Promise<void> => {
    const id = Number(night.slice(-2) + day.slice(-2));
    const row = { slice: 'daily', load_id: id, start_day: day };
    await storeRows(warehouse, 'ripen.loads', { ...row, run_id: night, known_at: nightOf(night) });
    await storeRows(warehouse, 'ripen.periods', { ...row, state: 'maturing' });
  };
  const gaps = async (): Promise<string[]> => {
    await warehouse.run('update ripen.runs set run_number = day(as_of)');
    const { news } = await readStatus(config, warehouse, AS_OF);
    return news.items.map(({ kind, first_period: day }) => `${kind} ${day ?? ''}`);
  };

  beforeEach(async () => {
    await warehouse.run('delete from ripen.periods');
    await load('2026-02-12', '2026-02-08');
  });

  test('was missing if no run came in time', async () => {
    await load('2026-02-14', '2026-02-12');
    expect(await gaps()).toEqual(['gap filled 2026-02-12']);
  });

  test('was missing if a run failed on it, or loaded newer ones', async () => {
    await load('2026-02-13', '2026-02-11');
    await load('2026-02-14', '2026-02-10');
    expect(await gaps()).toEqual(['gap filled 2026-02-10']);
    await warehouse.run(`delete from ripen.loads where start_day = '2026-02-11'`);
    await load('2026-02-13', '2026-02-09');
    expect(await gaps()).toEqual([]);
    const place = { slice: 'daily', window: '2026-02-09:2026-02-11' };
    const failure = { code: 'SOURCE_TIMEOUT', message: '', hint: null, ...place };
    const summary = JSON.stringify({ failures: [failure] });
    await warehouse.run(`update ripen.runs set summary = '${summary}' where run_id = '2026-02-13'`);
    expect(await gaps()).toEqual(['gap filled 2026-02-10']);
  });
});

test('a second run of the night tells the news of the first one too, and so does a backfill in the evening', async () => {
  await read('2026-02-13', { 'installs@2026-02-10': 6 });
  await read('2026-02-14', { 'installs@2026-02-10': 8 });
  await storeRows(warehouse, 'ripen.runs', { run_id: 'again', started_at: '2026-02-14 09:00:00' });
  const { news } = await readStatus(config, warehouse, new Date('2026-02-14T12:00:00Z'));
  expect(news.since).toBe('2026-02-13T06:00:00.000Z');
  expect(news.items).toHaveLength(1);
  const backfill = { run_id: 'backfill', command: 'backfill', started_at: '2026-02-14 20:00:00' };
  await storeRows(warehouse, 'ripen.runs', backfill);
  const evening = await readStatus(config, warehouse, new Date('2026-02-14T21:00:00Z'));
  expect(evening.news.items).toHaveLength(1);
});

describe('the text', () => {
  const item = (change: Partial<NewsItem>): NewsItem => ({
    found_at: '2026-02-14T06:00:00.000Z',
    kind: 'total moved',
    slice: 'daily',
    name: 'installs',
    label: null,
    periods: 1,
    first_period: '2026-02-10',
    last_period: '2026-02-10',
    before: 100,
    after: 90,
    share: -0.1,
    ...change,
  });
  const control = { read_at: '2026-02-14T06:00:00Z', totals: 60, moved: 0, moved_final: 0 };
  const slices = ['daily', 'other'].map((name) =>
    sampleSlice({ name, days: 3, metrics: [], change: { control } }),
  );
  const linesOf = (...items: NewsItem[]): readonly string[] =>
    newsText(sampleReport(slices, { news: { since: null, items } })).lines;

  test('has five items, audits on top of them, then counts, then the agreement of all slices', () => {
    const metrics = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => item({ name, periods: 2 }));
    const audit = item({ kind: 'audit warned', label: 'The audit goal returned 2 rows: …' });
    const gone = item({
      kind: 'partner gone',
      slice: null,
      label: 'Ads',
      name: '7',
      periods: null,
    });
    const final = item({ kind: 'became final', name: null, periods: 1 });
    expect(linesOf(audit, ...metrics, gone, final).slice(4)).toEqual([
      '2026-02-14 06:00 daily: d of 2 periods (2026-02-10) moved from 100 to 90 (-10 %)',
      '2026-02-14 06:00 daily: e of 2 periods (2026-02-10) moved from 100 to 90 (-10 %)',
      'also 4 totals moved, 1 partner gone, 1 value became final',
      'all 120 totals agree with the service, as of 2026-02-14 06:00 UTC',
    ]);
  });

  test('names slices with the same news once, and counts what each brought', () => {
    const gap = { kind: 'gap filled', name: null, before: null, after: null, share: null } as const;
    const final = item({ kind: 'became final', name: null, periods: 4 });
    const apart = item({ slice: 'third', after: 80 });
    const lines = linesOf(
      item({}),
      item({ slice: 'other' }),
      apart,
      ...['daily', 'other', 'third'].map((slice) => item({ ...gap, slice, periods: 2 })),
      ...['daily', 'other'].map((slice) => Object.assign({}, final, { slice })),
    );
    expect(lines.slice(0, -1)).toEqual([
      '2026-02-14 06:00 daily and 1 other slice: installs of 2026-02-10 moved from 100 to 90 (-10 %)',
      '2026-02-14 06:00 third: installs of 2026-02-10 moved from 100 to 80 (-10 %)',
      '2026-02-14 06:00 daily and 2 other slices: 2 periods (2026-02-10) were missing and are loaded now',
      'also 8 values became final',
    ]);
  });
});
