/**
 * Cohort measures: what the users an atom installed did by an age, as far as they have lived it.
 *
 * A value of age N grows hourly from nothing until the users' own N+1st day (week, month) is over, hence never later
 * than N+1 of them after the end of the install day. Members are the installs that count at the moment, so that late
 * rejections take cohorts along. Lifetime values grow for ever, ever more slowly.
 */

import type { Atom } from './atoms.ts';
import { fraction, mix } from './hash.ts';
import { countsAdRevenue, installs } from './measures.ts';
import type { Measure } from './measures.ts';
import { livedShare } from './movement.ts';

export interface CohortPeriod {
  /** `d7`, `w2`, `m1`. */
  readonly id: string;
  /** Ages, `[fromHour, untilHour)`, in hours since the install. */
  readonly fromHour: number;
  readonly untilHour: number;
  /** Days after the end of the install day when every member has completed the period. */
  readonly completeAfterDays: number;
}

const HOURS_PER_DAY = 24;

function periods(letter: string, last: number, days: number): CohortPeriod[] {
  return Array.from({ length: last + 1 }, (_, age) => ({
    id: `${letter}${age}`,
    fromHour: age * days * HOURS_PER_DAY,
    untilHour: (age + 1) * days * HOURS_PER_DAY,
    completeAfterDays: (age + 1) * days,
  }));
}

/** Every period the service knows: d0 to d120, w0 to w52, m0 to m36; a week is 7 days, a month 30 (observed: Metrics). */
export const cohortPeriods: readonly CohortPeriod[] = [
  ...periods('d', 120, 1),
  ...periods('w', 52, 7),
  ...periods('m', 36, 30),
];

/** Salts of cohort measures; events take the ones after the last. */
const salts = { iap: 400, ad: 401, retained: 402, payers: 403, sessions: 404, time: 405, events: 420 } as const;

const PAYING_SHARE = 0.06;
const AD_SHARE = 0.5;
/** Divides the square root of an age in hours, so that the first day's worth is about one user value. */
const CURVE_UNIT = 5;

/** The share of users still there at an age. */
function retention(atom: Atom, ageHours: number): number {
  return 1 / (1 + (atom.lane.churn * ageHours) / HOURS_PER_DAY);
}

/** Users earn as the square root of their age: much at first, a little for ever, and alike on every machine. */
function earnedBy(kind: 'iap' | 'ad', atom: Atom, members: number, ageHours: number): number {
  const chance = fraction(mix(atom.seed, salts[kind]));
  const scale = kind === 'ad' ? AD_SHARE * chance : 0.5 + chance;
  return Math.floor((members * atom.lane.userValueMicros * scale * Math.sqrt(ageHours)) / CURVE_UNIT);
}

/** Revenue of a cohort up to an age; `Infinity` is a lifetime. */
export function cohortRevenue(kind: 'iap' | 'ad', untilHour: number): Measure {
  return (atom, ageHours, at) => {
    if (kind === 'ad' && !countsAdRevenue(atom, at)) return 0;
    const members = installs(atom, ageHours, at);
    return Math.round(earnedBy(kind, atom, members, Math.min(ageHours, untilHour)) * at.revenueRate);
  };
}

/** The difference of two measures; exact, as both are integers. */
export function differenceOf(whole: Measure, part: Measure): Measure {
  return (atom, ageHours, at) => whole(atom, ageHours, at) - part(atom, ageHours, at);
}

/** A measure that counts only the cohorts whose every member has completed the period. */
export function whenComplete(period: CohortPeriod, measure: Measure): Measure {
  return (atom, ageHours, at) => (ageHours >= period.untilHour ? measure(atom, ageHours, at) : 0);
}

/** Users who have reached the period. */
export function cohortSize(period: CohortPeriod): Measure {
  return (atom, ageHours, at) => (ageHours >= period.fromHour ? installs(atom, ageHours, at) : 0);
}

/** Users ever counted; returning ones keep joining. */
export const lifetimeCohortSize: Measure = (atom, ageHours, at) => {
  const joined = 0.02 * Math.sqrt(ageHours / HOURS_PER_DAY);
  return Math.floor(installs(atom, ageHours, at) * (1 + joined) + fraction(mix(atom.seed, salts.retained)));
};

function lived(period: CohortPeriod, salt: number, perRetainedUser: number): Measure {
  return (atom, ageHours, at) => {
    const share = livedShare(ageHours, period.fromHour, period.untilHour);
    if (share === 0) return 0;
    const users = installs(atom, ageHours, at) * retention(atom, period.fromHour);
    return Math.floor(users * perRetainedUser * share + fraction(mix(mix(atom.seed, salt), period.fromHour)));
  };
}

export const retainedUsers = (period: CohortPeriod): Measure => lived(period, salts.retained, 1);
export const payingUsers = (period: CohortPeriod): Measure => lived(period, salts.payers, PAYING_SHARE);
export const cohortSessions = (period: CohortPeriod): Measure => lived(period, salts.sessions, 2.4);
/** Seconds. */
export const timeSpent = (period: CohortPeriod): Measure => lived(period, salts.time, 411);

/** Occurrences of the nth event in the period, and users who had it. */
export function cohortEvents(
  nth: number,
  period: CohortPeriod,
): { readonly events: Measure; readonly conversions: Measure } {
  const salt = salts.events + 2 * nth;
  return { events: lived(period, salt, 0.8), conversions: lived(period, salt + 1, 0.3) };
}
