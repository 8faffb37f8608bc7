/**
 * Loads spooled answers: turns them into typed rows and replaces their windows.
 *
 * A batch holds windows of one slice, because one statement over many files is fastest. Each window is decided by itself.
 * Nothing is deleted before the answers are shown to be whole reports with the requested keys, inside their days, unique, exact,
 * and complete by the service's own totals.
 *
 * The steps: the column reader turns pages into Parquet files (`read-pages`); what they state is judged (`answer-pages`); rows
 * are staged and counted (`answered`); one pure function says what becomes of each window (`decide`); accepted periods are
 * replaced and recorded in one transaction (`replace`, `load-ledger`).
 */

import { asFailure, Failure, type FailureCode } from '../errors.ts';
import { labelOf, partId, replacesSame, subjectOf, type Window } from '../model/window.ts';
import { plainBytesOf, requestedAtOf, type Spooled } from '../extract/spool.ts';
import { saveAdditivity } from '../warehouse/tables/slice-metrics.ts';
import type { Target } from '../warehouse/tables/target.ts';
import { setThreadsFor } from '../warehouse/opening.ts';
import { judgePages, maturityOf } from './answer-pages.ts';
import { recordTotals } from './control-totals.ts';
import { type NightControl, readNightTotals } from './night-totals.ts';
import { isBatched, type Readable, type ReadableAnswer } from './answered.ts';
import { decide, type Replacement } from './decide.ts';
import { readAnswered } from './facts.ts';
import { readStagedValues } from './known-values.ts';
import { rowsOfUnnamed, withoutRows } from './lost-apps.ts';
import { type LostApps, protectedLoadOf } from '../warehouse/tables/lost-apps.ts';
import { LoadLedger, recordRejects, storedPeriods } from './load-ledger.ts';
import type { Outcome } from './outcome.ts';
import { columnsFor, type ReadPages } from './read-pages.ts';
import { type Destination, replaceWindows } from './replace.ts';
import { replacingIn, type Staged } from './staged-sql.ts';

export interface LoadRequest extends Destination {
  /** The fetch instant for every finality decision; null for the instant each window was requested. */
  readonly fetchedAt: Date | null;
  /** Whether to replace settled periods even if they lose most of their rows. */
  readonly acceptLoss: boolean;
  /** An app leaves as soon as an answer names it. */
  readonly lost: LostApps;
  /** What the service states tonight of the slice; null if it was not read. */
  readonly control: NightControl | null;
  readonly read: Pick<ReadPages, 'readAll' | 'of'>;
}

export interface LoadedBatch {
  /** Several per window if its periods have different fates, none for periods that a later fetch loaded. */
  readonly outcomes: readonly Outcome[];
  /** With columns as wide as needed, and the additivity that the answers showed. */
  readonly target: Target;
}

/** Failures that one window may cause for its whole batch. */
const perhapsOfOne: ReadonlySet<FailureCode> = new Set(['BUG', 'ENGINE_MEMORY']);

/**
 * Loads batches of different slices in one transaction, or, if that fails, each in its own. Throws `STORAGE_FAILED`. What they
 * have in common takes as long for one as for twenty: a commit, the statements of the ledger.
 */
export async function loadBatches(
  batches: readonly { readonly spooled: readonly Spooled[]; readonly request: LoadRequest }[],
): Promise<readonly LoadedBatch[]> {
  const [first, ...others] = batches;
  if (first !== undefined && others.length > 0) {
    const { warehouse, runId } = first.request;
    try {
      return await warehouse.transact(async () => {
        const ledger = new LoadLedger({ warehouse, runId });
        const loaded: LoadedBatch[] = [];
        for (const { spooled, request } of batches)
          loaded.push(await load(spooled, { ...request, ledger }));
        await ledger.write();
        return loaded;
      });
    } catch (error) {
      const failure = asFailure(error);
      if (failure.code === 'STORAGE_FAILED') throw failure;
    }
  }
  const loaded: LoadedBatch[] = [];
  for (const { spooled, request } of batches) loaded.push(await loadBatch(spooled, request));
  return loaded;
}

/**
 * Loads a batch, and its windows one by one if the engine has too little memory or an unforeseen failure occurs. Any other
 * failure fails each window. Throws `STORAGE_FAILED`.
 */
export async function loadBatch(
  batch: readonly Spooled[],
  request: LoadRequest,
): Promise<LoadedBatch> {
  const overlap = overlapIn(batch.map(({ window }) => window));
  try {
    if (overlap !== null)
      throw new RangeError(`Two windows of one batch replaced the same rows: ${overlap}.`);
    return await load(batch, request);
  } catch (error) {
    const failure = asFailure(error);
    if (failure.code === 'STORAGE_FAILED') throw failure;
    const isOfBatch = batch.length === 1 || overlap !== null;
    if (!isOfBatch && perhapsOfOne.has(failure.code)) return oneByOne(batch, request);
    const failed = ({ window }: Spooled): Outcome => ({ kind: 'failed', window, failure });
    return {
      outcomes: batch.map(failure.code === 'ENGINE_MEMORY' ? tooLarge : failed),
      target: request.target,
    };
  }
}

async function oneByOne(batch: readonly Spooled[], request: LoadRequest): Promise<LoadedBatch> {
  const outcomes: Outcome[] = [];
  let { target } = request;
  for (const spooled of batch) {
    const loaded = await loadBatch([spooled], { ...request, target });
    outcomes.push(...loaded.outcomes);
    ({ target } = loaded);
  }
  return { outcomes, target };
}

function tooLarge(spooled: Spooled): Outcome {
  const { window } = spooled;
  const answers = spooled.answers.map((answer) => ({ ...answer, bytes: plainBytesOf([answer]) }));
  const largest = Math.max(...answers.map(({ bytes }) => bytes));
  const heavy = answers.filter(({ bytes }) => bytes === largest);
  const megabytes = Math.round(largest / 1_000_000);
  const message = `${subjectOf(window)}: an answer of ${megabytes} MB took more memory to load than the database has.`;
  const failure = new Failure('SOURCE_TOO_HEAVY', message, {
    facts: { bytes: largest },
    hint: 'Give the slice fewer dimensions or metrics, or filter it, so that one period is smaller.',
  });
  const parts = new Set(heavy.map(({ box }) => partId(box.part)));
  return { kind: 'split', window, spooled, failure, parts, shortfall: null, values: new Map() };
}

/** Throws `ENGINE_MEMORY` if the engine has too little memory. */
async function load(batch: readonly Spooled[], request: LoadRequest): Promise<LoadedBatch> {
  const { warehouse, target, read, runId, acceptLoss } = request;
  await read.readAll(batch, target);
  const outcomes: Outcome[] = [];
  const readable: Readable[] = [];
  for (const spooled of batch) {
    const window = readableOf(spooled, readable.length, request);
    const failure = window.answers.find((answer) => answer.failure !== null)?.failure ?? null;
    if (failure === null) readable.push(window);
    else outcomes.push({ kind: 'failed', window: spooled.window, failure });
  }
  if (readable.length === 0) return { outcomes, target };
  const pages = readable.flatMap(({ windowNo, answers }) =>
    answers.flatMap((answer, answerNo) =>
      answer.pages
        .filter(({ body }) => body.rows > 0)
        .map((page) => Object.assign({ windowNo, answerNo }, page)),
    ),
  );
  const columns = columnsFor(target.columns, pages);
  if (columns === null) {
    // No type holds the numbers of all windows; each window by itself may have one.
    if (batch.length > 1) return oneByOne(batch, request);
    return { outcomes: batch.map(({ window }) => tooManyDigits(window)), target };
  }
  const bytes = plainBytesOf(batch.flatMap(({ answers }) => answers));
  await setThreadsFor(warehouse, bytes, columns.metrics.length);
  const windows = readable.map(({ spooled, maturity, ...window }) => {
    return { ...window, window: spooled.window, computedAt: maturity.computedAt };
  });
  const replacing = replacingIn(windows, target);
  const staged: Staged = { columns, pages, replacing, isBatched: readable.some(isBatched) };
  const all = readable.map(({ spooled }) => spooled.window);
  const totals = await readNightTotals(
    warehouse,
    request.control,
    all.flatMap(({ periods }) => periods.map(({ period }) => period.bucket.start)),
    target.slice.metrics,
  );
  const answers = await readAnswered(
    readable,
    { ...staged, isCompared: totals.size > 0 },
    warehouse,
  );
  const lost = await rowsOfUnnamed(request.lost, target, warehouse);
  const periods = await storedPeriods(
    warehouse,
    target,
    all,
    protectedLoadOf(request.lost, target.slice),
  );
  const stored = lost === null ? periods : await withoutRows(periods, lost, all, request);
  const replacements: Replacement[] = [];
  for (const answered of answers) {
    const { window } = answered.spooled;
    const { completeness } = target.slice;
    const how = { completeness, acceptLoss, stored: stored(window), totals };
    for (const fate of decide(answered, how)) {
      if (fate.kind === 'replace') replacements.push(fate);
      else if (fate.kind === 'split' && window.periods.length === 1) {
        // A window of several periods is divided by days, not by values.
        const values = await readStagedValues(warehouse, target, answered.windowNo);
        outcomes.push({ ...fate, values });
      } else outcomes.push(fate);
    }
    if (answered.failure === null) continue;
    for (const sql of await recordRejects(answered.rejects?.recorded ?? [], { warehouse, runId }))
      await warehouse.run(sql);
  }
  const [first] = replacements;
  if (first === undefined) return { outcomes, target };
  if (target.slice.control !== undefined) {
    const recorded = await recordTotals(replacements, staged, request);
    return { outcomes: [...outcomes, ...recorded], target };
  }
  const { loaded, target: wider } = await replaceWindows(replacements, staged, request, lost);
  const shown = {
    notAdditive: replacements.flatMap(({ notAdditive }) => notAdditive),
    addsUp: replacements.flatMap(({ addsUp }) => addsUp),
  };
  const seenAt = first.answered.fetchedAt;
  return {
    outcomes: [...outcomes, ...loaded],
    target: await saveAdditivity(warehouse, wider, shown, seenAt),
  };
}

function readableOf(spooled: Spooled, windowNo: number, request: LoadRequest): Readable {
  const { window } = spooled;
  const judged = spooled.answers.map(({ box, unfollowed, ...answer }): ReadableAnswer => {
    const pages = answer.pages.map((page) => request.read.of(page));
    const bodies = pages.map(({ body }) => body);
    return { ...judgePages(window, box, bodies), box, unfollowed, pages };
  });
  const answers = judged.filter(({ box }) => box.control === null);
  return {
    spooled,
    windowNo,
    fetchedAt: request.fetchedAt ?? requestedAtOf(spooled.answers),
    answers,
    controls: judged.filter(({ box }) => box.control !== null),
    maturity: maturityOf(
      window,
      answers.flatMap(({ maturity }) => maturity),
    ),
  };
}

/** Returns two windows that replace the same rows, as text. */
function overlapIn(windows: readonly Window[]): string | null {
  const inOrder = windows.toSorted((a, b) => (a.replaced.start < b.replaced.start ? -1 : 1));
  for (const [at, window] of inOrder.entries()) {
    const next = inOrder[at + 1];
    if (next !== undefined && replacesSame(window, next))
      return `${labelOf(window)} and ${labelOf(next)}`;
  }
  return null;
}

function tooManyDigits(window: Window): Outcome {
  const message = `${subjectOf(window)}: no decimal has enough digits for all numbers of a metric.`;
  const hint =
    'Set `types: { name: DOUBLE }` for the metric with the longest numbers, to store the nearest floating-point value.';
  return { kind: 'failed', window, failure: new Failure('DATA_REJECTED', message, { hint }) };
}
