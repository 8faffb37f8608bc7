/** The binomial distribution: how many of so many independent draws turn out one way; pure. */

/** The chance of at most so many hits in so many draws, each a hit with a chance above 0 and below 1. */
export function chanceOfAtMost(hits: number, of: number, chance: number): number {
  let [logTerm, sum] = [of * Math.log1p(-chance), 0];
  for (let found = 0; found <= hits; found += 1) {
    sum += Math.exp(logTerm);
    logTerm += Math.log((of - found) / (found + 1)) + Math.log(chance) - Math.log1p(-chance);
  }
  return sum;
}
