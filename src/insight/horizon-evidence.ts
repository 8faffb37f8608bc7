/** What repeated fetches of the same periods say of a horizon: too short, needlessly long, or right; pure. */

/** Two fetches of a period that follow each other. */
export interface Look {
  /** Ages of the period in days at both. */
  readonly from: number;
  readonly to: number;
  readonly hasChanged: boolean;
  /** Whether the total was final at the first. */
  readonly wasFinal: boolean;
}

export interface HorizonEvidence {
  readonly looks: number;
  readonly changed: number;
  readonly changedAfterFinal: number;
  /** In days; null where the present horizon is right, or nothing says otherwise. */
  readonly proposedDays: number | null;
}

/** Without a change in so many looks, fewer than 5 % change with 95 % confidence (rule of three: Hanley and Lippman-Hand 1983). */
const LOOKS_FOR_SHORTER = 60;
/** So many looks from a proposed longer horizon on have to agree; before that, the age of the latest change seen is proposed. */
const LOOKS_FOR_CONFIRMED = 8;
/** A look that begins later than so many days after an age says nothing of that age: all may have moved in between. */
const NEAR_DAYS = 2;

/**
 * The last change lies between the two fetches of the look that begins latest among those that found one; the earliest such
 * end is proposed once looks that begin there confirm it. A horizon is too short when a final total changed, and needlessly long when
 * sixty looks from an earlier age on found nothing.
 */
export function horizonEvidence(all: readonly Look[], horizonDays: number): HorizonEvidence {
  const changed = all.filter(({ hasChanged }) => hasChanged);
  const afterFinal = changed.filter(({ wasFinal }) => wasFinal);
  const counts = { looks: all.length, changed: changed.length, changedAfterFinal: afterFinal.length };
  const latestFrom = Math.max(0, ...changed.map(({ from }) => from));
  const settled = Math.min(...changed.filter(({ from }) => from === latestFrom).map(({ to }) => to));
  const agreeing = all.filter(({ from }) => from >= settled && from <= settled + NEAR_DAYS).length;
  if (afterFinal.length > 0) {
    const proposed = agreeing >= LOOKS_FOR_CONFIRMED ? settled : Math.max(...changed.map(({ to }) => to));
    return { ...counts, proposedDays: proposed > horizonDays ? proposed : null };
  }
  const isLong = changed.length > 0 && agreeing >= LOOKS_FOR_SHORTER && settled < horizonDays;
  return { ...counts, proposedDays: isLong ? settled : null };
}
