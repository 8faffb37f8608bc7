/** Nights on which some control totals, or none, could be read: what they loaded is looked at again, and no hole stays untold. */

import { afterEach, expect, test } from 'vitest';

import { day, MS_PER_DAY } from '../../src/model/calendar.ts';
import { readStatus } from '../../src/report/status/status.ts';
import type { SliceStatus } from '../../src/report/status/status-report.ts';
import {
  type AnsweringWorld,
  countAsked,
  gridOf,
  nightAt,
  openAnswering,
  type Report,
} from '../support/answering.ts';
import { column } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { daysIn } from '../support/plain-values.ts';
import { beside, refused } from '../support/odd-answers.ts';
import { json } from '../support/scripted-server.ts';
import { slice } from '../support/slice.ts';

let world: AnsweringWorld;

afterEach(() => world.scenario.close());

const metrics = ['installs', 'clicks', 'cost', 'ecpi'];
const values = { app_token: ['a', 'b'], network: ['x', 'y'] };
const config = { controlMs: 400 * MS_PER_DAY };
const OLD = '2026-05-02';
const days = ['2026-05-01', OLD, '2026-05-20', '2026-05-31', '2026-06-01'];

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics,
  datePeriod: { first: { day: day('2026-05-01') }, last: { daysAgo: 1 } },
});
const other = { ...daily, name: 'other', metrics: ['impressions'] };
const rows = gridOf(days, values, [...metrics, ...other.metrics]);

const forced = { slice: 'daily', start: day(OLD), end: day('2026-05-03') };
const backfill = { command: 'backfill', forced } as const;

const rewriteOld = (change: (row: Report['rows'][number]) => readonly object[]) =>
  world.rewrite({ part: 'undivided', day: OLD }, (report) => {
    const changed = report.rows.flatMap((row) => (row['day'] === OLD ? change(row) : [row]));
    return json({ ...report, rows: changed, totals: {} });
  });

async function agreementOn(night: number): Promise<SliceStatus['control'] | undefined> {
  const { slices } = await world.scenario.inWarehouse(async (warehouse) =>
    readStatus({ ...world.scenario.config, ...config }, warehouse, nightAt(night)),
  );
  return slices[0]?.control;
}

test('an answer without half of its rows, with the totals of these, is told to differ though no other control total can be read', async () => {
  world = await openAnswering([daily], rows);
  world.rewrite({ part: 'undivided' }, (report) => {
    const kept = report.rows.filter((row) => row['network'] === 'x');
    const totals = metrics.map((metric) => {
      return [metric, kept.reduce((sum, row) => sum + Number(row[metric]), 0)];
    });
    return json({ ...report, rows: kept, totals: Object.fromEntries(totals) as unknown });
  });
  world.rewrite({ part: 'whole', after: 1 }, refused(400));
  expect((await world.night(20, { config })).failures).toEqual([]);
  expect(countAsked(world, { part: 'whole' })).toBeGreaterThan(1);
  expect(world.warnings()).toContainEqual(textWith('CONTROL_DIFFERS'));
});

test('a day that was loaded without rows before it was over fails once control totals state values for it', async () => {
  const open = { ...daily, datePeriod: { ...daily.datePeriod, last: { daysAgo: 0 } } as const };
  const today = gridOf(['2026-06-02'], values, metrics);
  world = await openAnswering([open], [...rows, ...today]);
  world.rewrite({ part: 'undivided', day: '2026-06-02' }, (report) => {
    const kept = report.rows.filter((row) => row['day'] !== '2026-06-02');
    return json({ ...report, rows: kept, totals: {} });
  });
  expect((await world.night(2, { config })).failures).toEqual([]);
  const { failures } = await world.night(4, { config });
  expect(failures).toMatchObject([{ code: 'DATA_SHRUNK', window: '2026-06-02:2026-06-02' }]);
});

test('a day that another slice loads before it is over differs from nothing when it is first loaded', async () => {
  const live = {
    ...daily,
    name: 'live',
    datePeriod: { first: { day: day('2026-05-01') }, last: { daysAgo: 0 } },
  };
  const partly = gridOf(['2026-06-02'], values, metrics);
  world = await openAnswering([daily, live], [...gridOf(days, values, metrics), ...partly]);
  await world.night(2, { config });
  world.rows = gridOf([...days, '2026-06-02'], values, metrics, 2);
  await world.night(3, { config });
  expect(await agreementOn(3)).toMatchObject({ moved: 0 });
});

test.each(['days', 'metrics'])(
  'a temporary value of a final day from a night that read control totals of other %s alone is replaced on the next',
  async (others) => {
    world = await openAnswering([daily, other], rows);
    for (const night of [1, 2]) await world.night(night, { config });
    if (others === 'metrics') await world.night(3, { config, slices: [other] });
    const restore = world.rewrite(
      {
        part: 'whole',
        matches: ({ firstDay }) => others === 'metrics' || firstDay < '2026-05-12',
      },
      refused(504),
    );
    const settle = rewriteOld((row) => [{ ...row, installs: Number(row['installs']) + 5 }]);
    await world.night(3.1, { config, slices: [daily], request: backfill });
    expect(await world.cells(daily)).not.toEqual(world.truth(daily));
    settle();
    restore();
    expect((await world.night(4, { config })).failures).toEqual([]);
    expect(await world.cells(daily)).toEqual(world.truth(daily));
    world.asked = [];
    await world.night(5, { config });
    expect(countAsked(world, { part: 'undivided', day: OLD })).toBe(0);
  },
);

test('a day that two nights without control totals found empty is loaded once these state it', async () => {
  world = await openAnswering([daily], rows);
  const fill = rewriteOld(() => []);
  const refuted = await world.night(2, { config });
  expect(refuted.failures.map(({ code }) => code)).toEqual(['DATA_SHRUNK']);
  const restore = world.rewrite({ part: 'whole' }, refused(503));
  for (const night of [3, 4]) expect((await world.night(night, { config })).failures).toEqual([]);
  fill();
  restore();
  expect((await world.night(5, { config })).failures).toEqual([]);
  expect(await world.cells(daily)).toEqual(world.truth(daily));
});

test('a final day that two nights without control totals found empty is final no more once these state values, is named, and is loaded when it has rows', async () => {
  world = await openAnswering([daily], rows);
  const state =
    "select state from ripen.periods where start_day = '2026-05-02' and slice = 'daily'";
  const end = world.rewrite({ part: 'whole' }, refused(400));
  const restore = world.rewrite({ matches: ({ part }) => part !== 'whole' }, (report) =>
    json({ ...report, rows: report.rows.filter((row) => row['day'] !== OLD), totals: {} }),
  );
  for (const night of [20, 21]) await world.night(night, { config });
  expect(await column(world.scenario, state)).toEqual(['final']);
  end();
  for (const night of [22, 23]) {
    const told = world.warnings().length;
    expect((await world.night(night, { config })).failures).toEqual([]);
    expect(world.warnings().slice(told).join()).toMatch(/2026-05-02.*so that it stays due/);
    expect(await column(world.scenario, state)).toEqual(['empty']);
  }
  restore();
  await world.night(24, { config });
  expect(await column(world.scenario, state)).toEqual(['final']);
});

test('a final day whose rows were computed before the last control totals is not requested while none are read, nor counted', async () => {
  world = await openAnswering([daily], rows);
  for (const night of [1, 2]) await world.night(night, { config });
  const before = await agreementOn(2);
  world.rewrite({ part: 'whole' }, refused(503));
  const debug = { cached_at: '2026-06-01T12:00:00Z' };
  world.rewrite({ part: 'undivided', day: OLD }, beside({ debug }));
  await world.night(4, { config, request: backfill });
  expect(await agreementOn(4)).toEqual({ ...before, totals: (before?.totals ?? 0) - 4 });
  world.asked = [];
  const summary = await world.night(5, { config });
  expect(summary.slices[0]?.periods['moved']).toBeUndefined();
  expect(countAsked(world, { part: 'undivided', day: OLD })).toBe(0);
});

test('a night that reads control totals of newer days alone requests no older ones, and counts all that it compared', async () => {
  const served = { start: day('2026-05-01'), end: day('2026-06-10') };
  world = await openAnswering([daily], gridOf(daysIn(served), values, metrics));
  const restore = world.rewrite({ part: 'whole' }, refused(503));
  await world.night(10, { config });
  restore();
  const doubtful = await world.night(11, { config });
  expect(doubtful.slices[0]?.periods['moved']).toBeGreaterThan(0);
  const matches = ({ firstDay }: { firstDay: string }) => firstDay < '2026-05-25';
  world.rewrite({ part: 'whole', matches }, refused(504));
  const summary = await world.night(12, { config });
  expect(summary.slices[0]?.periods['moved']).toBeUndefined();
  expect(await agreementOn(12)).toMatchObject({ moved: 0, totals: 72 });
});

test('totals of final days that stay because an app is no longer listed are neither compared nor counted', async () => {
  const coarse = { ...daily, dimensions: ['day', 'network'] };
  world = await openAnswering([coarse], rows, { apps: ['a', 'b'] });
  await world.night(2, { config });
  const before = await agreementOn(2);
  const finals = `select count(*) from ripen.periods where state = 'final' and slice = 'daily'`;
  const [days = ''] = await column(world.scenario, finals);
  expect(Number(days)).toBeGreaterThan(0);
  world.apps = ['a'];
  await world.night(3, { config });
  // And one day more is over.
  const totals = (before?.totals ?? 0) - (Number(days) - 1) * metrics.length;
  expect(await agreementOn(3)).toMatchObject({ totals, moved: 0 });
});
