/** Adaptive refreshes through the command line, night after night beside milestones: what is left out, and what is told of it. */

import { readFile } from 'node:fs/promises';

import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { sync } from '../../src/index.ts';
import { addDays, day, type Day } from '../../src/model/calendar.ts';
import { ask } from '../support/sample-warehouse.ts';
import { openAccount, type SimulatedAccount } from '../support/simulated-account.ts';

const FIRST = day('2026-03-01');
/** A total is final at age 4, eight are after 11 nights, and from then on a night may leave ages out. */
const KNOWN_AFTER = 11;
const NIGHTS = 14;
const TOLERANCE = 0.15;

const daily = {
  dimensions: ['day', 'app_token'],
  metrics: ['installs'],
  date_period: `${FIRST}:yesterday`,
  horizons: { installs: '3d' },
};
const slices = [
  { ...daily, name: 'adaptive', refresh: 'adaptive', tolerance: TOLERANCE },
  { ...daily, name: 'milestones', refresh: 'milestones' },
];

const summaryShape = z.object({
  slices: z.array(z.object({ name: z.string(), rows: z.object({ fetched: z.number() }) })),
});
const costShape = z.object({
  tolerance: z.number(),
  is_configured: z.boolean(),
  ages_left_out: z.array(z.number()),
  fetches: z.number(),
  fetches_left_out: z.number(),
  rows: z.number(),
  rows_left_out: z.number(),
  totals: z.number(),
  totals_differed: z.number(),
  most_differed: z.number().nullable(),
});
const statusShape = z.object({ slices: z.array(z.object({ name: z.string(), adaptive: z.array(costShape) })) });

let account: SimulatedAccount;
/** Rows fetched in each night. */
const fetched = { adaptive: [0], milestones: [0] };
let lastNight: Day;

const instantOf = (night: Day): Date => new Date(`${night}T03:00:00Z`);
const asOf = (): string[] => ['--as-of', instantOf(lastNight).toISOString()];

async function succeeded(argv: readonly string[]): Promise<string> {
  const { code, out, err } = await account.installation.run(argv);
  expect([code, err]).toStrictEqual([0, '']);
  return out;
}

beforeAll(async () => {
  account = await openAccount(slices);
  const { config, simulator } = account;
  for (let night = 1; night <= NIGHTS; night += 1) {
    lastNight = addDays(FIRST, night);
    simulator.setNow(instantOf(lastNight));
    // Nights before anything is known differ in nothing from those of other refreshes: a process for each would only cost time.
    const summary =
      night < KNOWN_AFTER
        ? await sync(config, { asOf: instantOf(lastNight) })
        : summaryShape.parse(JSON.parse(await succeeded(['sync', '--json', '--quiet', ...asOf()])));
    for (const name of ['adaptive', 'milestones'] as const) {
      fetched[name].push(summary.slices.find((slice) => slice.name === name)?.rows.fetched ?? 0);
    }
  }
});

afterAll(async () => account.close());

const sum = (of: readonly number[]): number => of.reduce((total, each) => total + each, 0);

/** What `status --json` says of the configured tolerance. */
async function configuredCost(): Promise<z.infer<typeof costShape>> {
  const told = statusShape.parse(JSON.parse(await succeeded(['status', '--backtest', '--json', ...asOf()])));
  const costs = told.slices.find(({ name }) => name === 'adaptive')?.adaptive ?? [];
  return costShape.parse(costs.find(({ is_configured: isConfigured }) => isConfigured));
}

test(`asks as milestones do for ${KNOWN_AFTER} nights, and for at least a quarter fewer rows in the ${NIGHTS - KNOWN_AFTER} after them`, () => {
  const [before, after] = [[1, KNOWN_AFTER + 1] as const, [KNOWN_AFTER + 1] as const];
  expect(fetched.adaptive.slice(...before)).toStrictEqual(fetched.milestones.slice(...before));
  expect(sum(fetched.adaptive.slice(...after))).toBeLessThan(0.75 * sum(fetched.milestones.slice(...after)));
});

test('never asks for an age it says it leaves out once it knows, and does for the others', async () => {
  const { ages_left_out: left } = await configuredCost();
  const asked = await ask(
    account.installation.path('w.duckdb'),
    `select distinct date_diff('day', d.day, l.known_at::date)::integer as age
     from ripen.loads as l, generate_series(l.start_day, l.end_day - 1, interval 1 day) as d(day)
     where l.slice = 'adaptive' and l.known_at::date > date '${addDays(FIRST, KNOWN_AFTER)}'
     order by age`,
  );
  const ages = asked.map(({ age }) => Number(age));
  expect(left.length).toBeGreaterThan(0);
  expect(ages.filter((age) => left.includes(age))).toStrictEqual([]);
  expect(ages).toStrictEqual([1, 2, 3, 4].filter((age) => !left.includes(age)));
});

test('has the final values that milestones have', async () => {
  const final = async (slice: string): Promise<string[]> => {
    await succeeded(['export', '--slice', slice, '--final-only', '--output', `${slice}.ndjson`, '--quiet']);
    const lines = (await readFile(account.installation.path(`${slice}.ndjson`), 'utf8')).trim().split('\n');
    return lines.map((line) => line.replace(/"_load_id":"?\d+"?/, '')).toSorted();
  };
  const [adaptive, milestones] = [await final('adaptive'), await final('milestones')];
  expect(adaptive.length).toBeGreaterThanOrEqual(NIGHTS - 4);
  expect(adaptive).toStrictEqual(milestones);
});

test('tells in check and in status what that saves and costs, in the same numbers', async () => {
  const cost = await configuredCost();
  const [saved, off] = [`${cost.fetches_left_out} of ${cost.fetches}`, `${cost.totals_differed} of ${cost.totals}`];
  expect([cost.tolerance, cost.fetches_left_out > 0, cost.totals_differed > 0]).toStrictEqual([TOLERANCE, true, true]);
  expect(cost.rows_left_out / cost.rows).toBeCloseTo(cost.fetches_left_out / cost.fetches, 1);
  expect(cost.most_differed).toBeGreaterThan(0);
  const checked = (await succeeded(['check', ...asOf()])).replaceAll(/\s+/g, ' ');
  expect(checked).toContain(
    `leave out the ages ${cost.ages_left_out.join(', ')}: in the past ${saved} fetches of periods`,
  );
  expect(checked).toContain(`${off} totals that were read at them differed`);
  const lines = (await succeeded(['status', '--backtest', ...asOf()])).split('\n').map((line) => line.trim());
  const told = lines.find((line) => line.startsWith('15 % (configured)'));
  expect(told).toContain(saved);
  expect(told).toContain(off);
});
