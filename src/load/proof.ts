/**
 * The completeness proof: the rows' sums against the totals the service stated, each part by its own, the parts together by
 * the whole's.
 *
 * Strict about rows: a count that is documented to add up must agree exactly. Fair about arithmetic: money agrees within
 * what the digits stated allow, and a metric that only seems to add up is no evidence against the others.
 */

import * as z from 'zod';

import { Failure, isPassing } from '../errors.ts';
import { type Day, lastDay } from '../model/calendar.ts';
import type { CompletenessVerdict } from '../model/ledger.ts';
import { isFiltered, type Part, subjectOf, type Window } from '../model/window.ts';
import type { WholeAnswer } from '../spool/spool.ts';
import { count } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Doubt, PartAnswer, Sound } from './answers.ts';
import type { Found } from './check.ts';
import type { MetricSum, PartSums } from './part-sums.ts';
import { readStagedValues } from './known-values.ts';
import type { LoadRequest, LoadResult, LoadWarning, Shortfall } from './load-result.ts';
import { fractionDigits } from './sums-sql.ts';
import type { MetricColumn } from './target.ts';
import {
  type Comparison,
  type Proof,
  compareTotals,
  differencesOf,
  proofOf,
  statedTotals,
  totalsOfPages,
} from './totals.ts';
import { certainMetrics, type Held, holdParts, lostValue, proveWhole, totalsOfRows } from './whole-proof.ts';

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
  const { spooled, windowNo, parts } = sound;
  const { window } = spooled;
  const { sums, rejects } = found;
  const proofs = await Promise.all(
    parts.map(async (part, partNo) => provePart(warehouse, part, sums[partNo] ?? [], { windowNo, partNo })),
  );
  const unfollowed = doubtedRows(parts);
  const isRefuted =
    unfollowed.length > 0 && isShownByYear(sums, proofs, spooled.byYear, { years: yearsIn(window), unfollowed });
  const { first, shortfalls } = shortfallsOf(sound, proofs, isRefuted);
  const isDivided = first === null && window.parts.length > 1;
  const { against, unheld } = isDivided ? holdParts(spooled, target.columns.metrics, sums, proofs) : undivided;
  // Of rows that are left out no labels are staged.
  const isLabelled = isDivided && rejects === undefined;
  const lost = against === null && isLabelled ? await lostValue(warehouse, spooled.whole, windowNo) : null;
  const because = first ?? against ?? lost;
  const comparisons = proofs.flatMap((proof) => proof.comparisons);
  if (because === null) {
    const warnings = unheld === null ? [] : [partsNotHeld(unheld)];
    // What was left out may be all that a metric has: nothing is concluded but from what disagrees.
    if (rejects !== undefined) return { ...nothingProven, verdict: 'unverifiable', warnings };
    return undisputed(parts, proofs, { isRefuted, metrics: target.columns.metrics, warnings });
  }
  if (target.slice.completeness === 'warn') {
    const message = `The answer was loaded although it was not shown to be complete: ${because}.`;
    return { ...nothingProven, verdict: 'unproven', comparisons, warnings: [{ code: 'UNPROVEN', message }] };
  }
  return first === null
    ? refusedWhole(because, { sound, sums, unfollowed }, request)
    : refusedParts(because, { sound, sums, unfollowed, shortfalls }, request);
}

/** By part that fell short of its totals, or is doubted, how; and the first of it as a clause. */
function shortfallsOf(
  { spooled: { window }, parts }: Sound,
  proofs: readonly PartProof[],
  isRefuted: boolean,
): { readonly first: string | null; readonly shortfalls: ReadonlyMap<Part, Shortfall> } {
  const shortfalls = new Map<Part, Shortfall>();
  let first: string | null = null;
  for (const [partNo, { against, doubt, comparisons }] of proofs.entries()) {
    const part = window.parts[partNo];
    const isDoubted = doubt !== null && !(isRefuted && doubt.refutedBy === 'the whole');
    if (part === undefined || (against === null && !isDoubted)) continue;
    first ??=
      against === null
        ? `the answer was not complete: ${doubt?.because ?? ''}`
        : `the rows' ${against.metric} added up to ${against.sum}, the service's total was ${against.total}`;
    shortfalls.set(part, {
      rows: parts[partNo]?.rowCount ?? 0,
      differences: differencesOf(comparisons),
      isCut: against === null,
      isAssumed: against?.isAssumed === true,
    });
  }
  return { first, shortfalls };
}

/** What the totals have shown of a window that nothing speaks against. */
function undisputed(
  parts: readonly PartAnswer[],
  proofs: readonly PartProof[],
  seen: {
    /** Whether the whole by the year has shown that pages which could not be followed lack nothing. */
    readonly isRefuted: boolean;
    readonly metrics: readonly MetricColumn[];
    /** Why parts could not be held against the whole. */
    readonly warnings: readonly LoadWarning[];
  },
): ProvenWindow {
  const { isRefuted, metrics } = seen;
  const comparisons = proofs.flatMap((proof) => proof.comparisons);
  const isUnverifiable = proofs.some(({ verdict }, at) => verdict === 'unverifiable' && (parts[at]?.rowCount ?? 0) > 0);
  // A row without a value in what adds up may be on a page that nobody read.
  const isHidden = isRefuted && metrics.some(({ additive, isAssumed }) => !additive || isAssumed);
  const isSilent = isUnverifiable || comparisons.length === 0;
  const rounded = proofs.find((proof) => proof.rounded !== null)?.rounded ?? null;
  return {
    verdict: isSilent || isHidden || seen.warnings.length > 0 ? 'unverifiable' : 'proven',
    comparisons,
    notAdditive: proofs.flatMap((proof) => proof.notAdditive),
    addsUp: proofs.flatMap((proof) => proof.addsUp),
    warnings: [
      ...(isRefuted ? [unreadPages(parts)] : []),
      ...(rounded === null ? [] : [roundedTotals(rounded)]),
      ...seen.warnings,
    ],
  };
}

/** A window that is refused, and what the refusal is worded by. */
interface Refused {
  readonly sound: Sound;
  readonly sums: PartSums;
  /** The rows of each part whose next page could not be followed. */
  readonly unfollowed: readonly number[];
}

/** A window whose parts agree with their own totals and not with the whole's: dividing them further cannot help. */
async function refusedWhole(
  because: string,
  { sound: { spooled, windowNo }, sums, unfollowed }: Refused,
  { warehouse, target }: LoadRequest,
): Promise<LoadResult> {
  const { window, whole } = spooled;
  const unasked = whole !== null && 'because' in whole ? whole : null;
  const hint = hintFor(window, unfollowed, unasked !== null && certainMetrics(sums).size === 0);
  const failure = failureOf(unasked?.failure, `${subjectOf(window)}: ${because}.`, hint);
  if (unasked !== null || whole === null) return { kind: 'failed', window, failure };
  return { kind: 'failed', window, failure, values: await readStagedValues(warehouse, target, windowNo) };
}

/** A window some parts of which fell short: they are to be divided. */
async function refusedParts(
  because: string,
  { sound, sums, unfollowed, shortfalls }: Refused & { readonly shortfalls: ReadonlyMap<Part, Shortfall> },
  { warehouse, target }: LoadRequest,
): Promise<LoadResult> {
  const { spooled, windowNo, parts } = sound;
  const { window, byYear } = spooled;
  const unasked = unfollowed.length > 0 && byYear !== null && 'because' in byYear ? byYear : null;
  const hint = hintFor(window, unfollowed, unfollowed.length > 0 && certainMetrics(sums).size === 0);
  if (unasked?.failure !== undefined && isPassing(unasked.failure)) {
    const text = `${subjectOf(window)}: ${because}, and the totals by the year were not answered: ${unasked.because}.`;
    return { kind: 'failed', window, failure: failureOf(unasked.failure, text, hint) };
  }
  const failure = new Failure('DATA_INCOMPLETE', `${subjectOf(window)}: ${because}.`, { hint });
  const rows = new Map(window.parts.map((part, at) => [part, parts[at]?.rowCount ?? 0]));
  // Days divide a window of several periods.
  const values = window.periods.length > 1 ? new Map() : await readStagedValues(warehouse, target, windowNo);
  return { kind: 'split', window, failure, shortfalls, values, rows };
}

/** `isUnseen`: nothing that was asked for has a sum to hold the whole against. */
function hintFor(window: Window, unfollowed: readonly number[], isUnseen: boolean): string {
  if (unfollowed.length > 0 && isFiltered(window)) return FILTERED_HINT;
  return isUnseen ? UNSEEN_HINT : UNPROVEN_HINT;
}

const UNPROVEN_HINT =
  'Run again later; where it stays so, `additive: { name: false }` says which metric does not add up, and `completeness: warn` loads all the same.';
/** What came is compared with the report by the year, which such a filter would look at as one row. */
const FILTERED_HINT =
  'Take the filter of a metric out of the slice, and filter its table instead: its rows can then be compared with the totals by the year. `completeness: warn` loads all the same.';
/** Without a sum the whole is asked for by a dimension that divides it: where that is the only one, as heavy as the report itself. */
const UNSEEN_HINT =
  'Add a metric that adds up to the slice, such as installs: the whole is then asked for by its dates, or the year, alone. `completeness: warn` loads all the same.';

/** The failure of what speaks against a window, or that of the question which would have told. */
function failureOf(cause: Failure | undefined, message: string, hint: string): Failure {
  if (cause === undefined) return new Failure('DATA_INCOMPLETE', message, { hint });
  const { code, facts } = cause;
  return new Failure(code, message, { facts, hint: isPassing(cause) ? (cause.hint ?? hint) : hint, cause });
}

const undivided: Held = { against: null, unheld: null };

function partsNotHeld(because: string): LoadWarning {
  const text = `The rows were asked for in parts, which could not be held against the whole, so that a value in neither part would be missing: ${because}.`;
  return { code: 'PARTS_NOT_HELD', message: text };
}

const nothingProven: Omit<ProvenWindow, 'verdict'> = { comparisons: [], notAdditive: [], addsUp: [], warnings: [] };

export interface PartProof extends Proof {
  /** Why the rows may not be all there are although no total beside them speaks against that; null when nothing says so. */
  readonly doubt: Doubt | null;
}

/** Holds a part's sums against its totals. */
async function provePart(
  warehouse: Warehouse,
  part: PartAnswer,
  sums: readonly MetricSum[],
  at: { readonly windowNo: number; readonly partNo: number },
): Promise<PartProof> {
  const digitsOf = async (metric: string): Promise<number> => {
    const sql = fractionDigits(metric, at.windowNo, at.partNo);
    const [found] = await warehouse.rows(sql, [], z.object({ digits: count.nullable() }));
    return found?.digits ?? 0;
  };
  const summed = new Set(sums.map(({ metric }) => metric));
  let best: Proof | null = null;
  for (const totals of totalsOfPages(part.totals.map(statedTotals), summed)) {
    const proof = proofOf(await compareTotals(sums, totals, part.rowCount, digitsOf));
    if (best === null || proof.verdict === 'proven') best = proof;
    if (best.verdict === 'proven') break;
  }
  const proof = best ?? proofOf([]);
  const isRefuted = proof.verdict === 'proven' && part.doubt?.refutedBy === 'its totals';
  return { ...proof, doubt: isRefuted ? null : part.doubt };
}

/** How many rows came of each part whose next page could not be followed. */
function doubtedRows(parts: readonly PartAnswer[]): number[] {
  return parts.flatMap(({ doubt, rowCount }) => (doubt?.refutedBy === 'the whole' ? [rowCount] : []));
}

/** How many calendar years the days that were asked for lie in. */
function yearsIn({ asked }: Window): number {
  const yearOf = (day: Day): number => Number(day.slice(0, 4));
  return yearOf(lastDay(asked)) - yearOf(asked.start) + 1;
}

/**
 * Whether the whole by the year, which lacks no row, has no more in it than came. Fewer rows than years may be the first page of
 * the very same, unless each part whose next page could not be followed came with more. What no totals state is the sum of the
 * rows of all years.
 */
export function isShownByYear(
  sums: readonly (readonly MetricSum[])[],
  proofs: readonly PartProof[],
  byYear: WholeAnswer | null,
  { years, unfollowed }: { readonly years: number; readonly unfollowed: readonly number[] },
): boolean {
  if (byYear === null || 'because' in byYear) return false;
  const { rows } = byYear;
  if (rows.length < years && rows.length >= Math.min(...unfollowed)) return false;
  const ofRows =
    rows.length === years ? [...totalsOfRows(rows)].map(([metric, { text }]) => [metric, text] as const) : [];
  const totals = new Map([...ofRows, ...byYear.totals]);
  const isStated = [...certainMetrics(sums)].some((metric) => totals.has(metric));
  return isStated && proveWhole(sums, proofs, { ...byYear, totals }) === null;
}

function unreadPages(parts: readonly PartAnswer[]): LoadWarning {
  const because = parts.find(({ doubt }) => doubt?.refutedBy === 'the whole')?.doubt?.because ?? '';
  const text = `The rows add up to what the service states of the whole, although a next page was named that could not be followed: ${because}.`;
  return { code: 'PAGES_NOT_FOLLOWED', message: text };
}

function roundedTotals({ metric, sum, total }: Comparison): LoadWarning {
  const text = `The rows' ${metric} added up to ${sum}, the service's total was ${total}: either is rounded, or rows of so little are missing; no other total tells.`;
  return { code: 'TOTALS_ROUNDED', message: text };
}
