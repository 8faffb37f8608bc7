/**
 * Requests and loads a run's windows, until each is loaded or has failed.
 *
 * Decides what happens to a window that could not be loaded as it is: it is requested again, divided into smaller ones, aligned
 * to other weeks, or failed. One failed window never fails the others; refused credentials fail them all.
 */

import type { Failure } from '../errors.ts';
import { type PendingWindow, type Missed, provenAnswers, unanswered } from '../extract/extract.ts';
import { readKnownValues } from '../load/known-values.ts';
import { rememberAdditivity } from '../tables/slice-metrics.ts';
import { realignWeeks } from '../tables/slice-table.ts';
import type { LoadResult, SplitResult } from '../load/load-result.ts';
import { loadBatch } from '../load/load.ts';
import { withMetrics, withChanges } from '../tables/target.ts';
import { daysBetween, weekdayName, weekdayOf, type WeekStart } from '../model/calendar.ts';
import { tableOf } from '../model/ledger.ts';
import { labelOf, requestId, requestsOf, type Window, windowOf } from '../model/window.ts';
import { byPriority, joined, rowsPerDay, type SlicePlan } from '../plan/plan.ts';
import { type KnownValues, splitByPeriods, splitParts } from '../plan/split.ts';
import type { Spooled } from '../spool/spool.ts';
import { saveMaxDays, readSliceLedger } from '../warehouse/ledger.ts';
import { beyondReplay, courseOf, otherWeeks, type Round, roundAfter } from './progress.ts';
import { recordFailed, recordLoaded, type Run, warn } from './run.ts';
import type { AnswerBatch, Answers, Source, Targets } from './source.ts';
import { planTargets } from './tables.ts';

/** How often an unusable answer is requested again. */
const MAX_REPEATS = 2;

/** Loads the windows of all plans in their order, from the run's source. */
export async function loadWindows(
  plans: readonly SlicePlan[],
  run: Run,
  source: Source,
  targets: Targets,
): Promise<void> {
  const ofUnknownSize = plans.filter(
    ({ table }) => source.canRequest && rowsPerDay(table) === null,
  );
  const loader = new WindowLoader(
    run,
    source,
    targets,
    new Set(ofUnknownSize.map(({ slice }) => slice.name)),
  );
  await loader.load(byPriority(plans));
}

class WindowLoader {
  readonly #run: Run;
  readonly #source: Source;
  readonly #targets: Targets;
  /** The waiting windows, the next one first; the source takes them off. */
  readonly #waiting: PendingWindow[] = [];
  /** By window id: the state before the window was divided because it fell short. */
  readonly #rounds = new Map<string, Round>();
  /** By slice: the weekday that its windows were aligned to in this run. */
  readonly #weekStarts = new Map<string, WeekStart>();
  /** Slices planned before anything was known of their size; their first answer shows how long their other windows may be. */
  readonly #unsized: Set<string>;
  /** Files of answers that windows put back during this batch still need; some may be under way again before it ends. */
  readonly #kept = new Set<string>();
  /** Ends all requests, if credentials are refused or loading ends. */
  readonly #stop = new AbortController();

  constructor(run: Run, source: Source, targets: Targets, unsized: Set<string>) {
    this.#run = run;
    this.#source = source;
    this.#targets = targets;
    this.#unsized = unsized;
  }

  async load(windows: readonly Window[]): Promise<void> {
    const { record, signal } = this.#run;
    for (const { slice } of windows) record.planMore(slice.name, 1);
    this.#waiting.push(...windows.map((window) => unanswered(window)));
    try {
      const until = AbortSignal.any([signal, this.#stop.signal]);
      const onAnswer = (window: Window, bytes: number): void => this.#joinWaiting(window, bytes);
      for await (const batch of this.#source.answers(
        this.#waiting,
        this.#targets,
        until,
        onAnswer,
      )) {
        for (const miss of batch.missed) await this.#afterMiss(miss);
        for (const { slice, requests } of batch.requested) record.countRequests(slice, requests);
        const results = await this.#loadCurrent(batch);
        for (const result of results) await this.#afterLoad(result, batch.spooled);
        await this.#source.keep(batch.spooled, results);
        await this.#discardUnneeded(batch.spooled.flatMap(({ answers }) => answers));
        this.#kept.clear();
      }
    } finally {
      // After a disk failure, requests still under way would be written for nothing.
      this.#stop.abort();
    }
  }

  /** Puts what is to be requested in place of a window at the front of the queue. */
  #putBack({ slice }: Window, pending: readonly PendingWindow[]): void {
    this.#run.record.planMore(slice.name, pending.length - 1);
    this.#waiting.unshift(...pending);
    for (const path of pending.flatMap(({ answered }) => [...answered.values()].flatMap(pathsOf)))
      this.#kept.add(path);
  }

  /** Replaces the waiting windows of a slice; the new ones go to the end of the queue. */
  #replaceWaiting(slice: string, windows: readonly Window[]): void {
    const others = this.#waiting.filter(({ window }) => window.slice.name !== slice);
    this.#run.record.planMore(slice, windows.length + others.length - this.#waiting.length);
    this.#waiting.splice(0, Infinity, ...others, ...windows.map((window) => unanswered(window)));
  }

  async #discardUnneeded(answers: Answers): Promise<void> {
    await this.#source.discard(
      answers.filter((answer) => pathsOf(answer).every((path) => !this.#kept.has(path))),
    );
  }

  /** Loads a batch, except windows whose weeks the target no longer has. */
  async #loadCurrent({ spooled, fetchedAt }: AnswerBatch): Promise<readonly LoadResult[]> {
    const [first] = spooled;
    const target = first === undefined ? undefined : this.#targets.get(first.window.slice.name);
    const { warehouse, record, runId, request, signal } = this.#run;
    if (first === undefined || target === undefined || signal.aborted) return [];
    const current = spooled.filter(({ window }) => this.#isCurrent(window));
    const loaded = await loadBatch(current, {
      warehouse,
      runId,
      // The ledger records the metrics received, so that metrics added after the answers were archived are due.
      target: withMetrics(target, first.window.slice.metrics),
      fetchedAt,
      // Archived answers were accepted when they were loaded, losses included.
      acceptLoss: request.acceptLoss || !this.#source.canRequest,
      read: this.#source.read,
    });
    this.#targets.set(target.slice.name, withChanges(target, loaded.target));
    // Each part of a partly loaded window counts as one from now on; the days of a window that is not current wait in others.
    record.planMore(target.slice.name, loaded.results.length - spooled.length);
    return loaded.results;
  }

  /** Whether a window has the current weeks of its slice; false if they changed while it was under way. */
  #isCurrent({ slice, replaced }: Window): boolean {
    const turnedTo = this.#weekStarts.get(slice.name);
    return turnedTo === undefined || weekdayOf(replaced.start) === turnedTo;
  }

  async #afterMiss(missed: Missed): Promise<void> {
    const { window, failure, heavy } = missed;
    const { signal, record } = this.#run;
    if (signal.aborted || this.#stop.signal.aborted) return;
    if (failure.code === 'CREDENTIALS_REFUSED') {
      this.#waiting.length = 0;
      this.#stop.abort(failure);
      record.fail(failure);
      return;
    }
    if (!this.#isCurrent(window)) {
      record.planMore(window.slice.name, -1);
      return;
    }
    if (heavy.size > 0) await this.#divide(missed);
    else recordFailed(failure, window, this.#run);
    await this.#discardUnneeded([...missed.answered.values()]);
  }

  async #afterLoad(result: LoadResult, batch: readonly Spooled[]): Promise<void> {
    const { window } = result;
    const spooled = batch.find((each) => each.window.id === window.id);
    if (result.kind === 'loaded') {
      this.#rounds.delete(window.id);
      await recordLoaded(result, this.#run);
    } else if (result.kind === 'failed') recordFailed(result.failure, window, this.#run);
    else if (result.kind === 'split' && spooled !== undefined)
      await this.#afterSplit(result, spooled);
    else if (result.kind === 'week start') await this.#afterWeekStart(window, result.weekStartsOn);
    else this.#afterDoubt(window, result.failure, spooled);
  }

  /** After a slice's first answer, joins its waiting windows if half as many or fewer suffice. */
  #joinWaiting({ slice, requested }: Window, bytes: number): void {
    if (!this.#unsized.delete(slice.name)) return;
    const waiting = this.#waiting
      .map(({ window }) => window)
      .filter((window) => window.slice.name === slice.name);
    const longer = joined(waiting, bytes / daysBetween(requested.start, requested.end));
    if (2 * longer.length > waiting.length) return;
    this.#replaceWaiting(slice.name, longer);
    this.#run.emit({
      type: 'windows_joined',
      slice: slice.name,
      from: waiting.length,
      into: longer.length,
    });
  }

  /** Requests a window again; fails it if that was done often enough or is impossible. */
  #afterDoubt(window: Window, failure: Failure, spooled: Spooled | undefined): void {
    const { attempt, isDoubted } = spooled ?? { attempt: 0, isDoubted: false };
    if (!this.#source.canRequest || attempt >= MAX_REPEATS) {
      recordFailed(failure, window, this.#run);
      return;
    }
    const where = { slice: window.slice.name, window: labelOf(window) };
    this.#run.emit({ type: 'window_asked_again', ...where, because: failure.message });
    this.#putBack(window, [
      unanswered(window, attempt + 1, isDoubted || failure.code === 'DATA_SHRUNK'),
    ]);
  }

  /** Divides a window that fell short or is too large, accepts its rows as complete, or fails it. */
  async #afterSplit(result: SplitResult, spooled: Spooled): Promise<void> {
    const { window, failure, shortfall, parts, values } = result;
    const { canRequest } = this.#source;
    const before = this.#rounds.get(window.id);
    const course = courseOf(result, before, canRequest);
    if (course === 'not additive' && shortfall !== null) {
      await this.#stopSumming([...shortfall.differences.keys()], spooled);
      const undivided = canRequest
        ? windowOf(window.slice, window.fingerprint, window.periods)
        : window;
      this.#putBack(window, [unanswered(undivided, spooled.attempt, spooled.isDoubted)]);
    } else if (course === 'fail') {
      recordFailed(canRequest ? failure : beyondReplay(failure, window), window, this.#run);
    } else {
      const answered = provenAnswers(spooled, parts);
      const divided = await this.#divide({ ...spooled, failure, heavy: parts, answered }, values);
      if (divided === null || shortfall === null) this.#rounds.delete(window.id);
      else
        this.#rounds.set(window.id, roundAfter(shortfall, before, { from: window, into: divided }));
    }
  }

  /**
   * Puts a window's halves, or the window in more parts, into the queue, and remembers what was too heavy. Fails a window that
   * cannot be divided. Returns the window in more parts, otherwise null.
   */
  async #divide(missed: Missed, seen: KnownValues = new Map()): Promise<Window | null> {
    const { window, failure, heavy, attempt, isDoubted } = missed;
    const { slice, fingerprint } = window;
    const { warehouse, planAt, emit } = this.#run;
    // A slice with a window that was too heavy must not get longer ones.
    this.#unsized.delete(slice.name);
    const where = { slice: slice.name, window: labelOf(window), because: failure.message };
    const halves = splitByPeriods(window);
    if (halves !== null) {
      const days = Math.max(
        ...halves.map(({ requested }) => daysBetween(requested.start, requested.end)),
      );
      await saveMaxDays(warehouse, { slice: slice.name, fingerprint }, days, planAt);
      emit({ type: 'window_split', ...where, into: halves.length });
      // The newest half first, as the newest windows are requested first.
      this.#putBack(
        window,
        halves.toReversed().map((half) => unanswered(half)),
      );
      return null;
    }
    const target = this.#targets.get(slice.name);
    const stored: KnownValues =
      target === undefined ? new Map() : await readKnownValues(warehouse, target);
    // An answer cut to one row shows only one value of each dimension, which divides nothing.
    const divided =
      splitParts(window, heavy, new Map([...stored, ...seen])) ?? splitParts(window, heavy, stored);
    if (divided === null) {
      recordFailed(failure, window, this.#run);
      return null;
    }
    emit({ type: 'window_split', ...where, into: divided.parts.length });
    const { whole } = missed;
    const wanted = new Set(requestsOf(divided).map(requestId));
    // Without the batches of a part that was divided.
    const answered = new Map([...missed.answered].filter(([id]) => wanted.has(id)));
    this.#putBack(window, [{ window: divided, attempt, isDoubted, answered, whole }]);
    return divided;
  }

  /** Remembers and warns that metrics do not add up in a slice; its target no longer sums them. */
  async #stopSumming(metrics: readonly string[], { window, requestedAt }: Spooled): Promise<void> {
    const { name } = window.slice;
    const target = this.#targets.get(name);
    if (target === undefined) return;
    for (const metric of metrics) {
      const message = `The rows' ${metric} did not add up to the service's total, and smaller requests returned no more rows: it is not additive here and no longer summed.`;
      await warn({ code: 'NOT_ADDITIVE', message }, window, this.#run);
    }
    const shown = { notAdditive: metrics, addsUp: [] };
    this.#targets.set(
      name,
      await rememberAdditivity(this.#run.warehouse, target, shown, requestedAt),
    );
  }

  /** Aligns a slice without rows to the service's weeks. Fails the window if rows of other weeks are stored. */
  async #afterWeekStart(window: Window, weekStartsOn: WeekStart): Promise<void> {
    const { name } = window.slice;
    const { warehouse, record } = this.#run;
    // Another window that was under way has already reported it.
    if (!this.#isCurrent(window)) {
      record.planMore(name, -1);
      return;
    }
    const target = this.#targets.get(name);
    const stored = [
      ...(tableOf(await readSliceLedger(warehouse, name), window.fingerprint)?.periods.values() ??
        []),
    ];
    const isFixed =
      this.#weekStarts.has(name) || !this.#source.canRequest || stored.some(({ rows }) => rows > 0);
    if (target === undefined || isFixed) {
      recordFailed(otherWeeks(window, weekStartsOn, stored), window, this.#run);
      return;
    }
    this.#weekStarts.set(name, weekStartsOn);
    await realignWeeks(warehouse, target, weekStartsOn);
    const turned = byPriority(await planTargets(this.#run, [target]));
    // Only now, as windows are taken off the queue all the time.
    this.#replaceWaiting(name, turned);
    record.planMore(name, -1);
    const message = `The service begins weeks on ${weekdayName(weekStartsOn)}; its windows were aligned to that day.`;
    await warn({ code: 'WEEK_START', message }, window, this.#run);
  }
}

const pathsOf = ({ pages }: Answers[number]): string[] => pages.map(({ path }) => path);
