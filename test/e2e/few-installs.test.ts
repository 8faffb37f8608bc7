/** Projections through the command line, of a slice that counts enough and of a part of it that does not. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { sync } from '../../src/index.ts';
import { addDays, day } from '../../src/model/calendar.ts';
import { ask } from '../support/sample-warehouse.ts';
import { openAccount, type SimulatedAccount } from '../support/simulated-account.ts';

const FIRST = day('2026-03-01');
/** A total of the first day's revenue is final at age 3, and by then enough of them are to judge projections at ages 1 and 2. */
const NIGHTS = 30;
const REVENUE = 'all_revenue_total_d1';
const daily = { dimensions: ['day'], metrics: ['installs', REVENUE], date_period: `${FIRST}:yesterday` };
/** Some 2,000 installs a day, and the 500 of them that came from one country. */
const slices = [
  { ...daily, name: 'many' },
  { ...daily, name: 'few', filters: { country_code__in: ['DE'] } },
];
const TOO_FEW = /^half of the periods have [1-9]\d\d installs at most, and below 1082 chance alone moves/;

const shape = z.object({
  slices: z.array(
    z.object({
      name: z.string(),
      backtest: z.array(z.object({ metric: z.string(), reason: z.string().nullable() })),
    }),
  ),
});

let account: SimulatedAccount;
const lastNight = new Date(`${addDays(FIRST, NIGHTS)}T03:00:00Z`).toISOString();

async function told(...flags: readonly string[]): Promise<string> {
  const { code, out, err } = await account.installation.run(['status', '--backtest', '--as-of', lastNight, ...flags]);
  expect([code, err]).toStrictEqual([0, '']);
  return out;
}

beforeAll(async () => {
  account = await openAccount(slices);
  const { config, simulator } = account;
  for (let night = 1; night <= NIGHTS; night += 1) {
    const asOf = new Date(`${addDays(FIRST, night)}T03:00:00Z`);
    simulator.setNow(asOf);
    await sync(config, { asOf });
  }
});

afterAll(async () => account.close());

test('projects revenue of 2,000 installs a day, and says of every row of 500 a day that chance alone moves them too far', async () => {
  const { slices: all } = shape.parse(JSON.parse(await told('--json')));
  const of = (name: string) => all.find((slice) => slice.name === name)?.backtest ?? [];
  expect(of('many').filter(({ metric, reason }) => metric === REVENUE && reason === null).length).toBeGreaterThan(0);
  expect(of('few').length).toBe(of('many').length);
  for (const { reason } of of('few')) expect(reason).toMatch(TOO_FEW);
});

test('has no row of the few in their view of projections, and says why in the text of status', async () => {
  const count = async (slice: string): Promise<number> => {
    const [row] = await ask(
      account.installation.path('w.duckdb'),
      `select count(*)::integer as n from ${slice}_projected`,
    );
    return Number(row?.['n']);
  };
  expect([(await count('many')) > 0, await count('few')]).toStrictEqual([true, 0]);
  expect(await told()).toMatch(/not projected: half of the periods have [1-9]\d\d installs at most, and below 1082/);
});
