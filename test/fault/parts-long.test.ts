/** FAULTS 4, 52, 56, 62: filters that leave an address little room for metrics, or none. */

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import {
  type Aim,
  type AnsweringWorld,
  type Asking,
  gridOf,
  inBatches,
  openAnswering,
  type TrueRow,
} from '../support/answering.ts';
import { column, lastRun } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { noContent, refused } from '../support/odd-answers.ts';
import { slice } from '../support/slice.ts';

const metrics = ['installs', 'clicks', 'cost', 'sessions'];
const places = { app_token: ['a', 'b'], network: ['x', 'y'] };
const [FIRST, SECOND] = ['2026-05-31', '2026-06-01'];
const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics,
  datePeriod: { first: { day: day(FIRST) }, last: { daysAgo: 1 } },
  refresh: 'nightly',
});

/** The bytes of a request's address, of which 300 stand for the service, the path and the date period. */
const bytesOf = ({ query, metrics: names }: Asking): number =>
  [...query].reduce(
    (sum, [name, value]) =>
      /^(?:metrics|date_period|format_dates|page)$/.test(name)
        ? sum
        : sum + encodeURIComponent(`${name}=${value}`).length + 1,
    300 + encodeURIComponent(`${names.join(',')},`).length,
  );

/** A world whose service refuses an address that is longer than the slice allows. */
async function openShort(
  of: Slice,
  rows: readonly TrueRow[],
  maxRows: number,
): Promise<AnsweringWorld> {
  const world = await openAnswering([of], rows, { maxRows });
  const isLong = (asking: Asking): boolean => bytesOf(asking) > (of.maxUrlBytes ?? 8000);
  world.rewrite({ matches: isLong }, refused(414));
  return world;
}

describe('a day that is too heavy for one request', () => {
  const rows = gridOf([FIRST], places, metrics);

  test('is divided by network, in batches, if a filter of apps leaves no room for the metric `sessions`', async () => {
    const of = inBatches(daily, 32);
    const world = await openShort(of, rows, Infinity);
    expect((await world.night(1)).failures).toEqual([]);
    world.maxRows = 3;
    world.asked = [];
    world.rows = gridOf([FIRST, SECOND], places, metrics, 2);
    expect((await world.night(2)).failures).toEqual([]);
    expect(await world.cells(of)).toEqual(world.truth(of));
    const filters = world.asked.flatMap(({ query }) =>
      [...query.keys()].filter((name) => name.includes('__')),
    );
    expect(new Set(filters)).toEqual(new Set(['network__in', 'network__not_in']));
  });

  test('fails by name with exit code 75 if no filter leaves room for it', async () => {
    const of = inBatches(daily, 26);
    const world = await openShort(of, rows, 3);
    const { failures } = await world.night(1);
    expect(failures.map(({ code }) => code)).toEqual(['SOURCE_TOO_HEAVY']);
    expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 75 });
  });
});

describe('a filter of 900 apps, which no address holds,', () => {
  const apps = Array.from({ length: 900 }, (_, at) => `app${String(at).padStart(9, '0')}`);
  const listed: Slice = {
    ...daily,
    parameters: { ...daily.parameters, app_token__in: apps.join(',') },
  };
  const rows = (days: readonly string[], tokens: readonly string[] = apps): TrueRow[] =>
    gridOf(days, { app_token: tokens, network: ['x'] }, metrics);
  const verdicts = (world: AnsweringWorld): Promise<string[]> =>
    column(world.scenario, 'select distinct verdict from ripen.periods where rows > 0');
  const ofApp = (token: string): Aim => ({ matches: ({ query }) => isNamed(query, token) });
  const isNamed = (query: Asking['query'], token: string): boolean =>
    query.get('app_token__in')?.split(',').includes(token) === true;

  test('is divided into 5 lists of values, and nothing else is requested: every row is loaded as proven', async () => {
    const world = await openShort(listed, [...rows([FIRST]), ...rows([FIRST], ['other'])], 300);
    expect((await world.night(1)).failures).toEqual([]);
    expect(await world.cells(listed)).toEqual(world.truth(listed, rows([FIRST])));
    expect(world.asked.map(({ part }) => part)).toEqual(['in', 'in', 'in', 'in', 'in']);
    expect(await verdicts(world)).toEqual(['proven']);
    expect(world.warnings()).toEqual([]);
  });

  test('is divided into shorter lists if one is too heavy, and by network beside the totals of that app if one app is', async () => {
    const world = await openShort(listed, rows([FIRST]), 150);
    expect((await world.night(1)).failures).toEqual([]);
    expect(await world.cells(listed)).toEqual(world.truth(listed));
    expect(world.asked.every(({ part }) => part === 'in')).toBe(true);
    expect(await verdicts(world)).toEqual(['proven']);

    const networks = Array.from({ length: 160 }, (_, at) => `n${at}`);
    const heavy = gridOf([SECOND], { app_token: apps.slice(0, 1), network: networks }, metrics);
    world.rows = [...rows([FIRST]), ...heavy, ...rows([SECOND], apps.slice(1))];
    world.maxRows = Infinity;
    expect((await world.night(2)).failures).toEqual([]);
    world.maxRows = 150;
    expect((await world.night(3)).failures).toEqual([]);
    expect(await world.cells(listed)).toEqual(world.truth(listed));
    const wholes = world.asked.filter(({ part }) => part === 'whole');
    expect(new Set(wholes.map(({ query }) => query.get('app_token__in')))).toEqual(
      new Set([apps[0]]),
    );
    expect(await verdicts(world)).toEqual(['proven']);
    expect(world.warnings()).not.toContainEqual(textWith('PARTS_NOT_PROVEN'));
  });

  test('loads every row if one list is answered 204 once: it alone is requested again', async () => {
    const world = await openShort(listed, rows([FIRST]), 300);
    world.rewrite(ofApp(apps[0] ?? ''), noContent, 1);
    expect((await world.night(1)).failures).toEqual([]);
    expect(await world.cells(listed)).toEqual(world.truth(listed));
    expect(world.asked).toHaveLength(6);
    expect(await verdicts(world)).toEqual(['proven']);
  });

  test('is loaded as unverifiable, and told, if one list has no rows, which only its repeated answer can show', async () => {
    const world = await openShort(listed, rows([FIRST], apps.slice(450)), 300);
    expect((await world.night(1)).failures).toEqual([]);
    expect(await world.cells(listed)).toEqual(world.truth(listed));
    expect(await verdicts(world)).toEqual(['unverifiable']);
    expect(world.warnings()).toContainEqual(textWith('PARTS_NOT_PROVEN'));
  });

  test('of which an app is lost and refused for a night, while shorter lists are learned, has its rows again when it is back', async () => {
    const world = await openShort(listed, rows([FIRST]), 150);
    expect((await world.night(1)).failures).toEqual([]);
    Object.assign(world, { rows: rows([FIRST, SECOND]), apps: apps.slice(1), refusal: 403 });
    expect((await world.night(2)).failures).toEqual([]);
    world.apps = apps;
    expect((await world.night(3)).failures).toEqual([]);
    expect(await world.cells(listed)).toEqual(world.truth(listed));
  });
});
