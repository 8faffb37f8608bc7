/** FAULTS 15, 55: identical rows in one answer, in batches and in pages, whose totals count them once or as often as they come. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import { gridOf, inBatches, openAnswering, type TrueRow } from '../support/answering.ts';
import { column } from '../support/contents.ts';
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
