/** Proves one answer: its rows equal the service's totals for it, within the digits stated. Pure. */

import { parseDecimal } from '../model/column-type.ts';
import type { CompletenessVerdict } from '../model/ledger.ts';
import type { Doubt } from './answer-pages.ts';
import type { AnswerFacts, MetricSum, Comparison } from './answered.ts';

export interface AnswerProof {
  readonly answer: AnswerFacts;
  /** Unless the totals refute it. */
  readonly doubt: Doubt | null;
  readonly verdict: CompletenessVerdict;
  readonly comparisons: readonly Comparison[];
  /** If `unproven`. */
  readonly against: Comparison | null;
  /** If none agrees exactly: one that agrees within rounding. */
  readonly rounded: Comparison | null;
  /** Assumed metrics that do not add up, and those that do. */
  readonly notAdditive: readonly string[];
  readonly addsUp: readonly string[];
}

interface Total {
  readonly text: string;
  /** How far the text may be from the exact value by its digits. */
  readonly slack: number;
}

type Totals = ReadonlyMap<string, Total>;

export const halfUnit = (digits: number): number => 0.5 * 10 ** -digits;

/** Relative error of one floating-point addition. */
const UNIT_ROUNDOFF = 2 ** -52;
/** Relative error of a sum of a few million numbers. */
export const SUM_ROUNDOFF = 1e-9;
/** Fewer values may add up to a total by chance. */
const MIN_VALUES = 5;
/** Of money, after the point, written out or not. */
export const MIN_DIGITS = 2;

export function proveAnswer(answer: AnswerFacts): AnswerProof {
  const { sums, rows, doubt } = answer;
  const pages = answer.totals.map(
    (totals): Totals =>
      new Map(
        [...totals].flatMap(([metric, text]) => {
          if (parseDecimal(text) === null) return [];
          // `1.50` has two digits after the point, `1e-3` three.
          const [mantissa = '', exponent = '0'] = text.trim().toLowerCase().split('e');
          const digits = Math.max(0, (mantissa.split('.')[1] ?? '').length - Number(exponent));
          return [[metric, { text, slack: halfUnit(digits) }]];
        }),
      ),
  );
  const summed = new Set(sums.map(({ metric }) => metric));
  const proofs = totalsOfPages(pages, summed).map((totals) =>
    proofOf(
      sums.flatMap((sum): Comparison[] => {
        const total = totals.get(sum.metric);
        return total === undefined ? [] : [compare(sum, total, Math.max(rows, 1))];
      }),
    ),
  );
  const proof = proofs.find(({ verdict }) => verdict === 'proven') ?? proofs[0] ?? proofOf([]);
  const isRefuted = proof.verdict === 'proven' && doubt?.isRefutable === true;
  return { ...proof, answer, doubt: isRefuted ? null : doubt };
}

export const isShort = ({ against, doubt }: AnswerProof): boolean =>
  against !== null || doubt !== null;

/** Not if the rows add up to more than the total. */
export const lacksRows = ({ against, doubt }: AnswerProof): boolean =>
  doubt !== null ||
  (against !== null && Math.abs(Number(against.sum)) < Math.abs(Number(against.total)));

/** Ends a sentence about the window. */
export const clauseOf = ({ against, doubt }: AnswerProof): string =>
  against === null
    ? `the answer was not complete: ${doubt?.because ?? ''}`
    : `the rows' ${against.metric} added up to ${against.sum}, the service's total was ${against.total}`;

/**
 * Counts must agree exactly up to 2^53. Above, and for money, the service adds in floating point. Rows and totals of money may
 * each be off by half a unit of their last digit.
 */
function compare(
  { metric, sum, distinctSum, isCount, isAssumed, nonZero, magnitude, precision }: MetricSum,
  { text, slack }: Total,
  rows: number,
): Comparison {
  const total = Number(text);
  const sums = [Number(sum), Number(distinctSum ?? sum)];
  const [ofAll = 0, ofDistinct = 0] = sums.map((each) => Math.abs(each - total));
  const away = Math.min(ofAll, ofDistinct);
  const floating = UNIT_ROUNDOFF * rows * Math.max(magnitude, Math.abs(total));
  // Counts are never rounded per row, even if they have fractions.
  const isWhole = sums.every(Number.isInteger) && Math.abs(total) <= Number.MAX_SAFE_INTEGER;
  const countSlack = isWhole ? 0 : floating + slack;
  const exactSlack = floating + Math.min(slack, halfUnit(MIN_DIGITS));
  const rounding = precision.reduce(
    (sum, page) => sum + page.rows * halfUnit(Math.max(MIN_DIGITS, page.digits)),
    floating + slack,
  );
  const isExact = away <= (isCount ? countSlack : exactSlack);
  const agrees = isExact || (!isCount && away <= rounding);
  const countsCopies = agrees && ofAll < ofDistinct;
  return {
    metric,
    sum: sum ?? '0',
    total: text,
    agrees,
    countsCopies,
    isExact,
    isAssumed,
    nonZero,
  };
}

/**
 * An assumed metric disagrees only if no other agrees exactly. Agreement within rounding proves nothing: rows that add up to
 * less may be missing.
 */
function proofOf(comparisons: readonly Comparison[]): Omit<AnswerProof, 'answer' | 'doubt'> {
  const certain = comparisons.filter(({ isAssumed }) => !isAssumed);
  const assumed = comparisons.filter(({ isAssumed }) => isAssumed);
  const disagreeing = assumed.filter(({ agrees }) => !agrees);
  const telling = certain.length === 0 ? assumed : certain;
  const isSomething = ({ total, sum }: Comparison) => Number(total) !== 0 || Number(sum) !== 0;
  const isShown = telling.some((each) => each.isExact && isSomething(each));
  const against =
    certain.find(({ agrees }) => !agrees) ?? (isShown ? null : (disagreeing[0] ?? null));
  // A few values may agree by chance, and the disagreeing metric may be right.
  const isThin =
    disagreeing.length > 0 && telling.every((each) => !each.agrees || each.nonZero < MIN_VALUES);
  const rounded = isShown ? null : (telling.find((each) => each.agrees && !each.isExact) ?? null);
  const isSilent = comparisons.length === 0 || isThin || rounded !== null;
  const verdict = against !== null ? 'unproven' : isSilent ? 'unverifiable' : 'proven';
  const shown = (some: readonly Comparison[]) =>
    verdict === 'proven' ? some.map(({ metric }) => metric) : [];
  const addsUp = shown(assumed.filter((each) => each.agrees && each.nonZero >= MIN_VALUES));
  return { verdict, comparisons, against, rounded, notAdditive: shown(disagreeing), addsUp };
}

/**
 * Totals that are equal on all pages are the answer's or each page's. Others are summed if no page lacks them. Only summed
 * metrics decide, as others may be a new estimate each time.
 */
function totalsOfPages(all: readonly Totals[], summed: ReadonlySet<string>): Totals[] {
  const pages = all.filter(({ size }) => size > 0);
  const [first = new Map<string, Total>(), ...others] = pages;
  if (others.length === 0) return [first];
  const deciding = [...new Set(pages.flatMap((page) => Array.from(page.keys())))].filter((metric) =>
    summed.has(metric),
  );
  const isRepeated = deciding.every((metric) =>
    others.every((page) => {
      const [one, other] = [Number(first.get(metric)?.text), Number(page.get(metric)?.text)];
      const most = Math.max(1, Math.abs(one), Math.abs(other));
      return Math.abs(one - other) <= SUM_ROUNDOFF * most;
    }),
  );
  const readings = isRepeated && deciding.length > 0 ? [first] : [];
  if (pages.length < all.length) return readings;
  // A metric that a page lacks is left out.
  const added = [...first.keys()].flatMap((metric) => {
    const totals = pages.flatMap((page) => page.get(metric) ?? []);
    const text = String(totals.reduce((sum, total) => sum + Number(total.text), 0));
    const slack = totals.reduce((sum, total) => sum + total.slack, 0);
    return totals.length === pages.length ? [[metric, { text, slack }] as const] : [];
  });
  return [...readings, new Map(added)];
}
