/** Audits of final cells, night by night through the pipeline, where the horizon is shorter than the service's own. */

import { expect, test } from 'vitest';
import * as z from 'zod';

import { addDays, day, type Day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import { createWorld } from '../support/simulator/world.ts';
import { readStatus } from '../../src/status/status.ts';
import type { StatusReport } from '../../src/status/status-report.ts';
import { statusText } from '../../src/terminal/status-text.ts';
import { count } from '../../src/warehouse/sql.ts';
import { askWorld } from '../bench/nights/reported-rows.ts';
import { column } from '../support/contents.ts';
import { countSteps, type Steps } from '../support/failing-step.ts';
import { askedReports, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const FIRST = day('2026-03-01');
const HISTORY_DAYS = 24;
const DAY_MS = 86_400_000;

let scenario: Scenario;

const daily = (horizonDays: number | null): Slice =>
  slice({
    name: 'daily',
    dimensions: ['day', 'app_token'],
    metrics: ['installs'],
    horizons: horizonDays === null ? [] : [{ pattern: '*', horizonMs: horizonDays * DAY_MS }],
    datePeriod: { first: { day: FIRST }, last: { daysAgo: 1 } },
  });

const nightAt = (night: number): Date =>
  new Date(`${addDays(FIRST, HISTORY_DAYS + night)}T03:00:00Z`);

const auditRow = z.object({ period: z.string(), cells: count, changed: count, seed: z.string() });
const totalRow = z.object({ day: z.string(), total: z.number() });

async function pass(of: Slice, nights: number, audit: number, world: object = smallWorld) {
  scenario = await openScenario([of], { simulator: { world } });
  const [requested, rows]: [number[], number[]] = [[], []];
  for (let night = 0; night < nights; night += 1) {
    const before = askedReports(scenario).length;
    const summary = await scenario.night(nightAt(night), { audit });
    expect(summary.failures).toEqual([]);
    rows.push(summary.slices[0]?.rows.fetched ?? 0);
    requested.push(askedReports(scenario).length - before);
  }
  const audits = await scenario.inWarehouse((warehouse) =>
    warehouse.rows('select * from ripen.audits order by audited_at', [], auditRow),
  );
  return {
    requested,
    rows,
    audits,
    changes: changesOf(scenario),
    report: await statusAt(nights - 1),
  };
}

const statusAt = (night: number): Promise<StatusReport> =>
  scenario.inWarehouse((warehouse) => readStatus(scenario.config, warehouse, nightAt(night)));

const changesOf = ({ events }: Scenario): string[] =>
  events.flatMap((event) =>
    event.type === 'warning' && event.code === 'FINAL_CHANGED' ? [event.message] : [],
  );

/** The share of final totals as they are stored that the world says otherwise. */
async function wrongShare(of: Slice, world: object, night: number): Promise<number> {
  const now = nightAt(night);
  const days = { start: FIRST, end: addDays(FIRST, HISTORY_DAYS + night) };
  const answers = askWorld(createWorld(world), of, days, now);
  const truth = (at: Day): number =>
    [...(answers.get(at)?.values() ?? [])].reduce((sum, row) => sum + Number(row['installs']), 0);
  const stored = await scenario.inWarehouse((warehouse) =>
    warehouse.rows(
      'select day, sum(installs)::double as total from daily_final group by day having total is not null',
      [],
      totalRow,
    ),
  );
  return stored.filter(({ day: at, total }) => total !== truth(day(at))).length / stored.length;
}

test('a horizon of 2 days where values move for 7: audits find a share within the bound they state, and status watches out', async () => {
  const nights = 10;
  const { audits, report, changes } = await pass(daily(2), nights, 2);
  expect(audits.length).toBeGreaterThan(nights / 2);
  const wrong = await wrongShare(daily(2), smallWorld, nights - 1);
  const { audited, histories } = report.slices[0] ?? {};
  expect(wrong).toBeGreaterThan(0.1);
  expect(audited?.wrong_share_below).toBeGreaterThan(wrong);
  const found = (audited?.drawn_changed ?? 0) / (audited?.drawn_periods ?? 1);
  expect(Math.abs(found - wrong)).toBeLessThan(0.25);
  expect(audited?.drawn_periods).toBe(new Set(audits.map(({ period }) => period)).size);
  expect(audited?.cells).toBeLessThanOrEqual(HISTORY_DAYS + nights);
  expect(statusText(report, null, { details: true, maturation: false, backtest: false })).toMatch(
    /final cells fetched again in 90 days: \d+ of \d+ periods, \d+ changed; of \d+ periods drawn at random [\d.]+ %: with 95 % confidence fewer than [\d.]+ % of the final cells drawn from were wrong/,
  );
  expect(changes[0]).toMatch(
    /^\d+ final totals? of installs changed after the horizon of 2d, as late as age \d+\.$/,
  );
  expect(report.health.state).toBe('watch');
  expect(histories?.[0]?.final_changed).toBeGreaterThan(0);
  expect(report.health.findings.map(({ message }) => message)).toEqual([
    expect.stringMatching(
      /^daily: \d+ of \d+ final totals of installs fetched again in 90 days had changed after its horizon of 2d, as late as age \d+\.$/,
    ),
  ]);
}, 280_000);

test('a horizon that holds is confirmed: 2 audits find nothing changed, cost one request a night and no row of the table, and audit 0 none', async () => {
  const without = await pass(daily(8), 3, 0);
  await scenario.close();
  const { audits, changes, requested, rows, report } = await pass(daily(8), 3, 1);
  expect(rows.map((fetched, night) => fetched - (without.rows[night] ?? 0))).toEqual([0, 2, 2]);
  expect(without.audits).toEqual([]);
  expect(audits.map(({ changed }) => changed)).toEqual([0, 0]);
  expect(changes).toEqual([]);
  expect(report.health.state).toBe('well');
  expect(requested.map((requests, night) => requests - (without.requested[night] ?? 0))).toEqual([
    0, 1, 1,
  ]);
});

/** A night of which the first statement that begins so fails. */
async function failingNight(night: number, audit: number, statement: string): Promise<void> {
  const steps: Steps = await countSteps(() => steps.kinds.at(-1)?.startsWith(statement) === true);
  const { failures } = await scenario.night(nightAt(night), { audit }).finally(() => steps.stop());
  expect(failures.map(({ code }) => code)).toEqual(['STORAGE_FAILED']);
}

test('changed final totals that a run found before it failed are warned of by the next one, once', async () => {
  scenario = await openScenario([daily(2)], { simulator: { world: smallWorld } });
  await scenario.night(nightAt(0));
  await failingNight(1, 12, 'select r.slice, r.metric,');
  expect(changesOf(scenario)).toEqual([]);
  expect(
    await column(scenario, 'select count(*) > 0 from ripen.restatements where after_final'),
  ).toEqual(['true']);
  await failingNight(2, 0, 'with unmeasured_runs');
  expect(changesOf(scenario)).toHaveLength(1);
  await scenario.night(nightAt(3), { audit: 0 });
  expect(changesOf(scenario)).toHaveLength(1);
});

test('loads of a run that failed before it measured them are measured by the next one, which has nothing to load', async () => {
  const last = { day: addDays(FIRST, HISTORY_DAYS + 9) };
  scenario = await openScenario(
    [{ ...daily(null), datePeriod: { first: { day: addDays(FIRST, HISTORY_DAYS) }, last } }],
    {
      simulator: { world: smallWorld },
    },
  );
  for (let night = 1; night <= 10; night += 1) await scenario.night(nightAt(night));
  await failingNight(17, 0, 'with unmeasured_runs');
  const measured = async (): Promise<string[]> =>
    column(scenario, 'select coalesce(max(periods), 0) from ripen_internal.maturation');
  expect(await measured()).toEqual(['0']);
  const { slices } = await scenario.night(nightAt(18));
  expect([slices[0]?.windows.planned, await measured()]).toEqual([0, ['10']]);
});

const heldRow = z.object({ day: z.string(), n: count });
const rowsByDay = () =>
  scenario.inWarehouse((warehouse) =>
    warehouse.rows(
      'select day::varchar as day, count(*) as n from daily group by all order by all',
      [],
      heldRow,
    ),
  );

test('an audit that is answered without rows keeps the final rows, fails by itself, and says nothing of finality', async () => {
  let isEmptied = false;
  const emptied = (of: string): boolean => isEmptied && of < addDays(FIRST, 12);
  scenario = await openScenario([daily(8)], {
    simulator: { world: { ...smallWorld, quirks: { emptied } } },
  });
  expect((await scenario.night(nightAt(0))).failures).toEqual([]);
  const before = await rowsByDay();
  isEmptied = true;
  const summary = await scenario.night(nightAt(1), { audit: 3 });
  expect(summary.failures.length).toBeGreaterThan(0);
  expect(new Set(summary.failures.map(({ code }) => code))).toEqual(new Set(['DATA_SHRUNK']));
  expect((await rowsByDay()).slice(0, before.length)).toEqual(before);
  expect(changesOf(scenario)).toEqual([]);
  expect((await statusAt(1)).slices[0]?.audited?.changed ?? 0).toBe(0);
});
