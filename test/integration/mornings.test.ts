/** PRODUCT §6: what the morning says of a warehouse that does not agree with the service, or of a night that left something undone. */

import { afterEach, describe, expect, test } from 'vitest';

import { addDays, day, MS_PER_DAY } from '../../src/model/calendar.ts';
import { cubeMetrics } from '../../src/model/cube.ts';
import type { Slice } from '../../src/model/slice.ts';
import { readStatus } from '../../src/report/status/status.ts';
import { agreementOf, agreementText } from '../../src/report/terminal/status-facts.ts';
import {
  type AnsweringWorld,
  gridOf,
  nightAt,
  openAnswering,
  withCells,
} from '../support/answering.ts';
import { refused } from '../support/odd-answers.ts';
import { json } from '../support/scripted-server.ts';
import { slice } from '../support/slice.ts';

let world: AnsweringWorld;

afterEach(() => world.scenario.close());

const metrics = ['installs', 'clicks', 'cost'];
const ages = { all_revenue_total: ['d0', 'd1', 'd3'] };
const cube = cubeMetrics(ages);
const config = { controlMs: 400 * MS_PER_DAY };
const values = { app_token: ['a', 'b'], network: ['x', 'y'] };
const days = Array.from({ length: 25 }, (_, at) => addDays(day('2026-05-10'), at));
const all = [...metrics, 'sessions', ...cube.map(({ metric }) => metric)];
const rows = gridOf(days, values, all);

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics,
  datePeriod: { first: { day: day('2026-05-10') }, last: { daysAgo: 1 } },
});
const other: Slice = { ...daily, name: 'other', metrics: ['sessions'] };

const statusOn = async (night: number, slices: readonly Slice[], hours = 0) =>
  world.scenario.inWarehouse(async (warehouse) =>
    readStatus(
      { ...world.scenario.config, ...config, slices },
      warehouse,
      new Date(+nightAt(night) + hours * 3_600_000),
    ),
  );

async function agreementOn(night: number, slices: readonly Slice[] = [daily]) {
  const status = await statusOn(night, slices);
  return agreementText(agreementOf(status.slices)).join();
}

const later = (night: number, hours: number) => {
  return { asOf: new Date(+nightAt(night) + hours * 3_600_000) };
};

const backfill = (name: string, night: number) =>
  ({
    command: 'backfill',
    slices: [name],
    forced: { start: day('2026-05-12'), end: day('2026-05-13') },
    ...later(night, 3),
  }) as const;

const ofRows = { matches: ({ part }: { part: string }) => part !== 'whole' };

describe('the totals that agree with the service', () => {
  test('are not those of settled days whose rows differ from their control totals for good, on every later morning', async () => {
    world = await openAnswering([daily], rows);
    world.rewrite({ part: 'whole' }, (report) => {
      const doubled = report.rows.map((row) => {
        return { ...row, installs: String(2 * Number(row['installs'])) };
      });
      return json({ rows: doubled, totals: {} });
    });
    for (const night of [3, 4]) {
      await world.night(night, { config });
      expect(await agreementOn(night)).toMatch(/^\d\d of 7\d totals differ from the service/);
    }
    // The first sync after a week of silence compares again.
    await world.night(12, { config });
    expect(await agreementOn(12)).toMatch(/ totals differ from the service/);
  });

  test('are not those of days that were loaded unproven or with rejected rows', async () => {
    const lenient: Slice = { ...daily, name: 'lenient', completeness: 'warn' };
    const tolerant: Slice = { ...daily, name: 'tolerant', metrics: ['installs'], maxRejects: 50 };
    world = await openAnswering([lenient, tolerant], rows);
    world.rewrite({ ...ofRows, metric: 'clicks' }, (report) =>
      json({ ...report, rows: report.rows.filter((row) => row['network'] === 'x') }),
    );
    world.rewrite({ ...ofRows, metric: 'installs' }, (report) => {
      const changed = report.rows.map((row) => {
        const isOdd = row['day'] === '2026-05-12' && row['network'] === 'y';
        return isOdd ? { ...row, installs: 'n/a' } : row;
      });
      return json({ ...report, rows: changed, totals: {} });
    });
    await world.night(3, { config });
    const { slices } = await statusOn(3, [lenient, tolerant]);
    expect(slices.map(({ unproven_periods: unproven }) => unproven)).toEqual([24, 0]);
    expect(slices.map(({ control }) => control?.totals)).toEqual([0, 23]);
  });

  test('are not those of a metric that was never loaded', async () => {
    const few: Slice = { ...daily, metrics: ['installs'] };
    world = await openAnswering([few], rows);
    await world.night(3, { config });
    world.rewrite(ofRows, refused(503));
    await world.night(4, { config });
    expect(await agreementOn(4)).toMatch(/^all 2\d totals agree/);
  });
});

describe('a night that left something undone holds', () => {
  const failedNight = async () => {
    world = await openAnswering([daily, other], rows);
    await world.night(2, { config });
    const end = world.rewrite(
      { matches: ({ part, lastDay }) => part !== 'whole' && lastDay >= '2026-06-02' },
      refused(503),
    );
    expect((await world.night(3, { config })).failures).not.toEqual([]);
    end();
  };

  test('after a backfill of other days, until what failed is loaded', async () => {
    await failedNight();
    for (const { name } of [daily, other])
      await world.night(3, { config, request: backfill(name, 3) });
    const { health } = await statusOn(3, [daily, other], 4);
    expect(health.state).toBe('failed');
    expect(health.headline).toMatch(/^The last backfill.*needs attention/);
    await world.night(3, { config, request: later(3, 5) });
    expect((await statusOn(3, [daily, other], 6)).health.state).toBe('well');
  });

  test('for a slice that no later sync had, however many there were', async () => {
    await failedNight();
    for (let hour = 1; hour <= 15; hour += 1)
      await world.night(3, { request: { slices: ['other'], ...later(3, hour) } });
    const { health, runs } = await statusOn(3, [daily, other], 16);
    expect(runs).toHaveLength(14);
    expect(health.state).toBe('failed');
    expect(health.findings[0]?.message).toMatch(/^\w+: daily [-\d]+:2026-06-02: /);
  }, 120_000);

  test('as one that a signal stopped, or whose partners failed, while slices wait for their next sync', async () => {
    world = await openAnswering([daily, other], rows);
    await world.night(2, { config });
    const stop = new AbortController();
    world.rewrite(
      ofRows,
      (report) => {
        stop.abort();
        return json({ ...report });
      },
      1,
    );
    await world.night(3, { config, signal: stop.signal });
    await world.night(3, { config, request: { slices: ['daily'], ...later(3, 3) } });
    expect((await statusOn(3, [daily, other], 4)).health).toMatchObject({
      state: 'watch',
      findings: [{ message: 'A signal stopped the sync of 2026-06-03 02:30 UTC.' }],
    });
    await world.night(4, { config: { ...config, partners: true } });
    await world.night(4, { config, request: backfill('daily', 4) });
    expect((await statusOn(4, [daily, other], 4)).health.state).toBe('failed');
  });
});

test('a table that is frozen, as its new meaning is held back, is to be watched', async () => {
  const fixed: Slice = {
    ...daily,
    datePeriod: { ...daily.datePeriod, last: { day: day('2026-06-01') } },
  };
  world = await openAnswering([fixed], rows, { apps: ['a', 'b'] });
  await world.night(3, { config });
  world.apps = ['a'];
  const changed: Slice = { ...fixed, dimensions: ['day', 'app_token'] };
  for (const night of [4, 25]) await world.night(night, { config, slices: [changed] });
  const { health } = await statusOn(25, [changed], 20);
  expect(health.state).toBe('watch');
  expect(health.findings.map(({ message }) => message).join()).toMatch(/old table|overdue/);
});

test('the days of a cube that lack an age are not final', async () => {
  const few = cubeMetrics({ all_revenue_total: ['d0', 'd1'] });
  const curve = slice({
    ...daily,
    name: 'curve',
    metrics: few.map(({ metric }) => metric),
    cube: few,
    datePeriod: { first: { day: day('2026-05-10') }, last: { day: day('2026-05-20') } },
  });
  const wider: Slice = { ...curve, metrics: cube.map(({ metric }) => metric), cube };
  world = await openAnswering([curve], rows);
  await world.night(3, { config });
  expect((await statusOn(3, [curve])).slices[0]?.periods.final).toBe(11);
  expect((await statusOn(3, [wider])).slices[0]?.periods).toMatchObject({ final: 0, maturing: 11 });
});

describe('the news of a night', () => {
  test('have final totals that moved where control totals are refused', async () => {
    world = await openAnswering([daily], rows);
    world.rewrite({ part: 'whole' }, refused(400));
    await world.night(3, { config });
    world.rows = rows.map((row) =>
      row.day === '2026-05-22' ? withCells(row, { installs: '9' }) : row,
    );
    // Its cost becomes final on this night.
    await world.night(7, { config });
    const { news } = await statusOn(7, [daily]);
    expect(news.items).toContainEqual(
      expect.objectContaining({ kind: 'final total moved', name: 'installs', periods: 1 }),
    );
  });
});
