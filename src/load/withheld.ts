/** Values that a slice's cohort maturity withholds: the service answers zero in their place. */

import { MS_PER_DAY } from '../model/calendar.ts';
import { endOf } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import type { Window } from '../model/window.ts';
import { identifier } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Target } from './target.ts';
import { sinceDay, staging, WINDOW } from './window-sql.ts';

/** Whether a slice does not ask for immature values; any other word for the parameter is taken to withhold, as `mature` does. */
export function withholds({ parameters }: Slice): boolean {
  return (parameters['cohort_maturity'] ?? 'immature') !== 'immature';
}

/**
 * Turns the withheld zeros of a window in `typed` into NULL; does nothing for slices that ask for immature values. Of cohorts
 * that have not all reached an age the service answers zero or null, which nothing in the answer tells from a measured zero
 * (observed: mature); so a zero of a cohort that cannot be complete is none.
 */
export async function blankWithheld(
  warehouse: Warehouse,
  target: Target,
  of: { readonly window: Window; readonly windowNo: number; readonly fetchedAt: Date },
): Promise<void> {
  const { slice } = target;
  if (!withholds(slice)) return;
  for (const { id, cohort } of target.metrics) {
    if (cohort === null) continue;
    const incomplete = of.window.periods.find(
      ({ period }) =>
        endOf(period, slice.utcOffset).getTime() + cohort.completeDays * MS_PER_DAY > of.fetchedAt.getTime(),
    );
    if (incomplete === undefined) continue;
    const column = identifier(id);
    const since = sinceDay(slice.grain, incomplete.period.bucket.start);
    await warehouse.run(
      `update ${staging.typed} set ${column} = null where ${WINDOW} = ${of.windowNo} and ${column} = 0 and ${since}`,
    );
  }
}
