/** Control totals: what the service states tonight is asked first, and decides what else is asked. */

import { afterEach, expect, test } from 'vitest';

import { day, MS_PER_DAY } from '../../src/model/calendar.ts';
import { cubeMetrics } from '../../src/model/cube.ts';
import type { Slice } from '../../src/model/slice.ts';
import { readStatus } from '../../src/report/status/status.ts';
import {
  type AnsweringWorld,
  countAsked,
  gridOf,
  nightAt,
  openAnswering,
  type Report,
  withCells,
} from '../support/answering.ts';
import { json } from '../support/scripted-server.ts';
import { loseWarehouse, replayInto } from '../support/archive-scene.ts';
import { column, query } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { beside, noContent, refused } from '../support/odd-answers.ts';
import { slice } from '../support/slice.ts';

let world: AnsweringWorld;

afterEach(() => world.scenario.close());

const metrics = ['installs', 'clicks', 'cost', 'ecpi'];
const values = { app_token: ['a', 'b'], network: ['x', 'y'] };
const config = { controlMs: 400 * MS_PER_DAY };
const days = ['2026-05-01', '2026-05-02', '2026-05-31', '2026-06-01'];

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics,
  datePeriod: { first: { day: day('2026-05-01') }, last: { daysAgo: 1 } },
});

const rows = gridOf(days, values, metrics);

const raised = (date: string, metric: string, by: number) =>
  rows.map((row, at) =>
    row.day === date && at === rows.findIndex((each) => each.day === date)
      ? withCells(row, { [metric]: String(Number(row[metric]) + by) })
      : row,
  );

test('a quiet night asks for the control totals and what is new, and nothing else', async () => {
  world = await openAnswering([daily], rows);
  expect((await world.night(1, { config })).failures).toEqual([]);
  world.asked = [];
  world.rows = [...rows, ...gridOf(['2026-06-02'], values, metrics)];
  const slices = [{ ...daily, refresh: [] }];
  expect((await world.night(3, { config, slices })).failures).toEqual([]);
  const asked = world.asked.map(({ part, firstDay, lastDay }) => `${part} ${firstDay}:${lastDay}`);
  expect(asked.toSorted()).toEqual([
    // Two runs of days became final; they are asked with the new ones, and the days between.
    'undivided 2026-05-18:2026-06-02',
    'whole 2026-05-01:2026-06-02',
  ]);
});

test('a final day that loses a row upstream is loaded again the next night, and told once for all metrics', async () => {
  world = await openAnswering([daily], rows);
  await world.night(1, { config });
  await world.night(2, { config });
  const removed = rows.find((row) => row.day === '2026-05-02');
  world.rows = rows.filter((row) => row !== removed);
  world.asked = [];
  const summary = await world.night(3, { config });
  expect(summary.failures).toEqual([]);
  expect(countAsked(world, { part: 'undivided', day: '2026-05-02' })).toBe(1);
  expect(countAsked(world, { part: 'undivided', day: '2026-05-01' })).toBe(0);
  expect(await world.cells(daily)).toEqual(world.truth(daily));
  expect(summary.slices[0]?.periods['moved']).toBe(1);
  expect(world.scenario.events).toContainEqual(
    expect.objectContaining({ type: 'totals_moved', slice: 'daily', periods: 1, waiting: 0 }),
  );
  expect(world.warnings().filter((text) => text.startsWith('FINAL_CHANGED'))).toEqual([
    'FINAL_CHANGED 3 final totals of clicks, cost, installs changed after horizons of up to 14d, the last at age 32 days: 2026-05-02.',
  ]);
  world.asked = [];
  await world.night(4, { config });
  expect(countAsked(world, { part: 'undivided', day: '2026-05-02' })).toBe(0);
});

test.each([
  [1, 'that say they were computed before', { debug: { cached_at: '2026-06-01T12:00:00Z' } }],
  [1, 'that do not', {}],
  [5, 'that do not', {}],
  [9, 'that do not', {}],
])(
  'a corrected final day whose rows come %i nights late, %s, is loaded again for a week',
  async (late, _, words) => {
    world = await openAnswering([daily], rows);
    await world.night(1, { config });
    await world.night(2, { config });
    const before = world.truth(daily);
    world.rows = raised('2026-05-02', 'installs', 5);
    const former = (row: Readonly<Record<string, unknown>>) =>
      ['day', 'app_token', 'network'].reduce(
        (some, name) => some.filter((each) => each[name] === row[name]),
        rows,
      )[0];
    const restore = world.rewrite({ part: 'undivided', day: '2026-05-02' }, (report) => ({
      status: 200,
      body: JSON.stringify({
        ...report,
        ...words,
        rows: report.rows.map((row) => ({ ...row, ...former(row) })),
        totals: {},
      }),
    }));
    const [last, isInTime] = [2 + late, late < 7];
    for (let night = 3; night <= last; night += 1) {
      world.asked = [];
      await world.night(night, { config });
      expect(await world.cells(daily)).toEqual(before);
    }
    // A day that differs for ever is not requested for ever.
    expect(countAsked(world, { part: 'undivided', day: '2026-05-02' }) > 0).toBe(isInTime);
    restore();
    for (const asked of isInTime ? [1, 0] : [0]) {
      world.asked = [];
      await world.night(last + 2 - asked, { config });
      expect(await world.cells(daily)).toEqual(isInTime ? world.truth(daily) : before);
      expect(countAsked(world, { part: 'undivided', day: '2026-05-02' })).toBe(asked);
    }
  },
);

test('a changed dimension deletes no day that the service has no longer, before that loss is accepted', async () => {
  world = await openAnswering([daily], rows);
  await world.night(1, { config });
  world.rows = rows.filter((row) => row.day !== '2026-05-01');
  const slices = [{ ...daily, dimensions: ['day', 'app_token'] }];
  const rowsOfDay = "select count(*) from daily where day = '2026-05-01'";
  for (const night of [2, 3]) {
    expect((await world.night(night, { config, slices })).failures).toEqual([]);
    expect(await column(world.scenario, rowsOfDay)).toEqual(['4']);
  }
  expect(world.warnings().filter((text) => text.startsWith('MEANING_HELD_BACK'))).toHaveLength(2);
  const forced = { start: day('2026-05-01'), end: day('2026-05-02') };
  const request = { command: 'backfill', forced, acceptLoss: true } as const;
  await world.night(3, { config, slices, request });
  expect(await column(world.scenario, rowsOfDay)).toEqual(['0']);
});

test('rows that move between campaigns while their sum stays are asked by the schedule alone', async () => {
  world = await openAnswering([daily], rows);
  await world.night(1, { config });
  const moved = raised('2026-05-02', 'installs', 5).map((row, at) =>
    at === 5 ? withCells(row, { installs: String(Number(row['installs']) - 5) }) : row,
  );
  world.rows = moved;
  world.asked = [];
  await world.night(2, { config });
  expect(countAsked(world, { part: 'undivided', day: '2026-05-02' })).toBe(0);
});

test('a hole that the control totals leave out needs no second answer; a value there refutes an empty one', async () => {
  world = await openAnswering([daily], rows);
  const summary = await world.night(2, { config });
  expect(summary.failures).toEqual([]);
  expect(countAsked(world, { part: 'undivided', day: '2026-05-10' })).toBe(1);
  expect(
    await column(world.scenario, "select state from ripen.periods where start_day = '2026-05-10'"),
  ).toEqual(['final']);
});

test('a day with a control total that has no rows, in two answers, fails until that is accepted, and stays due until it has some', async () => {
  world = await openAnswering([daily], rows);
  const restore = world.rewrite({ part: 'undivided', day: '2026-05-02' }, (report) => ({
    status: 200,
    body: JSON.stringify({
      ...report,
      rows: report.rows.filter((row) => row['day'] !== '2026-05-02'),
      totals: {},
    }),
  }));
  for (const night of [2, 3]) {
    const { failures } = await world.night(night, { config });
    expect(failures.map(({ code, window }) => `${code} ${window}`)).toEqual([
      'DATA_SHRUNK 2026-05-02:2026-05-02',
    ]);
    expect(failures[0]?.message).toContain(
      'two answers had no rows, but control totals state values',
    );
  }
  const forced = { slice: 'daily', start: day('2026-05-02'), end: day('2026-05-03') };
  const request = { command: 'backfill', forced, acceptLoss: true } as const;
  expect((await world.night(3, { config, request })).failures).toEqual([]);
  const told = world.warnings().filter((text) => /^EMPTY_PERIODS .*2026-05-02/.test(text));
  expect(told).toEqual([expect.stringContaining('control totals state values')]);
  for (const night of [4, 5]) {
    world.asked = [];
    expect((await world.night(night, { config })).failures).toEqual([]);
    expect(countAsked(world, { part: 'undivided', day: '2026-05-02' })).toBe(2);
    expect(
      await column(
        world.scenario,
        "select state from ripen.periods where start_day = '2026-05-02'",
      ),
    ).toEqual(['empty']);
  }
  restore();
  expect((await world.night(6, { config })).failures).toEqual([]);
  expect(await world.cells(daily)).toEqual(world.truth(daily));
});

test('one empty answer for a week that the date period cuts, and whose control total has a value, is asked for once more', async () => {
  const weekly = slice({
    name: 'weekly',
    dimensions: ['week', 'network'],
    metrics,
    datePeriod: { first: { day: day('2026-05-27') }, last: { day: day('2026-05-31') } },
  });
  const week = { week: ['2026-05-25 - 2026-05-31'], network: ['x', 'y'] };
  world = await openAnswering([weekly], gridOf(['2026-05-27'], week, metrics));
  world.rewrite({ part: 'undivided' }, noContent, 1);
  expect((await world.night(2, { config })).failures).toEqual([]);
  expect(countAsked(world, { part: 'undivided' })).toBe(2);
  expect(await column(world.scenario, 'select count(*) from weekly')).toEqual(['2']);
});

test('rows that differ from their control total twice are loaded as their own totals show, and told once', async () => {
  world = await openAnswering([daily], rows);
  world.rewrite({ part: 'whole' }, (report) => ({
    status: 200,
    body: JSON.stringify({
      rows: report.rows.map((row) => ({ ...row, installs: Number(row['installs']) + 1 })),
      totals: {},
    }),
  }));
  for (const night of [2, 3, 4]) {
    expect((await world.night(night, { config })).failures).toEqual([]);
  }
  expect(await world.cells(daily)).toEqual(world.truth(daily));
  expect(world.warnings().filter((text) => text.startsWith('CONTROL_DIFFERS'))).toHaveLength(1);
});

test.each([
  ['the last rows', (rows: Report['rows']) => rows.slice(0, 5)],
  [
    'those of network y',
    (rows: Report['rows']) =>
      rows
        .toSorted((one, other) => (String(one['network']) < String(other['network']) ? -1 : 1))
        .slice(0, 5),
  ],
])(
  'an answer cut to 5 rows, %s lost, with the totals of these, is divided until control totals show it complete',
  async (_, cut) => {
    world = await openAnswering([daily], rows);
    world.rewrite({ part: 'undivided' }, (report) => {
      const kept = report.rows.length > 5 ? cut(report.rows) : report.rows;
      const totals = metrics.map((metric) => {
        return [metric, kept.reduce((sum, row) => sum + Number(row[metric]), 0)];
      });
      return json({ ...report, rows: kept, totals: Object.fromEntries(totals) as unknown });
    });
    // Days that ended within 7 days may still move.
    expect((await world.night(20, { config })).failures).toEqual([]);
    expect(await world.cells(daily)).toEqual(world.truth(daily));
    expect(world.warnings().filter((text) => text.startsWith('CONTROL_DIFFERS'))).toEqual([]);
  },
);

test('control totals that are refused, or too heavy beyond 10 days, leave the load as it would be, told once', async () => {
  world = await openAnswering([daily], rows);
  const restore = world.rewrite({ part: 'whole' }, () => ({ status: 400 }));
  for (const night of [2, 3]) expect((await world.night(night, { config })).failures).toEqual([]);
  expect(world.warnings().filter((text) => text.startsWith('CONTROL_UNREAD'))).toHaveLength(1);
  expect(await world.cells(daily)).toEqual(world.truth(daily));
  restore();
  world.rewrite({ part: 'whole' }, (report, { firstDay, lastDay }) =>
    Date.parse(lastDay) - Date.parse(firstDay) > 10 * MS_PER_DAY
      ? { status: 504 }
      : { status: 200, body: JSON.stringify(report) },
  );
  expect((await world.night(4, { config })).failures).toEqual([]);
  expect(
    await query(world.scenario, 'select count(*)::integer as n from ripen.control_readings'),
  ).toEqual([
    // Of 4 windows, 2 have rows.
    { n: 2 },
  ]);
  world.asked = [];
  expect((await world.night(5, { config })).failures).toEqual([]);
  expect(countAsked(world, { part: 'whole' })).toBe(4);
});

test('a final hole, and a value that was NULL, are loaded once control totals state them', async () => {
  const unpriced = rows.map((row) => (row.day === '2026-05-02' ? { ...row, cost: null } : row));
  world = await openAnswering([daily], unpriced);
  for (const night of [1, 2]) expect((await world.night(night, { config })).failures).toEqual([]);
  world.rows = [...rows, ...gridOf(['2026-05-10'], values, metrics)];
  const summary = await world.night(3, { config });
  expect(summary.failures).toEqual([]);
  expect(summary.slices[0]?.periods['moved']).toBe(2);
  expect(await world.cells(daily)).toEqual(world.truth(daily));
});

test.each([
  ['off', { config: { controlMs: null } }],
  ['answered 503', { config }],
])(
  'a final day that is corrected after a night whose control totals were %s is loaded once they are read',
  async (_, without) => {
    world = await openAnswering([daily], rows);
    const restore = world.rewrite({ part: 'whole' }, () => ({ status: 503 }));
    for (const night of [1, 2]) expect((await world.night(night, without)).failures).toEqual([]);
    restore();
    world.rows = raised('2026-05-02', 'installs', 5);
    await world.night(3, { config });
    expect(world.scenario.events).toContainEqual(
      expect.objectContaining({
        type: 'totals_moved',
        message: '2 periods had been loaded without control totals',
      }),
    );
    const { slices } = await world.scenario.inWarehouse(async (warehouse) =>
      readStatus({ ...world.scenario.config, ...config }, warehouse, nightAt(3)),
    );
    expect(slices[0]?.control).toMatchObject({ moved: 0, totals: 132 });
    expect(await world.cells(daily)).toEqual(world.truth(daily));
    const quiet = await world.night(4, { config });
    expect(quiet.slices[0]?.periods['moved']).toBeUndefined();
  },
);

test('days that were loaded without control totals, and that the service has no longer, stay as they are', async () => {
  world = await openAnswering([daily], rows);
  for (const night of [1, 2])
    expect((await world.night(night, { config: { controlMs: null } })).failures).toEqual([]);
  world.rows = rows.filter((row) => row.day !== '2026-05-01');
  for (const night of [3, 4]) expect((await world.night(night, { config })).failures).toEqual([]);
  expect(await world.cells(daily)).toEqual(world.truth(daily, rows));
});

test('runs of one instant with other metrics read their own control totals', async () => {
  const other = { ...daily, name: 'other', metrics: ['installs', 'impressions'] };
  const both = gridOf(days, values, [...metrics, 'impressions']);
  world = await openAnswering([daily, other], both);
  world.rewrite({ part: 'undivided', metric: 'impressions', day: '2026-05-02' }, () => ({
    status: 204,
  }));
  expect((await world.night(2, { config, slices: [daily] })).failures).toEqual([]);
  const summary = await world.night(2, { config, slices: [other] });
  // Its control totals have values, which refute the empty answer.
  expect(summary.failures.map(({ code }) => code)).toEqual(['DATA_SHRUNK']);
  expect(countAsked(world, { part: 'whole' })).toBe(2);
  world.asked = [];
  await world.night(2, { config, slices: [daily] });
  expect(countAsked(world, { part: 'whole' })).toBe(0);
});

test('an app that goes moves no final total of a slice whose rows do not name their app', async () => {
  const byNetwork = { ...daily, dimensions: ['day', 'network'], metrics: ['installs', 'cost'] };
  world = await openAnswering([byNetwork], rows);
  for (const night of [1, 2]) await world.night(night, { config });
  world.apps = ['a'];
  expect((await world.night(3, { config })).failures).toEqual([]);
  for (const night of [4, 5]) {
    const summary = await world.night(night, { config });
    expect(summary.failures).toEqual([]);
    expect(summary.slices[0]?.periods['moved']).toBeUndefined();
  }
});

test('control totals in several windows are requested newest first, whichever slices they are for', async () => {
  const days = Array.from({ length: 30 }, (_, at) => `2026-05-${String(at + 1).padStart(2, '0')}`);
  const first = { ...daily.parameters, attribution_source: 'first' };
  const both = [daily, { ...daily, name: 'other', parameters: first }];
  world = await openAnswering(both, gridOf(days, values, metrics));
  world.rewrite(
    {
      part: 'whole',
      matches: ({ firstDay, lastDay }) => Date.parse(lastDay) - Date.parse(firstDay) > 9e8,
    },
    refused(504),
  );
  await world.night(1, { config });
  world.asked = [];
  const service = { ...world.scenario.config.service, maxConcurrency: 1 };
  await world.night(2, { config: { ...config, service } });
  const asked = world.asked.filter(({ part }) => part === 'whole').map(({ lastDay }) => lastDay);
  expect(asked.length).toBeGreaterThan(5);
  expect(asked).toEqual(asked.toSorted().toReversed());
});

test('a refused metric of control totals in several windows costs each slice each window once', async () => {
  const good = { ...daily, name: 'good', metrics: ['installs', 'cost'] };
  const bad = { ...daily, name: 'bad', metrics: ['installs', 'no_such_metric'] };
  world = await openAnswering([good, bad], rows);
  world.rewrite({ part: 'whole' }, (report, { firstDay, lastDay, metrics: asked }) =>
    Date.parse(lastDay) - Date.parse(firstDay) > 10 * MS_PER_DAY
      ? { status: 504 }
      : asked.includes('no_such_metric')
        ? { status: 400 }
        : { status: 200, body: JSON.stringify(report) },
  );
  world.rewrite({ metric: 'no_such_metric', part: 'undivided' }, () => ({ status: 400 }));
  await world.night(2, { config });
  world.asked = [];
  await world.night(3, { config });
  // 33 days in windows of 8 at most, together and for each slice.
  expect(countAsked(world, { part: 'whole' })).toBeLessThanOrEqual(15);
});

test('a metric added to days that the service no longer has is NULL there: their rows stay, told once, and are not requested again', async () => {
  const of = { ...daily, metrics: ['installs', 'cost'] };
  const added = { ...of, metrics: ['installs', 'cost', 'clicks'] };
  const cohort = slice({
    ...daily,
    name: 'curve',
    cube: cubeMetrics({ retained_users: ['d1'], cohort_size: ['d1'] }),
    metrics: ['retained_users_d1', 'cohort_size_d1'],
  });
  const curve = {
    ...cohort,
    cube: cubeMetrics({ retained_users: ['d1'] }),
    metrics: ['retained_users_d1'],
  };
  const ids = [...added.metrics, ...cohort.metrics];
  const all = gridOf(['2026-05-01', '2026-05-02', '2026-05-20', '2026-06-01'], values, ids);
  world = await openAnswering([added, cohort], all);
  const archiving = { ...config, archiveMs: 400 * MS_PER_DAY };
  const night = async (number: number, slices: readonly Slice[]): Promise<void> => {
    const summary = await world.night(number, { config: archiving, slices });
    expect(summary.failures).toEqual([]);
  };
  await night(2, [of, curve]);
  const old = "day < '2026-05-10'";
  const before = [await world.cells(of, old), await world.cells(curve, old)];
  expect(before.map(({ length }) => length)).toEqual([16, 8]);
  world.rows = all.filter(({ day: date }) => date >= '2026-05-10');
  await night(3, [added, cohort]);
  world.asked = [];
  for (const number of [4, 5]) await night(number, [added, cohort]);
  expect(countAsked(world, { part: 'undivided', day: '2026-05-01' })).toBe(0);
  expect([await world.cells(added, old), await world.cells(cohort, old)]).toEqual(before);
  expect(await world.cells(added, "day > '2026-05-10'")).toEqual(world.truth(added));
  expect(world.warnings().filter((text) => text.includes('where a metric was added'))).toEqual([
    textWith('no rows for 2026-05-01:2026-05-02, where a metric was added'),
    textWith('no rows for 2026-05-01:2026-05-02, where a metric was added'),
  ]);
  const states = `select distinct state, rows from ripen.periods where start_day < '2026-05-03'`;
  expect(await query(world.scenario, states)).toEqual([{ state: 'final', rows: '4' }]);
  const { scenario } = world;
  await loseWarehouse(scenario);
  expect((await replayInto(scenario, { ...archiving, slices: [of, curve] })).failures).toEqual([]);
  expect([await world.cells(of, old), await world.cells(curve, old)]).toEqual(before);
}, 60_000);

test.each([
  ['rows that were computed earlier', ['installs', 'cost'], { cached_at: '2026-06-01T12:00:00Z' }],
  ['a metric that is never final', ['installs', 'cost', 'mystery'], {}],
])(
  'days with %s that the service no longer has cost no night after the one that added a metric',
  async (_, loaded, debug) => {
    const added = { ...daily, metrics: [...loaded, 'clicks'] };
    const all = gridOf(['2026-05-01', '2026-05-20', '2026-06-01'], values, added.metrics);
    world = await openAnswering([added], all);
    const restore = world.rewrite({ part: 'undivided' }, beside({ debug }));
    const of = { ...daily, metrics: loaded };
    expect((await world.night(2, { config, slices: [of] })).failures).toEqual([]);
    const before = await world.cells(of, "day < '2026-05-10'");
    restore();
    world.rows = all.filter(({ day: date }) => date >= '2026-05-10');
    for (const number of [3, 4])
      expect((await world.night(number, { config })).failures).toEqual([]);
    expect(await world.cells(added, "day < '2026-05-10'")).toEqual(before);
  },
);

test('a metric added on a night that is answered without rows keeps its days due', async () => {
  const of = { ...daily, metrics: ['installs', 'cost'] };
  world = await openAnswering([daily], rows);
  await world.night(2, { config, slices: [of] });
  const restore = world.rewrite({}, noContent);
  const { failures } = await world.night(3, { config });
  expect(failures.map(({ code }) => code)).toContain('DATA_SHRUNK');
  restore();
  expect((await world.night(4, { config })).failures).toEqual([]);
  expect(await world.cells(daily)).toEqual(world.truth(daily));
});
