/** FAULTS 8, 38, 52: of several parts of a window one comes without rows, or short, or the whole does, once or for ever. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import {
  type Aim,
  atCopy,
  type AnsweringWorld,
  type Change,
  copyOf,
  countAsked,
  gridOf,
  inBatches,
  openAnswering,
  totalsOf,
  type TrueRow,
  withCells,
} from '../support/answering.ts';
import { column, lastRun } from '../support/contents.ts';
import {
  bareObject,
  cut,
  noContent,
  noRows,
  nullRows,
  refused,
  short,
} from '../support/odd-answers.ts';
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
const wholes: readonly (readonly [string, Change])[] = [
  ['204', noContent],
  ['{"rows":[],"totals":{}}', noRows],
  ['{"rows":null}', () => json({ rows: null })],
  ['{}', bareObject],
  ['null rows beside totals', nullRows],
  ['cut in the middle', cut],
  ['503', refused(503)],
];

/** One of several slices of a world, and how its answers are changed in the second night. */
interface Case {
  readonly name: string;
  readonly of: Slice;
  readonly aim: Aim;
  readonly change: Change;
}

const casesOf = (
  of: Slice,
  aims: readonly Aim[],
  changes: readonly (readonly [string, Change])[],
): Case[] =>
  changes.flatMap(([name, change]) =>
    aims.map((aim) => ({ name: `${aim.part ?? ''} ${name}`, of, aim, change })),
  );

const batched = inBatches(daily, 50);
const inLastBatch: readonly Aim[] = [{ part: 'not in', metric: 'sessions' }];
const ofParts = casesOf(daily, halves, failing);
/** Those that an answer of few rows cannot be told from: only the whole could show them. */
const ofFiltered = casesOf(filtered, halves, failing.slice(0, 2));
const ofWholes = casesOf(daily, [{ part: 'whole' }], wholes);
const ofBatches = casesOf(batched, inLastBatch, [...failing.slice(0, 1), ...failing.slice(2, 3)]);

/** A world whose first night had to divide its day by app into 2 parts, as the next nights do from the start. */
async function openDivided(...declared: readonly Slice[]): Promise<AnsweringWorld> {
  const world = await openAnswering(declared, rowsOf(1), { maxRows: 3 });
  expect((await world.night(1)).failures).toEqual([]);
  await world.reading(async () => {
    for (const of of declared) expect(await world.cells(of)).toHaveLength(16);
  });
  world.maxRows = Infinity;
  world.asked = [];
  world.rows = rowsOf(2);
  return world;
}

/** Such a world of a slice for each case, after the second night; `times` is how often each answer is changed. */
async function openCases(cases: readonly Case[], times: number) {
  const slices = cases.map(({ of }, at) => copyOf(of, at));
  const world = await openDivided(...slices);
  for (const [at, { aim, change }] of cases.entries())
    world.rewrite(atCopy(at, aim), change, times);
  const { failures } = await world.night(2);
  const ended = cases.map(({ name, of }, at) => {
    const declared = slices[at] ?? of;
    return { name, of, at, declared, failed: failures.filter(isOf(declared)) };
  });
  return { world, ended };
}

const isOf =
  ({ name }: Slice) =>
  (failure: { readonly slice: string | null }): boolean =>
    failure.slice === name;
const stored = (world: AnsweringWorld, of: Slice): string[] =>
  world.truth(
    of,
    rowsOf(1).filter((row) => row.day === FIRST),
  );
const verdicts = (world: AnsweringWorld, { name }: Slice): Promise<string[]> =>
  column(
    world.scenario,
    `select distinct verdict from ripen.periods where rows > 0 and slice = '${name}'`,
  );
const told = (world: AnsweringWorld, { name }: Slice, code: string, words = ''): boolean =>
  world.scenario.events.some(
    (event) =>
      event.type === 'warning' &&
      event.slice === name &&
      event.code === code &&
      event.message.includes(words),
  );

test('the next night requests 2 days in the 2 parts that were learned, and their whole', async () => {
  const world = await openDivided(daily);
  expect((await world.night(2)).failures).toEqual([]);
  expect(world.asked.map(({ part }) => part)).toEqual(['in', 'not in', 'whole']);
  expect(await world.cells(daily)).toEqual(world.truth(daily));
});

test('of 2 days in 2 learned parts, in one batch or two, a part or the whole that is odd once is asked for again alone, and every row is loaded', async () => {
  const cases = [...ofParts, ...ofWholes, ...ofBatches, ...ofFiltered];
  const { world, ended } = await openCases(cases, 1);
  await world.reading(async () => {
    for (const { name, of, declared, failed } of ended) {
      expect(failed, name).toEqual([]);
      expect(await world.cells(declared), name).toEqual(world.truth(declared));
      expect(await verdicts(world, declared), name).toEqual([
        of === filtered ? 'unverifiable' : 'proven',
      ]);
      expect(told(world, declared, 'PARTS_NOT_PROVEN', 'a filter of a metric'), name).toBe(
        of === filtered,
      );
    }
  });
  const callsOf = (of: readonly Case[], name: string, part: Aim['part'] = 'in'): number[] =>
    of
      .filter((each) => each.name === name)
      .map((each) => countAsked(world, atCopy(cases.indexOf(each), { part })));
  expect(callsOf(ofParts, 'not in 204')).toEqual([1]);
  expect(callsOf(ofParts, 'not in 204', 'not in')).toEqual([2]);
  for (const { name } of ofWholes) expect(callsOf(ofWholes, name), name).toEqual([1]);
  for (const { name } of ofBatches) expect(callsOf(ofBatches, name)[0], name).toBeGreaterThan(1);
});

test('of 2 days in 2 learned parts, in one batch or two, a part or the whole that is odd for ever fails them with exit code 65, and the stored rows stay', async () => {
  const cases = [...ofParts, ...ofWholes.slice(0, 4), ...ofBatches];
  const { world, ended } = await openCases(cases, Infinity);
  expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
  const ofEachPart = ended.slice(0, ofParts.length).flatMap(({ failed }) => failed);
  expect(new Set(ofEachPart.map(({ code }) => code))).toEqual(new Set(['DATA_INCOMPLETE']));
  await world.reading(async () => {
    for (const { name, declared, failed } of ended) {
      for (const { message } of failed) expect(message, name).not.toContain('total was 0');
      expect(await world.cells(declared), name).toEqual(stored(world, declared));
    }
  });
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

test('a row whose app is NULL, of metrics that do not add up, is missed by the list of all apps', async () => {
  const of: Slice = { ...daily, metrics: ['ctr', 'ecpi'] };
  const world = await openAnswering([of], gridOf([FIRST], places, of.metrics), { maxRows: 3 });
  expect((await world.night(1)).failures).toEqual([]);
  const before = await world.cells(of);
  const rows = gridOf([FIRST, SECOND], places, of.metrics, 2);
  const lost = rows.slice(5, 6).map((row) => withCells(row, { app_token: null }));
  Object.assign(world, { maxRows: Infinity, listed: ['a', 'b'], rows: [...rows, ...lost] });
  const { failures } = await world.night(2);
  expect(failures.map(({ code }) => code)).toEqual(['DATA_INCOMPLETE']);
  expect(failures[0]?.message).toContain('rows whose app_token is NULL, and its parts have none');
  expect(await world.cells(of)).toEqual(before);
});

test('a new app is in the part of all others, and loaded with the first night that has it', async () => {
  const world = await openDivided(daily);
  const row = { ...rowsOf(2)[5], day: SECOND, app_token: 'c' } as TrueRow;
  world.rows = [...rowsOf(2), row];
  expect((await world.night(2)).failures).toEqual([]);
  expect(await world.cells(daily)).toEqual(world.truth(daily));
});

test('money that one part rounds to cents, and the other and the whole do not, is loaded as proven', async () => {
  const world = await openDivided(daily);
  world.rows = rowsOf(2).map((row) =>
    withCells(row, { cost: `${Number(row['installs'])}.004321` }),
  );
  world.rewrite({ part: 'in' }, (report) => {
    const rounded = report.rows.map((row) => ({ ...row, cost: Number(row['cost']).toFixed(2) }));
    return json({ ...report, rows: rounded, totals: totalsOf(report, rounded) });
  });
  expect((await world.night(2)).failures).toEqual([]);
  expect(countAsked(world, { part: 'in' })).toBe(1);
});
