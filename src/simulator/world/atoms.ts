/** Atoms: the smallest pieces of traffic, each in one hour (UTC) of one lane. `measures.ts` says how much a report shows. */

import { choose, fraction, HOURS_PER_DAY, mix, MS_PER_HOUR } from './hash.ts';
import type { TrafficLane } from './lanes.ts';

export interface Atom {
  /** Since 1970 (UTC). */
  readonly hour: number;
  readonly lane: TrafficLane;
  readonly seed: number;
  readonly installs: number;
  readonly viewed: boolean;
  readonly reattributed: boolean;
  /** In `[shownFrom, shownUntil)`, in hours since 1970, reports show the atom. */
  readonly shownFrom: number;
  readonly shownUntil: number;
}

export interface Traffic {
  readonly seed: number;
  readonly lanes: readonly TrafficLane[];
  readonly isSandbox: boolean;
  readonly lateDays: Incidents;
  readonly correctedDays: Incidents;
}

/** When, in milliseconds since 1970, by the number of the day. */
export type Incidents = ReadonlyMap<number, number>;

const MAX_ATOMS_PER_LANE = 4;
const SHARE_ACTIVE = 0.97;
const SHARE_ACTIVE_SANDBOX = 0.1;
const SHARE_VIEWED = 0.2;
const SHARE_REATTRIBUTED = 0.08;
/** Late rows appear 1 to 5 days after their day began … */
const SHARE_LATE = 0.03;
const LATE_HOURS = 96;
/** … and rejected rows vanish wholly 1 to 6 days after it. */
const SHARE_VANISHING = 0.02;
const VANISHING_HOURS = 120;

/** Of a late day these appear late, and of a corrected one these vanish. */
const SHARE_OF_LATE_DAY = 0.8;
const SHARE_CORRECTED = 0.1;

/** Of a UTC day (in days since 1970). */
export function atomsOn(dayNumber: number, traffic: Traffic): readonly Atom[] {
  const { seed, lanes, isSandbox, lateDays, correctedDays } = traffic;
  const lateHour = Math.ceil((lateDays.get(dayNumber) ?? -Infinity) / MS_PER_HOUR);
  const correctedHour = Math.ceil((correctedDays.get(dayNumber) ?? Infinity) / MS_PER_HOUR);
  const daySeed = mix(mix(seed, isSandbox ? 1 : 0), dayNumber);
  const firstHour = dayNumber * HOURS_PER_DAY;
  const season = 0.8 + 0.4 * fraction(mix(daySeed, 1));
  return lanes.flatMap((lane) => {
    const seed = mix(daySeed, lane.index);
    if (fraction(seed) >= (isSandbox ? SHARE_ACTIVE_SANDBOX : SHARE_ACTIVE)) return [];
    const fate = mix(daySeed, lane.keySeed);
    const luck = fraction(fate);
    const delay = HOURS_PER_DAY + firstHour;
    const isLate = luck < SHARE_LATE;
    const isVanishing = !isLate && luck < SHARE_LATE + SHARE_VANISHING;
    let shownFrom = isLate ? delay + choose(mix(fate, 1), LATE_HOURS) : 0;
    let shownUntil = isVanishing ? delay + choose(mix(fate, 2), VANISHING_HOURS) : Infinity;
    const chance = fraction(mix(fate, 3));
    if (chance < SHARE_OF_LATE_DAY) shownFrom = Math.max(shownFrom, lateHour);
    if (chance < SHARE_CORRECTED) shownUntil = Math.min(shownUntil, correctedHour);
    const length = 1 + choose(mix(seed, 1), MAX_ATOMS_PER_LANE);
    return Array.from({ length }, (_, index): Atom => {
      const atomSeed = mix(mix(seed, 2), index);
      return {
        hour: firstHour + choose(mix(atomSeed, 3), HOURS_PER_DAY),
        lane,
        seed: atomSeed,
        installs: Math.floor(
          lane.volume * season * (0.5 + fraction(mix(atomSeed, 4))) + fraction(mix(atomSeed, 5)),
        ),
        viewed: lane.paid && fraction(mix(atomSeed, 6)) < SHARE_VIEWED,
        reattributed: lane.paid && fraction(mix(atomSeed, 7)) < SHARE_REATTRIBUTED,
        shownFrom,
        shownUntil,
      };
    });
  });
}
