/** Adaptive refreshes, night after night through the pipeline, beside milestones: what they leave out, and what that costs. */

import { afterEach, expect, test } from 'vitest';

import { adaptiveRemarks } from '../../src/check/warehouse.ts';
import { addDays, day } from '../../src/model/calendar.ts';
import type { Refresh } from '../../src/model/slice.ts';
import { contentOf } from '../support/contents.ts';
import { askedReports, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const FIRST = day('2026-03-01');
/** Eight periods are final, and their maturation known, after some 16. */
const NIGHTS = 22;
const LATE = 17;

const daily = (refresh: Refresh) =>
  slice({
    name: 'daily',
    dimensions: ['day', 'app_token'],
    metrics: ['installs'],
    refresh,
    datePeriod: { first: { day: FIRST }, last: { daysAgo: 1 } },
  });

let scenario: Scenario;
afterEach(() => scenario.close());

async function lived(refresh: Refresh) {
  scenario = await openScenario([daily(refresh)], { simulator: { world: smallWorld } });
  const rows: number[] = [];
  for (let night = 1; night <= NIGHTS; night += 1) {
    const { failures, slices } = await scenario.night(new Date(`${addDays(FIRST, night)}T03:00:00Z`));
    expect(failures).toEqual([]);
    rows.push(slices.reduce((sum, each) => sum + each.rows.fetched, 0));
  }
  const remarks = await scenario.inWarehouse((warehouse) => adaptiveRemarks(warehouse, daily(refresh), ['slices', 0]));
  return { rows, requests: askedReports(scenario).length, remarks, final: await finalRows() };
}

const finalRows = async (): Promise<string[]> => {
  const rows = await contentOf(scenario, 'main.daily_final');
  return rows.filter((row) => !row.includes('"installs":null')).map((row) => row.replace(/"_load_id":"\d+"/, ''));
};

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

test(`${NIGHTS} nights: adaptive asks as milestones do until it knows how values ripen, for fewer rows then, with the same final values`, async () => {
  const milestones = await lived('milestones');
  await scenario.close();
  const adaptive = await lived({ tolerance: 0.15 });
  expect(adaptive.rows.slice(0, 12)).toEqual(milestones.rows.slice(0, 12));
  expect(sum(adaptive.rows.slice(LATE))).toBeLessThan(0.8 * sum(milestones.rows.slice(LATE)));
  expect(adaptive.final.length).toBeGreaterThan(10);
  expect(adaptive.final).toEqual(milestones.final);
  expect(milestones.remarks).toEqual([]);
  const [remark, ...others] = adaptive.remarks;
  expect(others).toEqual([]);
  expect(remark?.message).toMatch(
    /^adaptive refreshes leave out the ages [\d, ]+: in the past \d+ of \d+ fetches of periods fell on them, and \d+ of \d+ totals that were read at them differed from the ones held until then, by [\d.]+ % of the final total at most; final values are fetched all the same$/,
  );
  const most = Number(/by ([\d.]+) %/.exec(remark?.message ?? '')?.[1]);
  expect(most).toBeGreaterThan(0);
}, 300_000);
