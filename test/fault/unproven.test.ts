/** Answers that are loaded although something is wrong with them: unproven under `completeness: warn`, with rejected rows. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { column, lastRun, query, storedAndTrue } from '../support/contents.ts';
import { countSteps } from '../support/failing-step.ts';
import { textWith } from '../support/matching.ts';
import { reports, runNight } from '../support/night.ts';
import { combined, replacedValue, wrongTotal } from '../support/report-mutations.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const FIRST = new Date('2026-06-20T02:30:00Z');
const SECOND = new Date('2026-06-21T02:30:00Z');
const DAYS = '2026-05-10:2026-05-13';
const world = { apps: 1, partners: 2, links: 4, rowsPerDay: 12 } as const;

const given = {
  name: 'daily',
  dimensions: ['day', 'os_name', 'app_token'],
  metrics: ['installs', 'clicks', 'cost'],
  datePeriod: { first: { day: day('2026-05-10') }, last: { day: day('2026-05-13') } },
} as const;

const told = (code: string): string[] =>
  scenario.events.flatMap((event) => (event.type === 'warning' && event.code === code ? [event.message] : []));
const standing = (): Promise<string[]> =>
  column(scenario, "select distinct verdict || ' ' || state || ' ' || (sound_at is not null) from ripen.periods");

test('4 old days whose totals are off by 1 are loaded under `completeness: warn`, unproven, final for nobody and due again', async () => {
  const lenient = slice({ ...given, completeness: 'warn' });
  scenario = await openScenario([lenient], { simulator: { world } });
  const restore = scenario.simulator.script({
    match: reports(),
    times: Infinity,
    fault: { kind: 'report', mutate: wrongTotal('installs', 1) },
  });
  const summary = await runNight(scenario, FIRST);
  restore();
  expect(summary).toMatchObject({ status: 'succeeded', failures: [], slices: [{ requests: 1 }] });
  expect(await lastRun(scenario)).toMatchObject({ exit_code: 0 });
  expect(told('UNPROVEN')).toEqual([textWith('installs')]);
  expect(await standing()).toEqual(['unproven maturing false']);
  expect(await query(scenario, 'select 1 from ripen.finality where is_final')).toEqual([]);
  expect(await column(scenario, 'select verdict from ripen.loads')).toEqual(['unproven']);
  const loaded = await storedAndTrue(scenario, lenient, DAYS, FIRST);
  expect(loaded.stored).toEqual(loaded.truth);

  const next = await runNight(scenario, SECOND);
  expect(next.slices[0]?.periods).toMatchObject({ unproven: 4 });
  expect(await standing()).toEqual(['proven final true']);
  scenario.simulator.asked.reset();
  await runNight(scenario, new Date('2026-06-22T02:30:00Z'));
  expect(scenario.simulator.asked.counts.report).toBe(0);
});

test('under the usual `completeness: require` the same 4 days fail, and no period is held', async () => {
  const strict = slice(given);
  scenario = await openScenario([strict], { simulator: { world } });
  scenario.simulator.script({
    match: reports(),
    times: Infinity,
    fault: { kind: 'report', mutate: wrongTotal('installs', 1) },
  });
  const summary = await runNight(scenario, FIRST);
  expect(new Set(summary.failures.map(({ code }) => code))).toEqual(new Set(['DATA_INCOMPLETE']));
  expect(await column(scenario, 'select count(*) from ripen.periods')).toEqual(['0']);
});

const bad = combined(replacedValue(0, 'clicks', '1,234.5'), replacedValue(1, 'clicks', 'NaN'));
const rejected = (): Promise<string[]> => column(scenario, 'select reason from ripen.rejected_rows order by reason');

test('2 rejected rows within `max_rejects: 2`, all of their day, are recorded once each; the day is not called empty, and due again', async () => {
  const tolerant = slice({ ...given, maxRejects: 2 });
  scenario = await openScenario([tolerant], { simulator: { world } });
  const restore = scenario.simulator.script({
    match: reports(),
    times: Infinity,
    fault: { kind: 'report', mutate: bad },
  });
  expect(await runNight(scenario, FIRST)).toMatchObject({
    failures: [],
    slices: [{ rows: { rejected: 2 }, requests: 1, empty_periods: [] }],
  });
  restore();
  expect(await rejected()).toEqual(['clicks: not a number: 1,234.5', 'clicks: not a number: NaN']);
  expect(await column(scenario, 'select count(*) from ripen.periods where rejected > 0 and sound_at is null')).toEqual([
    '1',
  ]);

  const next = await runNight(scenario, SECOND);
  expect(next.slices[0]?.periods).toMatchObject({ missing: 1 });
  expect((await rejected()).length).toBe(2);
  expect((await standing()).every((each) => each.endsWith('final true'))).toBe(true);
});

test('a disk that is full once the 2 rejected rows were recorded, before their load was, keeps neither rows nor records', async () => {
  const tolerant = slice({ ...given, maxRejects: 2 });
  scenario = await openScenario([tolerant], { simulator: { world } });
  scenario.simulator.script({ match: reports(), times: Infinity, fault: { kind: 'report', mutate: bad } });
  let isRecorded = false;
  const steps = await countSteps((step) => {
    const isFull = isRecorded && steps.kinds[step - 1] !== 'rollback';
    if (steps.kinds[step - 1] === 'insert into ripen.rejected_rows') isRecorded = true;
    return isFull;
  });
  try {
    await runNight(scenario, FIRST).catch(() => null);
  } finally {
    steps.stop();
  }
  expect(isRecorded).toBe(true);
  expect(await column(scenario, 'select count(*) from daily')).toEqual(['0']);
  expect(await rejected()).toEqual([]);
  expect((await runNight(scenario, FIRST)).failures).toEqual([]);
  expect((await rejected()).length).toBe(2);
});
