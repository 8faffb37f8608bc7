/**
 * Loading: spooled answers → typed rows → replaced windows.
 *
 * Takes a batch of one slice, as one statement over many files is fastest, and judges every window by itself: loaded
 * wholly with its ledger row, or untouched. Nothing is deleted before the answer was shown to be one whole report with
 * the requested keys, inside its days, unique, exact, and complete by the service's own totals.
 *
 * The column reader turns the bodies of an answer into a Parquet file, in the types of the slice's table or in wider ones.
 */

import { asFailure, Failure, type FailureCode } from '../errors.ts';
import { labelOf, partId, replacesSame, subjectOf, type Window } from '../model/window.ts';
import { plainBytesOf, type Spooled } from '../spool/spool.ts';
import { expectBatch } from '../warehouse/opening.ts';
import { judgeAnswers, type Sound } from './answers.ts';
import { findingsOf, type Found } from './check.ts';
import { recordRejects } from './load-ledger.ts';
import type { Loaded, LoadRequest, LoadResult } from './load-result.ts';
import { proveWindow } from './proof.ts';
import { type Judged, replaceJudged } from './judged.ts';
import { columnsFor } from './read-answers.ts';
import type { Target } from './target.ts';
import { nameCutWeeks } from './weeks.ts';
import type { Staged } from './staged-sql.ts';
import { withheldValues } from './withheld.ts';

/** Failures that one window may bring upon all of its batch. */
const perhapsOfOne: ReadonlySet<FailureCode> = new Set(['BUG', 'ENGINE_MEMORY']);

/**
 * Loads a batch. Where the engine has too little memory for it, or nobody thought of what came, its windows go one by one, and
 * one that is too large by itself is to be split; any other failure becomes that of each window. Throws `STORAGE_FAILED`.
 */
export async function loadBatch(batch: readonly Spooled[], request: LoadRequest): Promise<Loaded> {
  try {
    return await load(batch, request);
  } catch (error) {
    const failure = asFailure(error);
    if (failure.code === 'STORAGE_FAILED') throw failure;
    const isOfBatch = batch.length === 1 || overlapIn(batch.map(({ window }) => window)) !== null;
    if (!isOfBatch && perhapsOfOne.has(failure.code)) return oneByOne(batch, request);
    const failed = ({ window }: Spooled): LoadResult => ({ kind: 'failed', window, failure });
    return { results: batch.map(failure.code === 'ENGINE_MEMORY' ? tooLarge : failed), target: request.target };
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

/** A window whose answer the engine cannot hold: its largest part is to be requested in smaller ones. */
function tooLarge({ window, answers }: Spooled): LoadResult {
  const bytes = answers.map(({ pages }) => plainBytesOf(pages));
  const largest = Math.max(...bytes);
  const heavy = new Set(answers.filter((_, at) => bytes[at] === largest).map(({ partNo }) => partNo));
  const parts = new Set(window.parts.filter((_, partNo) => heavy.has(partNo)).map(partId));
  const megabytes = Math.round(largest / 1_000_000);
  const message = `${subjectOf(window)}: an answer of ${megabytes} MB took more memory to load than the database has.`;
  const failure = new Failure('SOURCE_TOO_HEAVY', message, {
    facts: { bytes: largest },
    hint: 'Give the slice fewer dimensions or metrics, or filter it, so that one period is smaller.',
  });
  return { kind: 'split', window, failure, parts, shortfall: null, values: new Map() };
}

/**
 * Loads what can be loaded of a batch, in no certain order. Throws `ENGINE_MEMORY` when the engine has too little memory for it,
 * and a RangeError where two of its windows replace the same rows.
 */
async function load(batch: readonly Spooled[], request: LoadRequest): Promise<Loaded> {
  refuseOverlap(batch.map(({ window }) => window));
  const { warehouse, target, read } = request;
  const unread = await read.readAll(batch, target, warehouse).then(() => null, asFailure);
  const columns = columnsFor(
    target.columns,
    batch.flatMap((spooled) => read.of(spooled).flatMap((part) => part ?? [])),
  );
  // Windows whose numbers no exact type holds together, or not beside doubles, do not have to.
  if (batch.length > 1 && (unread !== null || columns === null)) return oneByOne(batch, request);
  if (unread !== null) {
    return { results: batch.map(({ window }) => ({ kind: 'failed', window, failure: unread })), target };
  }
  if (columns === null) throw new RangeError('No columns held what was read of one window.');
  await expectBatch(warehouse, plainBytesOf(batch.flatMap(({ answers }) => answers.flatMap(({ pages }) => pages))));
  const results: LoadResult[] = [];
  const sound: Sound[] = [];
  for (const spooled of batch) {
    const found = read.of(spooled);
    const inspected = spooled.answers.map((answer, at) => ({ ...answer, pages: found[at]?.pages ?? [] }));
    const verdict = judgeAnswers(spooled.window, inspected);
    if ('kind' in verdict) results.push(verdict);
    else sound.push({ spooled, windowNo: sound.length, ...verdict });
  }
  if (sound.length === 0) return { results, target };
  const replaced = await loadSound(sound, { ...target, columns }, request);
  return { ...replaced, results: [...results, ...replaced.results] };
}

function refuseOverlap(windows: readonly Window[]): void {
  const overlap = overlapIn(windows);
  if (overlap === null) return;
  const [one, other] = overlap;
  throw new RangeError(`Two windows of one batch replaced the same rows: ${labelOf(one)} and ${labelOf(other)}.`);
}

function overlapIn(windows: readonly Window[]): readonly [Window, Window] | null {
  const inOrder = windows.toSorted((a, b) => (a.replaced.start < b.replaced.start ? -1 : 1));
  for (const [at, window] of inOrder.entries()) {
    const next = inOrder[at + 1];
    if (next !== undefined && replacesSame(window, next)) return [window, next];
  }
  return null;
}

/** Checks and replaces the windows of a batch, in columns that hold what came. */
async function loadSound(sound: readonly Sound[], wide: Target, request: LoadRequest): Promise<Loaded> {
  const staged = stagedOf(sound, wide, request);
  const found = await findingsOf(sound, wide, staged, request.warehouse);
  const results: LoadResult[] = [];
  const proven: Judged[] = [];
  for (const each of sound) {
    const judged = await judgeWindow(each, request, found.of(each));
    if ('kind' in judged) results.push(judged);
    else proven.push(judged);
  }
  const replaced = await replaceJudged(proven, staged, request);
  return { ...replaced, results: [...results, ...replaced.results] };
}

function stagedOf(sound: readonly Sound[], wide: Target, { read, fetchedAt }: LoadRequest): Staged {
  const parts = sound.flatMap(({ spooled, windowNo }) =>
    read
      .of(spooled)
      .flatMap((part, at): Staged['parts'] =>
        part === null || part.rows === 0 ? [] : [{ ...part, partNo: spooled.answers[at]?.partNo ?? at, windowNo }],
      ),
  );
  const windows = new Map(sound.map(({ windowNo, spooled }) => [windowNo, spooled.window]));
  const replacing = new Map([...withheldValues(sound, wide, fetchedAt), ...nameCutWeeks(windows)]);
  return { columns: wide.columns, parts, replacing };
}

/** What the checks make of a window. */
async function judgeWindow(sound: Sound, request: LoadRequest, found: Found): Promise<Judged | LoadResult> {
  const { warehouse, runId } = request;
  const { window } = sound.spooled;
  const { weekStartsOn, failure, rejects } = found;
  if (weekStartsOn !== undefined) return { kind: 'week start', window, weekStartsOn };
  if (failure !== undefined) {
    await recordRejects(warehouse, rejects?.recorded ?? [], runId);
    return { kind: 'failed', window, failure };
  }
  const proven = await proveWindow(sound, request, found);
  if ('kind' in proven) return proven;
  return { ...proven, sound, found };
}
