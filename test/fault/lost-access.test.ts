/** FAULTS 56 and PRODUCT §6, *Lost access*: an app that goes from rows, totals and catalog, for a night or for ever, and comes back. */

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { cubeMetrics } from '../../src/model/cube.ts';
import type { Slice } from '../../src/model/slice.ts';
import {
  type AnsweringWorld,
  gridOf,
  inBatches,
  openAnswering,
  type TrueRow,
  withCells,
} from '../support/answering.ts';
import { column, lastRun, query } from '../support/contents.ts';
import { slice } from '../support/slice.ts';

/** As tokens are: no other word of a message holds them. */
const [KEPT, GONE] = ['keptapp12345', 'goneapp12345'];
const metrics = ['installs', 'clicks', 'cost'];
/** The first 3 are final on the nights below, the last 2 are not. */
const DAYS = ['2026-05-10', '2026-05-11', '2026-05-12', '2026-06-08', '2026-06-09'];
const FINAL = DAYS.slice(0, 3);
const LATER = '2026-06-10';
const [BEFORE, AFTER, NEXT, BACK] = [10, 11, 12, 13];

const rowsOf = (
  revision: number,
  days: readonly string[] = [...DAYS, LATER, '2026-06-11', '2026-06-12'],
) => gridOf(days, { app_token: [KEPT, GONE], network: ['x', 'y'] }, metrics, revision);

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics,
  datePeriod: { first: { day: day('2026-05-10') }, last: { daysAgo: 1 } },
  refresh: 'nightly',
  horizons: [{ pattern: '*', horizonMs: 7 * 86_400_000 }],
});

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
async function openLost(of: Slice, refusal: 400 | 403 | null = null): Promise<AnsweringWorld> {
  const world = await openAnswering([of], rowsOf(1), { apps: [KEPT, GONE], refusal });
  expect((await world.night(BEFORE)).failures).toEqual([]);
  world.apps = [KEPT];
  world.rows = rowsOf(2);
  return world;
}

const everyDay = {
  command: 'backfill',
  forced: { start: day('2026-05-10'), end: day('2026-06-11') },
} as const;

test('the rows of an app that is no longer listed stay, those of the other are replaced, and 2 runs name the app, with exit code 0', async () => {
  const world = await openLost(daily);
  const before = ofApp(await world.cells(daily), GONE);
  expect(before).toHaveLength(DAYS.length * 6);
  for (const night of [AFTER, NEXT]) {
    const told = world.warnings().length;
    const summary = await world.night(night);
    expect(summary.failures).toEqual([]);
    expect(await lastRun(world.scenario)).toEqual({ status: 'succeeded', exit_code: 0 });
    expect(wordsSince(world, told).length).toBeGreaterThan(0);
    expect(ofApp(await world.cells(daily), GONE)).toEqual(before);
  }
  const ofKept = onDays(world.truth(daily, rowsOf(2).filter(isOf(KEPT))), [
    '2026-06-08',
    '2026-06-09',
    LATER,
  ]);
  expect(
    onDays(ofApp(await world.cells(daily), KEPT), ['2026-06-08', '2026-06-09', LATER]),
  ).toEqual(ofKept);
});

test('the ledger counts the rows that stand in the table, also those of an app that went', async () => {
  const world = await openLost(daily);
  expect((await world.night(AFTER, { request: everyDay })).failures).toEqual([]);
  const counted = `select start_day, rows from ripen.periods where rows > 0 order by 1`;
  const standing = `select day as start_day, count(*) as rows from daily group by day order by 1`;
  expect(await query(world.scenario, counted)).toEqual(await query(world.scenario, standing));
  expect(
    await column(
      world.scenario,
      'select sum(rows_loaded) from ripen.loads where run_id = (select run_id from ripen.runs order by run_number desc limit 1)',
    ),
  ).toEqual(['12']);
});

test('an app that goes is not deleted from final days by a backfill either, and the other app is corrected there', async () => {
  const world = await openLost(daily);
  const before = ofApp(await world.cells(daily), GONE);
  const summary = await world.night(AFTER, { request: everyDay });
  expect(summary.failures).toEqual([]);
  expect(ofApp(await world.cells(daily), GONE)).toEqual(before);
  expect(onDays(ofApp(await world.cells(daily), KEPT), DAYS)).toEqual(
    onDays(world.truth(daily, rowsOf(2).filter(isOf(KEPT))), DAYS),
  );
});

test('an app that comes back after 2 nights is whole in every day of them, and no longer named', async () => {
  const world = await openLost(daily);
  await world.night(AFTER);
  await world.night(NEXT);
  world.apps = [KEPT, GONE];
  const told = world.warnings().length;
  expect((await world.night(BACK)).failures).toEqual([]);
  const young = ['2026-06-08', '2026-06-09', LATER, '2026-06-11', '2026-06-12'];
  expect(onDays(await world.cells(daily), young)).toEqual(onDays(world.truth(daily), young));
  await world.night(BACK + 1);
  expect(wordsSince(world, told)).toEqual([]);
});

test('an app that comes back after 3 weeks is whole in the days that were fetched without it and became final meanwhile', async () => {
  const world = await openLost(daily);
  for (const night of [AFTER, NEXT, 25]) await world.night(night);
  world.apps = [KEPT, GONE];
  expect((await world.night(26)).failures).toEqual([]);
  const without = ['2026-06-08', '2026-06-09', LATER, '2026-06-11', '2026-06-12'];
  expect(onDays(ofApp(await world.cells(daily), GONE), without)).toEqual(
    onDays(ofApp(world.truth(daily), GONE), without),
  );
});

test('`backfill --accept-loss` deletes the rows of an app that went from 6 days, after which no run names it', async () => {
  const world = await openLost(daily);
  await world.night(AFTER);
  const request = { ...everyDay, acceptLoss: true };
  expect((await world.night(NEXT, { request })).failures).toEqual([]);
  expect(ofApp(await world.cells(daily), GONE)).toEqual([]);
  const told = world.warnings().length;
  expect((await world.night(BACK)).failures).toEqual([]);
  expect(wordsSince(world, told)).toEqual([]);
});

test.each<[string, Partial<Slice>]>([
  ['in batches', inBatches(daily, 21)],
  ['with `completeness: warn`', { completeness: 'warn' }],
  ['with a filter of a metric', { parameters: { ...daily.parameters, installs__gte: '1' } }],
])('a slice %s keeps the rows of an app that went', async (_, change) => {
  const of: Slice = { ...daily, ...change };
  const world = await openLost(of);
  const before = ofApp(await world.cells(of), GONE);
  expect((await world.night(AFTER)).failures).toEqual([]);
  expect(ofApp(await world.cells(of), GONE)).toEqual(before);
  expect(wordsSince(world, 0).length).toBeGreaterThan(0);
});

test('a cube keeps the values of an app that went, and replaces those of the other', async () => {
  const cube = cubeMetrics({ cohort_size: ['d1', 'd30'], all_revenue_total: ['d1', 'd30'] });
  const ids = cube.map(({ metric }) => metric);
  const curve = slice({ ...daily, name: 'curve', metrics: ids, cube, horizons: [] });
  const values = (revision: number): TrueRow[] =>
    gridOf(DAYS, { app_token: [KEPT, GONE], network: ['x', 'y'] }, ids, revision);
  const world = await openAnswering([curve], values(1), { apps: [KEPT, GONE] });
  expect((await world.night(BEFORE)).failures).toEqual([]);
  const before = ofApp(await world.cells(curve), GONE);
  world.apps = [KEPT];
  world.rows = values(2);
  expect((await world.night(AFTER, { request: everyDay })).failures).toEqual([]);
  expect(ofApp(await world.cells(curve), GONE)).toEqual(before);
  expect(ofApp(await world.cells(curve), KEPT)).toEqual(ofApp(world.truth(curve, values(2)), KEPT));
});

test('a slice that has apps by their names alone keeps the rows of an app that went', async () => {
  const byName: Slice = { ...daily, dimensions: ['day', 'app', 'network'] };
  const world = await openLost(byName);
  const rows = rowsOf(2).map((row) => withCells(row, { app: `App ${row['app_token']}` }));
  world.apps = [KEPT, GONE];
  world.rows = rows;
  await world.night(AFTER);
  const before = ofApp(await world.cells(byName), GONE);
  expect(before.length).toBeGreaterThan(0);
  world.apps = [KEPT];
  expect((await world.night(NEXT)).failures).toEqual([]);
  expect(ofApp(await world.cells(byName), GONE)).toEqual(before);
  expect(wordsSince(world, 0).length).toBeGreaterThan(0);
});

test('a changed meaning is not served while only the old table has the rows of an app that went', async () => {
  const world = await openLost(daily);
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

test('an app that is still listed and only has no rows any more is no lost access: its rows of young days go', async () => {
  const world = await openAnswering([daily], rowsOf(1), { apps: [KEPT, GONE] });
  await world.night(BEFORE);
  world.rows = rowsOf(2).filter((row) => !isOf(GONE)(row) || FINAL.includes(row.day));
  expect((await world.night(AFTER)).failures).toEqual([]);
  expect(onDays(ofApp(await world.cells(daily), GONE), ['2026-06-08', '2026-06-09'])).toEqual([]);
  expect(wordsSince(world, 0)).toEqual([]);
});

test('an app that is no longer listed, but that answers still name, is loaded as before, and not named', async () => {
  const world = await openLost(daily);
  world.apps = null;
  world.listed = [KEPT];
  expect((await world.night(AFTER)).failures).toEqual([]);
  const young = ['2026-06-08', '2026-06-09', LATER];
  expect(onDays(await world.cells(daily), young)).toEqual(onDays(world.truth(daily), young));
  expect(wordsSince(world, 0)).toEqual([]);
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
  const named: Slice = {
    ...daily,
    parameters: { ...daily.parameters, app_token__in: `${KEPT},${GONE}` },
  };

  test.each([403, 400, null] as const)(
    'and whose report is answered %j once one is gone keeps its rows, replaces those of the other and names it, with exit code 0',
    async (refusal) => {
      const world = await openLost(named, refusal);
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

  test('requests many waiting windows without the app as soon as one was refused with it and answered without it', async () => {
    const of: Slice = {
      ...named,
      datePeriod: { first: { day: day('2026-05-10') }, last: { daysAgo: 1 } },
    };
    const world = await openAnswering([of], rowsOf(1), { apps: [KEPT, GONE], maxRows: 4 });
    expect((await world.night(BEFORE)).failures).toEqual([]);
    Object.assign(world, { apps: [KEPT], rows: rowsOf(2), refusal: 403, asked: [] });
    const { config } = world.scenario;
    const service = { ...config.service, maxConcurrency: 2 };
    const summary = await world.night(AFTER, { request: everyDay, config: { ...config, service } });
    expect(summary.failures).toEqual([]);
    expect(summary.slices[0]?.windows.loaded).toBeGreaterThan(20);
    const withBoth = world.asked.filter(
      ({ query: parameters, part }) =>
        part !== 'whole' && parameters.get('app_token__in')?.includes(GONE),
    );
    expect(withBoth.length).toBeLessThanOrEqual(4);
    const young = ['2026-06-08', '2026-06-09', LATER];
    expect(onDays(ofApp(await world.cells(of), KEPT), young)).toEqual(
      onDays(ofApp(world.truth(of), KEPT), young),
    );
  });

  test.each([403, 400] as const)(
    'of which neither is listed, while another app is, and whose report is answered %i, keeps every row and names both, with exit code 0',
    async (refusal) => {
      const world = await openLost(named, refusal);
      const before = await world.cells(named);
      world.apps = ['otherapp1234'];
      for (const night of [AFTER, NEXT]) {
        const told = world.warnings().length;
        const summary = await world.night(night, { request: night === NEXT ? everyDay : {} });
        expect(summary.failures).toEqual([]);
        expect(await lastRun(world.scenario)).toEqual({ status: 'succeeded', exit_code: 0 });
        expect(await world.cells(named)).toEqual(before);
        const words = world.warnings().slice(told);
        for (const app of [KEPT, GONE])
          expect(words.some((text) => text.startsWith('ACCESS_LOST') && text.includes(app))).toBe(
            true,
          );
      }
    },
  );

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
    const world = await openLost(named, 403);
    const before = await world.cells(named);
    world.apps = [];
    await world.night(AFTER);
    expect(await world.cells(named)).toEqual(before);
  });
});

describe('a slice without the app as a dimension', () => {
  const coarse: Slice = { ...daily, dimensions: ['day', 'network'] };
  const sums = (revision: number, tokens: readonly string[]): TrueRow[] => {
    const groups = new Map<string, TrueRow>();
    for (const row of rowsOf(revision).filter((each) => tokens.includes(each['app_token'] ?? ''))) {
      const key = `${row.day} ${row['network']}`;
      const before = groups.get(key);
      groups.set(key, {
        ...row,
        ...Object.fromEntries(
          metrics.map((metric) => [
            metric,
            String(Number(row[metric]) + Number(before?.[metric] ?? 0)),
          ]),
        ),
      });
    }
    return [...groups.values()];
  };

  test('keeps its 3 final days as they are, even in a backfill, and names the app', async () => {
    const world = await openLost(coarse);
    const before = onDays(world.truth(coarse, sums(1, [KEPT, GONE])), FINAL);
    expect(onDays(await world.cells(coarse), FINAL)).toEqual(before);
    expect((await world.night(AFTER, { request: everyDay })).failures).toEqual([]);
    expect(onDays(await world.cells(coarse), FINAL)).toEqual(before);
    expect(wordsSince(world, 0).length).toBeGreaterThan(0);
  });

  test('is whole again in its 4 young days once the app is back', async () => {
    const world = await openLost(coarse);
    await world.night(AFTER);
    world.apps = [KEPT, GONE];
    expect((await world.night(NEXT)).failures).toEqual([]);
    const young = ['2026-06-08', '2026-06-09', LATER, '2026-06-11'];
    expect(onDays(await world.cells(coarse), young)).toEqual(
      onDays(world.truth(coarse, sums(2, [KEPT, GONE])), young),
    );
    expect(
      await column(world.scenario, 'select count(*) from daily where installs is null'),
    ).toEqual(['0']);
  });
});
