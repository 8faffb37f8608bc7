/** Two mechanisms that meet: lost apps with returns, backfills and filters; a day that is not over with control totals; refused metrics with added ones. */

import { afterEach, expect, test } from 'vitest';

import { day, MS_PER_DAY } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import { type AnsweringWorld, gridOf, openAnswering, withCells } from '../support/answering.ts';
import { column, query } from '../support/contents.ts';
import { json } from '../support/scripted-server.ts';
import { slice } from '../support/slice.ts';

let world: AnsweringWorld;

afterEach(() => world.scenario.close());

const [KEPT, GONE, BACK] = ['keptapp12345', 'goneapp12345', 'backapp12345'];
const metrics = ['installs', 'clicks'];
const DAYS = ['2026-05-10', '2026-05-11', '2026-05-12', '2026-06-08', '2026-06-09', '2026-06-10'];
const rowsOf = (revision: number) =>
  gridOf(DAYS, { app_token: [KEPT, GONE, BACK] }, [...metrics, 'good_events'], revision);
const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token'],
  metrics,
  datePeriod: { first: { day: day('2026-05-10') }, last: { daysAgo: 1 } },
  refresh: 'nightly',
  horizons: [{ pattern: '*', horizonMs: 7 * MS_PER_DAY }],
});
const config = { controlMs: 400 * MS_PER_DAY };
const everyDay = {
  command: 'backfill',
  forced: { start: day('2026-05-10'), end: day('2026-05-13') },
} as const;

const finals = `select distinct period::varchar from ripen.finality
  where is_final and period in ('2026-05-10', '2026-05-11', '2026-05-12') order by all`;

test('final days stay final when one of two lost apps comes back, and the rows of the other are kept', async () => {
  world = await openAnswering([daily], rowsOf(1), { apps: [KEPT, GONE, BACK] });
  await world.night(10, { config });
  const final = await column(world.scenario, finals);
  expect(final).toEqual(DAYS.slice(0, 3));
  world.apps = [KEPT];
  for (const night of [11, 12]) await world.night(night, { config });
  world.apps = [KEPT, BACK];
  for (const night of [13, 14, 15]) {
    world.asked = [];
    expect((await world.night(night, { config })).failures).toEqual([]);
  }
  expect(await column(world.scenario, finals)).toEqual(final);
  const asked = world.asked.filter(({ part }) => part !== 'whole');
  expect(asked.filter(({ firstDay }) => firstDay < '2026-06-01')).toEqual([]);
});

test('a final day that has rows of a lost app alone stays final after a backfill, and is not called empty', async () => {
  const rows = rowsOf(1).filter((row) => row.day !== '2026-05-11' || row['app_token'] === GONE);
  world = await openAnswering([daily], rows, { apps: [KEPT, GONE, BACK] });
  await world.night(10);
  world.apps = [KEPT, BACK];
  await world.night(11, { request: everyDay });
  expect(await column(world.scenario, finals)).toEqual(DAYS.slice(0, 3));
  const sums = `select day::varchar as day, count(*)::varchar as rows from daily where day = '2026-05-11' group by all`;
  expect(await query(world.scenario, sums)).toEqual([{ day: '2026-05-11', rows: '1' }]);
});

test('a day that is not over keeps its rows when an answer has none while control totals state values for it', async () => {
  const open: Slice = { ...daily, datePeriod: { ...daily.datePeriod, last: { daysAgo: 0 } } };
  world = await openAnswering([open], rowsOf(1));
  await world.night(10, { config });
  const stored = await world.cells(open, `day = '2026-06-10'`);
  expect(stored).not.toEqual([]);
  world.rewrite({ matches: ({ part }) => part !== 'whole' }, (report) =>
    json({ ...report, rows: report.rows.filter((row) => row['day'] !== '2026-06-10'), totals: {} }),
  );
  const asOf = new Date('2026-06-10T09:00:00Z');
  expect((await world.night(10, { config, request: { asOf } })).failures).toEqual([]);
  expect(await world.cells(open, `day = '2026-06-10'`)).toEqual(stored);
});

test('a metric that is added beside a star is loaded the same night if the service refuses one that the star stands for', async () => {
  const fixed: Slice = {
    ...daily,
    metrics: ['installs'],
    datePeriod: { first: { day: day('2026-05-10') }, last: { day: day('2026-05-12') } },
  };
  const rows = gridOf(DAYS, { app_token: [KEPT] }, [...metrics, 'good_events', 'bad_events']);
  world = await openAnswering([fixed], rows);
  await world.night(10);
  world.rewrite({ metric: 'bad_events' }, () =>
    json({ error_desc: 'metric bad_events is not available' }, { status: 400 }),
  );
  const more: Slice = { ...fixed, metrics: ['installs', 'clicks', '*_events'] };
  expect((await world.night(11, { slices: [more] })).failures).toEqual([]);
  const counts =
    'select count(clicks)::varchar as clicks, count(good_events)::varchar as events from daily';
  expect(await query(world.scenario, counts)).toEqual([{ clicks: '3', events: '3' }]);
});

test('a lost app in the own `app_token__not_in` of a slice is left out of a request that is refused because of it', async () => {
  const without: Slice = {
    ...daily,
    parameters: { ...daily.parameters, app_token__not_in: GONE },
  };
  world = await openAnswering([without], rowsOf(1), { apps: [KEPT, GONE, BACK], refusal: 403 });
  await world.night(10);
  world.apps = [KEPT, BACK];
  world.rewrite({ matches: ({ query: asked }) => asked.get('app_token__not_in') === GONE }, () => ({
    status: 403,
  }));
  expect((await world.night(11)).failures).toEqual([]);
  const apps = 'select distinct app_token from daily order by all';
  expect(await column(world.scenario, apps)).toEqual([BACK, KEPT]);
});

test('a slice without a date dimension moves on after an app was lost, as other days are another period', async () => {
  const total: Slice = {
    ...daily,
    name: 'total',
    grain: null,
    dimensions: ['network'],
    datePeriod: { first: { daysAgo: 30 }, last: { daysAgo: 10 } },
  };
  const rows = gridOf(['2026-05-25'], { app_token: [KEPT, GONE], network: ['x'] }, metrics);
  world = await openAnswering([total], rows, { apps: [KEPT, GONE] });
  await world.night(10);
  world.apps = [KEPT];
  for (const night of [11, 12]) await world.night(night);
  const last = 'select max(requested_end)::varchar from ripen.periods';
  expect(await column(world.scenario, last)).toEqual(['2026-06-03']);
});

test('a name that a lost app has from a listed one of before is of neither alone: the rows of the listed one are corrected', async () => {
  const named: Slice = { ...daily, dimensions: ['day', 'app'] };
  const nameOf = (names: Readonly<Record<string, string>>) => (token: string) =>
    names[token] ?? token;
  const rowsNamed = (names: Readonly<Record<string, string>>, revision: number) =>
    gridOf(DAYS, { app_token: Object.keys(names) }, metrics, revision).map((row) =>
      withCells(row, { app: names[String(row['app_token'])] ?? '' }),
    );
  const [before, after] = [{ [BACK]: 'Game' }, { [BACK]: 'Old Game', [GONE]: 'Game' }];
  world = await openAnswering([named], rowsNamed(before, 1), {
    apps: [BACK],
    appName: nameOf(before),
  });
  await world.night(10, { config });
  Object.assign(world, { apps: [BACK, GONE], appName: nameOf(after) });
  world.rows = rowsNamed(after, 1);
  await world.night(11, { config });
  world.apps = [BACK];
  world.rows = rowsNamed({ [BACK]: 'Old Game' }, 2);
  for (const night of [12, 13]) await world.night(night, { config });
  const twice = `select distinct day from daily group by day having count(*) > 1 and day >= date '2026-06-08'`;
  expect(await query(world.scenario, twice)).toEqual([]);
});
