/** FAULTS 18 under `completeness: warn`: a service that cuts rows in silence, and one whose totals never agree with its rows. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import {
  type AnsweringWorld,
  type Change,
  gridOf,
  openAnswering,
  type TrueRow,
} from '../support/answering.ts';
import { column, lastRun } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { json } from '../support/scripted-server.ts';
import { slice } from '../support/slice.ts';

const metrics = ['installs', 'clicks'];
const DAYS = ['2026-05-31', '2026-06-01', '2026-06-02', '2026-06-03'];
const places = { app_token: ['a', 'b'], network: ['x', 'y', 'z'] };
const lenient = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics,
  datePeriod: { first: { day: day('2026-05-31') }, last: { daysAgo: 1 } },
  refresh: 'nightly',
  completeness: 'warn',
});
const rowsOf = (revision: number): TrueRow[] => gridOf(DAYS, places, metrics, revision);
const until = (date: string, rows: readonly TrueRow[]): TrueRow[] =>
  rows.filter((row) => row.day <= date);
const verdicts = (world: AnsweringWorld): Promise<string[]> =>
  column(world.scenario, 'select distinct verdict from ripen.periods');

test('4 days of 6 rows, of which no answer has more than 5, are divided until every row is loaded as proven, night by night', async () => {
  const world = await openAnswering([lenient], rowsOf(1));
  expect((await world.night(2)).failures).toEqual([]);
  world.cap = 5;
  for (const night of [3, 4]) {
    world.rows = rowsOf(night);
    expect((await world.night(night)).failures).toEqual([]);
    expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 0 });
    const truth = until(DAYS[night - 1] ?? '', rowsOf(night));
    expect(await world.cells(lenient)).toEqual(world.truth(lenient, truth));
    expect(await verdicts(world)).toEqual(['proven']);
  }
});

test.each([
  ['fewer', -1, [1, 1]],
  ['more', 1, [3, 3]],
] as const)(
  'a day whose totals always state 1 install %s than its rows is loaded as unproven, and told, in a few requests',
  async (_, more, requests) => {
    const off: Change = (report) =>
      json({
        ...report,
        totals: { ...report.totals, installs: Number(report.totals['installs']) + more },
      });
    const only = day('2026-05-31');
    const of = { ...lenient, datePeriod: { first: { day: only }, last: { day: only } } };
    const world = await openAnswering([of], []);
    world.rewrite({}, off);
    for (const [at, count] of requests.entries()) {
      world.asked = [];
      world.rows = until('2026-05-31', rowsOf(at + 1));
      expect((await world.night(at + 1)).failures).toEqual([]);
      expect(await world.cells(of)).toEqual(world.truth(of));
      expect(await verdicts(world)).toEqual(['unproven']);
      expect(world.warnings()).toContainEqual(textWith('UNPROVEN'));
      const dimensions = of.dimensions.join();
      expect(world.asked.filter((each) => each.dimensions.join() === dimensions)).toHaveLength(
        count,
      );
    }
  },
);
