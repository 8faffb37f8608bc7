/** Nights over a rolling date period of 7 days: what it leaves behind ripens on, and what a pause left out is filled. */

import { expect, test } from 'vitest';

import { status, type SliceStatus } from '../../src/index.ts';
import { MS_PER_DAY } from '../../src/model/calendar.ts';
import { column, query, storedAndTrue } from '../support/contents.ts';
import { runNight } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const world = { apps: 1, partners: 2, links: 4, rowsPerDay: 4 } as const;
const FIRST = new Date('2026-01-10T02:30:00Z');
const after = (days: number): Date => new Date(FIRST.getTime() + days * MS_PER_DAY);
const dayText = (at: Date): string => at.toISOString().slice(0, 10);

const given = {
  dimensions: ['day', 'os_name'],
  datePeriod: { first: { daysAgo: 7 }, last: { daysAgo: 1 } },
} as const;
const ripening = slice({
  ...given,
  name: 'ripening',
  metrics: ['installs', 'cost', 'cohort_size_d60', 'all_revenue_total_d60'],
});

const statusOf = async (declared: typeof ripening, at: Date): Promise<SliceStatus | undefined> =>
  (await status({ ...scenario.config, slices: [declared] }, { asOf: at, lockWaitMs: 0 })).slices[0];

/** Cells whose horizon had passed at an instant, which are not final. */
const late = (at: Date): Promise<unknown[]> =>
  query(
    scenario,
    `select period, metric from ripen.finality where final_at <= timestamp '${at.toISOString().slice(0, 19)}' and not is_final`,
  );

test('of 6 nights over 78 days, with pauses of up to 24 nights, no day is missing, late or wrong, and 24 days are final under d60', async () => {
  scenario = await openScenario([ripening], { simulator: { world } });
  const nights = [0, 6, 18, 40, 64, 78];
  for (const night of nights) {
    const now = after(night);
    const found = await statusOf(ripening, now);
    const summary = await runNight(scenario, now);
    expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
    // All that status called missing before the run, 12 of it after the pauses, is what the run found new.
    const missing = night === 0 ? 7 : night - (nights[nights.indexOf(night) - 1] ?? 0);
    expect([found?.periods.missing ?? 7, summary.slices[0]?.periods['new']]).toEqual([
      missing,
      missing,
    ]);
    expect(await late(now)).toEqual([]);
    expect(
      await column(
        scenario,
        `select start_day from ripen.periods where next_refresh_at <= timestamp '${now.toISOString().slice(0, 19)}'`,
      ),
    ).toEqual([]);
  }
  const end = after(78);
  const first = dayText(after(-7));
  expect((await statusOf(ripening, end))?.periods).toMatchObject({
    expected: 85,
    loaded: 85,
    missing: 0,
    final: 24,
    cut: 0,
    empty: 0,
    open: 0,
  });

  const settled = dayText(after(16));
  const { stored, truth } = await storedAndTrue(scenario, ripening, `${first}:${settled}`, end);
  expect(truth.length).toBeGreaterThan(24);
  expect(stored.filter((row) => row <= `["${settled}~`)).toEqual(truth);
  const [unknown] = await column(
    scenario,
    `select count(*) from ripening_final where day <= '${settled}' and cohort_size_d60 is null`,
  );
  expect(unknown).toBe('0');
});

test.each([
  ['month', ['2026-03-31', '2026-04-01', '2026-05-01'], '2026-03-01:2026-04-30'],
] as const)(
  'from the start of the %s to yesterday, yesterday is loaded on each night of %j, and no day is left out of %s',
  async (bucket, nights, days) => {
    const first = { startOf: bucket, bucketsAgo: 0, daysBefore: 0 } as const;
    const since = slice({
      ...given,
      name: 'since',
      metrics: ['installs'],
      datePeriod: { first, last: { daysAgo: 1 } },
    });
    scenario = await openScenario([since], { simulator: { world } });
    for (const night of nights) {
      const now = new Date(`${night}T02:30:00Z`);
      expect(await runNight(scenario, now)).toMatchObject({ status: 'succeeded', failures: [] });
      const yesterday = dayText(new Date(now.getTime() - MS_PER_DAY));
      expect(await column(scenario, 'select max(start_day) from ripen.periods')).toEqual([
        yesterday,
      ]);
      expect((await statusOf(since, now))?.periods.missing).toBe(0);
    }
    const end = new Date(`${nights.at(-1) ?? ''}T02:30:00Z`);
    const { stored, truth } = await storedAndTrue(scenario, since, days, end);
    expect(stored.map((row) => row.slice(0, 13))).toEqual(truth.map((row) => row.slice(0, 13)));
    expect(await late(end)).toEqual([]);
  },
);
