/** What repeated fetches of the same periods say of how long a metric moves; pure. */

/** Two fetches of a period that follow each other. */
export interface Look {
  /** Ages of the period in days at both. */
  readonly from: number;
  readonly to: number;
  readonly hasChanged: boolean;
}

export interface HorizonEvidence {
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
