import { beforeEach, describe, expect, test } from 'vitest';

import { statusText } from '../../src/report/terminal/status-text.ts';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/read-config.ts';
import { fingerprintOf } from '../../src/model/slice.ts';
import { readStatus } from '../../src/report/status/status.ts';
import type { StatusReport } from '../../src/report/status/status-report.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { storeRows } from '../support/ledger-rows.ts';
import { openScratch } from '../support/scratch-warehouse.ts';

const AS_OF = new Date('2026-02-14T02:30:00Z');

let directory = '';
let warehouse: Warehouse;

beforeEach(async () => {
  const scratch = await openScratch();
  ({ directory, warehouse } = scratch);
  await holdTable('daily', 'live');
  return scratch.close;
});

function configOf(
  datePeriod: string,
  settings = 'name: daily, dimensions: [day], metrics: [installs]',
): Config {
  const text = `service: simulator\nwarehouse: w.duckdb\nslices: [{ ${settings}, date_period: "${datePeriod}" }]\n`;
  return parseConfig(text, { file: 'ripen.yaml', directory, environment: {} });
}

const daily = configOf('2026-02-10:yesterday');

/** That of every slice with these settings, whatever its dimensions are here. */
const LIVE = fingerprintOf(daily.slices[0] ?? { dimensions: [], parameters: {}, headers: {} });

async function holdTable(slice: string, state: 'live' | 'building'): Promise<void> {
  const fingerprint = state === 'live' ? LIVE : state;
  await storeRows(warehouse, 'ripen.slice_tables', { slice, state, fingerprint });
}

/** A period of the slice `daily`, from a day to another, which is not in it. */
async function holdPeriod(
  days: string,
  state: string,
  rows = 10,
  fingerprint = LIVE,
  slice = 'daily',
): Promise<void> {
  const [start, end] = days.split(':');
  await storeRows(warehouse, 'ripen.periods', {
    slice,
    fingerprint,
    start_day: start,
    end_day: end,
    rows,
    state,
    next_refresh_at: state === 'final' ? null : '2026-02-15',
  });
}

/** Changed totals as `period metric before after`, found by one load at an instant. */
async function restate(seenAt: string, load: number, ...changes: readonly string[]): Promise<void> {
  for (const change of changes) {
    const [period = '', metric = '', before = '', after = ''] = change.split(' ');
    const totals = { before: before === 'null' ? null : before, after };
    const row = { slice: 'daily', period, metric, ...totals, seen_at: seenAt, load_id: load };
    await storeRows(warehouse, 'ripen.restatements', row);
  }
  await holdLoad(
    changes.map((change) => change.split(' ')[1] ?? ''),
    load,
  );
}

/** A load of `daily` that brought these metrics: that of `holdPeriod`, or one with an id of its own. */
async function holdLoad(metrics: readonly string[], id = 1): Promise<void> {
  await warehouse.run('delete from ripen.loads where load_id = $1', [id]);
  const row = { slice: 'daily', fingerprint: LIVE, load_id: id, metrics };
  await storeRows(warehouse, 'ripen.loads', row);
}

/** A metric of the slice `daily`; null for a horizon that never ends. */
const holdMetric = async (
  metric: string,
  position: number,
  horizonDays: number | null,
): Promise<void> =>
  storeRows(warehouse, 'ripen.slice_metrics', {
    slice: 'daily',
    metric,
    position,
    kind: 'cohort',
    horizon_seconds: horizonDays === null ? null : horizonDays * 86_400,
  });

async function statusOfOne(config: Config): Promise<StatusReport['slices'][number]> {
  const [slice] = (await readStatus(config, warehouse, AS_OF)).slices;
  if (slice === undefined) throw new Error('no slice was configured');
  return slice;
}

describe('the status of a slice', () => {
  test('without a warehouse 4 of 4 days are missing, and nothing is invented', async () => {
    const report = await readStatus(daily, null, AS_OF);
    const nothing = { newest_period: null, newest_fetch_at: null, rows: 0, restated: [] };
    expect(report.slices).toMatchObject([
      { ...nothing, periods: { expected: 4, loaded: 0, missing: 4 } },
    ]);
    expect(report.runs).toStrictEqual([]);
  });

  test('counts each state, and finds the hole between 2 loaded days', async () => {
    await holdPeriod('2026-02-10:2026-02-11', 'final', 30);
    await holdPeriod('2026-02-12:2026-02-13', 'maturing', 20);
    await holdPeriod('2026-02-13:2026-02-14', 'open', 0);
    const slice = await statusOfOne(daily);
    const counts = { missing: 1, open: 1, maturing: 1, final: 1, cut: 0, empty: 0 };
    expect(slice.periods).toStrictEqual({ expected: 4, loaded: 3, ...counts });
    expect(slice).toMatchObject({
      rows: 50,
      newest_period: '2026-02-12',
      newest_fetch_at: '2026-02-13T02:30:00.000Z',
    });
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
    expect(slice.ages[2]).toMatchObject({
      age_days: 2,
      rows: 20,
      next_refresh_at: '2026-02-15T00:00:00.000Z',
    });
  });

  test('what is being built beside the live table is counted apart, and not shown as loaded', async () => {
    await holdTable('daily', 'building');
    await holdPeriod('2026-02-10:2026-02-11', 'final');
    await holdPeriod('2026-02-10:2026-02-11', 'final', 10, 'building');
    await holdPeriod('2026-02-11:2026-02-12', 'final', 10, 'building');
    const slice = await statusOfOne(daily);
    expect(slice).toMatchObject({ building_periods: 2, periods: { loaded: 1 }, rows: 10 });
  });

  test('restatements of the last 7 days are summed by metric; one of 8 days ago is not', async () => {
    await restate('2026-02-13 02:30', 1, '2026-02-10 installs 10 12', '2026-02-11 installs 10 9');
    await restate('2026-02-08 02:30', 1, '2026-02-10 cost 1.5 1.25');
    await restate('2026-02-06 02:30', 1, '2026-02-10 clicks 1 2');
    const oldest = { first_values: 0, oldest_period: '2026-02-10' };
    expect((await statusOfOne(daily)).restated).toStrictEqual([
      { metric: 'installs', periods: 2, ...oldest, before: 20, after: 21, change: 1 },
      { metric: 'cost', periods: 1, ...oldest, before: 1.5, after: 1.25, change: -0.25 },
    ]);
  });

  test('a total that moved twice counts from its first value to its last, one that moved back does not count', async () => {
    await restate('2026-02-12 02:30', 1, '2026-02-10 installs 10 15', '2026-02-11 clicks 5 6');
    await restate('2026-02-13 02:30', 2, '2026-02-10 installs 15 12', '2026-02-11 clicks 6 5');
    const slice = await statusOfOne(daily);
    expect(slice.restated).toMatchObject([
      { metric: 'installs', periods: 1, before: 10, after: 12, change: 2 },
    ]);
  });
});

describe('the finality of a slice, cell by cell', () => {
  const four = configOf(
    '2026-02-09:2026-02-14',
    'name: daily, dimensions: [day], metrics: [installs, revenue_d7, added]',
  );

  test('each of 7 states is told apart, neighbours that stand alike as one stretch', async () => {
    await holdLoad(['installs', 'revenue_d7']);
    await holdMetric('installs', 0, 0);
    await holdMetric('revenue_d7', 1, 8);
    await holdMetric('added', 2, null);
    await holdPeriod('2026-02-09:2026-02-10', 'empty', 0);
    await holdPeriod('2026-02-10:2026-02-11', 'maturing');
    await holdPeriod('2026-02-11:2026-02-12', 'maturing');
    await holdPeriod('2026-02-12:2026-02-13', 'maturing');
    await warehouse.run(
      "update ripen.periods set rejected = 3, trusted_at = null where start_day = date '2026-02-11'",
    );
    await holdPeriod('2026-02-13:2026-02-14', 'open');
    const { metrics, cells } = await statusOfOne(four);
    const spans = metrics.map(({ metric, spans: all }) => [
      metric,
      all.map(({ state, periods }) => `${periods} ${state}`),
    ]);
    expect(spans).toStrictEqual([
      ['installs', ['1 empty', '1 final', '1 rejected', '1 final', '1 open', '1 missing']],
      ['revenue_d7', ['1 empty', '1 maturing', '1 rejected', '1 maturing', '1 open', '1 missing']],
      ['added', ['2 not loaded', '1 rejected', '2 not loaded', '1 missing']],
    ]);
    const lastDays = { first_day: '2026-02-12', last_day: '2026-02-13', periods: 2 };
    expect(metrics[2]?.spans[2]).toStrictEqual({ state: 'not loaded', ...lastDays });
    expect(metrics.map(({ horizon_days: days }) => days)).toStrictEqual([0, 8, null]);
    const counts = {
      final: 2,
      maturing: 2,
      open: 2,
      cut: 0,
      empty: 2,
      rejected: 3,
      'not loaded': 4,
      missing: 3,
    };
    expect(cells).toStrictEqual({ expected: 18, ...counts });
  });
});

test('money has the currency of the loaded rows, not one that is configured since', async () => {
  await warehouse.run(`create table main.daily as select date '2026-02-10' as day, 5.0 as cost`);
  await holdLoad(['cost']);
  await warehouse.run(`update ripen.loads set parameters = '{"currency":"USD"}'`);
  await holdPeriod('2026-02-10:2026-02-11', 'final');
  const settings = 'name: daily, dimensions: [day], metrics: [cost], currency: EUR';
  const { money } = await statusOfOne(configOf('2026-02-10:2026-02-10', settings));
  expect(money).toMatchObject([{ flow: 'spend', currency: 'USD', periods: [{ value: 5 }] }]);
});

describe('the runs', () => {
  let runs = 0;

  async function holdRun(id: string, startedAt: string, status: string): Promise<void> {
    runs += 1;
    const row = { run_id: id, started_at: startedAt, status, run_number: runs };
    await storeRows(warehouse, 'ripen.runs', row);
  }

  test('are the newest 14 of 16, with the warnings and rejected rows of the newest alone', async () => {
    for (let day = 1; day <= 16; day += 1) {
      await holdRun(`run${day}`, `2026-02-${String(day).padStart(2, '0')} 02:30:00`, 'succeeded');
    }
    const of = { run_id: 'run16', slice: 'daily', start_day: '2026-02-10', end_day: '2026-02-12' };
    await storeRows(warehouse, 'ripen.warnings', of);
    await storeRows(warehouse, 'ripen.warnings', { run_id: 'run15', code: 'OLD' });
    await storeRows(warehouse, 'ripen.rejected_rows', { ...of, row: '1' }, { ...of, row: '2' });
    const report = await readStatus(daily, warehouse, AS_OF);
    expect(report.runs).toHaveLength(14);
    expect([report.runs[0]?.run_id, report.runs[13]?.run_id]).toStrictEqual(['run16', 'run3']);
    expect(report.warnings).toStrictEqual([
      { slice: 'daily', window: '2026-02-10:2026-02-11', code: 'ODD', message: 'w' },
    ]);
    expect(report.rejected_rows).toStrictEqual([
      { slice: 'daily', window: '2026-02-10:2026-02-11', reason: 'not a number', rows: 2 },
    ]);
    expect(statusText(report)).toContain(
      'rejected  daily  2026-02-10:2026-02-11  2 rows: not a number',
    );
  });

  test('name the setting of a token that the service refused', async () => {
    await holdRun('run1', '2026-02-13 02:30:00', 'failed');
    const refused = { code: 'CREDENTIALS_REFUSED', slice: null, window: null, message: '401' };
    const summary = { status: 'failed', slices: [], failures: [{ ...refused, hint: 'Check.' }] };
    await warehouse.run('update ripen.runs set summary = $1::json', [JSON.stringify(summary)]);
    const { findings } = (await readStatus(daily, warehouse, AS_OF)).health;
    expect(findings.map(({ hint }) => hint)).toContainEqual(
      expect.stringMatching(/^Set service\.token to a valid token;/),
    );
  });

  test('tell rows, requests, retries and failures of their summaries; one that was killed has none', async () => {
    await holdRun('run1', '2026-02-12 02:30:00', 'running');
    await holdRun('run2', '2026-02-13 02:30:00', 'partial');
    const failure = {
      code: 'SOURCE_TIMEOUT',
      slice: 'daily',
      window: null,
      message: 'm',
      hint: 'h',
    };
    const summary = {
      status: 'partial',
      slices: [{ rows: { loaded: 7 } }, { rows: { loaded: 3 } }],
      service: { requests: 31, retries: 2 },
      failures: [failure],
    };
    await warehouse.run("update ripen.runs set summary = $1::json where run_id = 'run2'", [
      JSON.stringify(summary),
    ]);
    expect((await readStatus(daily, warehouse, AS_OF)).runs).toMatchObject([
      {
        run_id: 'run2',
        refreshed: 'partial',
        rows_loaded: 10,
        requests: 31,
        retries: 2,
        failures: [failure],
      },
      {
        run_id: 'run1',
        rows_loaded: null,
        requests: null,
        retries: null,
        failures: [],
        finished_at: null,
      },
    ]);
  });

  test('are late by the latest instant that one planned for, be it not that of the newest, nor one to come', async () => {
    for (const at of ['2026-02-13 02:30:00', '2026-02-16 02:30:00', '2026-02-08 02:30:00']) {
      await holdRun(`run of ${at}`, at, 'succeeded');
    }
    const late = async (asOf: string): Promise<(string | undefined)[]> =>
      (await readStatus(daily, warehouse, new Date(asOf))).health.findings
        .map(({ message }) => message)
        .filter((message) => /^No run|never loaded|overdue/.test(message));
    expect(await late('2026-02-14T02:30:00Z')).toEqual([
      'daily: 3 periods never loaded, the oldest 2026-02-10.',
    ]);
    expect(await late('2026-02-15T02:30:00Z')).toEqual([
      'No run for 2 days: the last was as of 2026-02-13 02:30 UTC. Due since then: 4 periods of 1 slice.',
    ]);
  });

  test('of a slice that is built anew name the warning that says what its new table lacks', async () => {
    await holdTable('daily', 'building');
    await holdPeriod('2026-02-10:2026-02-11', 'final', 10, 'building');
    await holdRun('run1', '2026-02-14 02:30:00', 'succeeded');
    const { health } = await readStatus(daily, warehouse, AS_OF);
    const hints = health.findings.flatMap(({ hint }) => hint ?? []);
    expect(hints).toContain(
      'Run `ripen sync --slice daily`. Its warning MEANING_HELD_BACK gives the reason.',
    );
  });
});
