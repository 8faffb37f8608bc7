/** What samples with few faults, and repeated fetches of the same periods, show of the whole. Pure. */

/** One-sided. */
const CONFIDENCE = 0.95;
/** More than the digits of a double can tell apart. */
const HALVINGS = 60;

/**
 * The faulty share is below this with 95 % confidence: the upper limit of Clopper and Pearson (1934), for none the "rule of
 * three" (Hanley and Lippman-Hand 1983). Assumes independence, which neighbouring cells lack.
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

/** The chance of at most `hits` in `of` draws, for a chance above 0 and below 1. */
export function chanceOfAtMost(hits: number, of: number, chance: number): number {
  let [logTerm, sum] = [of * Math.log1p(-chance), 0];
  for (let found = 0; found <= hits; found += 1) {
    sum += Math.exp(logTerm);
    logTerm += Math.log((of - found) / (found + 1)) + Math.log(chance) - Math.log1p(-chance);
  }
  return sum;
}

/** Two consecutive fetches of a period. */
export interface Look {
  /** Ages of the period in days, at the first and the second. */
  readonly from: number;
  readonly to: number;
  readonly hasChanged: boolean;
}

interface HorizonEvidence {
  /** The highest age at which a fetch found another total than the one before. */
  readonly lastChangeAge: number | null;
  /** The looks that cover the days after that age and found no change. */
  readonly laterLooks: number;
}

/** A look that begins later than this after an age shows nothing of that age. */
const NEAR_DAYS = 2;
/** With 95 % confidence, fewer than a third then change (rule of three). */
const LOOKS_TO_CONFIRM = 8;

/** Returns when the last change was seen, and how many later looks confirm that. */
export function horizonEvidence(looks: readonly Look[]): HorizonEvidence {
  const lastChangeAge = looks.reduce(
    (last, { to, hasChanged }) => (hasChanged ? Math.max(last, to) : last),
    0,
  );
  if (lastChangeAge === 0) return { lastChangeAge: null, laterLooks: 0 };
  const later = looks.filter(
    ({ from, to }) => lastChangeAge < to && from <= lastChangeAge + NEAR_DAYS,
  );
  return { lastChangeAge, laterLooks: later.length };
}

/** Proposes a horizon that covers the last change, once enough later looks confirm it. */
export function proposedHorizonDays({ lastChangeAge, laterLooks }: HorizonEvidence): number | null {
  return lastChangeAge === null || laterLooks < LOOKS_TO_CONFIRM ? null : lastChangeAge + 1;
}
