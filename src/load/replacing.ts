/** What staged rows say in place of their answers: values that are withheld, and weeks that are named after another day. Pure. */

import { MS_PER_DAY } from '../model/calendar.ts';
import { computedAt } from '../model/maturity.ts';
import { endOf } from '../model/period.ts';
import type { Window } from '../model/window.ts';
import { identifier, literal } from '../warehouse/sql.ts';
import type { Sound } from './answers.ts';
import { type Replacing, WINDOW } from './staged-sql.ts';
import type { Target } from './target.ts';

/** What is to be taken in place of the columns of a batch. */
export const replacingIn = (sound: readonly Sound[], target: Target, fetchedAt: Date | null): Replacing =>
  new Map([...withheldValues(sound, target, fetchedAt), ...cutWeeks(sound)]);

/**
 * The values of a slice that withholds immature ones: NULL in place of zero. Of cohorts that have not all reached an age the
 * service answers zero or null, which nothing in the answer tells from a measured zero (observed: mature); so a zero of a cohort
 * that cannot be complete is none. Any other word for the parameter than `immature` is taken to withhold, as `mature` does.
 */
function withheldValues(sound: readonly Sound[], { slice, metrics }: Target, fetchedAt: Date | null): Replacing {
  const replacing = new Map<string, string>();
  if ((slice.parameters['cohort_maturity'] ?? 'immature') === 'immature') return replacing;
  for (const { id, cohort } of metrics) {
    if (cohort === null) continue;
    const since = sound.map(({ spooled, maturity }) => {
      const at = computedAt(fetchedAt ?? spooled.requestedAt, maturity.computedAt).getTime();
      const incomplete = spooled.window.periods.find(
        ({ period }) => endOf(period, slice.utcOffset).getTime() + cohort.completeDays * MS_PER_DAY > at,
      );
      return incomplete === undefined ? 'null' : `DATE ${literal(incomplete.period.bucket.start)}`;
    });
    if (since.every((day) => day === 'null')) continue;
    const column = identifier(id);
    const sinceHere = `[${since.join(', ')}][${WINDOW} + 1]`;
    const isIncomplete =
      slice.grain === null ? `${sinceHere} is not null` : `coalesce(${identifier(slice.grain)} >= ${sinceHere}, false)`;
    replacing.set(id, `case when not (${column} = 0 and ${isIncomplete}) then ${column} end`);
  }
  return replacing;
}

/** Whether the first week of a window was requested from a later day on. */
export const beginsInWeek = ({ slice, asked, replaced }: Window): boolean =>
  slice.grain === 'week' && asked.start > replaced.start;

/**
 * Most services name a week that the date period cuts after its own first day, some after the first of its days that was
 * requested. Both are the same week, and stored as such.
 */
function cutWeeks(sound: readonly Sound[]): Replacing {
  const cut = sound.filter(({ spooled: { window } }) => beginsInWeek(window));
  if (cut.length === 0) return new Map();
  const cases = cut.map(({ windowNo, spooled: { window } }) => {
    const { asked, replaced } = window;
    return `when ${WINDOW} = ${windowNo} and week = DATE ${literal(asked.start)} then DATE ${literal(replaced.start)}`;
  });
  return new Map([['week', `case ${cases.join(' ')} else week end`]]);
}
