/**
 * Asking for and loading a run's windows, until each is loaded or has failed.
 *
 * Decides what happens to a window that could not be loaded as it is: asked once more, split into smaller ones, aligned
 * anew, or failed. One failed window never takes the others down; refused credentials take them all.
 */

import type { Config } from './config/config.ts';
import { extract, type Asking, type Missed, type PartAnswers } from './extract/extract.ts';
import type { LoadRequest } from './load/load.ts';
import { readKnownValues } from './load/known-values.ts';
import type { LoadResult } from './load/load-result.ts';
import type { Target } from './load/target.ts';
import { daysBetween } from './model/calendar.ts';
import type { Slice } from './model/slice.ts';
import { labelOf, type Window } from './model/window.ts';
import { MOST_UNPROVEN_PARTS, splitByPeriods, splitParts } from './plan/split.ts';
import { archiveLoaded } from './run-archive.ts';
import type { Service } from './service/service.ts';
import type { Spool, Spooled } from './spool/spool.ts';
import { learnMaxDays, learnWeekStart, relaxMaxDays } from './warehouse/ledger.ts';
import { loadBatch, recordFailed, recordLoaded, warn, type Outcomes } from './window-outcome.ts';

export interface WindowRun extends Omit<LoadRequest, 'target'>, Outcomes {
  readonly config: Pick<Config, 'archiveMs'>;
  readonly service: Service;
  readonly spool: Spool;
  readonly maxConcurrency: number;
  /** Throws when finality would be decided by a wrong clock; asked before anything is loaded. */
  readonly checkClock: () => void;
  /** By slice name; replaced as columns widen. */
  readonly targets: Map<string, Target>;
  /** Plans a slice once more, after the service's week start was learned. */
  readonly replan: (slice: Slice) => Promise<readonly Window[]>;
  readonly signal: AbortSignal;
}

/** How often an unusable answer is asked for again. */
const MOST_REPEATS = 2;

const nothing: PartAnswers = new Map();
const afresh = (window: Window): Asking => ({ window, answered: nothing });

export async function runWindows(windows: readonly Window[], run: WindowRun): Promise<void> {
  const queue = windows.map(afresh);
  const sizes = new WindowSizes();
  const stop = new AbortController();
  const signal = AbortSignal.any([run.signal, stop.signal]);
  const tracked = { ...run, sizes };
  try {
    for await (const batch of extract(queue, { ...run, signal })) {
      for (const miss of batch.missed) await afterMiss(miss, queue, tracked, stop);
      for (const { slice, requests } of batch.asked) run.record.asked(slice, requests);
      run.checkClock();
      const results = await loadCurrent(batch.spooled, run);
      for (const result of results) await afterLoad(result, queue, tracked);
      await archiveLoaded(batch.spooled, results, run);
      await Promise.all(batch.spooled.map((answer) => run.spool.discard(answer)));
    }
    for (const { slice, fingerprint } of run.targets.values()) {
      const days = sizes.lightDays(slice.name);
      if (days !== null) await relaxMaxDays(run.warehouse, slice.name, fingerprint, days);
    }
  } finally {
    // What is still under way when the disk gave out would be written for nobody.
    stop.abort();
  }
}

/** How large the windows of each slice were, and which were too heavy. */
class WindowSizes {
  readonly #loadedDays = new Map<string, number>();
  readonly #heavy = new Set<string>();

  loaded({ slice, asked }: Window): void {
    const days = daysBetween(asked.start, asked.end);
    this.#loadedDays.set(slice.name, Math.max(days, this.#loadedDays.get(slice.name) ?? 0));
  }

  tooHeavy({ slice }: Window): void {
    this.#heavy.add(slice.name);
  }

  /** Days of the largest window that was loaded of a slice none of whose windows were too heavy; else null. */
  lightDays(slice: string): number | null {
    return this.#heavy.has(slice) ? null : (this.#loadedDays.get(slice) ?? null);
  }
}

type TrackedRun = WindowRun & { readonly sizes: WindowSizes };

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

async function afterMiss(missed: Missed, queue: Asking[], run: TrackedRun, stop: AbortController): Promise<void> {
  if (run.signal.aborted) return;
  const { window, failure, heavy } = missed;
  if (failure.code === 'CREDENTIALS_REFUSED') {
    queue.length = 0;
    stop.abort(failure);
    run.record.fail(failure);
  } else if (stop.signal.aborted) {
    return;
  } else if (heavy.length > 0) {
    await split(missed, queue, run);
  } else {
    recordFailed(failure, window, run);
  }
}

async function afterLoad(result: LoadResult, queue: Asking[], run: TrackedRun): Promise<void> {
  const { window } = result;
  const where = { slice: window.slice.name, window: labelOf(window) };
  switch (result.kind) {
    case 'loaded': {
      run.sizes.loaded(window);
      await recordLoaded(result, run);
      return;
    }
    case 'ask again': {
      if (window.attempt >= MOST_REPEATS) {
        recordFailed(result.failure, window, run);
        return;
      }
      run.emit({ type: 'window_asked_again', ...where, because: result.failure.message });
      queue.push(afresh({ ...window, attempt: window.attempt + 1 }));
      return;
    }
    case 'split': {
      const heavy = window.parts.slice(result.partNo, result.partNo + 1);
      await split({ window, failure: result.failure, heavy, answered: nothing }, queue, run);
      return;
    }
    case 'week start': {
      await learnWeekStart(run.warehouse, window.slice.name, window.fingerprint, result.weekStartsOn);
      const gone = queue.filter((other) => other.window.slice === window.slice);
      const kept = queue.filter((other) => other.window.slice !== window.slice);
      const come = await run.replan(window.slice);
      run.record.replan(window.slice, gone.length + 1, come.length);
      queue.splice(0, queue.length, ...kept, ...come.map(afresh));
      const message = `The service begins weeks on ${result.weekStartsOn === 0 ? 'Sunday' : 'Monday'}; the windows were aligned anew.`;
      await warn({ code: 'WEEK_START', message }, window, run);
      return;
    }
    case 'failed': {
      recordFailed(result.failure, window, run);
    }
  }
}

/**
 * Puts a window's halves into the queue, or the window in more parts, of which those that were answered are not asked for
 * again; remembers what was too heavy; fails a window that cannot be divided.
 */
async function split({ window, failure, heavy, answered }: Missed, queue: Asking[], run: TrackedRun): Promise<void> {
  const { slice, fingerprint } = window;
  run.sizes.tooHeavy(window);
  const where = { slice: slice.name, window: labelOf(window), because: failure.message };
  const halves = splitByPeriods(window);
  if (halves !== null) {
    const days = Math.max(...halves.map(({ asked }) => daysBetween(asked.start, asked.end)));
    await learnMaxDays(run.warehouse, slice.name, fingerprint, days);
    run.record.replan(slice, 1, halves.length);
    run.emit({ type: 'window_split', ...where, into: halves.length });
    queue.push(...halves.map(afresh));
    await run.spool.discard({ answers: [...answered.values()] });
    return;
  }
  const target = run.targets.get(slice.name);
  const known = target === undefined ? new Map<string, never>() : await readKnownValues(run.warehouse, target);
  const mostParts = failure.code === 'DATA_INCOMPLETE' ? MOST_UNPROVEN_PARTS : undefined;
  const divided = splitParts(window, heavy, known, mostParts);
  if (divided === null) {
    recordFailed(failure, window, run);
    await run.spool.discard({ answers: [...answered.values()] });
    return;
  }
  run.emit({ type: 'window_split', ...where, into: divided.parts.length });
  queue.push({ window: divided, answered });
}
