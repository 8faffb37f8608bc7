/** FAULTS 56 and PRODUCT §6, *Lost access*: an app that goes from rows, totals and catalog, for a night or for ever, and comes back. */

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { cubeMetrics } from '../../src/model/cube.ts';
import type { Slice } from '../../src/model/slice.ts';
import type { RunOptions } from '../../src/run/run.ts';
import { readStatus } from '../../src/report/status/status.ts';
import {
  type AnsweringWorld,
  gridOf,
  inBatches,
  nightAt,
  openAnswering,
  type TrueRow,
  withCells,
} from '../support/answering.ts';
import { archived, DAY_MS, replayInto } from '../support/archive-scene.ts';
import { column, lastRun, query } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { refused } from '../support/odd-answers.ts';
import { slice } from '../support/slice.ts';

/** As tokens are: no other word of a message holds them. */
const [KEPT, GONE] = ['keptapp12345', 'goneapp12345'];
const metrics = ['installs', 'clicks', 'cost'];
/** The first 3 are final on the nights below, the last 2 are not. */
const DAYS = ['2026-05-10', '2026-05-11', '2026-05-12', '2026-06-08', '2026-06-09'];
const FINAL = DAYS.slice(0, 3);
const LATER = '2026-06-10';
const [BEFORE, AFTER, NEXT, BACK] = [10, 11, 12, 13];

const YOUNG = ['2026-06-08', '2026-06-09', LATER];

const cube = cubeMetrics({ cohort_size: ['d1', 'd30'], all_revenue_total: ['d1', 'd30'] });
const ids = cube.map(({ metric }) => metric);

const rowsOf = (revision: number): TrueRow[] =>
  gridOf(
    [...DAYS, LATER, '2026-06-11', '2026-06-12'],
    { app_token: [KEPT, GONE], network: ['x', 'y'] },
    [...metrics, ...ids],
    revision,
  ).map((row) => withCells(row, { app: `App ${row['app_token']}` }));

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics,
  datePeriod: { first: { day: day('2026-05-10') }, last: { daysAgo: 1 } },
  refresh: 'nightly',
  horizons: [{ pattern: '*', horizonMs: 7 * 86_400_000 }],
});

/** Slices for which the rows of an app are found, and kept, in another way each. */
const coarse: Slice = { ...daily, name: 'coarse', dimensions: ['day', 'network'] };
const curve = slice({ ...daily, name: 'curve', metrics: ids, cube, horizons: [] });
const named: Slice = {
  ...daily,
  name: 'named',
  parameters: { ...daily.parameters, app_token__in: `${KEPT},${GONE}` },
};
const kinds: readonly Slice[] = [
  daily,
  { ...inBatches(daily, 21), name: 'batched' },
  { ...daily, name: 'lenient', completeness: 'warn' },
  { ...daily, name: 'filtered', parameters: { ...daily.parameters, installs__gte: '1' } },
  { ...daily, name: 'by_name', dimensions: ['day', 'app', 'network'] },
  named,
];

const isOf =
  (token: string) =>
  (row: TrueRow): boolean =>
    row['app_token'] === token;
const ofApp = (cells: readonly string[], token: string): string[] =>
  cells.filter((cell) => cell.includes(token));
const onDays = (cells: readonly string[], days: readonly string[]): string[] =>
  cells.filter((cell) => days.some((date) => cell.startsWith(date)));

/** The warnings since so many that name the app that went. */
function wordsSince(world: AnsweringWorld, before: number): string[] {
  return world
    .warnings()
    .slice(before)
    .filter((words) => words.includes(GONE));
}

/** A world of one night with both apps, and then one without the second. */
async function openLost(
  of: readonly Slice[],
  refusal: 400 | 403 | null = null,
): Promise<AnsweringWorld> {
  const world = await openAnswering(of, rowsOf(1), { apps: [KEPT, GONE], refusal });
  expect((await world.night(BEFORE)).failures).toEqual([]);
  world.apps = [KEPT];
  world.rows = rowsOf(2);
  return world;
}

/** The rows of a slice that does not name apps, of those that are there. */
function sums(revision: number): TrueRow[] {
  const groups = new Map<string, TrueRow>();
  for (const row of rowsOf(revision)) {
    const key = `${row.day} ${row['network']}`;
    const before = groups.get(key);
    const cells = metrics.map((metric): [string, string] => [
      metric,
      String(Number(row[metric]) + Number(before?.[metric] ?? 0)),
    ]);
    groups.set(key, withCells(row, Object.fromEntries(cells)));
  }
  return [...groups.values()];
}

const everyDay = {
  command: 'backfill',
  forced: { start: day('2026-05-10'), end: day('2026-06-11') },
} as const;

test('the rows of an app that is no longer listed stay, those of the other are replaced, and 2 runs name the app, with exit code 0; once it is back, every day is whole', async () => {
  const world = await openLost([...kinds, coarse], 403);
  const held = new Map<string, string[]>();
  for (const of of kinds) {
    held.set(of.name, ofApp(await world.cells(of), GONE));
    expect(held.get(of.name), of.name).toHaveLength(DAYS.length * 6);
  }
  for (const night of [AFTER, NEXT]) {
    const told = world.warnings().length;
    expect((await world.night(night)).failures).toEqual([]);
    expect(await lastRun(world.scenario)).toEqual({ status: 'succeeded', exit_code: 0 });
    const words = wordsSince(world, told).join();
    for (const { name } of [...kinds, coarse]) expect(words).toMatch(new RegExp(`\\b${name}\\b`));
  }
  await world.reading(async () => {
    for (const of of kinds) {
      const cells = await world.cells(of);
      expect(ofApp(cells, GONE), of.name).toEqual(held.get(of.name));
      expect(onDays(ofApp(cells, KEPT), YOUNG), of.name).toEqual(
        onDays(ofApp(world.truth(of), KEPT), YOUNG),
      );
    }
  });

  world.apps = [KEPT, GONE];
  const told = world.warnings().length;
  expect((await world.night(BACK)).failures).toEqual([]);
  const young = [...YOUNG, '2026-06-11', '2026-06-12'];
  await world.reading(async () => {
    for (const of of kinds)
      expect(onDays(await world.cells(of), young), of.name).toEqual(onDays(world.truth(of), young));
    expect(onDays(await world.cells(coarse), young)).toEqual(
      onDays(world.truth(coarse, sums(2)), young),
    );
  });
  await world.night(BACK + 1);
  expect(wordsSince(world, told)).toEqual([]);
});

test('a backfill deletes no row of an app that went from final days, corrects the other app there, and leaves the final days of a slice without apps; the ledger counts the rows of both', async () => {
  const world = await openLost([daily, coarse, curve]);
  const [before, values] = [await world.cells(daily), await world.cells(curve)];
  const final = onDays(world.truth(coarse, sums(1)), FINAL);
  expect(onDays(await world.cells(coarse), FINAL)).toEqual(final);
  expect((await world.night(AFTER, { request: everyDay })).failures).toEqual([]);
  await world.reading(async () => {
    expect(ofApp(await world.cells(daily), GONE)).toEqual(ofApp(before, GONE));
    expect(ofApp(await world.cells(curve), GONE)).toEqual(ofApp(values, GONE));
    for (const of of [daily, curve])
      expect(onDays(ofApp(await world.cells(of), KEPT), DAYS)).toEqual(
        onDays(ofApp(world.truth(of), KEPT), DAYS),
      );
    expect(onDays(await world.cells(coarse), FINAL)).toEqual(final);
  });
  expect(wordsSince(world, 0).join()).toMatch(/\bcoarse\b/);
  const counted = `select start_day, rows from ripen.periods where slice = 'daily' and rows > 0 order by 1`;
  const standing = `select day as start_day, count(*) as rows from daily group by day order by 1`;
  expect(await query(world.scenario, counted)).toEqual(await query(world.scenario, standing));
  const loaded = `select sum(rows_loaded) from ripen.loads where slice = 'daily'
    and run_id = (select run_id from ripen.runs order by run_number desc limit 1)`;
  expect(await column(world.scenario, loaded)).toEqual(['12']);
});

test('a metric that is added on the night when an app goes is NULL on the final days of a slice without apps, which stay and are named; once the app is back, every day is whole', async () => {
  const [few, all]: [Slice, Slice] = [{ ...coarse, metrics: ['installs', 'clicks'] }, coarse];
  const world = await openLost([few]);
  const final = onDays(await world.cells(few), FINAL);
  for (const night of [AFTER, NEXT]) {
    const told = world.warnings().length;
    expect((await world.night(night, { slices: [all] })).failures).toEqual([]);
    expect(wordsSince(world, told).join()).toMatch(/\bcoarse\b/);
  }
  expect(onDays(await world.cells(few), FINAL)).toEqual(final);
  const finality = `select distinct metric, is_final from ripen.finality where period in (${FINAL.map((each) => `'${each}'`).join()}) order by 1`;
  expect(await query(world.scenario, finality)).toEqual([
    { metric: 'clicks', is_final: true },
    { metric: 'cost', is_final: false },
    { metric: 'installs', is_final: true },
  ]);
  world.apps = [KEPT, GONE];
  expect((await world.night(BACK, { slices: [all] })).failures).toEqual([]);
  expect(onDays(await world.cells(all), FINAL)).toEqual(onDays(world.truth(all, sums(2)), FINAL));
});

test('days of a cube without apps that have a final age when an app goes stay whole and are not requested again, so that nothing is late, also where a metric is added; once the app is back, they are whole', async () => {
  const few = { cohort_size: ['d1', 'd3', 'd7'], all_revenue_total: ['d1', 'd3'] };
  const of = (keys: Readonly<Record<string, readonly string[]>>): Slice => {
    const cells = cubeMetrics(keys);
    const all = cells.map(({ metric }) => metric);
    return { ...curve, name: 'total', dimensions: ['day', 'network'], metrics: all, cube: cells };
  };
  const ages = { ...few, all_revenue_total: ['d1', 'd3', 'd7'] };
  const [before, after] = [of(few), of(ages)];
  const days = ['2026-06-01', '2026-06-02', '2026-06-03', '2026-06-04', '2026-06-05', ...YOUNG];
  const both = (revision: number) =>
    gridOf(days, { app_token: [KEPT, GONE], network: ['x', 'y'] }, [...after.metrics], revision);
  const world = await openAnswering([before], both(1), { apps: [KEPT, GONE] });
  await world.night(BEFORE);
  const whole = await column(
    world.scenario,
    `select distinct period::varchar from ripen.finality where is_final order by all`,
  );
  const stored = onDays(await world.cells(before), whole);
  expect(new Set(stored.map((cell) => cell.slice(0, 10))).size).toBeGreaterThan(1);
  world.apps = [KEPT];
  world.rows = both(2);
  await world.night(AFTER, { slices: [after] });
  for (const night of [NEXT, BACK, 15, 20]) {
    world.asked = [];
    expect((await world.night(night, { slices: [after] })).failures).toEqual([]);
    expect(world.asked.filter(({ firstDay }) => firstDay <= String(whole.at(-1)))).toEqual([]);
  }
  expect(onDays(await world.cells(after), whole)).toEqual(stored);
  const config = { ...world.scenario.config, slices: [after] };
  const { health } = await world.scenario.inWarehouse(async (warehouse) =>
    readStatus(config, warehouse, nightAt(20)),
  );
  expect(health.findings).toEqual([]);
  world.apps = [KEPT, GONE];
  await world.night(21, { slices: [after] });
  expect(await world.cells(after)).toEqual(world.answerTo(after, '2026-05-10', '2026-06-20'));
});

test('`backfill --accept-loss` deletes the rows of an app that went from 6 days, after which no run names it', async () => {
  const world = await openLost([daily]);
  await world.night(AFTER);
  const request = { ...everyDay, acceptLoss: true };
  expect((await world.night(NEXT, { request })).failures).toEqual([]);
  expect(ofApp(await world.cells(daily), GONE)).toEqual([]);
  const told = world.warnings().length;
  expect((await world.night(BACK)).failures).toEqual([]);
  expect(wordsSince(world, told)).toEqual([]);
});

test('a changed meaning is not served while only the old table has the rows of an app that went', async () => {
  const world = await openLost([daily]);
  const before = ofApp(await world.cells(daily), GONE);
  const changed: Slice = { ...daily, dimensions: ['day', 'app_token'] };
  expect((await world.night(AFTER, { slices: [changed] })).failures).toEqual([]);
  expect(ofApp(await world.cells(daily), GONE)).toEqual(before);
  expect(wordsSince(world, 0).some((words) => words.startsWith('MEANING_HELD_BACK'))).toBe(true);
  await world.night(NEXT, { slices: [changed] });
  const request = { ...everyDay, acceptLoss: true };
  await world.night(NEXT, { slices: [changed], request });
  expect(ofApp(await world.cells(changed), GONE)).toEqual([]);
  expect(await column(world.scenario, 'select count(*) from daily where installs > 0')).toEqual([
    '7',
  ]);
});

test('a replay keeps the rows of an app that went where its answer does not name the app, whatever its other answers name', async () => {
  const networks = Array.from({ length: 20 }, (_, at) => `n${at}`);
  const days = Array.from({ length: 15 }, (_, at) => `2026-05-${11 + at}`);
  const rows = (revision: number): TrueRow[] =>
    gridOf(days, { app_token: [KEPT, GONE], network: networks }, metrics, revision);
  const fixed: Slice = {
    ...daily,
    refresh: 'milestones',
    horizons: [{ pattern: '*', horizonMs: 30 * DAY_MS }],
    datePeriod: { first: { day: day('2026-05-11') }, last: { day: day('2026-05-25') } },
  };
  const world = await openAnswering([fixed], rows(1), { apps: [KEPT, GONE] });
  await world.night(BEFORE, { config: archived });
  world.apps = [KEPT];
  world.rows = rows(2);
  await world.night(AFTER, { config: archived });
  const stored = `select day, count(*) as rows from daily where app_token = '${GONE}' group by all order by 1`;
  const before = await query(world.scenario, stored);
  expect(before).toHaveLength(days.length);
  expect((await replayInto(world.scenario, archived)).failures).toEqual([]);
  expect(await query(world.scenario, stored)).toEqual(before);
});

test('final days keep the rows of an app that went and has the name of a listed one, if rows name it by that alone, and it is named', async () => {
  const rows = (revision: number): TrueRow[] =>
    rowsOf(revision).map((row) =>
      withCells(row, { app: 'Puzzle', os_name: row['app_token'] === GONE ? 'ios' : 'android' }),
    );
  const of: Slice = { ...daily, dimensions: ['day', 'app', 'os_name', 'network'] };
  const world = await openAnswering([of], rows(1), { apps: [KEPT, GONE], appName: () => 'Puzzle' });
  await world.night(BEFORE);
  const stored = `select day, count(*) as rows from daily where os_name = 'ios' and day < '2026-06-01' group by all order by 1`;
  const before = await query(world.scenario, stored);
  expect(before).toHaveLength(FINAL.length);
  world.apps = [KEPT];
  world.rows = rows(2);
  await world.night(AFTER);
  const forced = { start: day('2026-05-10'), end: day('2026-05-13') };
  await world.night(NEXT, { request: { command: 'backfill', forced } });
  expect(await query(world.scenario, stored)).toEqual(before);
  expect(world.warnings()).toContainEqual(textWith('ACCESS_LOST'));
});

test.each<[string, number, Partial<RunOptions>]>([
  ['a backfill 5 hours after', 5, everyDay],
  ['a second sync 19 hours after', 19, {}],
  ['a backfill as of the instant of', 0, everyDay],
])(
  '%s a run that still listed an app keeps the rows of that app, and names it',
  async (_, hours, request) => {
    const world = await openLost([daily]);
    const before = ofApp(await world.cells(daily), GONE);
    const asOf = new Date(nightAt(BEFORE).getTime() + hours * 3_600_000);
    expect((await world.night(BEFORE, { request: { ...request, asOf } })).failures).toEqual([]);
    expect(ofApp(await world.cells(daily), GONE)).toEqual(before);
    expect(wordsSince(world, 0)).toEqual([textWith('ACCESS_LOST')]);
  },
);

test('runs that only list the apps again keep the other lists, which a run of the next night requests', async () => {
  const world = await openAnswering([daily], rowsOf(1), { apps: [KEPT, GONE] });
  const items = () => column(world.scenario, 'select count(*) from ripen.catalog');
  await world.night(BEFORE);
  const before = await items();
  const hoursSeen = `select distinct date_diff('hour', timestamp '2026-06-10 02:30', seen_at) from ripen.catalog`;
  for (const hours of [8, 16, 24]) {
    const asOf = new Date(nightAt(BEFORE).getTime() + hours * 3_600_000);
    await world.night(BEFORE, { request: { asOf } });
    expect(await items()).toEqual(before);
    expect(await column(world.scenario, hoursSeen)).toEqual([hours === 24 ? '24' : '0']);
  }
  expect(world.warnings().filter((words) => words.startsWith('CATALOG'))).toEqual([]);
});

test.each([
  ['', 'Kept', []],
  [', but not young ones under a name that a listed app has now', 'Second', ['2026-06-09']],
])(
  'rows under earlier names of an app that went stay as those under its last one do%s',
  async (_, nameOfOther, replaced) => {
    const names = new Map([
      ['2026-05-12', 'Second'],
      ['2026-06-09', 'Second'],
      [LATER, 'Third'],
      ['2026-06-11', 'Third'],
    ]);
    const rows = (revision: number): TrueRow[] =>
      rowsOf(revision).map((row) =>
        withCells(row, { app: isOf(GONE)(row) ? (names.get(row.day) ?? 'First') : 'Kept' }),
      );
    const of: Slice = { ...daily, dimensions: ['day', 'app', 'network'] };
    const world = await openAnswering([of], rows(1), { apps: [KEPT, GONE] });
    for (const [night, name] of ['First', 'Second', 'Third'].entries()) {
      world.appName = (token) => (token === GONE ? name : 'Kept');
      await world.night(BEFORE + night);
    }
    const stored = () => world.cells(of, `app <> 'Kept'`);
    const before = await stored();
    expect(before).toHaveLength(7 * 2 * metrics.length);
    Object.assign(world, { apps: [KEPT], appName: () => nameOfOther, rows: rows(2) });
    expect((await world.night(BACK, { request: everyDay })).failures).toEqual([]);
    const gone = onDays(before, replaced);
    expect(await stored()).toEqual(before.filter((cell) => !gone.includes(cell)));
  },
);

test('an app that is still listed and only has no rows any more is no lost access: its rows of young days go', async () => {
  const world = await openAnswering([daily], rowsOf(1), { apps: [KEPT, GONE] });
  await world.night(BEFORE);
  world.rows = rowsOf(2).filter((row) => !isOf(GONE)(row) || FINAL.includes(row.day));
  expect((await world.night(AFTER)).failures).toEqual([]);
  expect(onDays(ofApp(await world.cells(daily), GONE), ['2026-06-08', '2026-06-09'])).toEqual([]);
  expect(wordsSince(world, 0)).toEqual([]);
});

test('an app that is no longer listed, but that answers still name, is loaded as before, and not named', async () => {
  const world = await openLost([daily]);
  world.apps = null;
  world.listed = [KEPT];
  expect((await world.night(AFTER)).failures).toEqual([]);
  const young = ['2026-06-08', '2026-06-09', LATER];
  expect(onDays(await world.cells(daily), young)).toEqual(onDays(world.truth(daily), young));
  expect(wordsSince(world, 0)).toEqual([]);
});

test('rows of an app that was lost while they matured never become final, the other days do', async () => {
  const world = await openLost([daily]);
  for (const night of [AFTER, 25]) expect((await world.night(night)).failures).toEqual([]);
  const finals = await column(
    world.scenario,
    `select distinct period from ripen.finality where is_final and metric = 'installs' and period in (${[...FINAL, ...YOUNG].map((each) => `'${each}'`).join()}) order by all`,
  );
  // The last day was over only after the app had gone.
  expect(finals).toEqual([...FINAL, LATER]);
});

test('an app that comes back after 2 weeks is whole in the days that became final without it', async () => {
  const world = await openLost([daily]);
  for (const night of [AFTER, 25]) await world.night(night);
  world.apps = [KEPT, GONE];
  expect((await world.night(26)).failures).toEqual([]);
  expect(onDays(await world.cells(daily), YOUNG)).toEqual(onDays(world.truth(daily), YOUNG));
});

test('a list of apps that is empty for a night, while rows have both, is no lost access', async () => {
  const world = await openAnswering([daily], rowsOf(1), { apps: [KEPT, GONE] });
  await world.night(BEFORE);
  world.listed = [];
  world.rows = rowsOf(2);
  expect((await world.night(AFTER)).failures).toEqual([]);
  const young = ['2026-06-08', '2026-06-09', LATER];
  expect(onDays(await world.cells(daily), young)).toEqual(onDays(world.truth(daily), young));
  expect(wordsSince(world, 0)).toEqual([]);
});

describe('a slice whose `app_token__in` names both apps', () => {
  test.each([400, null] as const)(
    'and whose report is answered %j once one is gone keeps its rows, replaces those of the other and names it, with exit code 0',
    async (refusal) => {
      const world = await openLost([named], refusal);
      const before = ofApp(await world.cells(named), GONE);
      for (const night of [AFTER, NEXT]) {
        const told = world.warnings().length;
        expect((await world.night(night)).failures).toEqual([]);
        expect(wordsSince(world, told).length).toBeGreaterThan(0);
      }
      expect(ofApp(await world.cells(named), GONE)).toEqual(before);
      const young = ['2026-06-08', '2026-06-09', LATER];
      expect(onDays(ofApp(await world.cells(named), KEPT), young)).toEqual(
        onDays(ofApp(world.truth(named), KEPT), young),
      );
      world.apps = [KEPT, GONE];
      expect((await world.night(BACK)).failures).toEqual([]);
      expect(onDays(await world.cells(named), young)).toEqual(onDays(world.truth(named), young));
    },
  );

  test('and of which one is not listed, but answered for, is asked for both where another day is refused', async () => {
    const world = await openAnswering([named], rowsOf(1), { maxRows: 4 });
    expect((await world.night(BEFORE)).failures).toEqual([]);
    Object.assign(world, { listed: [KEPT], rows: rowsOf(2) });
    world.rewrite({ day: LATER }, refused(400));
    const service = { ...world.scenario.config.service, maxConcurrency: 1 };
    const { failures } = await world.night(AFTER, { config: { service } });
    expect(failures.map(({ window }) => window)).toEqual([`${LATER}:${LATER}`]);
    const young = ['2026-06-08', '2026-06-09'];
    expect(onDays(await world.cells(named), young)).toEqual(onDays(world.truth(named), young));
  });

  test('of which neither is listed, while another app is, and whose report is refused keeps every row and names both', async () => {
    const world = await openLost([named], 403);
    const before = await world.cells(named);
    world.apps = ['otherapp1234'];
    expect((await world.night(AFTER)).failures).toEqual([]);
    expect(await world.cells(named)).toEqual(before);
    for (const app of [KEPT, GONE])
      expect(world.warnings()).toContainEqual(textWith(`The app ${app} is no longer listed`));
  });

  test('of which neither is listed before anything was loaded fails with exit code 78', async () => {
    const world = await openAnswering([named], rowsOf(1), { apps: [KEPT, GONE] });
    const other: Slice = { ...daily, name: 'other' };
    await world.night(BEFORE, { slices: [other] });
    Object.assign(world, { apps: ['otherapp1234'], refusal: 403 });
    const { failures } = await world.night(AFTER, { slices: [named] });
    expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['ACCESS_FORBIDDEN']));
    expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 78 });
  });

  test('of which no app is left, as the list of apps is empty too, keeps every row', async () => {
    const world = await openLost([named], 403);
    const before = await world.cells(named);
    world.apps = [];
    await world.night(AFTER);
    expect(await world.cells(named)).toEqual(before);
  });
});
