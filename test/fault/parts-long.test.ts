/** FAULTS 4, 62: parts whose filters leave an address little room for metrics, or none. */

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import {
  type AnsweringWorld,
  type Asking,
  gridOf,
  inBatches,
  openAnswering,
  type TrueRow,
} from '../support/answering.ts';
import { lastRun } from '../support/contents.ts';
import { json } from '../support/scripted-server.ts';
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
  world.rewrite({}, (report, asking) =>
    bytesOf(asking) > (of.maxUrlBytes ?? 8000) ? { status: 414 } : json(report),
  );
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

  test('is requested undivided the next night if a metric was added for which its 2 learned parts have no room', async () => {
    const of = inBatches(daily, 34);
    const world = await openShort(of, rows, 3);
    expect((await world.night(1)).failures).toEqual([]);
    world.maxRows = Infinity;
    world.asked = [];
    const wider: Slice = { ...of, metrics: [...metrics, 'reattributions'] };
    world.rows = gridOf([FIRST, SECOND], places, wider.metrics);
    expect((await world.night(2, { slices: [wider] })).failures).toEqual([]);
    expect(new Set(world.asked.map(({ part }) => part))).toEqual(new Set(['undivided']));
    expect(await world.cells(wider)).toEqual(world.truth(wider));
  });
});
