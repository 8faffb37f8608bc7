/**
 * Proves completeness: the rows of each part equal the totals that the service stated for it; the sums of several parts equal
 * the totals of the undivided window.
 *
 * Strict about rows: a count that is documented to add up must agree exactly. Fair about arithmetic: money may differ by what
 * its stated digits allow, and a metric that is only assumed to add up is no evidence against the others.
 */

import * as z from 'zod';

import { Failure, isPassing } from '../errors.ts';
import type { CompletenessVerdict } from '../model/ledger.ts';
import { isFiltered, partId, subjectOf } from '../model/window.ts';
import type { WholeAnswer } from '../spool/spool.ts';
import { identifier } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Doubt, JudgedAnswer } from './answers.ts';
import type { Found } from './check.ts';
import { readStagedValues } from './known-values.ts';
import type { LoadRequest, LoadResult, LoadWarning } from './load-result.ts';
import { type Sound, staging, WINDOW } from './staged-sql.ts';
import {
  addTotals,
  type Comparison,
  compareTotals,
  type MetricSum,
  type PartSums,
  type Proof,
  proofOf,
  statedTotals,
  totalsOfPages,
} from './totals.ts';

/** A window that may be loaded, and what its totals showed. */
export interface Judged extends Found {
  readonly verdict: CompletenessVerdict;
  readonly comparisons: readonly Comparison[];
  readonly notAdditive: readonly string[];
  readonly addsUp: readonly string[];
  readonly warnings: readonly LoadWarning[];
}

const nothingShown = { comparisons: [], notAdditive: [], addsUp: [] };

/** Returns the verdict on a window's completeness, or what to do instead of loading it. */
export async function proveWindow(
  found: Found,
  { warehouse, target }: Pick<LoadRequest, 'warehouse' | 'target'>,
): Promise<Judged | LoadResult> {
  const { answers, spooled } = found.sound;
  const { window } = spooled;
  const proofs = answers.map((answer) => proveAnswer(answer, found.sums[answer.partNo] ?? []));
  const unread = answers.find(({ unfollowed }) => unfollowed !== null)?.unfollowed ?? null;
  const short = proofs.find(isShort);
  const whole = short === undefined ? await compareWhole(found, proofs, warehouse) : agreed;
  const because = unread ?? (short === undefined ? whole.against : clauseOf(short));
  if (because === null) return loadable(found, proofs, whole.unverified);
  if (target.slice.completeness === 'warn') {
    const message = `The answer was loaded although it was not shown to be complete: ${because}.`;
    const comparisons = proofs.flatMap((proof) => proof.comparisons);
    return {
      ...found,
      ...nothingShown,
      verdict: 'unproven',
      comparisons,
      warnings: [{ code: 'UNPROVEN', message }],
    };
  }
  const message = `${subjectOf(window)}: ${because}.`;
  if (unread !== null) {
    const failure = new Failure('SOURCE_ENDLESS_PAGES', message, { hint: PAGES_HINT });
    return { kind: 'failed', window, failure };
  }
  if (short !== undefined) return divisible(found.sound, proofs, message, { warehouse, target });
  const { cause } = whole;
  const { code = 'DATA_INCOMPLETE', facts = {} } = cause ?? {};
  const hint = cause !== null && isPassing(cause) ? (cause.hint ?? WHOLE_HINT) : WHOLE_HINT;
  return { kind: 'failed', window, failure: new Failure(code, message, { facts, hint, cause }) };
}

interface AnswerProof extends Proof {
  readonly answer: JudgedAnswer;
  /** Why the rows may be incomplete, unless their totals refute it; null if nothing says so. */
  readonly doubt: Doubt | null;
}

const isShort = ({ against, doubt }: AnswerProof): boolean => against !== null || doubt !== null;

const clauseOf = ({ against, doubt }: AnswerProof): string =>
  against === null
    ? `the answer was not complete: ${doubt?.because ?? ''}`
    : `the rows' ${against.metric} added up to ${against.sum}, the service's total was ${against.total}`;

/** Compares an answer's totals with the sums of its part; prefers the reading of the pages' totals that proves it. */
function proveAnswer(answer: JudgedAnswer, ofPart: readonly MetricSum[]): AnswerProof {
  const requested = new Set(answer.metrics);
  const sums = ofPart.filter(({ metric }) => requested.has(metric));
  const summed = new Set(sums.map(({ metric }) => metric));
  const proofs = totalsOfPages(answer.totals.map(statedTotals), summed).map((totals) =>
    proofOf(compareTotals(sums, totals, answer.rowCount)),
  );
  const proof = proofs.find(({ verdict }) => verdict === 'proven') ?? proofs[0] ?? proofOf([]);
  return {
    ...proof,
    answer,
    doubt: proof.verdict === 'proven' && answer.doubt?.isRefutable === true ? null : answer.doubt,
  };
}

/** The verdict on a window that nothing speaks against, with its warnings. */
function loadable(found: Found, proofs: readonly AnswerProof[], unverified: string | null): Judged {
  const warnings: LoadWarning[] = [];
  if (unverified !== null) {
    const message = `The rows were requested in parts, and it could not be verified that the parts contain every row: ${unverified}.`;
    warnings.push({ code: 'PARTS_NOT_PROVEN', message });
  }
  // Rejected rows may hold all values of a metric: only a disagreement would show anything.
  if (found.rejects !== null) {
    return { ...found, ...nothingShown, verdict: 'unverifiable', warnings };
  }
  const rounded = proofs.find((proof) => proof.rounded !== null)?.rounded ?? null;
  if (rounded !== null) {
    const message = `The rows' ${rounded.metric} added up to ${rounded.sum}, the service's total was ${rounded.total}: either one of them is rounded, or rows that add up to the difference are missing; no other total shows which.`;
    warnings.unshift({ code: 'TOTALS_ROUNDED', message });
  }
  const comparisons = proofs.flatMap((proof) => proof.comparisons);
  const isSilent = proofs.some(
    ({ verdict, answer }) => verdict === 'unverifiable' && answer.rowCount > 0,
  );
  return {
    ...found,
    verdict:
      isSilent || comparisons.length === 0 || unverified !== null ? 'unverifiable' : 'proven',
    comparisons,
    notAdditive: proofs.flatMap((proof) => proof.notAdditive),
    addsUp: proofs.flatMap((proof) => proof.addsUp),
    warnings,
  };
}

/** The result for a window with parts that fell short and are to be divided. */
async function divisible(
  { windowNo, spooled: { window } }: Sound,
  proofs: readonly AnswerProof[],
  message: string,
  { warehouse, target }: Pick<LoadRequest, 'warehouse' | 'target'>,
): Promise<LoadResult> {
  const differences = new Map<string, number>();
  const [short, rows] = [new Set<string>(), new Map<string, number>()];
  for (const proof of proofs) {
    const { partNo, rowCount } = proof.answer;
    const id = partId(window.parts[partNo] ?? {});
    rows.set(id, (rows.get(id) ?? 0) + rowCount);
    if (!isShort(proof)) continue;
    short.add(id);
    for (const { metric, sum, total } of proof.comparisons.filter(({ agrees }) => !agrees)) {
      differences.set(
        metric,
        (differences.get(metric) ?? 0) + Math.abs(Number(sum) - Number(total)),
      );
    }
  }
  const against = proofs.filter(isShort).map((proof) => proof.against);
  const isCut = against.includes(null);
  const isAssumed = against.every((each) => each?.isAssumed === true);
  return {
    kind: 'split',
    window,
    failure: new Failure('DATA_INCOMPLETE', message, { hint: UNPROVEN_HINT }),
    parts: short,
    shortfall: { rows, differences, isCut, isAssumed },
    // A window of several periods is divided by days, not by values.
    values:
      window.periods.length > 1 ? new Map() : await readStagedValues(warehouse, target, windowNo),
  };
}

const PAGES_HINT =
  'Report it to the operator of the service; until it is mended, narrow the slice until the service answers in one page, or load what comes with `completeness: warn`.';
const UNPROVEN_HINT =
  'Run again later; where it stays so, `additive: { name: false }` says which metric does not add up, and `completeness: warn` loads all the same.';
const WHOLE_HINT =
  'Give the slice fewer dimensions or metrics, or filter it, so that one period needs no parts; a metric that adds up, such as installs, lets parts be verified by the year alone. `completeness: warn` loads all the same.';

/** The result of comparing parts with their whole, in clauses. */
interface Compared {
  /** What speaks against the parts; null if nothing does. */
  readonly against: string | null;
  /** If nothing speaks against the parts, why it is unknown whether they are complete; null if it is known. */
  readonly unverified: string | null;
  readonly cause: Failure | null;
}

const agreed: Compared = { against: null, unverified: null, cause: null };

/** Compares parts, which agree with their own totals, with what the service stated for the undivided window. */
async function compareWhole(
  { sums, sound: { spooled, windowNo } }: Found,
  proofs: readonly AnswerProof[],
  warehouse: Warehouse,
): Promise<Compared> {
  const { window, whole } = spooled;
  if (window.parts.length > 1 && isFiltered(window)) {
    return {
      ...agreed,
      unverified: 'a filter of a metric applies to grouped rows, so that no total can show it',
    };
  }
  if (whole === null) return agreed;
  if ('failure' in whole) {
    const against = `its parts could not be compared with the whole: ${whole.failure.message}`;
    return { ...agreed, against, cause: whole.failure };
  }
  const against =
    differenceOf(sums, whole, proofs) ?? (await lostValue(warehouse, whole, windowNo));
  const unlisted = [...whole.values].find(([, values]) => values === null)?.[0];
  return {
    ...agreed,
    against,
    unverified:
      unlisted === undefined ? null : `the service did not list the values of ${unlisted}`,
  };
}

type Stated = Extract<WholeAnswer, { readonly stated: unknown }>;

/** How the sums of the parts differ from the totals of the whole, as a clause; null if they agree. */
export function differenceOf(
  sums: PartSums,
  whole: Stated,
  proofs: readonly Pick<Proof, 'comparisons'>[],
): string | null {
  const ofRow = (row: Readonly<Record<string, unknown>>): ReturnType<typeof statedTotals> =>
    statedTotals(new Map(Object.entries(row).map(([name, value]) => [name, String(value)])));
  const totals = new Map(
    whole.stated.flatMap((each) => [
      ...addTotals(each.rows.map(ofRow)),
      ...statedTotals(each.totals),
    ]),
  );
  const certain = sums.flat().filter(({ isAssumed }) => !isAssumed);
  for (const metric of new Set(certain.map((each) => each.metric))) {
    const parts = certain.filter((each) => each.metric === metric);
    // The totals count identical rows once or as often as they came.
    const added = [
      parts.map((part) => part.distinctSum ?? part.sum),
      parts.map((part) => part.sum),
    ].map((each) => each.reduce((all, sum) => all + Number(sum), 0));
    const magnitude = parts.reduce((all, part) => all + part.magnitude, 0);
    const { text, slack } = totals.get(metric) ?? { text: '0', slack: 0 };
    const isCount = parts.every((part) => part.isCount) && added.every(Number.isInteger);
    // The rows may be stated with fewer digits than the part's own total: `slackOf` allows for the difference.
    const most =
      slackOf(metric, proofs) +
      slack +
      Number.EPSILON * Math.max(magnitude, ...added.map(Math.abs));
    if (added.every((sum) => Math.abs(sum - Number(text)) > (isCount ? 0 : most))) {
      return `the ${metric} of its parts added up to ${added[0]}, the whole's total was ${text}: a value may be in neither part`;
    }
  }
  return null;
}

/** How far the sums of the parts differ from their own totals, which was accepted as rounding. */
const slackOf = (metric: string, proofs: readonly Pick<Proof, 'comparisons'>[]): number =>
  proofs
    .flatMap(({ comparisons }) => comparisons.filter((each) => each.metric === metric))
    .reduce((sum, each) => sum + Math.abs(Number(each.sum) - Number(each.total)), 0);

const labelRow = z.object({ label: z.string().nullable() });

/** A value that has rows in the whole but not in its parts, as a clause; null if there is none, or no values were requested. */
async function lostValue(
  warehouse: Warehouse,
  whole: Stated,
  windowNo: number,
): Promise<string | null> {
  for (const [dimension, values] of whole.values) {
    const sql = `select distinct ${identifier(dimension)} as label from ${staging.typed} where ${WINDOW} = ${windowNo}`;
    const found = new Set((await warehouse.rows(sql, [], labelRow)).map(({ label }) => label));
    const lost = [...(values ?? [])].find((value) => !found.has(value));
    if (lost !== undefined)
      return `the whole has rows whose ${dimension} is ${lost ?? 'NULL'}, and its parts have none`;
  }
  return null;
}
