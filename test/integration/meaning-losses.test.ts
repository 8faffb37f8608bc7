/** PRODUCT §5, no change of configuration ever deletes a loaded period: a new table that would lose rows waits until that is accepted. */

import { afterEach, describe, expect, test } from 'vitest';

import { addDays, day, MS_PER_DAY } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import { type AnsweringWorld, gridOf, openAnswering, type TrueRow } from '../support/answering.ts';
import { column } from '../support/contents.ts';
import { slice } from '../support/slice.ts';

const metrics = ['installs', 'clicks', 'cost'];
const values = { app_token: ['keptapp12345', 'goneapp12345'], network: ['x', 'y'] };
const FIRST = day('2026-05-10');
const DAYS = Array.from({ length: 45 }, (_, at) => addDays(FIRST, at));
const rows = gridOf(DAYS, values, metrics);
const BEFORE = 10;

const controlOff = { controlMs: null };
const controlOn = { controlMs: 400 * MS_PER_DAY };

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics,
  datePeriod: { first: { day: FIRST }, last: { daysAgo: 1 } },
  parameters: { currency: 'USD' },
});
const coarser: Slice = { ...daily, dimensions: ['day', 'app_token'] };
const inEuros: Slice = { ...daily, parameters: { ...daily.parameters, currency: 'EUR' } };

let world: AnsweringWorld;

afterEach(() => world.scenario.close());

const since = (first: string) => (row: TrueRow) => row.day >= first;
const isKept = (row: TrueRow) => row['app_token'] === 'keptapp12345';

/** A night that loads 31 days of all apps. */
async function opened(config: object = controlOff, of = daily): Promise<void> {
  world = await openAnswering([of], rows);
  expect((await world.night(BEFORE, { config })).failures).toEqual([]);
}

/** The days of the table that readers see, and their rows. */
const served = async (until = '2026-06-10'): Promise<string[]> =>
  column(
    world.scenario,
    `select count(distinct day) || ' days, ' || count(*) || ' rows' from daily where day < '${until}'`,
  );

const held = (): string[] =>
  world.warnings().filter((words) => words.startsWith('MEANING_HELD_BACK'));

const accepting = (start: string, end: string) => {
  const forced = { start: day(start), end: day(end) };
  return { command: 'backfill', forced, acceptLoss: true } as const;
};

const ALL = ['31 days, 124 rows'];

describe('days that the service no longer has keep their rows', () => {
  test.each([
    ['a dimension', controlOff, coarser, since('2026-05-25')],
    ['the currency', controlOff, inEuros, since('2026-05-25')],
    ['the currency', controlOn, inEuros, since('2026-05-25')],
    ['a filter of a metric, which stays, and the currency', controlOff, null, since('2026-05-25')],
  ] as const)('when %s changes, with %j', async (what, config, changed, isServed) => {
    const filtered = { ...daily, parameters: { ...daily.parameters, installs__gte: '1' } };
    await opened(config, changed === null ? filtered : daily);
    world.rows = rows.filter(isServed);
    const inOther = { ...filtered, parameters: { ...filtered.parameters, currency: 'EUR' } };
    const slices = [changed ?? inOther];
    for (const night of [11, 12, 13]) {
      expect((await world.night(night, { config, slices })).failures, what).toEqual([]);
      expect(await served()).toEqual(ALL);
    }
    expect(held().at(-1)).toContain(
      'run `ripen backfill --slice daily --from 2026-05-10 --to 2026-05-24 --accept-loss`',
    );
  });

  test('when they have 1 of 4 rows left, under the same dimensions, until that is accepted', async () => {
    await opened(controlOn);
    world.rows = rows.filter(
      (row) => row.day >= '2026-05-25' || (isKept(row) && row['network'] === 'x'),
    );
    for (const night of [11, 12])
      await world.night(night, { config: controlOn, slices: [inEuros] });
    expect(await served()).toEqual(ALL);
    const forced = { start: FIRST, end: day('2026-05-25') };
    const request = { command: 'backfill', forced, acceptLoss: true } as const;
    await world.night(12, { config: controlOn, slices: [inEuros], request });
    expect(await served()).toEqual(['31 days, 79 rows']);
  });

  test('when the grain changes and no week has rows of them', async () => {
    await opened();
    const weekly: Slice = { ...daily, dimensions: ['week', 'app_token', 'network'], grain: 'week' };
    const weeks = (row: TrueRow): TrueRow => {
      const start = addDays(
        FIRST,
        -6 + 7 * Math.floor((Date.parse(row.day) - Date.parse('2026-05-04')) / (7 * MS_PER_DAY)),
      );
      return { ...row, week: `${start} - ${addDays(start, 6)}` };
    };
    world.rows = rows.filter(since('2026-05-25')).map(weeks);
    for (const night of [11, 12, 13])
      expect((await world.night(night, { config: controlOff, slices: [weekly] })).failures).toEqual(
        [],
      );
    expect(await served()).toEqual(ALL);
    expect(held().at(-1)).toContain('--from 2026-05-10 --to 2026-05-24 --accept-loss`');
  });
});

test('days whose rows a changed filter leaves out are swapped away', async () => {
  await opened();
  const filtered: Slice = {
    ...daily,
    parameters: { ...daily.parameters, app_token__in: 'keptapp12345' },
  };
  world.rows = rows.filter((row) => row.day >= '2026-05-25' || !isKept(row));
  for (const night of [11, 12])
    await world.night(night, { config: controlOff, slices: [filtered] });
  expect(await served()).toEqual(['16 days, 32 rows']);
});

describe('a loss that a backfill accepts', () => {
  test('of one day leaves the other lost days of a changed meaning with their rows', async () => {
    await opened();
    world.rows = rows.filter(since('2026-05-25'));
    const night = { config: controlOff, slices: [inEuros] };
    for (const number of [11, 12]) await world.night(number, night);
    const request = accepting('2026-05-10', '2026-05-11');
    await world.night(12, { ...night, request });
    expect(await served()).toEqual(ALL);
    expect(held().at(-1)).toContain('14 of 31 periods would lose');
    await world.night(12, { ...night, request: accepting('2026-05-11', '2026-05-25') });
    expect(await served()).toEqual(['16 days, 64 rows']);
  });

  test('of one day leaves the rows of an app that is no longer listed in the other days of a changed meaning', async () => {
    await opened();
    world.apps = ['keptapp12345'];
    const night = { config: controlOff, slices: [inEuros] };
    for (const number of [11, 12]) await world.night(number, night);
    await world.night(12, { ...night, request: accepting('2026-06-09', '2026-06-10') });
    expect(await served()).toEqual(ALL);
    await world.night(12, { ...night, request: accepting('2026-05-10', '2026-06-12') });
    expect(await served()).toEqual(['31 days, 62 rows']);
  });

  test('while a day of the changed meaning is missing counts once the day is loaded', async () => {
    await opened();
    world.rows = rows.filter(since('2026-05-25'));
    const night = { config: controlOff, slices: [inEuros] };
    for (const number of [11, 12]) await world.night(number, night);
    await world.night(13, { ...night, request: accepting('2026-05-10', '2026-05-25') });
    expect(await served()).toEqual(ALL);
    expect(held().at(-1)).toContain('1 of 34 periods are not loaded');
    await world.night(13, night);
    expect(await served()).toEqual(['16 days, 64 rows']);
  });
});

describe('an app that is no longer listed', () => {
  const only = (token: string): Slice => ({
    ...daily,
    parameters: { ...daily.parameters, app_token__in: token },
  });

  test('holds a changed meaning back until the command in the warning was run, and not longer', async () => {
    await opened();
    world.apps = ['keptapp12345'];
    const night = { config: controlOff, slices: [inEuros] };
    for (const number of [11, 12]) await world.night(number, night);
    expect(held().at(-1)).toContain(
      'run `ripen backfill --slice daily --from 2026-05-10 --to 2026-06-09 --accept-loss`',
    );
    await world.night(12, { ...night, request: accepting('2026-05-10', '2026-06-10') });
    expect(await served()).toEqual(['31 days, 62 rows']);
  });

  test('holds back one whose rows name no apps, until the loss of its final days is accepted', async () => {
    const total: Slice = { ...daily, dimensions: ['day', 'network'] };
    await opened(controlOff, total);
    world.apps = ['keptapp12345'];
    const parameters = { ...total.parameters, currency: 'EUR' };
    const night = { config: controlOff, slices: [{ ...total, parameters }] };
    await world.night(11, night);
    expect(held().at(-1)).toContain('goneapp12345');
    await world.night(11, { ...night, request: accepting('2026-05-10', '2026-05-20') });
    expect(held()).toHaveLength(2);
    await world.night(11, { ...night, request: accepting('2026-05-20', '2026-06-10') });
    expect(held()).toHaveLength(2);
  });

  test('does not hold back a filter that leaves it out', async () => {
    await opened();
    world.apps = ['keptapp12345'];
    await world.night(11, { config: controlOff, slices: [only('keptapp12345')] });
    expect(await served()).toEqual(['31 days, 62 rows']);
  });

  test('does not hold back the table of another account, which lists other apps', async () => {
    await opened();
    const other = { app_token: ['thirdapp1234'], network: ['x', 'y'] };
    world.rows = gridOf(DAYS.slice(0, 33), other, metrics);
    world.apps = ['thirdapp1234'];
    const ofOther: Slice = { ...daily, headers: { 'x-account-id': 'B' } };
    await world.night(11, { config: controlOff, slices: [ofOther] });
    expect(await served()).toEqual(['31 days, 62 rows']);
  });
});
