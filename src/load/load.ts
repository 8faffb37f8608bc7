/**
 * Loads spooled answers: turns them into typed rows and replaces their windows.
 *
 * A batch holds windows of one slice, because one statement over many files is fastest. Each window is judged by itself.
 * Nothing is deleted before the answer is shown to be one whole report with the requested keys, inside its days, unique, exact,
 * and complete by the service's own totals.
 *
 * The steps: the column reader turns bodies into Parquet files (`read-answers`); what stands beside the rows is judged
 * (`answers`); rows are staged and checked (`check`); sums are compared with totals (`proof`); periods that lost rows stay as
 * they are (`guard`); the others are replaced and recorded in one transaction (`replace`, `load-ledger`).
 */

import { asFailure, Failure, type FailureCode } from '../errors.ts';
import { labelOf, partId, replacesSame, subjectOf, type Window } from '../model/window.ts';
import { plainBytesOf, type Spooled } from '../spool/spool.ts';
import { setThreadsFor } from '../warehouse/opening.ts';
import { judgeAnswers, pageOf } from './answers.ts';
import { type Found, findingsOf } from './check.ts';
import { replaceJudged } from './judged.ts';
import { recordRejects } from './load-ledger.ts';
import type { Loaded, LoadRequest, LoadResult } from './load-result.ts';
import { type Judged, proveWindow } from './proof.ts';
import { columnsFor } from './read-answers.ts';
import { replacingIn, type Sound } from './staged-sql.ts';

/** Failures that one window may cause for its whole batch. */
const perhapsOfOne: ReadonlySet<FailureCode> = new Set(['BUG', 'ENGINE_MEMORY']);

/**
 * Loads a batch. If the engine has too little memory for it or an unforeseen failure occurs, loads its windows one by one; a
 * window that is too large by itself is to be split. Any other failure fails each window of the batch. Throws `STORAGE_FAILED`.
 */
export async function loadBatch(batch: readonly Spooled[], request: LoadRequest): Promise<Loaded> {
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
    const failed = ({ window }: Spooled): LoadResult => ({ kind: 'failed', window, failure });
    return {
      results: batch.map(failure.code === 'ENGINE_MEMORY' ? tooLarge : failed),
      target: request.target,
    };
  }
}

async function oneByOne(batch: readonly Spooled[], request: LoadRequest): Promise<Loaded> {
  const results: LoadResult[] = [];
  let { target } = request;
  for (const spooled of batch) {
    const loaded = await loadBatch([spooled], { ...request, target });
    results.push(...loaded.results);
    ({ target } = loaded);
  }
  return { results, target };
}

/** The result for a window whose answer does not fit into the engine's memory: its largest part is to be divided. */
function tooLarge({ window, answers }: Spooled): LoadResult {
  const bytes = answers.map(({ pages }) => plainBytesOf(pages));
  const largest = Math.max(...bytes);
  const heavy = new Set(
    answers.filter((_, at) => bytes[at] === largest).map(({ partNo }) => partNo),
  );
  const parts = new Set(window.parts.filter((_, partNo) => heavy.has(partNo)).map(partId));
  const megabytes = Math.round(largest / 1_000_000);
  const message = `${subjectOf(window)}: an answer of ${megabytes} MB took more memory to load than the database has.`;
  const failure = new Failure('SOURCE_TOO_HEAVY', message, {
    facts: { bytes: largest },
    hint: 'Give the slice fewer dimensions or metrics, or filter it, so that one period is smaller.',
  });
  return { kind: 'split', window, failure, parts, shortfall: null, values: new Map() };
}

/** Loads the sound windows of a batch; results are in no order. Throws `ENGINE_MEMORY` if the engine has too little memory. */
async function load(batch: readonly Spooled[], request: LoadRequest): Promise<Loaded> {
  const { warehouse, target, read } = request;
  await read.readAll(batch, target);
  const parts = batch.flatMap((spooled) => read.of(spooled).flatMap((part) => part ?? []));
  const columns = columnsFor(target.columns, parts);
  if (columns === null) {
    // No type holds the numbers of all windows; each window by itself may have one.
    if (batch.length > 1) return oneByOne(batch, request);
    return { results: batch.map(({ window }) => tooManyDigits(window)), target };
  }
  const bytes = plainBytesOf(batch.flatMap(({ answers }) => answers.flatMap(({ pages }) => pages)));
  await setThreadsFor(warehouse, bytes, columns.metrics.length);
  const results: LoadResult[] = [];
  const sound: Sound[] = [];
  for (const spooled of batch) {
    const found = read.of(spooled);
    const windowNo = sound.length;
    const inspected = spooled.answers.map((answer, at) => ({
      ...answer,
      pages: (found[at]?.pages ?? []).map(pageOf),
    }));
    const verdict = judgeAnswers(spooled.window, inspected);
    const parts = spooled.answers.flatMap(({ partNo }, at) => {
      const part = found[at] ?? null;
      return part === null || part.rows === 0 ? [] : [{ ...part, partNo, windowNo }];
    });
    if ('kind' in verdict) results.push(verdict);
    else sound.push({ spooled, windowNo, parts, ...verdict });
  }
  if (sound.length === 0) return { results, target };
  const replacing = replacingIn(sound, target, request.fetchedAt);
  const staged = { columns, parts: sound.flatMap((each) => each.parts), replacing };
  const proven: Judged[] = [];
  for (const found of await findingsOf(sound, staged, request)) {
    const judged = await judgeWindow(found, request);
    if ('kind' in judged) results.push(judged);
    else proven.push(judged);
  }
  const replaced = await replaceJudged(proven, staged, request);
  return { ...replaced, results: [...results, ...replaced.results] };
}

/** Two windows that replace the same rows, as text; null if there are none. */
function overlapIn(windows: readonly Window[]): string | null {
  const inOrder = windows.toSorted((a, b) => (a.replaced.start < b.replaced.start ? -1 : 1));
  for (const [at, window] of inOrder.entries()) {
    const next = inOrder[at + 1];
    if (next !== undefined && replacesSame(window, next))
      return `${labelOf(window)} and ${labelOf(next)}`;
  }
  return null;
}

function tooManyDigits(window: Window): LoadResult {
  const message = `${subjectOf(window)}: no decimal has enough digits for all numbers of a metric.`;
  const hint =
    'State `types: { name: DOUBLE }` for the metric with the longest numbers, which stores the nearest doubles.';
  return { kind: 'failed', window, failure: new Failure('DATA_REJECTED', message, { hint }) };
}

/** Judges a window by what the checks found. Records the rejected rows of a window that fails. */
async function judgeWindow(found: Found, request: LoadRequest): Promise<Judged | LoadResult> {
  const { weekStartsOn, failure, rejects } = found;
  const { window } = found.sound.spooled;
  if (weekStartsOn !== null) return { kind: 'week start', window, weekStartsOn };
  if (failure === null) return proveWindow(found, request);
  for (const sql of recordRejects(rejects?.recorded ?? [], request.runId))
    await request.warehouse.run(sql);
  return { kind: 'failed', window, failure };
}
