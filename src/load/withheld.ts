/**
 * Withheld values under `cohort_maturity: mature`.
 *
 * The service then answers zero or null for cohorts that have not all reached an age, which nothing in the answer tells
 * from a measured zero (observed: mature). So a zero of a cohort that cannot be complete is stored as NULL.
 */

import { endOf } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import type { Window } from '../model/window.ts';
import { identifier } from '../warehouse/quoting.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { sinceDay } from './replacing-sql.ts';
import { staging, WINDOW } from './staging-sql.ts';
import type { Target } from './target.ts';

/** Whether a slice does not ask for immature values; any other word for the parameter is taken to withhold, as `mature` does. */
export function withholds({ parameters }: Slice): boolean {
  return (parameters['cohort_maturity'] ?? 'immature') !== 'immature';
}

/** Turns the withheld zeros of a window in `typed` into NULL; does nothing for slices that ask for immature values. */
export async function blankWithheld(
  warehouse: Warehouse,
  target: Target,
  of: { readonly window: Window; readonly windowNo: number; readonly fetchedAt: Date },
): Promise<void> {
  const { slice } = target;
  if (!withholds(slice)) return;
  for (const { id, cohortMs } of target.metrics) {
    if (cohortMs === null) continue;
    const incomplete = of.window.periods.find(
      ({ period }) => endOf(period, slice.utcOffset).getTime() + cohortMs > of.fetchedAt.getTime(),
    );
    if (incomplete === undefined) continue;
    const column = identifier(id);
    const since = sinceDay(slice.grain, incomplete.period.bucket.start);
    await warehouse.run(
      `update ${staging.typed} set ${column} = null where ${WINDOW} = ${of.windowNo} and ${column} = 0 and ${since}`,
    );
  }
}
