import { expect, test } from 'vitest';
import * as z from 'zod';

import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const given = {
  dimensions: ['day', 'app_token'],
  metrics: ['installs', 'all_revenue_total_d7'],
  datePeriod: { first: { daysAgo: 12 }, last: { daysAgo: 1 } },
} as const;
const counts = z.object({
  day: z.string(),
  zeros: z.coerce.number(),
  unknown: z.coerce.number(),
  measured: z.coerce.number(),
});

test('under mature a withheld day-7 value is NULL, not a measured zero, and the installs of its row stay', async () => {
  const mature = slice({ name: 'mature', ...given, parameters: { cohort_maturity: 'mature' } });
  const immature = slice({ name: 'immature', ...given, parameters: { cohort_maturity: 'immature' } });
  scenario = await openScenario([mature, immature]);
  expect((await scenario.night(new Date('2026-06-01T02:30:00Z'))).failures).toEqual([]);
  await scenario.inWarehouse(async (warehouse) => {
    const byDay = (table: string): Promise<z.infer<typeof counts>[]> =>
      warehouse.rows(
        `select day::varchar as day,
             count(*) filter (where all_revenue_total_d7 = 0) as zeros,
             count(*) filter (where all_revenue_total_d7 is null) as unknown,
             count(*) filter (where installs > 0) as measured
         from ${table} group by day order by day`,
        [],
        counts,
      );
    const [withheld, open] = [await byDay('mature'), await byDay('immature')];
    expect(withheld).toHaveLength(12);
    // The 24th of May ended eight days before the night; its last installer completed age 7 at the first of June.
    for (const row of withheld.filter(({ day }) => day > '2026-05-24')) {
      expect(row.zeros, row.day).toBe(0);
      expect(row.unknown, row.day).toBeGreaterThan(0);
      expect(row.measured, row.day).toBeGreaterThan(0);
    }
    expect(withheld.filter(({ day }) => day <= '2026-05-24').some(({ unknown }) => unknown === 0)).toBe(true);
    expect(open.every(({ unknown }) => unknown === 0)).toBe(true);
  });
});
