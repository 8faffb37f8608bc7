/** Values that a slice's cohort maturity withholds: the service answers zero in their place. Pure. */

import { MS_PER_DAY } from '../model/calendar.ts';
import { computedAt } from '../model/maturity.ts';
import { endOf } from '../model/period.ts';
import { identifier, literal } from '../warehouse/sql.ts';
import type { Sound } from './answers.ts';
import type { Target } from './target.ts';
import { type Replacing, WINDOW } from './staged-sql.ts';

/**
 * The values of a slice that withholds immature ones: NULL in place of zero. Of cohorts that have not all reached an age the
 * service answers zero or null, which nothing in the answer tells from a measured zero (observed: mature); so a zero of a cohort
 * that cannot be complete is none. Any other word for the parameter than `immature` is taken to withhold, as `mature` does.
 */
export function withheldValues(
  sound: readonly Sound[],
  { slice, metrics }: Pick<Target, 'slice' | 'metrics'>,
  fetchedAt: Date | null,
): Replacing {
  const replacing = new Map<string, string>();
  if ((slice.parameters['cohort_maturity'] ?? 'immature') === 'immature') return replacing;
  for (const { id, cohort } of metrics) {
    if (cohort === null) continue;
    const since = Array.from({ length: sound.length }, () => 'null');
    for (const { windowNo, spooled, maturity } of sound) {
      const at = computedAt(fetchedAt ?? spooled.requestedAt, maturity.computedAt).getTime();
      const incomplete = spooled.window.periods.find(
        ({ period }) => endOf(period, slice.utcOffset).getTime() + cohort.completeDays * MS_PER_DAY > at,
      );
      if (incomplete !== undefined) since[windowNo] = `DATE ${literal(incomplete.period.bucket.start)}`;
    }
    if (since.every((day) => day === 'null')) continue;
    const column = identifier(id);
    const sinceHere = `[${since.join(', ')}][${WINDOW} + 1]`;
    const isIncomplete =
      slice.grain === null ? `${sinceHere} is not null` : `coalesce(${identifier(slice.grain)} >= ${sinceHere}, false)`;
    replacing.set(id, `case when not (${column} = 0 and ${isIncomplete}) then ${column} end`);
  }
  return replacing;
}
