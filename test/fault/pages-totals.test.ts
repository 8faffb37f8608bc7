/** FAULTS 19a, 52: answers in several pages, which state their totals in many ways, and of which one comes odd. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import {
  type AnsweringWorld,
  type Change,
  gridOf,
  openAnswering,
  type Pages,
  withCells,
} from '../support/answering.ts';
import { column, lastRun } from '../support/contents.ts';
import { cut, noContent, noRows, nullRows, refused, short } from '../support/odd-answers.ts';
import { json } from '../support/scripted-server.ts';
import { slice } from '../support/slice.ts';

const metrics = ['installs', 'clicks', 'cost', 'sessions'];
const values = { app_token: ['a', 'b'], network: ['x', 'y', 'z'] };
const rows = gridOf(['2026-05-30', '2026-05-31'], values, metrics);

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics,
  datePeriod: { first: { day: day('2026-05-30') }, last: { day: day('2026-05-31') } },
});

const inPages = (totals: Pages['totals'], of = rows): Promise<AnsweringWorld> =>
  openAnswering([daily], of, { pages: { size: 5, totals } });

async function expectWhole(world: AnsweringWorld, of: Slice = daily): Promise<void> {
  expect(world.truth(of)).toHaveLength(48);
  expect(await world.cells(of)).toEqual(world.truth(of));
  expect(await column(world.scenario, 'select distinct verdict from ripen.periods')).toEqual([
    'proven',
  ]);
}

test.each([
  ['of all on the first page', 'first'],
  ['of all on the last page', 'last'],
  ['of all on every page', 'every'],
  ['of its rows on every page', 'of the page'],
] as const)('12 rows in 3 pages, with totals %s, are loaded as proven', async (_, totals) => {
  const world = await inPages(totals);
  expect((await world.night(1)).failures).toEqual([]);
  await expectWhole(world);
  expect(world.asked).toHaveLength(3);
});

const odd: readonly (readonly [string, Change])[] = [
  ['204', noContent],
  ['{"rows":[],"totals":{}}', noRows],
  ['with 1 row less, but all it says beside them', short(1, 'of all')],
  ['with 1 row less, and no totals', short(1, 'missing')],
  ['with null rows', nullRows],
  ['cut in the middle', cut],
  ['503', refused(503)],
];

test.each(odd)('a last page that is answered %s once costs no row', async (_, change) => {
  const world = await inPages('every');
  world.rewrite({ page: 3 }, change, 1);
  expect((await world.night(1)).failures).toEqual([]);
  await expectWhole(world);
});

test.each(odd.slice(0, 4))(
  'with totals on the first page alone, a second one that is answered %s for ever costs no row: the days are whole, or fail',
  async (_, change) => {
    const world = await inPages('first');
    world.rewrite({ page: 2 }, change);
    const { failures } = await world.night(1);
    if (failures.length === 0) return expectWhole(world);
    expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
    expect(await world.cells(daily)).toEqual([]);
  },
);

test('a page whose rows have no value of a metric, and lack its key, is loaded with a warning', async () => {
  const few = rows.map((row, at) => (at < 10 ? row : withCells(row, { sessions: null })));
  const world = await inPages('every', few);
  world.rewrite({ page: 3 }, (report) =>
    json({ ...report, rows: report.rows.map((row) => ({ ...row, sessions: undefined })) }),
  );
  expect((await world.night(1)).failures).toEqual([]);
  expect(await world.cells(daily)).toEqual(world.truth(daily));
  expect(world.warnings().map((text) => text.split(' ')[0])).toEqual(['MISSING_KEYS']);
});

test('money that the first of 3 pages rounds to cents, and the others do not, is loaded as proven', async () => {
  const world = await inPages(
    'every',
    rows.map((row, at) => withCells(row, { cost: `${at}.404404` })),
  );
  world.rewrite({ page: 1 }, (report) => {
    const rounded = report.rows.map((row) => ({ ...row, cost: Number(row['cost']).toFixed(2) }));
    return json({ ...report, rows: rounded });
  });
  expect((await world.night(1)).failures).toEqual([]);
  expect(world.asked).toHaveLength(3);
  expect(await column(world.scenario, 'select distinct verdict from ripen.periods')).toEqual([
    'proven',
  ]);
});
