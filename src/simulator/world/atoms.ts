/**
 * Atoms: the smallest pieces of traffic, each in one hour (UTC) of one lane, and when they are to be seen.
 *
 * An atom says how much there will be in the end; what of it shows at an instant is the business of `measures.ts`. A
 * day's atoms are made once and kept as long as the memory set aside for them lasts.
 */

import { choose, fraction, mix } from './hash.ts';
import type { TrafficLane } from './lanes.ts';

export interface Atom {
  /** Hours since 1970 (UTC); everything of the atom is counted in this hour. */
  readonly hour: number;
  readonly lane: TrafficLane;
  readonly seed: number;
  /** Installs once everything has settled. */
  readonly installs: number;
  /** Attributed to an impression rather than to a click. */
  readonly viewed: boolean;
  /** Of users who had been attributed before. */
  readonly reattributed: boolean;
  /** Hours since 1970 between which the atom is reported at all, `[from, until)`. */
  readonly shownFrom: number;
  readonly shownUntil: number;
}

const HOURS_PER_DAY = 24;
const MAX_ATOMS_PER_LANE = 4;
const SHARE_ACTIVE = 0.97;
const SHARE_ACTIVE_SANDBOX = 0.1;
const SHARE_VIEWED = 0.2;
const SHARE_REATTRIBUTED = 0.08;
/** Rows that appear late do so 1 to 5 days after their day began … */
const SHARE_LATE = 0.03;
const LATE_HOURS = 96;
/** … and those that are rejected wholly vanish 1 to 6 days after it. */
const SHARE_VANISHING = 0.02;
const VANISHING_HOURS = 120;
/** About 100 bytes each. */
const MAX_ATOMS_KEPT = 1_000_000;

/** The atoms of a world by day (days since 1970, UTC), forgotten when they are too many. */
export class AtomStore {
  readonly lanes: readonly TrafficLane[];
  readonly #seed: number;
  readonly #shareActive: number;
  readonly #days = new Map<number, readonly Atom[]>();
  #kept = 0;

  constructor(seed: number, lanes: readonly TrafficLane[], kind: 'production' | 'sandbox') {
    this.#seed = mix(seed, kind === 'sandbox' ? 1 : 0);
    this.lanes = lanes;
    this.#shareActive = kind === 'sandbox' ? SHARE_ACTIVE_SANDBOX : SHARE_ACTIVE;
  }

  /** Every atom of a UTC day, in the lanes' order. */
  onDay(dayNumber: number): readonly Atom[] {
    const known = this.#days.get(dayNumber);
    if (known !== undefined) return known;
    if (this.#kept > MAX_ATOMS_KEPT) {
      this.#days.clear();
      this.#kept = 0;
    }
    const atoms = this.#create(dayNumber);
    this.#days.set(dayNumber, atoms);
    this.#kept += atoms.length;
    return atoms;
  }

  #create(dayNumber: number): readonly Atom[] {
    const atoms: Atom[] = [];
    const daySeed = mix(this.#seed, dayNumber);
    const firstHour = dayNumber * HOURS_PER_DAY;
    const season = 0.8 + 0.4 * fraction(mix(daySeed, 1));
    for (const lane of this.lanes) {
      const seed = mix(daySeed, lane.index);
      if (fraction(seed) >= this.#shareActive) continue;
      const fate = mix(daySeed, lane.keySeed);
      const luck = fraction(fate);
      const delay = HOURS_PER_DAY + firstHour;
      const late = luck < SHARE_LATE;
      const vanishing = !late && luck < SHARE_LATE + SHARE_VANISHING;
      const count = 1 + choose(mix(seed, 1), MAX_ATOMS_PER_LANE);
      for (let index = 0; index < count; index += 1) {
        const atomSeed = mix(mix(seed, 2), index);
        atoms.push({
          hour: firstHour + choose(mix(atomSeed, 3), HOURS_PER_DAY),
          lane,
          seed: atomSeed,
          installs: Math.floor(lane.volume * season * (0.5 + fraction(mix(atomSeed, 4))) + fraction(mix(atomSeed, 5))),
          viewed: lane.paid && fraction(mix(atomSeed, 6)) < SHARE_VIEWED,
          reattributed: lane.paid && fraction(mix(atomSeed, 7)) < SHARE_REATTRIBUTED,
          shownFrom: late ? delay + choose(mix(fate, 1), LATE_HOURS) : 0,
          shownUntil: vanishing ? delay + choose(mix(fate, 2), VANISHING_HOURS) : Number.POSITIVE_INFINITY,
        });
      }
    }
    return atoms;
  }
}
