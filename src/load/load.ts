/**
 * Loading: spooled answers → typed rows → replaced windows.
 *
 * Takes a batch of one slice, as one statement over many files is fastest, and judges every window by itself: loaded
 * wholly with its ledger row, or untouched. Nothing is deleted before the answer was shown to be one whole report with
 * the requested keys, inside its days, unique, exact, and complete by the service's own totals.
 */

import { Failure } from '../errors.ts';
import type { Day } from '../model/calendar.ts';
import type { CompletenessVerdict } from '../model/ledger.ts';
import type { Part } from '../model/part.ts';
import type { Window } from '../model/window.ts';
import type { ColumnReader } from '../spool/columns/column-reader.ts';
import type { Spooled } from '../spool/spool.ts';
import { recordRejects } from '../warehouse/rejects.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { inspect, objectSizeFor, type Answer, type BrokenAnswer } from './answers.ts';
import { subjectOf } from './check.ts';
import { discardColumns, noColumnAnswers, readColumns, type ColumnAnswers } from './column-answers.ts';
import { findingsOf, type Found } from './findings.ts';
import { emptyStretches, lossFailure, sharesOf, type Known } from './guard.ts';
import { judgeAnswers, type InspectedPart, type Sound } from './judge-answers.ts';
import { knownPeriods } from './known-periods.ts';
import { readStagedValues } from './known-values.ts';
import type { LoadResult, LoadWarning, Shortfall } from './load-result.ts';
import { emptyWarning, warningsOf } from './load-warnings.ts';
import { differencesOf, type Comparison } from './proof.ts';
import { provePart, proveWhole } from './prove.ts';
import { replaceWindow } from './replace.ts';
import { rememberAdditivity } from './remembered.ts';
import { stageBatch, type Rejects, type Staged } from './stage.ts';
import type { Target } from './target.ts';
import { blankWithheld } from './withheld.ts';

export interface LoadRequest {
  readonly warehouse: Warehouse;
  readonly target: Target;
  readonly runId: string;
  /** Stands for the fetch instant in every finality decision; null: the instant each window was asked for. */
  readonly asOf: Date | null;
  /** Replaces settled periods also when most of their rows are gone. */
  readonly acceptLoss: boolean;
  /** Reads answers in the usual form; null leaves all of them to SQL, which stores the same. */
  readonly columnReader: ColumnReader | null;
}

export interface Loaded {
  /** One per window, or several where its periods met different fates. */
  readonly results: readonly LoadResult[];
  /** With the columns as wide, and the metrics as additive, as the answers have shown them. */
  readonly target: Target;
}

/** Loads what can be loaded of a batch. Throws `SOURCE_TOO_HEAVY` when the engine has too little memory for it. */
export async function load(batch: readonly Spooled[], request: LoadRequest): Promise<Loaded> {
  const { columnReader, target } = request;
  if (columnReader === null) return loadRead(batch, noColumnAnswers, request);
  const read = await readColumns(batch, target.columns, columnReader);
  try {
    return await loadRead(batch, read, request);
  } finally {
    await discardColumns(read);
  }
}

/** Loads a batch of which some windows were read into columns already. */
async function loadRead(batch: readonly Spooled[], read: ColumnAnswers, request: LoadRequest): Promise<Loaded> {
  const { warehouse } = request;
  const unread = batch.filter((spooled) => !read.parts.has(spooled));
  const pages = unread.flatMap(({ answers }) => answers.flatMap((answer) => answer.pages));
  const paths = pages.map(({ path }) => path);
  const inspected = new Map<string, Answer | BrokenAnswer>(read.pages);
  for (const answer of await inspect(warehouse, paths, objectSizeFor(unread))) inspected.set(answer.path, answer);
  const results: LoadResult[] = [];
  const sound: Sound[] = [];
  for (const spooled of batch) {
    const verdict = judgeAnswers(spooled.window, inspectedParts(spooled, inspected));
    if ('kind' in verdict) results.push(verdict);
    else sound.push({ spooled, windowNo: sound.length, ...verdict });
  }
  let { target } = request;
  if (sound.length === 0) return { results, target };
  const staged = await stageBatch(warehouse, sound, read, target);
  const found = await findingsOf(sound, { ...target, columns: staged.columns }, staged, warehouse);
  for (const each of sound) {
    const outcome = await loadWindow(each, { ...request, target }, found.of(each), staged);
    results.push(...outcome.results);
    ({ target } = outcome);
  }
  return { results, target };
}

/** What inspection found for each part of a window, in order. */
function inspectedParts(
  { answers }: Spooled,
  inspected: ReadonlyMap<string, Answer | BrokenAnswer>,
): readonly InspectedPart[] {
  return answers.map(({ pages, unfollowed }) => ({
    pages: pages.flatMap(({ path }) => inspected.get(path) ?? []),
    unfollowed,
  }));
}

async function loadWindow(sound: Sound, request: LoadRequest, found: Found, staged: Staged): Promise<Loaded> {
  const { warehouse, target, runId } = request;
  const { window } = sound.spooled;
  const { weekStartsOn, failure, rejects } = found;
  if (weekStartsOn !== undefined) return { results: [{ kind: 'week start', window, weekStartsOn }], target };
  if (failure !== undefined) {
    await recordRejects(warehouse, rejects?.recorded ?? [], runId);
    return { results: [{ kind: 'failed', window, failure }], target };
  }
  const proven = await proveWindow(sound, request, found);
  if ('kind' in proven) return { results: [proven], target };
  return replaceShares(sound, request, found, { ...proven, columns: staged.columns });
}

interface ProvenWindow {
  readonly verdict: CompletenessVerdict;
  readonly comparisons: readonly Comparison[];
  readonly notAdditive: readonly string[];
  readonly addsUp: readonly string[];
  readonly warnings: readonly LoadWarning[];
}

/** The verdict on a window's completeness, or what is to be done instead of loading it. */
async function proveWindow(
  sound: Sound,
  { warehouse, target }: LoadRequest,
  { sums, rejects }: Found,
): Promise<ProvenWindow | LoadResult> {
  const { spooled, windowNo, parts } = sound;
  const { slice } = target;
  const { window } = spooled;
  // Rows left out take their values out of every sum, so nothing can be compared.
  if (rejects !== undefined) return { ...nothingProven, verdict: 'unverifiable' };
  const proofs = await Promise.all(
    parts.map(async (part, partNo) => provePart(warehouse, part, sums[partNo] ?? [], { windowNo, partNo })),
  );
  const shortfalls = new Map<Part, Shortfall>();
  let first: string | null = null;
  for (const [partNo, { against, doubt, comparisons }] of proofs.entries()) {
    const part = window.parts[partNo];
    if (part === undefined || (against === null && doubt === null)) continue;
    first ??=
      against === null
        ? `the answer was not complete: ${doubt ?? ''}`
        : `the rows' ${against.metric} added up to ${against.sum}, the service's total was ${against.total}`;
    shortfalls.set(part, {
      rows: parts[partNo]?.rowCount ?? 0,
      differences: differencesOf(comparisons),
      isCut: against === null,
      isAssumed: against?.isAssumed === true,
    });
  }
  const whole = first === null && window.parts.length > 1 ? proveWhole(sums, proofs, spooled.whole) : null;
  const because = first ?? whole;
  const comparisons = proofs.flatMap((proof) => proof.comparisons);
  if (because === null) {
    const isUnverifiable = proofs.some(
      ({ verdict }, at) => verdict === 'unverifiable' && (parts[at]?.rowCount ?? 0) > 0,
    );
    const verdict = isUnverifiable || comparisons.length === 0 ? 'unverifiable' : 'proven';
    const [notAdditive, addsUp] = [
      proofs.flatMap((proof) => proof.notAdditive),
      proofs.flatMap((proof) => proof.addsUp),
    ];
    return { verdict, comparisons, notAdditive, addsUp, warnings: [] };
  }
  const message = `${subjectOf(window)}: ${because}.`;
  if (slice.completeness === 'warn') {
    const text = `The answer was loaded although it was not shown to be complete: ${because}.`;
    return { ...nothingProven, verdict: 'unproven', comparisons, warnings: [{ code: 'UNPROVEN', message: text }] };
  }
  const failure = new Failure('DATA_INCOMPLETE', message, {
    hint: 'Run again later; where it stays so, `additive: { name: false }` says which metric does not add up, and `completeness: warn` loads all the same.',
  });
  // The parts agree with their own totals and not with the whole's: dividing them further cannot help.
  if (first === null) return { kind: 'failed', window, failure };
  const rows = new Map(window.parts.map((part, at) => [part, parts[at]?.rowCount ?? 0]));
  // Days divide a window of several periods.
  const values = window.periods.length > 1 ? new Map() : await readStagedValues(warehouse, target, windowNo);
  return { kind: 'split', window, failure, shortfalls, values, rows };
}

const nothingProven: Omit<ProvenWindow, 'verdict'> = { comparisons: [], notAdditive: [], addsUp: [], warnings: [] };

/** Replaces the periods whose answer is believed; the others are asked for again, or kept as they are held. */
async function replaceShares(
  sound: Sound,
  request: LoadRequest,
  found: Found,
  proven: ProvenWindow & Pick<Staged, 'columns'>,
): Promise<Loaded> {
  const { warehouse, runId, acceptLoss } = request;
  const { spooled, windowNo } = sound;
  const { window } = spooled;
  let { target } = request;
  const fetchedAt = request.asOf ?? spooled.requestedAt;
  await blankWithheld(warehouse, target, { window, windowNo, fetchedAt });
  const known: ReadonlyMap<Day, Known> = await knownPeriods(warehouse, target, window);
  const counts = { come: cameIn(window, found), known };
  const results: LoadResult[] = [];
  const told = new Set<string>();
  for (const share of sharesOf(window, counts, { fetchedAt, acceptLoss })) {
    const { fate, window: mine } = share;
    if (fate !== 'load') {
      const failure = lossFailure(share, counts, subjectOf(mine));
      results.push({ kind: fate === 'doubt' ? 'ask again' : 'failed', window: mine, failure });
      continue;
    }
    const rejects = rejectsIn(mine, window, found.rejects);
    const replaced = await replaceWindow(
      warehouse,
      target,
      {
        spooled: { ...spooled, window: mine },
        windowNo,
        columns: proven.columns,
        rows: rowsIn(mine, found.periodRows),
        rejects,
        collapse: found.copies > 0,
        isOrdered: found.isOrdered,
        verdict: proven.verdict,
        proof: proven.comparisons,
        fetchedAt,
        known,
      },
      runId,
    );
    ({ target } = replaced);
    const empty = emptyStretches(mine, counts.come);
    // What is odd about the whole answer is told with its first periods.
    const warnings = [...(told.size === 0 ? warningsOf(sound, found, proven) : []), ...emptyWarning(empty)];
    told.add(mine.asked.start);
    results.push({
      kind: 'loaded',
      window: mine,
      fetched: mine === window ? fetchedRows(sound) : rowsIn(mine, found.periodRows),
      rows: replaced.rows,
      rejected: rejects.days.length,
      restatedPeriods: replaced.restatedPeriods,
      empty,
      warnings,
    });
  }
  const learned = await rememberAdditivity(warehouse, target, proven, fetchedAt);
  return { results, target: learned };
}

const fetchedRows = ({ parts }: Sound): number => parts.reduce((sum, { rowCount }) => sum + rowCount, 0);

/** Rows that came by first day of the period, with those that are left out: a day of which all are is not empty. */
function cameIn({ periods }: Window, { periodRows, rejects }: Found): ReadonlyMap<Day, number> {
  const come = new Map(periodRows);
  for (const day of rejects?.days ?? []) {
    const of = periods.find(({ period: { bucket } }) => day !== null && bucket.start <= day && day < bucket.end);
    const start = of?.period.bucket.start;
    if (start !== undefined) come.set(start, (come.get(start) ?? 0) + 1);
  }
  return come;
}

function rowsIn({ periods }: Window, rows: ReadonlyMap<Day, number>): number {
  return periods.reduce((sum, { period }) => sum + (rows.get(period.bucket.start) ?? 0), 0);
}

/** The rejected rows of some periods of a window; one of which no day is known is told with the first of them. */
function rejectsIn(mine: Window, window: Window, rejects: Rejects | undefined): Omit<Rejects, 'failure'> {
  if (rejects === undefined || mine === window) return rejects ?? { recorded: [], days: [] };
  const { start, end } = mine.replaced;
  const isFirst = start === window.replaced.start;
  const days = rejects.days.filter((day) => day === null || (day >= start && day < end));
  return { days, recorded: isFirst ? rejects.recorded : [] };
}
