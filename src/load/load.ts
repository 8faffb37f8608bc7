/**
 * Loading: spooled answers → typed rows → replaced windows.
 *
 * Takes a batch of one slice, as one statement over many files is fastest, and judges every window by itself: loaded
 * wholly with its ledger row, or untouched. Nothing is deleted before the answer was shown to be one whole report with
 * the requested keys, inside its days, unique, exact, and complete by the service's own totals.
 *
 * The column reader turns the bodies of an answer into a Parquet file, in the types of the slice's table or, where one cell is in
 * another form, all as texts, which SQL judges.
 */

import { asFailure, Failure, type FailureCode } from '../errors.ts';
import { labelOf, partId, replacesSame, subjectOf, type Window } from '../model/window.ts';
import type { SavedBody } from '../service/service.ts';
import { plainBytesOf, type Spooled } from '../spool/spool.ts';
import { expectBatch } from '../warehouse/opening.ts';
import { judgeAnswers, type Sound } from './answers.ts';
import { findingsOf, type Found } from './check.ts';
import { ignoredFilters } from './ignored-filters.ts';
import { recordRejects } from './load-ledger.ts';
import type { Loaded, LoadRequest, LoadResult } from './load-result.ts';
import { proveWindow } from './proof.ts';
import { type Judged, replaceJudged } from './judged.ts';
import { stageColumns, type Staged, stageTexts } from './stage.ts';
import { dropTyped } from './window-sql.ts';

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

/** A window whose answer the engine cannot hold: its largest part is to be asked for in smaller ones. */
function tooLarge({ window, answers }: Spooled): LoadResult {
  const bytes = answers.map(({ pages }) => plainBytesOf(pages));
  const largest = Math.max(...bytes);
  const parts = new Set(window.parts.filter((_, at) => bytes[at] === largest).map(partId));
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
  const unread = await request.read.readAll(batch, request.target.columns).then(() => null, asFailure);
  if (unread !== null && batch.length > 1) return oneByOne(batch, request);
  if (unread !== null) {
    return {
      results: batch.map(({ window }) => ({ kind: 'failed', window, failure: unread })),
      target: request.target,
    };
  }
  const isText = (spooled: Spooled): boolean => request.read.of(spooled).some((part) => part?.types === null);
  let { target } = request;
  const results: LoadResult[] = [];
  for (const part of [batch.filter((each) => !isText(each)), batch.filter(isText)]) {
    if (part.length === 0) continue;
    const loaded = await loadPart(part, { ...request, target }, part.some(isText) ? stageTexts : stageColumns);
    ({ target } = loaded);
    results.push(...loaded.results);
  }
  return { results, target };
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

const pagesOf = (batch: readonly Spooled[]): readonly SavedBody[] =>
  batch.flatMap(({ answers }) => answers.flatMap(({ pages }) => pages));

/** Loads windows all of which were read alike. */
async function loadPart(batch: readonly Spooled[], request: LoadRequest, stage: typeof stageColumns): Promise<Loaded> {
  const { warehouse, target, read } = request;
  await expectBatch(warehouse, plainBytesOf(pagesOf(batch)));
  const results: LoadResult[] = [];
  const sound: Sound[] = [];
  for (const spooled of batch) {
    const parts = read.of(spooled).map((answer, partNo) => ({
      pages: answer?.pages ?? [],
      unfollowed: spooled.answers[partNo]?.unfollowed ?? null,
    }));
    const verdict = judgeAnswers(spooled.window, parts);
    if ('kind' in verdict) results.push(verdict);
    else sound.push({ spooled, windowNo: sound.length, ...verdict });
  }
  if (sound.length === 0) return { results, target };
  const staged = await stage(warehouse, sound, read, target);
  try {
    const replaced = await loadStaged(sound, staged, request);
    return { ...replaced, results: [...results, ...replaced.results] };
  } finally {
    // A view stays until the next batch makes its own.
    if (staged.view === null) await warehouse.run(dropTyped.table);
  }
}

/** Checks and replaces the windows of a staged batch. */
async function loadStaged(sound: readonly Sound[], staged: Staged, request: LoadRequest): Promise<Loaded> {
  const { warehouse, target } = request;
  const results: LoadResult[] = [];
  const found = await findingsOf(sound, { ...target, columns: staged.columns }, staged, warehouse);
  const proven: Judged[] = [];
  for (const each of sound) {
    const judged = await judgeWindow(each, request, found.of(each));
    if ('kind' in judged) results.push(judged);
    else proven.push(judged);
  }
  const ignored = await ignoredFilters(
    warehouse,
    target.slice,
    proven.map(({ sound: { windowNo } }) => windowNo),
  );
  const judged = proven.map((each) => {
    const warnings = [...each.warnings, ...(ignored.get(each.sound.windowNo) ?? [])];
    return Object.assign({}, each, { warnings });
  });
  const replaced = await replaceJudged(judged, staged, request);
  return { ...replaced, results: [...results, ...replaced.results] };
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
