/** A night on a machine whose clock was ahead, of a service that does not tell the time: what it loaded is not final for that, and is asked for again. */

import { join } from 'node:path';

import { afterEach, expect, test, vi } from 'vitest';

import type { RunEvent } from '../../src/events.ts';
import { plan, publish, status } from '../../src/index.ts';
import { day, utcOffset } from '../../src/model/calendar.ts';
import { archived, loseWarehouse, replayInto } from '../support/archive-scene.ts';
import { column, contentOf } from '../support/contents.ts';
import { rowsOf } from '../support/installation-contents.ts';
import { textWith } from '../support/matching.ts';
import { askedReports, runNight, smallWorld, type Circumstances } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

afterEach(async () => {
  vi.useRealTimers();
  await scenario.close();
});

const DAY_MS = 86_400_000;

const daysBack = (count: number) => day(new Date(Date.now() - count * DAY_MS).toISOString().slice(0, 10));

/** The last 5 days, whatever a clock says. */
const given = { metrics: ['installs'], datePeriod: { first: { day: daysBack(5) }, last: { day: daysBack(1) } } };
const daily = slice({ ...given, name: 'daily', dimensions: ['day', 'app_token'] });
const weekly = slice({ ...given, name: 'weekly', dimensions: ['week', 'app_token'] });
const rolling = { metrics: ['installs'], datePeriod: { first: { daysAgo: 3 }, last: { daysAgo: 0 } } } as const;
const dateless = slice({ ...given, name: 'dateless', dimensions: ['app_token'] });

/** Syncs on a machine whose clock is so many days ahead of the service's, which does or does not tell the time. */
async function syncWith(daysAhead: number, how: Circumstances & { readonly isTold?: boolean } = {}): Promise<string[]> {
  const { isTold = false, ...circumstances } = how;
  const real = new Date();
  scenario.simulator.setNow(real);
  const simulator = { ...scenario.simulator, setNow: () => {} };
  const restore = isTold
    ? () => {}
    : scenario.simulator.script({ match: () => true, times: Infinity, fault: { kind: 'date_skew', ms: NaN } });
  if (daysAhead !== 0) vi.useFakeTimers({ toFake: ['Date'], now: real.getTime() + daysAhead * DAY_MS });
  try {
    const summary = await runNight({ ...scenario, simulator }, 'now', circumstances);
    return summary.failures.map(({ code }) => code);
  } finally {
    vi.useRealTimers();
    restore();
  }
}

const ahead = async (): Promise<unknown> =>
  column(
    scenario,
    "select count(*) from ripen.periods where fetched_at > now() at time zone 'UTC' and start_day < now()",
  );
const finalRows = async (name = 'daily'): Promise<unknown> =>
  column(scenario, `select count(*) from ${name}_final where installs is not null`);
const told = (): string[] =>
  scenario.events.flatMap((event) => (event.type === 'warning' ? [`${event.code}: ${event.message}`] : []));

test.each([false, true])(
  'periods fetched 60 days ahead of time are asked for again by the next run (the service then tells the time: %s), and none is final',
  async (isTold) => {
    scenario = await openScenario([daily, weekly, dateless], { simulator: { world: smallWorld } });
    expect(await syncWith(60)).toEqual([]);
    expect(await finalRows()).not.toEqual(['0']);
    scenario.simulator.asked.reset();
    expect(await syncWith(0, { isTold })).toEqual([]);
    expect(askedReports(scenario).length).toBe(3);
    expect(await ahead()).toEqual(['0']);
    for (const name of ['daily', 'weekly', 'dateless']) expect(await finalRows(name)).toEqual(['0']);
    expect(await column(scenario, "select count(*) from ripen.periods where state = 'final'")).toEqual(['0']);
    expect(told().filter((said) => said.startsWith('CLOCK_WAS_AHEAD'))).toHaveLength(1);
    expect(told().filter((said) => /FINAL_CHANGED|AS_OF_OLDER/.test(said))).toEqual([]);

    scenario.simulator.asked.reset();
    expect(await syncWith(0, { isTold })).toEqual([]);
    expect(told().filter((said) => said.startsWith('CLOCK_WAS_AHEAD'))).toHaveLength(1);
  },
);

test('periods fetched 60 days ahead are not final either once another slice alone was loaded', async () => {
  scenario = await openScenario([daily, slice({ ...daily, name: 'other' })], { simulator: { world: smallWorld } });
  await syncWith(60);
  expect(await syncWith(0, { request: { slices: ['other'] } })).toEqual([]);
  expect(await finalRows('daily')).toEqual(['0']);
  expect(await ahead()).toEqual(['0']);
});

test('what is final stays final where an answer denies the clock of a later run, which is 60 days behind', async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  const old = { first: { day: day('2026-01-01') }, last: { day: day('2026-01-05') } };
  const slices = [{ ...daily, datePeriod: old }];
  expect(await syncWith(0, { slices, isTold: true })).toEqual([]);
  const before = await contentOf(scenario, 'ripen.periods');
  expect(await finalRows()).not.toEqual(['0']);
  expect(await syncWith(-60, { slices, isTold: true })).toEqual(['CLOCK_UNTRUSTED']);
  expect(await contentOf(scenario, 'ripen.periods')).toEqual(before);
});

test('a clock that says 1970, of a service that does not tell the time, leaves everything as it was', async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  expect(await syncWith(0)).toEqual([]);
  const before = await contentOf(scenario, 'ripen.periods');
  expect(await syncWith(-365 * 50)).toEqual([]);
  expect(await contentOf(scenario, 'ripen.periods')).toEqual(before);
});

test('a plan names as open what was fetched 60 days ahead of time, and changes nothing', async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  await syncWith(60);
  const before = await contentOf(scenario, 'ripen.periods');
  const { slices } = await plan(scenario.config);
  expect(slices[0]?.windows.map(({ periods, reasons }) => ({ periods, reasons }))).toEqual([
    { periods: 5, reasons: { open: 5 } },
  ]);
  expect(await contentOf(scenario, 'ripen.periods')).toEqual(before);
});

test('a status calls open what was fetched 60 days ahead of time, and says what to do; it changes nothing', async () => {
  scenario = await openScenario([daily, weekly, dateless], { simulator: { world: smallWorld } });
  await syncWith(60);
  const before = await contentOf(scenario, 'ripen.periods');
  const { slices, health } = await status(scenario.config);
  for (const { name, periods, cells, next_refresh_at: next } of slices) {
    expect([name, periods.final + periods.maturing, periods.open]).toEqual([name, 0, periods.expected]);
    expect([name, cells.final + cells.maturing, cells.open]).toEqual([name, 0, cells.expected]);
    expect([name, Date.parse(next ?? '') <= Date.now()]).toEqual([name, true]);
  }
  expect(health).toMatchObject({ state: 'watch', findings: [{ message: textWith('a clock was ahead') }] });
  expect(await contentOf(scenario, 'ripen.periods')).toEqual(before);
  await syncWith(0);
  expect((await status(scenario.config)).health.findings).toEqual([]);
});

test('a status as of an earlier day believes what was fetched since', async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  await syncWith(0);
  const { health } = await status(scenario.config, { asOf: new Date(Date.now() - DAY_MS) });
  expect(health.findings).toEqual([]);
});

test('a publish brings nothing as final that was fetched 60 days ahead of time, and tells it once', async () => {
  scenario = await openScenario([daily, weekly], { simulator: { world: smallWorld } });
  const copy = join(scenario.directory, 'copy.duckdb');
  const target = { kind: 'duckdb', path: copy, mode: 0o600 } as const;
  const config = { ...scenario.config, publish: [target] };
  await syncWith(60);
  const emit = (event: RunEvent): void => void scenario.events.push(event);
  for (const _ of [1, 2]) expect((await publish(config, { emit })).failures).toEqual([]);
  expect(told().filter((said) => said.startsWith('CLOCK_WAS_AHEAD'))).toHaveLength(1);
  for (const table of ['ripen.finality where is_final', 'daily_final where installs is not null']) {
    expect(await rowsOf(copy, `select count(*)::integer as n from ${table}`)).toEqual([{ n: 0 }]);
  }
});

test('a replay leaves days that have not begun in the archive, which a clock 20 days ahead asked for', async () => {
  scenario = await openScenario([slice({ ...daily, ...rolling, refresh: [400] })], {
    simulator: { world: smallWorld },
  });
  scenario = { ...scenario, config: { ...scenario.config, ...archived } };
  await syncWith(0);
  await syncWith(20);
  await syncWith(0);
  const held = await column(scenario, 'select start_day from ripen.periods order by start_day');
  const skipped = () => told().filter((said) => said.startsWith('REPLAY_SKIPPED') && said.includes('not begun')).length;
  for (const times of [1, 2]) {
    expect((await replayInto(scenario)).failures).toEqual([]);
    expect(skipped()).toBe(times);
    expect(await column(scenario, 'select start_day from ripen.periods order by start_day')).toEqual(held);
  }
  await loseWarehouse(scenario);
  expect((await replayInto(scenario)).failures).toEqual([]);
  expect(await column(scenario, 'select start_day from ripen.periods order by start_day')).toEqual(held);
});

test('a replay on a machine whose clock says 1970 loads what the archive holds', async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  scenario = { ...scenario, config: { ...scenario.config, ...archived } };
  await syncWith(0);
  const held = await column(scenario, 'select start_day from ripen.periods order by start_day');
  await loseWarehouse(scenario);
  vi.useFakeTimers({ toFake: ['Date'], now: DAY_MS });
  await replayInto(scenario);
  vi.useRealTimers();
  expect(await column(scenario, 'select start_day from ripen.periods order by start_day')).toEqual(held);
});

test('a replay of answers that were archived 60 days ahead of time makes nothing final', async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  scenario = { ...scenario, config: { ...scenario.config, ...archived } };
  await syncWith(60);
  await loseWarehouse(scenario);
  expect((await replayInto(scenario)).failures).toEqual([]);
  expect(await finalRows()).toEqual(['0']);
  expect(await ahead()).toEqual(['0']);
});

test('answers that were archived 60 days ahead of time are never loaded in the place of later ones, also once 60 days have passed', async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  scenario = { ...scenario, config: { ...scenario.config, ...archived } };
  await syncWith(60);
  expect(await syncWith(0)).toEqual([]);
  const fetched = await column(scenario, 'select fetched_at from ripen.periods order by start_day');
  for (const daysLater of [0, 90]) {
    await loseWarehouse(scenario);
    if (daysLater > 0) vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + daysLater * DAY_MS });
    expect((await replayInto(scenario)).failures).toEqual([]);
    vi.useRealTimers();
    expect(await column(scenario, 'select fetched_at from ripen.periods order by start_day')).toEqual(fetched);
  }
});

const grains = ['hour', 'day', 'week', 'month', 'quarter', 'year'] as const;
const slices = ['-11:30', '+13:00'].flatMap((offset) =>
  grains.map((grain) =>
    slice({
      ...rolling,
      name: `${grain}_${offset.startsWith('-') ? 'west' : 'east'}`,
      dimensions: [grain, 'app_token'],
      utcOffset: utcOffset(offset),
      refresh: [400],
    }),
  ),
);

test.each([2, 20, 60])(
  'after a night %d days ahead, rolling slices of every grain have the days of the next night, and none of those to come',
  async (days) => {
    scenario = await openScenario(slices, { simulator: { world: { ...smallWorld, apps: 1, rowsPerDay: 4 } } });
    await syncWith(days);
    scenario.simulator.asked.reset();
    expect(await syncWith(0)).toEqual([]);
    expect(told().filter((said) => said.startsWith('AS_OF_OLDER'))).toEqual([]);
    const today = "(now() at time zone 'UTC' + (p.end_day::timestamp - p.ends_at))::date";
    // Of each slice the period of today, up to today, fetched just now.
    expect(
      await column(
        scenario,
        `select p.slice from ripen.periods as p
         where p.start_day <= ${today} and p.end_day > ${today} and p.asked_end = ${today} + 1
             and p.fetched_at > now() at time zone 'UTC' - interval 10 minutes and p.fetched_at <= now() at time zone 'UTC'
         order by 1`,
      ),
    ).toEqual(slices.map(({ name }) => name).toSorted());
  },
);

test('a changed meaning takes the place of rows that were fetched 60 days ahead of time', async () => {
  for (const [name, of] of Object.entries({ fixed: daily, moving: slice({ ...daily, ...rolling }) })) {
    scenario = await openScenario([of], { simulator: { world: smallWorld } });
    await syncWith(60);
    const changed = { ...of, parameters: { os_name__in: 'ios' } };
    expect(await syncWith(0, { slices: [changed] })).toEqual([]);
    expect(await column(scenario, "select count(*) from ripen.slice_tables where state = 'building'")).toEqual(['0']);
    if (name === 'fixed') await scenario.close();
  }
});
