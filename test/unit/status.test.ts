import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { statusText } from '../../src/commands/status-text.ts';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/read-config.ts';
import { pictureOf } from '../../src/status/picture.ts';
import { readStatus } from '../../src/status/status.ts';
import type { PeriodState, PeriodStatus, StatusReport } from '../../src/status/status-report.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts';

const AS_OF = new Date('2026-02-14T02:30:00Z');

let directory = '';
let warehouse: Warehouse;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-status-'));
  warehouse = await openWarehouse(join(directory, 'w.duckdb'), { mode: 'write', lockWaitMs: 0, emit: () => {} });
});

afterEach(async () => {
  await warehouse.close();
  await rm(directory, { recursive: true });
});

function configOf(slices: string): Config {
  const text = `service: simulator\nwarehouse: w.duckdb\nslices:\n${slices}`;
  return parseConfig(text, { file: 'ripen.yaml', directory, environment: {} });
}

const daily = configOf(
  '  - { name: daily, dimensions: [day], metrics: [installs], date_period: "2026-02-10:yesterday", utc_offset: "+00:00" }\n',
);

async function holdTable(slice: string, state: 'live' | 'building', weekStartsOn: 0 | 1 | null = null): Promise<void> {
  await warehouse.run(
    `insert into ripen.slice_tables by name
     select $1 as slice, $2 as fingerprint, $1 as table_name, $2 as state, $3::tinyint as week_starts_on,
         timestamp '2026-02-01 00:00:00' as created_at`,
    [slice, state, weekStartsOn],
  );
}

async function holdPeriod(
  slice: string,
  days: readonly [string, string],
  state: string,
  rows = 10,
  fingerprint = 'live',
): Promise<void> {
  await warehouse.run(
    `insert into ripen.periods by name
     select $1 as slice, $6 as fingerprint, $2::date as start_day, $3::date as end_day, 1 as load_id,
         $2::date as asked_start, $3::date as asked_end,
         timestamp '2026-02-13 02:30:00' as fetched_at, $3::timestamp as ends_at, true as whole, $5::bigint as rows,
         0 as rejected, $4 as state,
         case when $4 = 'final' then null else timestamp '2026-02-15 00:00:00' end as next_refresh_at`,
    [slice, days[0], days[1], state, rows, fingerprint],
  );
}

async function statusOfOne(config: Config): Promise<StatusReport['slices'][number]> {
  const [slice] = (await readStatus(config, warehouse, AS_OF)).slices;
  if (slice === undefined) throw new Error('no slice was configured');
  return slice;
}

describe('the status of a slice', () => {
  test('without a warehouse 4 of 4 days are missing, and nothing is invented', async () => {
    const report = await readStatus(daily, null, AS_OF);
    expect(report.slices).toMatchObject([
      {
        newest_period: null,
        newest_fetch_at: null,
        rows: 0,
        periods: { expected: 4, loaded: 0, missing: 4 },
        restated: [],
      },
    ]);
    expect(report.runs).toStrictEqual([]);
  });

  test('counts each state, and finds the hole between 2 loaded days', async () => {
    await holdTable('daily', 'live');
    await holdPeriod('daily', ['2026-02-10', '2026-02-11'], 'final', 30);
    await holdPeriod('daily', ['2026-02-12', '2026-02-13'], 'maturing', 20);
    await holdPeriod('daily', ['2026-02-13', '2026-02-14'], 'open', 0);
    const slice = await statusOfOne(daily);
    expect(slice.periods).toStrictEqual({ expected: 4, loaded: 3, missing: 1, open: 1, maturing: 1, final: 1 });
    expect(slice).toMatchObject({ rows: 50, newest_period: '2026-02-12', newest_fetch_at: '2026-02-13T02:30:00.000Z' });
    expect(pictureOf(slice.ages, 10)).toBe('█·▒░');
    expect(slice.ages[1]).toStrictEqual({
      first_day: '2026-02-11',
      last_day: '2026-02-11',
      age_days: 3,
      state: 'missing',
      fetched_at: null,
      rows: null,
      rejected: null,
      next_refresh_at: null,
    });
    expect(slice.ages[2]).toMatchObject({ age_days: 2, rows: 20, next_refresh_at: '2026-02-15T00:00:00.000Z' });
  });

  test('what is being built beside the live table is counted apart, and not shown as loaded', async () => {
    await holdTable('daily', 'live');
    await holdTable('daily', 'building');
    await holdPeriod('daily', ['2026-02-10', '2026-02-11'], 'final');
    await holdPeriod('daily', ['2026-02-10', '2026-02-11'], 'final', 10, 'building');
    await holdPeriod('daily', ['2026-02-11', '2026-02-12'], 'final', 10, 'building');
    const slice = await statusOfOne(daily);
    expect(slice).toMatchObject({ building_periods: 2, periods: { loaded: 1 }, rows: 10 });
  });

  test('weeks begin as the service taught: on Sunday, the 3 days to Tuesday are 1 period', async () => {
    const weekly = configOf(
      '  - { name: weekly, dimensions: [week], metrics: [installs], date_period: "2026-02-08:2026-02-10" }\n',
    );
    await holdTable('weekly', 'live', 0);
    await holdPeriod('weekly', ['2026-02-08', '2026-02-15'], 'open');
    const slice = await statusOfOne(weekly);
    expect(slice.ages.map(({ first_day: day, state }) => [day, state])).toStrictEqual([['2026-02-08', 'open']]);
  });

  test('restatements of the last 7 days are summed by metric; one of 8 days ago is not', async () => {
    for (const [period, metric, before, after, seenAt] of [
      ['2026-02-10', 'installs', 10, 12, '2026-02-13 02:30:00'],
      ['2026-02-11', 'installs', 10, 9, '2026-02-13 02:30:00'],
      ['2026-02-10', 'cost', 1.5, 1.25, '2026-02-08 02:30:00'],
      ['2026-02-10', 'clicks', 1, 2, '2026-02-06 02:30:00'],
    ] as const) {
      await warehouse.run(
        'insert into ripen.restatements values ($1, $2::date, $3, $4::decimal(38, 9), $5::decimal(38, 9), $6::timestamp, 1)',
        ['daily', period, metric, before, after, seenAt],
      );
    }
    expect((await statusOfOne(daily)).restated).toStrictEqual([
      { metric: 'installs', periods: 2, oldest_period: '2026-02-10', change: 1 },
      { metric: 'cost', periods: 1, oldest_period: '2026-02-10', change: -0.25 },
    ]);
  });
});

describe('the runs', () => {
  async function holdRun(id: string, startedAt: string, status: string): Promise<void> {
    await warehouse.run(
      `insert into ripen.runs by name
       select $1 as run_id, 'sync' as command, $2::timestamp as as_of, $2::timestamp as started_at, $3 as status,
           '0' as version, 'host' as host, 1 as pid`,
      [id, startedAt, status],
    );
  }

  test('are the newest 5, with the warnings and rejected rows of the newest alone', async () => {
    for (const day of [1, 2, 3, 4, 5, 6]) await holdRun(`run${day}`, `2026-02-0${day} 02:30:00`, 'succeeded');
    const seen = "timestamp '2026-02-06 02:31:00'";
    await warehouse.run(
      `insert into ripen.warnings values ('run6', 'daily', '2026-02-10', '2026-02-12', 'ODD', 'w', ${seen})`,
    );
    await warehouse.run(`insert into ripen.warnings values ('run5', null, null, null, 'OLD', 'w', ${seen})`);
    for (const row of ['1', '2']) {
      await warehouse.run(
        `insert into ripen.rejected_rows values ('run6', 'daily', '2026-02-10', '2026-02-12', 'not a number', $1::json, ${seen})`,
        [row],
      );
    }
    const report = await readStatus(daily, warehouse, AS_OF);
    expect(report.runs.map((run) => run.run_id)).toStrictEqual(['run6', 'run5', 'run4', 'run3', 'run2']);
    expect(report.warnings).toStrictEqual([
      { slice: 'daily', window: '2026-02-10:2026-02-11', code: 'ODD', message: 'w' },
    ]);
    expect(report.rejected_rows).toStrictEqual([
      { slice: 'daily', window: '2026-02-10:2026-02-11', reason: 'not a number', rows: 2 },
    ]);
    expect(statusText(report)).toContain('daily 2026-02-10:2026-02-11: 2 rows: not a number');
  });
});

describe('the picture', () => {
  const periods = (...states: readonly PeriodState[]): PeriodStatus[] =>
    states.map((state) => ({
      first_day: '2026-02-10',
      last_day: '2026-02-10',
      age_days: 1,
      state,
      fetched_at: null,
      rows: null,
      rejected: null,
      next_refresh_at: null,
    }));

  test('shows one mark a period, oldest first', () => {
    expect(pictureOf(periods('final', 'maturing', 'open', 'missing'), 4)).toBe('█▒░·');
  });

  test('of 5 periods in 4 columns leaves out the oldest 2, and says so', () => {
    expect(pictureOf(periods('missing', 'missing', 'final', 'maturing', 'open'), 4)).toBe('…█▒░');
  });
});
