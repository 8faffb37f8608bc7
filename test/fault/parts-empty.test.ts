/** FAULTS 8, 38, 52: of several parts of a window one comes without rows, or short, or the whole does, once or for ever. */

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import {
  type Aim,
  type AnsweringWorld,
  bareObject,
  type Change,
  countAsked,
  cut,
  gridOf,
  inBatches,
  noContent,
  noRows,
  nullRows,
  openAnswering,
  refused,
  short,
  type TrueRow,
} from '../support/answering.ts';
import { column, lastRun } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { json } from '../support/scripted-server.ts';
import { slice } from '../support/slice.ts';

const metrics = ['installs', 'clicks', 'cost', 'sessions'];
const places = { app_token: ['a', 'b'], network: ['x', 'y'] };
const [FIRST, SECOND] = ['2026-05-31', '2026-06-01'];
const rowsOf = (revision: number): TrueRow[] => gridOf([FIRST, SECOND], places, metrics, revision);

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics,
  datePeriod: { first: { day: day(FIRST) }, last: { daysAgo: 1 } },
  refresh: 'nightly',
});
const filtered: Slice = { ...daily, parameters: { ...daily.parameters, installs__gte: '1' } };

const halves: readonly Aim[] = [{ part: 'in' }, { part: 'not in' }];
const failing: readonly (readonly [string, Change])[] = [
  ['204', noContent],
  ['{"rows":[],"totals":{}}', noRows],
  ['1 row short beside totals of the rest', short(1, 'of the rest')],
  ['1 row short and no totals', short(1, 'missing')],
];
const cases = failing.flatMap(([name, change]) =>
  halves.map((aim) => [aim.part, name, aim, change] as const),
);
/** Those that an answer of few rows cannot be told from: only the whole could show them. */
const empty = cases.filter(([, name]) => !name.includes('short'));

/** A world whose first night had to divide its day by app into 2 parts, as the next nights do from the start. */
async function openDivided(declared: Slice): Promise<AnsweringWorld> {
  const world = await openAnswering([declared], rowsOf(1), { maxRows: 3 });
  expect((await world.night(1)).failures).toEqual([]);
  expect(await world.cells(declared)).toHaveLength(16);
  world.maxRows = Infinity;
  world.asked = [];
  world.rows = rowsOf(2);
  return world;
}

const stored = (world: AnsweringWorld, of: Slice): string[] =>
  world.truth(
    of,
    rowsOf(1).filter((row) => row.day === FIRST),
  );

test('the next night requests 2 days in the 2 parts that were learned, and their whole', async () => {
  const world = await openDivided(daily);
  expect((await world.night(2)).failures).toEqual([]);
  expect(world.asked.map(({ part }) => part)).toEqual(['in', 'not in', 'whole']);
  expect(await world.cells(daily)).toEqual(world.truth(daily));
});

test.each(cases)(
  'of 2 days in 2 learned parts, the %s part of which is answered %s once, every row is loaded',
  async (_, _name, aim, change) => {
    const world = await openDivided(daily);
    world.rewrite(aim, change, 1);
    expect((await world.night(2)).failures).toEqual([]);
    expect(await world.cells(daily)).toEqual(world.truth(daily));
    expect(await column(world.scenario, 'select distinct verdict from ripen.periods')).toEqual([
      'proven',
    ]);
  },
);

test.each(cases)(
  'of 2 days in 2 learned parts, the %s part of which is answered %s for ever, none is loaded, with exit code 65, and the stored rows stay',
  async (_, _name, aim, change) => {
    const world = await openDivided(daily);
    world.rewrite(aim, change);
    const { failures } = await world.night(2);
    expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['DATA_INCOMPLETE']));
    expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
    expect(await world.cells(daily)).toEqual(stored(world, daily));
  },
);

test('a part that is answered 204 once is asked for again alone: the other part once', async () => {
  const world = await openDivided(daily);
  world.rewrite({ part: 'not in' }, noContent, 1);
  await world.night(2);
  expect(countAsked(world, { part: 'in' })).toBe(1);
  expect(countAsked(world, { part: 'not in' })).toBe(2);
});

test('a learned part that has no rows in fact, as the whole shows, is no fault', async () => {
  const world = await openDivided(daily);
  world.listed = ['a', 'b'];
  world.rows = rowsOf(2).filter((row) => row['app_token'] === 'a');
  expect((await world.night(2)).failures).toEqual([]);
  expect(await world.cells(daily)).toEqual(world.truth(daily));
});

test('a cost that is no number in the first part holds no divided day whose slice tolerates the row: the others are loaded, and the day stays due', async () => {
  const tolerant = { ...daily, maxRejects: 1 };
  const world = await openDivided(tolerant);
  const bad: Change = (report) => {
    const [first, ...rest] = report.rows;
    return json({ ...report, rows: [{ ...first, cost: 'many' }, ...rest] });
  };
  world.rewrite({ part: 'in' }, bad);
  expect((await world.night(2)).failures).toEqual([]);
  expect(world.warnings()).toContainEqual(textWith('REJECTED_ROWS'));
  expect(await column(world.scenario, 'select count(*) from daily')).toEqual(['7']);
});

describe('with a filter of a metric, so that no whole can show what a part lacks,', () => {
  test.each(empty)(
    'the %s part that is answered %s once is asked for again, and every row is loaded as unverifiable',
    async (_, _name, aim, change) => {
      const world = await openDivided(filtered);
      world.rewrite(aim, change, 1);
      expect((await world.night(2)).failures).toEqual([]);
      expect(await world.cells(filtered)).toEqual(world.truth(filtered));
      expect(await column(world.scenario, 'select distinct verdict from ripen.periods')).toEqual([
        'unverifiable',
      ]);
      expect(world.warnings()).toContainEqual(textWith('PARTS_NOT_PROVEN'));
    },
  );

  test.each(empty)(
    'the %s part that is answered %s for ever costs no row: the days are whole in other requests, or stay as they were with exit code 65',
    async (_, _name, aim, change) => {
      const world = await openDivided(filtered);
      world.rewrite(aim, change);
      const isWhole = (await world.night(2)).failures.length === 0;
      expect(await lastRun(world.scenario)).toMatchObject({ exit_code: isWhole ? 0 : 65 });
      expect(await world.cells(filtered)).toEqual(
        isWhole ? world.truth(filtered) : stored(world, filtered),
      );
    },
  );

  test.each(empty)(
    'a first night, too heavy for less than 2 parts, whose %s part is answered %s for ever, loads nothing',
    async (_, _name, aim, change) => {
      const world = await openAnswering([filtered], rowsOf(1), { maxRows: 3 });
      world.rewrite(aim, change);
      const { failures } = await world.night(1);
      expect(failures.map(({ code }) => code)).toEqual(['DATA_INCOMPLETE']);
      expect(await world.cells(filtered)).toEqual([]);
    },
  );
});

const wholes: readonly (readonly [string, Change])[] = [
  ['204', noContent],
  ['{"rows":[],"totals":{}}', noRows],
  ['{"rows":null}', () => json({ rows: null })],
  ['{}', bareObject],
  ['null rows beside totals', nullRows],
  ['cut in the middle', cut],
  ['503', refused(503)],
];

describe('the whole of 2 days in 2 parts', () => {
  test.each(wholes)(
    'that is answered %s once is asked for again, and all is loaded',
    async (_, change) => {
      const world = await openDivided(daily);
      world.rewrite({ part: 'whole' }, change, 1);
      expect((await world.night(2)).failures).toEqual([]);
      expect(await world.cells(daily)).toEqual(world.truth(daily));
      expect(countAsked(world, { part: 'in' })).toBe(1);
    },
  );

  test.each(wholes.slice(0, 4))(
    'that is answered %s for ever fails them with exit code 65 without a word of a total of 0, and the stored rows stay',
    async (_, change) => {
      const world = await openDivided(daily);
      world.rewrite({ part: 'whole' }, change);
      const { failures } = await world.night(2);
      expect(failures.length).toBeGreaterThan(0);
      for (const { message } of failures) expect(message).not.toContain('total was 0');
      expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
      expect(await world.cells(daily)).toEqual(stored(world, daily));
    },
  );
});

describe('2 parts in 2 batches of metrics each', () => {
  const batched = inBatches(daily, 50);
  const LAST = 'sessions';
  const ofOthers = cases.filter(([part]) => part === 'not in');

  test.each(ofOthers)(
    'of which the last batch of the %s part is answered %s once are whole',
    async (_, _name, aim, change) => {
      const world = await openDivided(batched);
      world.rewrite({ ...aim, metric: LAST }, change, 1);
      expect((await world.night(2)).failures).toEqual([]);
      expect(await world.cells(batched)).toEqual(world.truth(batched));
      expect(countAsked(world, { part: 'in' })).toBeGreaterThan(1);
    },
  );

  test.each(ofOthers)(
    'of which the last batch of the %s part is answered %s for ever change no stored cell, with exit code 65',
    async (_, _name, aim, change) => {
      const world = await openDivided(batched);
      world.rewrite({ ...aim, metric: LAST }, change);
      const { failures } = await world.night(2);
      expect(failures.length).toBeGreaterThan(0);
      expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
      expect(await world.cells(batched)).toEqual(stored(world, batched));
    },
  );
});

test('a row whose app is NULL is in neither of 2 parts: the days fail by name with exit code 65, and the stored rows stay', async () => {
  const world = await openDivided(daily);
  const lost = { ...rowsOf(2)[5], day: SECOND, app_token: null } as TrueRow;
  world.rows = [...rowsOf(2), lost];
  const { failures } = await world.night(2);
  expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['DATA_INCOMPLETE']));
  expect(failures[0]?.message).toContain('a value may be in neither part');
  expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
  expect(await world.cells(daily)).toEqual(stored(world, daily));
});

test('a new app is in the part of all others, and loaded with the first night that has it', async () => {
  const world = await openDivided(daily);
  const row = { ...rowsOf(2)[5], day: SECOND, app_token: 'c' } as TrueRow;
  world.rows = [...rowsOf(2), row];
  expect((await world.night(2)).failures).toEqual([]);
  expect(await world.cells(daily)).toEqual(world.truth(daily));
});

describe('without a metric that certainly adds up, where a list of the apps stands for the whole,', () => {
  const assumed: Slice = { ...daily, metrics: ['made_up_count', 'ecpi'] };
  const ratios: Slice = { ...daily, metrics: ['ctr', 'ecpi'] };
  const kinds: readonly (readonly [string, Slice])[] = [
    ['a metric assumed to add up', assumed],
    ['ratios alone', ratios],
  ];
  /** The list of the apps without the one of the part `in`, beside the totals of both: cut in silence. */
  const cutList: Change = (report, { dimensions }) =>
    json(
      dimensions.length === 2
        ? { ...report, rows: report.rows.filter((row) => row['app_token'] !== 'a') }
        : report,
    );
  const rows = ({ metrics: ids }: Slice, revision: number, values = places): TrueRow[] =>
    gridOf([FIRST, SECOND], values, ids, revision);

  /** As `openDivided`, but a day is still too heavy for one request in the second night. */
  async function openListed(of: Slice): Promise<AnsweringWorld> {
    const world = await openAnswering([of], rows(of, 1), { maxRows: 3, listed: ['a', 'b'] });
    expect((await world.night(1)).failures).toEqual([]);
    expect(await world.cells(of)).toHaveLength(8);
    world.rows = rows(of, 2);
    return world;
  }
  const verdicts = (world: AnsweringWorld): Promise<string[]> =>
    column(world.scenario, 'select distinct verdict from ripen.periods where rows > 0');

  test.each(kinds)(
    'of %s, a part that is answered 204 once while the list of the apps is cut is asked for again, and every row is loaded',
    async (_, of) => {
      const world = await openListed(of);
      world.rewrite({ part: 'undivided' }, cutList, 1);
      world.rewrite({ part: 'in' }, noContent, 1);
      expect((await world.night(2)).failures).toEqual([]);
      expect(await world.cells(of)).toEqual(world.truth(of));
    },
  );

  test('a part that is answered 204 for ever while the list is cut for ever fails with exit code 65, and the stored rows stay', async () => {
    const world = await openListed(assumed);
    world.rewrite({ part: 'undivided' }, cutList);
    world.rewrite({ part: 'in' }, noContent);
    const { failures } = await world.night(2);
    expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['DATA_INCOMPLETE']));
    expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
    expect(await world.cells(assumed)).toEqual(
      world.truth(
        assumed,
        rows(assumed, 1).filter((row) => row.day === FIRST),
      ),
    );
  });

  test.each(kinds)(
    'of %s, a part that is answered 204 for ever while the list is cut for ever costs no row if the days fit one request',
    async (_, of) => {
      const world = await openListed(of);
      world.maxRows = Infinity;
      world.rewrite({ part: 'undivided' }, cutList);
      world.rewrite({ part: 'in' }, noContent);
      expect((await world.night(2)).failures).toEqual([]);
      expect(await world.cells(of)).toEqual(world.truth(of));
    },
  );

  test('a list that is cut for ever while every part has rows is told: the days are loaded as unverifiable', async () => {
    const world = await openListed(assumed);
    world.rewrite({ part: 'undivided' }, cutList);
    expect((await world.night(2)).failures).toEqual([]);
    expect(await world.cells(assumed)).toEqual(world.truth(assumed));
    expect(await verdicts(world)).toEqual(['unverifiable']);
    expect(world.warnings()).toContainEqual(textWith('PARTS_NOT_PROVEN'));
  });

  test.each([
    ['proven by the totals of the list', assumed, 'proven', 0],
    [
      'unverifiable, and told, where no total shows that the list is whole',
      ratios,
      'unverifiable',
      1,
    ],
  ] as const)('a part that has no rows in fact is loaded: %s', async (_, of, verdict, told) => {
    const world = await openListed(of);
    world.rows = rows(of, 2, { ...places, app_token: ['b', 'c'] });
    expect((await world.night(2)).failures).toEqual([]);
    expect(await world.cells(of)).toEqual(world.truth(of));
    expect(await verdicts(world)).toEqual([verdict]);
    const words = world.warnings().filter((text) => text.startsWith('PARTS_NOT_PROVEN'));
    expect(words.length > 0).toBe(told === 1);
  });
});
