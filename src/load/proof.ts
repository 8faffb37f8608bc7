/**
 * The completeness proof: each part's rows equal the totals the service stated of it; of several parts, their sums equal the totals
 * of the undivided window.
 *
 * Strict about rows: a count that is documented to add up must agree exactly. Fair about arithmetic: money agrees within
 * what the digits stated allow, and a metric that only seems to add up is no evidence against the others.
 */

import * as z from 'zod';

import { Failure, isPassing } from '../errors.ts';
import type { CompletenessVerdict } from '../model/ledger.ts';
import { isFiltered, partId, subjectOf } from '../model/window.ts';
import type { WholeAnswer } from '../spool/spool.ts';
import { count, identifier } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Doubt, JudgedAnswer, Sound } from './answers.ts';
import type { Found } from './check.ts';
import { readStagedValues } from './known-values.ts';
import type { LoadRequest, LoadResult, LoadWarning, Shortfall } from './load-result.ts';
import { fractionDigits } from './sums-sql.ts';
import {
  addTotals,
  type Comparison,
  compareTotals,
  differencesOf,
  type MetricSum,
  type PartSums,
  type Proof,
  proofOf,
  statedTotals,
  totalsOfPages,
} from './totals.ts';
import { staging, WINDOW } from './staged-sql.ts';

/** A window that may be loaded, and what its totals have shown. */
export interface ProvenWindow {
  readonly verdict: CompletenessVerdict;
  readonly comparisons: readonly Comparison[];
  readonly notAdditive: readonly string[];
  readonly addsUp: readonly string[];
  readonly warnings: readonly LoadWarning[];
}

/** The verdict on a window's completeness, or what is to be done instead of loading it. */
export async function proveWindow(
  sound: Sound,
  request: LoadRequest,
  found: Found,
): Promise<ProvenWindow | LoadResult> {
  const { warehouse, target } = request;
  const { windowNo, answers } = sound;
  const proofs = await Promise.all(
    answers.map(async (answer) => proveAnswer(warehouse, answer, found.sums[answer.partNo] ?? [], windowNo)),
  );
  const unread = answers.find(({ unfollowed }) => unfollowed !== null)?.unfollowed ?? null;
  const short = proofs.find(isShort);
  const whole = short === undefined ? await compareWhole(sound, found, proofs, warehouse) : agreed;
  const because = unread ?? (short === undefined ? whole.against : clauseOf(short));
  if (because === null) return provenWindow(sound, found, proofs, whole.untold);
  if (target.slice.completeness === 'warn') {
    const message = `The answer was loaded although it was not shown to be complete: ${because}.`;
    const comparisons = proofs.flatMap((proof) => proof.comparisons);
    return { ...nothingProven, verdict: 'unproven', comparisons, warnings: [{ code: 'UNPROVEN', message }] };
  }
  return refused(because, { sound, proofs, isUnread: unread !== null, cause: whole.cause }, request);
}

const nothingProven: Omit<ProvenWindow, 'verdict'> = { comparisons: [], notAdditive: [], addsUp: [], warnings: [] };

interface AnswerProof extends Proof {
  /** Why the rows may not be all there are although no total beside them speaks against that; null when nothing says so. */
  readonly doubt: Doubt | null;
}

const isShort = ({ against, doubt }: AnswerProof): boolean => against !== null || doubt !== null;

const clauseOf = ({ against, doubt }: AnswerProof): string =>
  against === null
    ? `the answer was not complete: ${doubt?.because ?? ''}`
    : `the rows' ${against.metric} added up to ${against.sum}, the service's total was ${against.total}`;

/** Compares an answer's totals with the sums of its part. */
async function proveAnswer(
  warehouse: Warehouse,
  answer: JudgedAnswer,
  ofPart: readonly MetricSum[],
  windowNo: number,
): Promise<AnswerProof> {
  const requested = new Set(answer.metrics);
  const sums = ofPart.filter(({ metric }) => requested.has(metric));
  const digitsOf = async (metric: string): Promise<number> => {
    const sql = fractionDigits(metric, windowNo, answer.partNo);
    const [found] = await warehouse.rows(sql, [], z.object({ digits: count.nullable() }));
    return found?.digits ?? 0;
  };
  const summed = new Set(sums.map(({ metric }) => metric));
  let best: Proof | null = null;
  for (const totals of totalsOfPages(answer.totals.map(statedTotals), summed)) {
    const proof = proofOf(await compareTotals(sums, totals, answer.rowCount, digitsOf));
    if (best === null || proof.verdict === 'proven') best = proof;
    if (best.verdict === 'proven') break;
  }
  const proof = best ?? proofOf([]);
  return { ...proof, doubt: proof.verdict === 'proven' && answer.doubt?.isRefutable === true ? null : answer.doubt };
}

/** What the totals have shown of a window that nothing speaks against. */
function provenWindow(
  { answers }: Sound,
  { rejects }: Found,
  proofs: readonly AnswerProof[],
  untold: string | null,
): ProvenWindow {
  const unproven = untold === null ? [] : [partsNotProven(untold)];
  // What was left out may be all that a metric has: nothing is concluded but from what disagrees.
  if (rejects !== undefined) return { ...nothingProven, verdict: 'unverifiable', warnings: unproven };
  const comparisons = proofs.flatMap((proof) => proof.comparisons);
  const isUnverifiable = proofs.some(
    ({ verdict }, at) => verdict === 'unverifiable' && (answers[at]?.rowCount ?? 0) > 0,
  );
  const rounded = proofs.find((proof) => proof.rounded !== null)?.rounded ?? null;
  return {
    verdict: isUnverifiable || comparisons.length === 0 || untold !== null ? 'unverifiable' : 'proven',
    comparisons,
    notAdditive: proofs.flatMap((proof) => proof.notAdditive),
    addsUp: proofs.flatMap((proof) => proof.addsUp),
    warnings: [...(rounded === null ? [] : [roundedTotals(rounded)]), ...unproven],
  };
}

function partsNotProven(because: string): LoadWarning {
  const text = `The rows were requested in parts, and it could not be verified that no row is in neither part: ${because}.`;
  return { code: 'PARTS_NOT_PROVEN', message: text };
}

function roundedTotals({ metric, sum, total }: Comparison): LoadWarning {
  const text = `The rows' ${metric} added up to ${sum}, the service's total was ${total}: either is rounded, or rows of so little are missing; no other total tells.`;
  return { code: 'TOTALS_ROUNDED', message: text };
}

interface Refused {
  readonly sound: Sound;
  readonly proofs: readonly AnswerProof[];
  readonly isUnread: boolean;
  /** The failure of the question for the whole. */
  readonly cause: Failure | null;
}

/** A window that is not loaded: some parts fell short and are to be divided, or nothing smaller would help. */
async function refused(
  because: string,
  { sound, proofs, isUnread, cause }: Refused,
  { warehouse, target }: LoadRequest,
): Promise<LoadResult> {
  const { answers, windowNo, spooled } = sound;
  const { window } = spooled;
  const message = `${subjectOf(window)}: ${because}.`;
  if (isUnread) {
    const failure = new Failure('SOURCE_ENDLESS_PAGES', message, { hint: PAGES_HINT });
    return { kind: 'failed', window, failure };
  }
  const short = proofs.filter(isShort);
  if (short.length === 0) {
    const { code = 'DATA_INCOMPLETE', facts = {} } = cause ?? {};
    const hint = cause !== null && isPassing(cause) ? (cause.hint ?? WHOLE_HINT) : WHOLE_HINT;
    return { kind: 'failed', window, failure: new Failure(code, message, { facts, hint, cause }) };
  }
  const shortParts = new Set(
    answers.filter((_, at) => proofs.slice(at, at + 1).some(isShort)).map(({ partNo }) => partNo),
  );
  const rowsOf = (partNo: number): number =>
    answers.reduce((sum, answer) => sum + (answer.partNo === partNo ? answer.rowCount : 0), 0);
  const shortfall: Shortfall = {
    rows: new Map(window.parts.map((part, partNo) => [partId(part), rowsOf(partNo)])),
    differences: sumByMetric(short.map(({ comparisons }) => differencesOf(comparisons))),
    isCut: short.some(({ against }) => against === null),
    isAssumed: short.every(({ against }) => against?.isAssumed === true),
  };
  return {
    kind: 'split',
    window,
    failure: new Failure('DATA_INCOMPLETE', message, { hint: UNPROVEN_HINT }),
    parts: new Set(window.parts.filter((_, partNo) => shortParts.has(partNo)).map(partId)),
    shortfall,
    // Days divide a window of several periods.
    values: window.periods.length > 1 ? new Map() : await readStagedValues(warehouse, target, windowNo),
  };
}

function sumByMetric(differences: readonly ReadonlyMap<string, number>[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const [metric, away] of differences.flatMap((each) => [...each]))
    sums.set(metric, (sums.get(metric) ?? 0) + away);
  return sums;
}

const PAGES_HINT =
  'Report it to the operator of the service; until it is mended, narrow the slice until the service answers in one page, or load what comes with `completeness: warn`.';
const UNPROVEN_HINT =
  'Run again later; where it stays so, `additive: { name: false }` says which metric does not add up, and `completeness: warn` loads all the same.';
const WHOLE_HINT =
  'Give the slice fewer dimensions or metrics, or filter it, so that one period needs no parts; a metric that adds up, such as installs, lets parts be verified by the year alone. `completeness: warn` loads all the same.';

/** What became of comparing parts with their whole, each as a clause. */
interface Compared {
  /** What speaks against the parts. */
  readonly against: string | null;
  /** Why it is not known whether they are all there is, if nothing speaks against them. */
  readonly untold: string | null;
  readonly cause: Failure | null;
}

const agreed: Compared = { against: null, untold: null, cause: null };

/** Compares parts that agree with their own totals with what the service stated of the undivided window. */
async function compareWhole(
  { spooled: { window, whole }, windowNo }: Sound,
  { sums }: Found,
  proofs: readonly AnswerProof[],
  warehouse: Warehouse,
): Promise<Compared> {
  if (window.parts.length > 1 && isFiltered(window)) {
    return { ...agreed, untold: 'a filter of a metric looks at rows as they are grouped, so that no total tells' };
  }
  if (whole === null) return agreed;
  if ('failure' in whole) {
    return {
      ...agreed,
      against: `its parts could not be compared with the whole: ${whole.failure.message}`,
      cause: whole.failure,
    };
  }
  const against = differenceOf(sums, whole, proofs) ?? (await lostValue(warehouse, whole, windowNo));
  const unlisted = [...whole.values].find(([, values]) => values === null)?.[0];
  const untold = unlisted === undefined ? null : `the service did not list the values of ${unlisted}`;
  return { ...agreed, against, untold };
}

type Stated = Extract<WholeAnswer, { readonly stated: unknown }>;

/** How the sums of the parts differ from the totals of the whole, as a clause; null where they agree. */
export function differenceOf(
  sums: PartSums,
  whole: Stated,
  proofs: readonly Pick<Proof, 'comparisons'>[],
): string | null {
  const totals = new Map(
    whole.stated.flatMap((each) => [...addTotals(each.rows.map(totalsOfRow)), ...statedTotals(each.totals)]),
  );
  const certain = new Set(
    sums.flatMap((part) => part.filter(({ isAssumed }) => !isAssumed).map(({ metric }) => metric)),
  );
  for (const metric of certain) {
    const ofMetric = sums.flatMap((part) => part.filter((sum) => sum.metric === metric));
    // A part's own total is the better sum where its rows are stated with fewer digits.
    const sum = ofMetric.reduce((all, part) => all + Number(part.distinctSum ?? part.sum ?? 0), 0);
    const magnitude = ofMetric.reduce((all, part) => all + part.magnitude, 0);
    const { text, slack } = totals.get(metric) ?? { text: '0', slack: 0 };
    const isCount = ofMetric.every((part) => part.isCount) && Number.isInteger(sum);
    const most = slackOf(metric, proofs) + slack + Number.EPSILON * Math.max(magnitude, Math.abs(sum));
    if (Math.abs(sum - Number(text)) > (isCount ? 0 : most)) {
      return `the ${metric} of its parts added up to ${sum}, the whole's total was ${text}: a value may be in neither part`;
    }
  }
  return null;
}

const totalsOfRow = (row: Readonly<Record<string, unknown>>): ReturnType<typeof statedTotals> =>
  statedTotals(new Map(Object.entries(row).map(([name, value]) => [name, String(value)])));

/** How far the parts' sums lie from their own totals, which the arithmetic of the service allows. */
function slackOf(metric: string, proofs: readonly Pick<Proof, 'comparisons'>[]): number {
  const ofMetric = proofs.flatMap(({ comparisons }) => comparisons.filter((each) => each.metric === metric));
  return ofMetric.reduce((sum, each) => sum + Math.abs(Number(each.sum) - Number(each.total)), 0);
}

const labelRow = z.object({ label: z.string().nullable() });

/** What the whole has rows of and its parts have none of, as a clause; null when they have all, or nothing was requested. */
async function lostValue(warehouse: Warehouse, whole: Stated, windowNo: number): Promise<string | null> {
  for (const [dimension, values] of whole.values) {
    const sql = `select distinct ${identifier(dimension)} as label from ${staging.typed} where ${WINDOW} = ${windowNo}`;
    const found = new Set((await warehouse.rows(sql, [], labelRow)).map(({ label }) => label));
    const lost = [...(values ?? [])].find((value) => !found.has(value));
    if (lost !== undefined)
      return `the whole has rows whose ${dimension} is ${lost ?? 'NULL'}, and its parts have none`;
  }
  return null;
}
