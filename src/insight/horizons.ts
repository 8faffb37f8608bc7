/** What control totals show of a horizon: whether final totals moved after it, and for how long nothing moved before it. Pure. */

import { addDays, day } from '../model/calendar.ts';
import type { Cohort } from './development.ts';

/** Of 30 periods that did not move, fewer than a tenth would, with 95 % confidence (rule of three). */
const MIN_WATCHED = 30;
/** A total that was read for a week after it could have been final shows whether it moved. */
const WATCHED_DAYS = 7;
/** A share of moved totals up to this is corrections, which no longer horizon would prevent. */
const CORRECTED_SHARE = 0.05;

/** Returns the columns of `ripen_internal.horizon_evidence`, but for its key. Null is no horizon. */
export function horizonEvidence(development: readonly Cohort[], horizonDays: number | null) {
  const watched = development.filter(
    ({ finals, lastAge }) => finals.length > 0 && lastAge > (finals[0]?.age ?? 0),
  );
  const moved = watched.filter(({ finals }) => finals.length > 1);
  const latest = (ages: readonly number[]): number | null =>
    ages.length === 0 ? null : Math.max(...ages);
  const lastMoved = latest(moved.map(({ lastDay, finals }) => lastDay + (finals.at(-1)?.age ?? 0)));
  const supported = supportedHorizon(development, horizonDays);
  return {
    final_periods: watched.length,
    final_moved: moved.length,
    last_moved_day: lastMoved === null ? null : addDays(day('1970-01-01'), lastMoved),
    last_change_age: latest(development.flatMap(({ changed }) => changed?.to ?? [])),
    supported_days: supported?.days ?? null,
    supported_periods: supported?.periods ?? 0,
    supported_moved: supported?.moved ?? 0,
  };
}

/**
 * Returns the shortest horizon after which enough periods were watched and none moved, or from the configured one on only as
 * many as corrections would explain. A night reads a value as final one day after its horizon.
 */
function supportedHorizon(development: readonly Cohort[], horizonDays: number | null) {
  const longest = Math.max(0, ...development.map(({ lastAge }) => lastAge)) - WATCHED_DAYS - 1;
  for (let days = 1; days <= longest; days += 1) {
    let [periods, moved] = [0, 0];
    const finalAge = days + 1;
    for (const { firstAge, lastAge, changed } of development) {
      const hasMoved = changed !== null && changed.from >= finalAge;
      if (hasMoved) moved += 1;
      if (hasMoved || (firstAge <= finalAge && lastAge >= finalAge + WATCHED_DAYS)) periods += 1;
    }
    const isShorter = horizonDays !== null && days < horizonDays;
    if (periods >= MIN_WATCHED && moved <= (isShorter ? 0 : periods * CORRECTED_SHARE))
      return { days, periods, moved };
  }
  return null;
}
