/** What repeated fetches of the same periods show of all. Pure. */

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
