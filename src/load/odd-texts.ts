/** What becomes of metric texts that the fast exact cast does not take. Pure. */

import { formatColumnType, widen, type ColumnType } from '../model/column-type.ts';
import { digitsOf, formatDecimal, parseDecimal } from '../model/decimal.ts';

export interface OddText {
  readonly metric: string;
  readonly text: string;
}

export interface Resolution {
  /** The number without exponent, sign or blanks that a cast to the column's type would trip over. */
  readonly plain: readonly (OddText & { readonly plain: string })[];
  readonly notNumbers: readonly (OddText & { readonly reason: string })[];
  /** The types of the metrics whose columns must widen. */
  readonly widened: ReadonlyMap<string, ColumnType>;
}

/** The most digits before and after the point among the plain odd texts of a metric; null without any. */
export interface OddDigits {
  readonly metric: string;
  readonly whole: number | null;
  readonly fraction: number | null;
}

/** The types of metrics that one wider type holds all plain odd texts of; the others are decided text by text. */
export function widenForDigits(
  found: readonly OddDigits[],
  types: ReadonlyMap<string, ColumnType>,
): ReadonlyMap<string, ColumnType> {
  const widened = new Map<string, ColumnType>();
  for (const { metric, whole, fraction } of found) {
    const type = types.get(metric);
    if (type === undefined) throw new RangeError(`No type for metric ${metric}.`);
    if (whole === null || fraction === null) continue;
    const wider = widen(type, { whole, fraction });
    if (wider !== null) widened.set(metric, wider);
  }
  return widened;
}

/**
 * Decides every odd text: a number that fits, a number that widens its column, or no number at all. Nothing is rounded:
 * a number that no type of the warehouse holds exactly is refused with its reason.
 */
export function resolveOddTexts(texts: readonly OddText[], types: ReadonlyMap<string, ColumnType>): Resolution {
  const plain: (OddText & { plain: string })[] = [];
  const notNumbers: (OddText & { reason: string })[] = [];
  const widened = new Map<string, ColumnType>();
  for (const odd of texts) {
    const type = widened.get(odd.metric) ?? types.get(odd.metric);
    if (type === undefined) throw new RangeError(`No type for metric ${odd.metric}.`);
    const number = parseDecimal(odd.text);
    if (number === null) {
      notNumbers.push({ ...odd, reason: 'not a number' });
    } else if (type.kind === 'DOUBLE') {
      const isFinite = Number.isFinite(Number(odd.text));
      if (isFinite) plain.push({ ...odd, plain: odd.text.trim() });
      else notNumbers.push({ ...odd, reason: 'beyond the range of a double' });
    } else {
      const wider = widen(type, digitsOf(number));
      if (wider === null) {
        const { whole, fraction } = digitsOf(number);
        notNumbers.push({
          ...odd,
          reason: `${whole} digits before the point and ${fraction} after do not fit ${formatColumnType(type)}, nor any wider type`,
        });
      } else {
        if (formatColumnType(wider) !== formatColumnType(type)) widened.set(odd.metric, wider);
        plain.push({ ...odd, plain: formatDecimal(number) });
      }
    }
  }
  return { plain, notNumbers, widened };
}
