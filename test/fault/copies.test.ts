/** FAULTS 15, 55: identical rows in one answer, in batches and in pages, whose totals count them once or as often as they come. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import {
  countAsked,
  gridOf,
  inBatches,
  openAnswering,
  type TrueRow,
  withCells,
} from '../support/answering.ts';
import { column } from '../support/contents.ts';
import { json } from '../support/scripted-server.ts';
import { slice } from '../support/slice.ts';

const metrics = ['installs', 'clicks', 'cost', 'sessions'];
const rows = gridOf(
  ['2026-05-30', '2026-05-31'],
  { app_token: ['a', 'b'], network: ['x', 'y'] },
  metrics,
);
const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics,
  datePeriod: { first: { day: day('2026-05-30') }, last: { day: day('2026-05-31') } },
});
const batched = inBatches(daily, 33);
/** The row of network y of app b comes three times on each day. */
const copies = (row: TrueRow): number =>
  row['app_token'] === 'b' && row['network'] === 'y' ? 3 : 1;
const pages = { size: 3, totals: 'first' } as const;

test.each<['once' | 'as often', string, Slice, object]>([
  ['once', 'one answer', daily, {}],
  ['as often', 'one answer', daily, {}],
  ['once', 'each batch', batched, {}],
  ['as often', 'each batch', batched, {}],
  ['once', 'the pages of batches', batched, { pages }],
  ['as often', 'the pages of batches', batched, { pages }],
])(
  'a row that comes 3 times, which totals count %s, in %s is stored once, as proven, with a warning',
  async (copiesCount, _, of, how) => {
    const world = await openAnswering([of], rows, { copies, copiesCount, ...how });
    expect((await world.night(1)).failures).toEqual([]);
    expect(world.truth(of)).toHaveLength(32);
    expect(await world.cells(of)).toEqual(world.truth(of));
    const told = await column(world.scenario, 'select distinct code from ripen.warnings');
    expect(told).toEqual(['DUPLICATE_ROWS']);
    const verdicts = await column(world.scenario, 'select distinct verdict from ripen.periods');
    expect(verdicts).toEqual(['proven']);
  },
);

/** Of 4 rows with equal numbers in 2 pages, the second is answered with the last row of the first in place of its own last. */
async function nightWith(times: number) {
  const equal = rows
    .slice(0, 4)
    .map((row) => withCells(row, Object.fromEntries(metrics.map((id) => [id, '1']))));
  const { first } = daily.datePeriod;
  const of = { ...daily, datePeriod: { first, last: first } };
  const world = await openAnswering([of], equal, { pages: { size: 2, totals: 'first' } });
  const [, second] = equal;
  world.rewrite(
    { page: 2 },
    (report) => json({ ...report, rows: [{ attr_dependency: {}, ...second }, report.rows[0]] }),
    times,
  );
  expect((await world.night(1)).failures).toEqual([]);
  const verdicts = await column(world.scenario, 'select distinct verdict from ripen.periods');
  expect(verdicts).toEqual(['proven']);
  return { world, missing: world.truth(daily).length - (await world.cells(daily)).length };
}

test('a row that moved from the first page to the second while it was read takes the place of no other: both pages are requested again', async () => {
  const { world, missing } = await nightWith(1);
  expect(missing).toBe(0);
  expect(countAsked(world, { page: 2 })).toBe(2);
  expect(world.warnings()).toEqual([]);
});

test('identical rows on two pages that come again when both are requested again are believed, and told', async () => {
  const { world, missing } = await nightWith(Infinity);
  expect(missing).toBe(metrics.length);
  expect(countAsked(world, { page: 2 })).toBe(2);
  expect(world.warnings()).toEqual([
    'DUPLICATE_ROWS 1 identical rows came more than once; one of each was kept.',
  ]);
});
