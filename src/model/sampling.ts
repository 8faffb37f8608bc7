/** What a sample with few faults, or repeated fetches of the same periods, say of all; pure. */

/** One-sided. */
const CONFIDENCE = 0.95;
/** Halvings of an interval of length 1: beyond the digits of a double. */
const HALVINGS = 60;

/**
 * The share below which the faulty ones lie with 95 % confidence: the upper limit of Clopper and Pearson (1934, Biometrika 26), of none
 * faulty the "rule of three" (Hanley and Lippman-Hand 1983, JAMA 249). It takes the sample for independent draws; neighbouring cells are not.
 */
export function faultyShareBelow(faulty: number, of: number): number {
  if (faulty >= of) return 1;
  let [low, high] = [faulty / of, 1];
  for (let halving = 0; halving < HALVINGS; halving += 1) {
    const middle = (low + high) / 2;
    if (chanceOfAtMost(faulty, of, middle) > 1 - CONFIDENCE) low = middle;
    else high = middle;
  }
  return high;
}

/** The chance of at most so many hits in so many draws, each a hit with a chance above 0 and below 1. */
export function chanceOfAtMost(hits: number, of: number, chance: number): number {
  let [logTerm, sum] = [of * Math.log1p(-chance), 0];
  for (let found = 0; found <= hits; found += 1) {
    sum += Math.exp(logTerm);
    logTerm += Math.log((of - found) / (found + 1)) + Math.log(chance) - Math.log1p(-chance);
  }
  return sum;
}

/** Two fetches of a period that follow each other. */
export interface Look {
  /** Ages of the period in days at both. */
  readonly from: number;
  readonly to: number;
  readonly hasChanged: boolean;
}

interface HorizonEvidence {
  /** The highest age at which a fetch found another total than the one before; null where none did. */
  readonly lastChangeAge: number | null;
  /** The looks that cover the days after that age and found no change. */
  readonly laterLooks: number;
}

/** A look that begins later than so many days after an age says nothing of that age: all may have moved in between. */
const NEAR_DAYS = 2;
/** Without a change in so many looks, fewer than a third change with 95 % confidence (rule of three: Hanley and Lippman-Hand 1983). */
const LOOKS_TO_CONFIRM = 8;

/** When the last change was seen, and how many later looks speak for it. */
export function horizonEvidence(looks: readonly Look[]): HorizonEvidence {
  const lastChangeAge = looks.reduce((last, { to, hasChanged }) => (hasChanged ? Math.max(last, to) : last), 0);
  if (lastChangeAge === 0) return { lastChangeAge: null, laterLooks: 0 };
  const later = looks.filter(({ from, to }) => lastChangeAge < to && from <= lastChangeAge + NEAR_DAYS);
  return { lastChangeAge, laterLooks: later.length };
}

/** A horizon in days that covers what was seen, once later looks have confirmed it; null before. */
export function proposedHorizonDays({ lastChangeAge, laterLooks }: HorizonEvidence): number | null {
  return lastChangeAge === null || laterLooks < LOOKS_TO_CONFIRM ? null : lastChangeAge + 1;
}
