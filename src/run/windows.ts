/**
 * Requesting and loading a run's windows, until each is loaded or has failed.
 *
 * Decides what happens to a window that could not be loaded as it is: requested once more, divided into smaller ones, aligned
 * to other weeks, or failed. One failed window never takes the others down; refused credentials take them all.
 */

import type { Failure } from '../errors.ts';
import { type Missed, provenAnswers, unanswered } from '../extract/extract.ts';
import { readKnownValues } from '../load/known-values.ts';
import { rememberAdditivity } from '../tables/slice-metrics.ts';
import type { LoadResult, SplitResult } from '../load/load-result.ts';
import { loadBatch } from '../load/load.ts';
import { narrowedTo, withChanges } from '../tables/target.ts';
import { daysBetween, weekdayName, weekdayOf, type WeekStart } from '../model/calendar.ts';
import type { Slice } from '../model/slice.ts';
import { labelOf, requestId, requestsOf, type Window, windowOf } from '../model/window.ts';
import { joined, rowsPerDay } from '../plan/plan.ts';
import { type KnownValues, splitByPeriods, splitParts } from '../plan/split.ts';
import type { Spooled } from '../spool/spool.ts';
import { learnMaxDays, learnWeekStart } from '../warehouse/ledger.ts';
import {
  beyondReplay,
  courseOf,
  otherWeeks,
  type Round,
  roundAfter,
  unsteadyWeeks,
  withoutProgress,
} from './progress.ts';
import { recordFailed, recordLoaded, type Run, warn } from './run.ts';
import type { AnswerBatch, Planned, Source, Targets } from './source.ts';
import { turnTarget } from './tables.ts';
import { WindowQueue } from './window-queue.ts';

/** How often an unusable answer is requested again. */
const MOST_REPEATS = 2;

/** Loads windows in their order, from where the run gets its answers. */
export async function loadWindows(
  { plans, windows }: Planned,
  run: Run,
  source: Source,
  targets: Targets,
): Promise<void> {
  const loader = new WindowLoader(run, source, targets);
  for (const { slice, table } of plans) if (rowsPerDay(table) === null) loader.sizeByFirstAnswer(slice);
  await loader.load(windows);
}

class WindowLoader {
  readonly #run: Run;
  readonly #source: Source;
  readonly #targets: Targets;
  readonly #queue = new WindowQueue();
  /** By the window's id, what it had before it was divided for falling short. */
  readonly #rounds = new Map<string, Round>();
  /** By slice, the weekday its windows were aligned to since the run began. */
  readonly #weekStarts = new Map<string, WeekStart>();
  /** The slices whose windows were planned before anything was known of their size. */
  readonly #unsized = new Set<string>();
  /** Ends all requests: credentials were refused. */
  readonly #stop = new AbortController();

  constructor(run: Run, source: Source, targets: Targets) {
    this.#run = run;
    this.#source = source;
    this.#targets = targets;
  }

  /** Lets the first answer of a slice say how long its other windows are. */
  sizeByFirstAnswer({ name }: Slice): void {
    if (this.#source.canAsk) this.#unsized.add(name);
  }

  async load(windows: readonly Window[]): Promise<void> {
    const { record, signal } = this.#run;
    this.#queue.putFirst(windows.map((window) => unanswered(window)));
    try {
      const until = AbortSignal.any([signal, this.#stop.signal]);
      const came = (window: Window, bytes: number): void => this.#joinWaiting(window, bytes);
      for await (const batch of this.#source.answers(this.#queue.waiting, this.#targets, until, came)) {
        for (const miss of batch.missed) await this.#afterMiss(miss);
        for (const { slice, requests } of batch.asked) record.asked(slice, requests);
        const results = await this.#loadCurrent(batch);
        for (const result of results) await this.#afterLoad(result, batch.spooled);
        await this.#source.keep(batch.spooled, results);
        await this.#source.discard(this.#queue.unneeded(batch.spooled.flatMap(({ answers }) => answers)));
      }
    } finally {
      // What is still under way when the disk gave out would be written for nobody.
      this.#stop.abort();
      for (const slice of this.#queue.openSlices) record.unfinished(slice);
    }
  }

  /** Loads a batch, but for windows of a meaning, or of weeks, that are no longer the target's. */
  async #loadCurrent({ spooled, fetchedAt }: AnswerBatch): Promise<readonly LoadResult[]> {
    const [first] = spooled;
    const target = first === undefined ? undefined : this.#targets.get(first.window.slice.name);
    const { warehouse, runId, request, signal } = this.#run;
    if (first === undefined || target === undefined || signal.aborted) return [];
    for (const { window } of spooled) this.#queue.close(window);
    const { slice } = target;
    // The ledger learns which metrics came, so that those added since the answers were archived are due.
    const loaded = await loadBatch(
      spooled.filter(({ window }) => this.#isCurrent(window)),
      {
        warehouse,
        runId,
        target: narrowedTo(target, first.window.slice.metrics),
        fetchedAt,
        // Whatever was archived had been accepted, losses too.
        acceptLoss: request.acceptLoss || !this.#source.canAsk,
        read: this.#source.read,
      },
    );
    this.#targets.set(slice.name, withChanges(target, loaded.target));
    return loaded.results;
  }

  /**
   * Whether a window has the meaning and the weeks of its target. A table that was empty turns in place: only its weeks tell a
   * window that was under way meanwhile, and is requested again.
   */
  #isCurrent({ slice, fingerprint, replaced }: Window): boolean {
    if (!this.#source.canAsk) return true;
    const turnedTo = this.#weekStarts.get(slice.name);
    if (fingerprint !== this.#targets.get(slice.name)?.fingerprint) return false;
    return turnedTo === undefined || weekdayOf(replaced.start) === turnedTo;
  }

  async #afterMiss(missed: Missed): Promise<void> {
    const { window, failure, heavy } = missed;
    const { signal, record } = this.#run;
    if (signal.aborted || this.#stop.signal.aborted) return;
    if (failure.code === 'CREDENTIALS_REFUSED') {
      this.#queue.stop();
      this.#stop.abort(failure);
      record.fail(failure);
      return;
    }
    this.#queue.close(window);
    // The days of one that is not current were requested again under the weeks the service has.
    if (!this.#isCurrent(window)) return;
    if (heavy.size > 0) await this.#divide(missed);
    else recordFailed(failure, window, this.#run);
    await this.#source.discard(this.#queue.unneeded([...missed.answered.values()]));
  }

  /** Acts on what became of a window. */
  async #afterLoad(result: LoadResult, batch: readonly Spooled[]): Promise<void> {
    const { window } = result;
    const { canAsk } = this.#source;
    const spooled = batch.find((each) => each.window.id === window.id);
    if (result.kind === 'loaded') {
      this.#rounds.delete(window.id);
      await recordLoaded(result, this.#run);
      if (!canAsk) await this.#learnWeek(window);
    } else if (result.kind === 'failed') recordFailed(result.failure, window, this.#run);
    else if (result.kind === 'split' && spooled !== undefined) await this.#afterSplit(result, spooled);
    else if (result.kind === 'week start' && canAsk) await this.#afterWeekStart(window, result.weekStartsOn);
    else this.#afterDoubt(window, result.kind === 'week start' ? otherWeeks() : result.failure, spooled?.attempt ?? 0);
  }

  /** Joins the waiting windows of a slice whose first answer came, where they may be twice as long. */
  #joinWaiting({ slice, asked }: Window, bytes: number): void {
    if (!this.#unsized.delete(slice.name)) return;
    const waiting = this.#queue.waitingOf(slice);
    const longer = joined(waiting, bytes / daysBetween(asked.start, asked.end));
    if (2 * longer.length > waiting.length) return;
    this.#queue.replaceWaiting(slice, longer);
    this.#run.emit({ type: 'windows_joined', slice: slice.name, from: waiting.length, into: longer.length });
  }

  /** Requests a window once more, unless that was done often enough or cannot be done. */
  #afterDoubt(window: Window, failure: Failure, attempt: number): void {
    if (!this.#source.canAsk || attempt >= MOST_REPEATS) {
      recordFailed(failure, window, this.#run);
      return;
    }
    const where = { slice: window.slice.name, window: labelOf(window) };
    this.#run.emit({ type: 'window_asked_again', ...where, because: failure.message });
    this.#queue.putFirst([unanswered(window, attempt + 1)]);
  }

  /** Divides a window that fell short or is too large, takes its rows for whole, or fails it. */
  async #afterSplit(result: SplitResult, spooled: Spooled): Promise<void> {
    const { window, failure, shortfall, parts, values } = result;
    const { canAsk } = this.#source;
    const before = this.#rounds.get(window.id);
    const isOnePeriod = window.periods.length === 1;
    const course =
      shortfall === null || (canAsk && !isOnePeriod)
        ? 'divide'
        : canAsk
          ? courseOf(result, shortfall, before)
          : shortfall.isAssumed
            ? 'not additive'
            : 'fail';
    if (course === 'not additive' && shortfall !== null) {
      await this.#stopSumming([...shortfall.differences.keys()], spooled);
      this.#queue.putFirst([
        unanswered(canAsk ? windowOf(window.slice, window.fingerprint, window.periods) : window, spooled.attempt),
      ]);
    } else if (course === 'fail' || !canAsk) {
      recordFailed(canAsk ? withoutProgress(failure) : beyondReplay(failure, window), window, this.#run);
    } else {
      const answered = provenAnswers(spooled, parts);
      const divided = await this.#divide({ ...spooled, failure, heavy: parts, answered }, values);
      if (divided === null || shortfall === null) this.#rounds.delete(window.id);
      else this.#rounds.set(window.id, roundAfter(shortfall, before, { from: window, into: divided }));
    }
  }

  /**
   * Puts a window's halves into the queue, or the window in more parts, of which those that were answered are not requested
   * again; remembers what was too heavy; fails a window that cannot be divided. Returns the window in more parts, else null.
   */
  async #divide(missed: Missed, seen: KnownValues = new Map()): Promise<Window | null> {
    const { window, failure, heavy, attempt } = missed;
    const { slice, fingerprint } = window;
    const { warehouse, planAt, emit } = this.#run;
    // What was too heavy is not made larger.
    this.#unsized.delete(slice.name);
    const where = { slice: slice.name, window: labelOf(window), because: failure.message };
    const halves = splitByPeriods(window);
    if (halves !== null) {
      const days = Math.max(...halves.map(({ asked }) => daysBetween(asked.start, asked.end)));
      await learnMaxDays(warehouse, { slice: slice.name, fingerprint }, days, planAt);
      emit({ type: 'window_split', ...where, into: halves.length });
      // First what was requested first: the newest.
      this.#queue.putFirst(halves.toReversed().map((half) => unanswered(half)));
      return null;
    }
    const target = this.#targets.get(slice.name);
    const held: KnownValues = target === undefined ? new Map() : await readKnownValues(warehouse, target);
    // An answer cut to one row shows one value of each dimension, and nothing to divide by.
    const divided = splitParts(window, heavy, new Map([...held, ...seen])) ?? splitParts(window, heavy, held);
    if (divided === null) {
      recordFailed(failure, window, this.#run);
      return null;
    }
    emit({ type: 'window_split', ...where, into: divided.parts.length });
    const { whole } = missed;
    const wanted = new Set(requestsOf(divided).map(requestId));
    // Not the batches of a part that was divided.
    const answered = new Map([...missed.answered].filter(([id]) => wanted.has(id)));
    this.#queue.putFirst([{ window: divided, attempt, answered, whole }]);
    return divided;
  }

  /** Remembers and tells that metrics do not add up in a slice; its target no longer sums them. */
  async #stopSumming(metrics: readonly string[], { window, requestedAt }: Spooled): Promise<void> {
    const { name } = window.slice;
    const target = this.#targets.get(name);
    if (target === undefined) return;
    for (const metric of metrics) {
      const message = `The rows' ${metric} did not add up to the service's total, and smaller questions brought no more rows: it is not additive here, and no longer summed.`;
      await warn({ code: 'NOT_ADDITIVE', message }, window, this.#run);
    }
    const shown = { notAdditive: metrics, addsUp: [] };
    this.#targets.set(name, await rememberAdditivity(this.#run.warehouse, target, shown, requestedAt));
  }

  /** The weekday an archived answer's weeks begin on, which the service said when it was loaded first. */
  async #learnWeek({ slice, replaced }: Window): Promise<void> {
    const target = this.#targets.get(slice.name);
    if (slice.grain !== 'week' || target === undefined) return;
    const { fingerprint } = target;
    await learnWeekStart(this.#run.warehouse, { slice: slice.name, fingerprint }, weekdayOf(replaced.start));
  }

  async #afterWeekStart(window: Window, weekStartsOn: WeekStart): Promise<void> {
    const { slice } = window;
    // Another window that was under way has said so already.
    if (!this.#isCurrent(window)) return;
    const turnedTo = this.#weekStarts.get(slice.name);
    if (turnedTo !== undefined) {
      recordFailed(unsteadyWeeks(window, weekStartsOn, turnedTo), window, this.#run);
      return;
    }
    this.#weekStarts.set(slice.name, weekStartsOn);
    const turned = await turnTarget({ run: this.#run, targets: this.#targets }, slice, weekStartsOn);
    // Only now: windows are taken off the queue all the while.
    this.#queue.replaceWaiting(slice, turned);
    const message = `The service begins weeks on ${weekdayName(weekStartsOn)}; its windows were aligned to that day.`;
    await warn({ code: 'WEEK_START', message }, window, this.#run);
  }
}
