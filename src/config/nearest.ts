/** Finds the name that was probably meant, by Damerau-Levenshtein distance. The command line loads it without any schema. */

const CHARACTERS_PER_SLIP = 3;

/** Ignores case. Returns null if all differ by more slips than the length allows. */
export function nearest(name: string, candidates: Iterable<string>): string | null {
  const lower = name.toLowerCase();
  let best: string | null = null;
  let limit = Math.max(1, Math.floor(lower.length / CHARACTERS_PER_SLIP));
  for (const candidate of candidates) {
    if (limit < 0 || Math.abs(candidate.length - lower.length) > limit) continue;
    const slips = slipsBetween(lower, candidate.toLowerCase());
    if (slips > limit) continue;
    best = candidate;
    limit = slips - 1;
  }
  return best;
}

function slipsBetween(one: string, other: string) {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, column) => column);
  const at = (row: readonly number[], column: number) => row[column] ?? Infinity;
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      const replaced = at(last, column - 1) + (isSame ? 0 : 1);
      const swapped = isSwapped ? at(beforeLast, column - 2) + 1 : Infinity;
      current.push(Math.min(at(last, column) + 1, at(current, column - 1) + 1, replaced, swapped));
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, other.length);
}
