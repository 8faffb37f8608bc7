/** What a sample without, or with few, faults says of all; pure. */

import { chanceOfAtMost } from '../model/binomial.ts';

/** One-sided. */
const CONFIDENCE = 0.95;
/** Halvings of an interval of length 1: beyond the digits of a double. */
const HALVINGS = 60;

/**
 * The share below which the faulty ones lie with 95 % confidence when so many of so many were found faulty: the upper limit of
 * Clopper and Pearson (1934, "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26).
 * Of none faulty it is the "rule of three", 3 over the count (Hanley and Lippman-Hand 1983, JAMA 249). 1 of nothing. It takes
 * the sample for independent draws; cells of one window are neighbours, so that many windows say more than many cells.
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
