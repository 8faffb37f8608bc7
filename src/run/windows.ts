/**
 * Asking for and loading a run's windows, until each is loaded or has failed.
 *
 * Decides what happens to a window that could not be loaded as it is: asked once more, split into smaller ones, aligned
 * to other weeks, or failed. One failed window never takes the others down; refused credentials take them all.
 */

import type { Config } from '../config/config.ts';
import type { Failure } from '../errors.ts';
import { extract, type Asking, type Extraction, type Missed, type PartAnswers } from '../extract/extract.ts';
import type { ColumnAnswers } from '../load/column-answers.ts';
import type { LoadRequest } from '../load/load-request.ts';
import { readKnownValues, type KnownValue } from '../load/known-values.ts';
import type { LoadResult, Shortfall } from '../load/load-result.ts';
import type { Target } from '../load/target.ts';
import { daysBetween, type WeekStart } from '../model/calendar.ts';
import type { Part } from '../model/part.ts';
import type { Slice } from '../model/slice.ts';
import { labelOf, windowOf, type Window } from '../model/window.ts';
import { splitByPeriods, splitParts } from '../plan/split.ts';
import { archiveLoaded } from './archive.ts';
import type { SavedBody, Service } from '../service/service.ts';
import type { Spool, Spooled } from '../spool/spool.ts';
import { learnMaxDays, relaxMaxDays } from '../warehouse/ledger.ts';
import { barNext, divisionsOf, told, unbarred, withoutProgress, type Barred, type Division } from './division.ts';
import { isWhole, stopSumming, suspectedBy } from './odd-metrics.ts';
import { loadBatch, recordFailed, recordLoaded, warn, type Outcomes } from './outcome.ts';
import { WindowSizes } from './window-sizes.ts';

export interface WindowRun extends Omit<LoadRequest, 'target'>, Outcomes {
  readonly columns: ColumnAnswers;
  readonly config: Pick<Config, 'archiveMs'>;
  readonly service: Service;
  readonly spool: Spool;
  readonly maxConcurrency: number;
  /** Throws when finality would be decided by a wrong clock; asked before anything is loaded. */
  readonly checkClock: () => void;
  /** By slice name; replaced as columns widen. */
  readonly targets: Map<string, Target>;
  /** Takes up a slice once more, after it was learned on which day the service begins its weeks. */
  readonly turnWeeks: (slice: Slice, weekStartsOn: WeekStart) => Promise<readonly Window[]>;
  readonly signal: AbortSignal;
}

/** How often an unusable answer is asked for again. */
const MOST_REPEATS = 2;

const nothing: PartAnswers = new Map();
const unanswered = (window: Window): Asking => ({ window, answered: nothing, whole: null });

/** Asks for windows in their order. */
export async function runWindows(windows: readonly Window[], run: WindowRun): Promise<void> {
  const queue = windows.map(unanswered);
  const stop = new AbortController();
  const signal = AbortSignal.any([run.signal, stop.signal]);
  const tracked = {
    ...run,
    queue,
    sizes: new WindowSizes(),
    divisions: new Map<Part, Division>(),
    barred: new Map<string, Barred>(),
  };
  try {
    const isArchived = run.config.archiveMs !== null;
    const read: Extraction['read'] = async (window, pages) => readColumns(window, pages, run);
    for await (const batch of extract(queue, { ...run, signal, read, isArchived })) {
      for (const miss of batch.missed) await afterMiss(miss, tracked, stop);
      for (const { slice, requests } of batch.asked) run.record.asked(slice, requests);
      const trouble = run.columns.takeTrouble();
      if (trouble !== null) await warn(trouble, null, run);
      run.checkClock();
      const results = await loadCurrent(batch.spooled, run);
      const kept = new Set<Spooled['answers'][number]>();
      for (const result of results) {
        for (const answer of await afterLoad(result, batch.spooled, tracked)) kept.add(answer);
      }
      await archiveLoaded(batch.spooled, results, run);
      const done = batch.spooled.flatMap(({ answers }) => answers.filter((answer) => !kept.has(answer)));
      await run.columns.discard(done);
      await run.spool.discard({ answers: done });
    }
    for (const { slice, fingerprint } of run.targets.values()) {
      const days = tracked.sizes.lightDays(slice.name);
      if (days !== null) await relaxMaxDays(run.warehouse, slice.name, fingerprint, days);
    }
  } finally {
    // What is still under way when the disk gave out would be written for nobody.
    stop.abort();
  }
}

/** Reads an answer into the columns of its slice as they are now. */
async function readColumns(window: Window, pages: readonly SavedBody[], run: WindowRun): Promise<boolean> {
  const target = run.targets.get(window.slice.name);
  if (target === undefined || target.fingerprint !== window.fingerprint) return false;
  return run.columns.read(pages, target.columns);
}

interface TrackedRun extends WindowRun {
  readonly queue: Asking[];
  readonly sizes: WindowSizes;
  /** By part, the division it came from. */
  readonly divisions: Map<Part, Division>;
  /** By slice and window. */
  readonly barred: Map<string, Barred>;
}

/** Loads a batch, but for windows of a meaning that is no longer the target's. */
async function loadCurrent(batch: readonly Spooled[], run: WindowRun): Promise<readonly LoadResult[]> {
  const [first] = batch;
  const target = first === undefined ? undefined : run.targets.get(first.window.slice.name);
  if (target === undefined || run.signal.aborted) return [];
  const current = batch.filter(({ window }) => window.fingerprint === target.fingerprint);
  const loaded = await loadBatch(current, { ...run, target });
  run.targets.set(target.slice.name, loaded.target);
  return loaded.results;
}

async function afterMiss(missed: Missed, run: TrackedRun, stop: AbortController): Promise<void> {
  if (run.signal.aborted) return;
  const { window, failure, heavy } = missed;
  if (failure.code === 'CREDENTIALS_REFUSED') {
    run.queue.length = 0;
    stop.abort(failure);
    run.record.fail(failure);
  } else if (stop.signal.aborted) {
    return;
  } else if (heavy.length > 0) {
    await split(missed, run);
  } else {
    recordFailed(failure, window, run);
  }
}

/** Acts on what became of a window; returns the answers that are still needed. */
async function afterLoad(
  result: LoadResult,
  batch: readonly Spooled[],
  run: TrackedRun,
): Promise<readonly Spooled['answers'][number][]> {
  const { window } = result;
  const where = { slice: window.slice.name, window: labelOf(window) };
  switch (result.kind) {
    case 'loaded': {
      run.sizes.loaded(window);
      await recordLoaded(result, run);
      break;
    }
    case 'ask again': {
      const isPart = !batch.some((spooled) => spooled.window === window);
      if (isPart) run.record.replan(window.slice, 0, 1);
      if (window.attempt >= MOST_REPEATS) {
        recordFailed(result.failure, window, run);
        break;
      }
      run.emit({ type: 'window_asked_again', ...where, because: result.failure.message });
      run.queue.unshift(unanswered({ ...window, attempt: window.attempt + 1 }));
      break;
    }
    case 'split': {
      const spooled = batch.find((each) => each.window === window);
      const hopeless = window.periods.length > 1 ? null : withoutProgress(result, run.divisions);
      const odd = isWhole(result, hopeless !== null) ? suspectedBy(result) : [];
      const target = run.targets.get(window.slice.name);
      if (odd.length > 0 && spooled !== undefined && target !== undefined) {
        run.targets.set(window.slice.name, await stopSumming(odd, target, spooled, run));
        run.queue.unshift(unanswered(windowOf(window.slice, window.fingerprint, window.periods)));
        break;
      }
      if (spooled === undefined || hopeless !== null) {
        recordFailed(hopeless === null ? result.failure : told(result.failure, hopeless), window, run);
        break;
      }
      const answered = provenAnswers(spooled, result.shortfalls);
      const heavy = [...result.shortfalls.keys()];
      const isKept = await split(
        { window, failure: result.failure, heavy, answered, whole: spooled.whole },
        run,
        result,
      );
      return isKept ? spooled.answers.filter((_, at) => answered.has(window.parts[at] ?? {})) : [];
    }
    case 'week start': {
      await afterWeekStart(window, result.weekStartsOn, run);
      break;
    }
    case 'failed': {
      const spooled = batch.find((each) => each.window === window);
      if (spooled === undefined) run.record.replan(window.slice, 0, 1);
      else if (result.losesRows === true && (await divideAnew(spooled, result.failure, run))) break;
      recordFailed(result.failure, window, run);
    }
  }
  return [];
}

/** The parts of a window that were shown to be complete, so that only the others are asked for again. */
function provenAnswers(
  { window, answers, requestedAt, receivedAt }: Spooled,
  shortfalls: ReadonlyMap<Part, Shortfall>,
): PartAnswers {
  return new Map(
    window.parts.flatMap((part, at) => {
      const answer = answers[at];
      return answer === undefined || shortfalls.has(part)
        ? []
        : [[part, { ...answer, requestedAt, receivedAt }] as const];
    }),
  );
}

/** Divides a window by other dimensions than those whose parts lost rows; false when none is left. */
async function divideAnew({ window, whole }: Spooled, failure: Failure, run: TrackedRun): Promise<boolean> {
  const { slice, fingerprint, periods } = window;
  const undivided = windowOf(slice, fingerprint, periods);
  const known = await heldValues(slice, run);
  let barred = barNext(window.parts, run.barred.get(keyOf(window)));
  for (; barred !== null; barred = barNext(window.parts, barred)) {
    const divided = splitParts(undivided, undivided.parts, unbarred(known, barred));
    if (divided === null) continue;
    run.barred.set(keyOf(window), barred);
    const where = { slice: slice.name, window: labelOf(window), because: failure.message };
    run.emit({ type: 'window_split', ...where, into: divided.parts.length });
    run.queue.unshift({ window: divided, answered: nothing, whole });
    return true;
  }
  return false;
}

const keyOf = (window: Window): string => `${window.slice.name} ${labelOf(window)}`;

async function heldValues({ name }: Slice, run: TrackedRun): Promise<ReadonlyMap<string, readonly KnownValue[]>> {
  const target = run.targets.get(name);
  return target === undefined ? new Map() : readKnownValues(run.warehouse, target);
}

type Split = Extract<LoadResult, { readonly kind: 'split' }>;

async function afterWeekStart(window: Window, weekStartsOn: WeekStart, run: TrackedRun): Promise<void> {
  const { slice } = window;
  // Another window of the same batch may have said so already.
  if (run.targets.get(slice.name)?.fingerprint !== window.fingerprint || isTurned(window, run)) return;
  const gone = run.queue.filter((other) => other.window.slice === slice);
  const kept = run.queue.filter((other) => other.window.slice !== slice);
  const come = await run.turnWeeks(slice, weekStartsOn);
  run.record.replan(slice, gone.length + 1, come.length);
  run.queue.splice(0, run.queue.length, ...kept, ...come.map(unanswered));
  const message = `The service begins weeks on ${weekStartsOn === 0 ? 'Sunday' : 'Monday'}; its windows were aligned to that day.`;
  await warn({ code: 'WEEK_START', message }, window, run);
}

/** Whether the queue already holds windows of the slice that begin on another weekday. */
function isTurned(window: Window, { queue }: TrackedRun): boolean {
  const weekday = (each: Window): number => new Date(`${each.replaced.start}T00:00:00Z`).getUTCDay();
  return queue.some(({ window: other }) => other.slice === window.slice && weekday(other) !== weekday(window));
}

/**
 * Puts a window's halves into the queue, or the window in more parts, of which those that were answered are not asked for
 * again; remembers what was too heavy; fails a window that cannot be divided. Says whether the answered parts are kept.
 */
async function split(
  { window, failure, heavy, answered, whole }: Missed,
  run: TrackedRun,
  seen: Pick<Split, 'shortfalls' | 'values'> = { shortfalls: new Map(), values: new Map() },
): Promise<boolean> {
  const { slice, fingerprint } = window;
  const isHeavy = failure.code !== 'DATA_INCOMPLETE';
  run.sizes.tooHeavy(window);
  const where = { slice: slice.name, window: labelOf(window), because: failure.message };
  const halves = splitByPeriods(window);
  if (halves !== null) {
    const days = Math.max(...halves.map(({ asked }) => daysBetween(asked.start, asked.end)));
    await learnMaxDays(run.warehouse, slice.name, fingerprint, days);
    run.record.replan(slice, 1, halves.length);
    run.emit({ type: 'window_split', ...where, into: halves.length });
    // First what was asked for first: the newest.
    run.queue.unshift(...halves.toReversed().map(unanswered));
    if (isHeavy) await run.spool.discard({ answers: [...answered.values()] });
    return false;
  }
  const held = await heldValues(slice, run);
  const barred = run.barred.get(keyOf(window));
  const divideBy = (known: typeof held): Window | null => splitParts(window, heavy, unbarred(known, barred));
  // An answer cut to one row shows one value of each dimension, and nothing to divide by.
  const divided = divideBy(new Map([...held, ...seen.values])) ?? divideBy(held);
  if (divided === null) {
    recordFailed(failure, window, run);
    if (isHeavy) await run.spool.discard({ answers: [...answered.values()] });
    return false;
  }
  for (const [part, halves] of divisionsOf(window, divided)) {
    const shortfall = seen.shortfalls.get(part);
    if (shortfall === undefined) continue;
    for (const half of halves) run.divisions.set(half, { shortfall, halves });
  }
  run.emit({ type: 'window_split', ...where, into: divided.parts.length });
  run.queue.unshift({ window: divided, answered, whole });
  return true;
}
