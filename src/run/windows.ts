/**
 * Asking for and loading a run's windows, until each is loaded or has failed.
 *
 * Decides what happens to a window that could not be loaded as it is: asked once more, split into smaller ones, aligned
 * to other weeks, or failed. One failed window never takes the others down; refused credentials take them all.
 */

import { Failure } from '../errors.ts';
import { type Missed, unanswered } from '../extract/extract.ts';
import type { LoadResult } from '../load/load-result.ts';
import { loadBatch } from '../load/load.ts';
import { daysBetween, weekdayName, weekdayOf, type WeekStart } from '../model/calendar.ts';
import type { Slice } from '../model/slice.ts';
import { labelOf, subjectOf, type Window } from '../model/window.ts';
import type { Spooled } from '../spool/spool.ts';
import { regrouped } from '../plan/plan.ts';
import { forgetParts, learnMaxDays, learnWeekStart, relaxMaxDays } from '../warehouse/ledger.ts';
import { recordFailed, recordLoaded, type Run, warn } from './run.ts';
import { afterShortfall, divide, divideAnew, type Loading } from './shortfall.ts';
import type { AnswerBatch, Answers, Source, Targets } from './source.ts';
import { turnTarget } from './tables.ts';
import { WindowSizes } from './window-sizes.ts';

/** How often an unusable answer is asked for again. */
const MOST_REPEATS = 2;

/** Loads windows in their order, from where the run gets its answers. */
export async function loadWindows(
  windows: readonly Window[],
  run: Run,
  source: Source,
  targets: Targets,
): Promise<void> {
  const queue = windows.map(unanswered);
  const stop = new AbortController();
  const signal = AbortSignal.any([run.signal, stop.signal]);
  const loading: Loading = {
    run,
    source,
    targets,
    queue,
    stop,
    sizes: new WindowSizes(),
    divisions: new Map(),
    barred: new Map(),
    heavy: new Set(),
    weekStarts: new Map(),
  };
  try {
    const came = (window: Window, bytes: number): void => {
      loading.sizes.answered(window, bytes);
      regroup(window.slice, loading);
    };
    for await (const batch of source.answers(queue, targets, signal, came)) {
      for (const miss of batch.missed) await afterMiss(miss, loading);
      for (const { slice, requests } of batch.asked) run.record.asked(slice, requests);
      const results = await loadCurrent(batch, loading);
      countParts(batch.spooled, results, run);
      const kept = new Set<Answers[number]>();
      for (const result of results) {
        for (const answer of await afterLoad(result, batch.spooled, loading)) kept.add(answer);
      }
      await source.keep(batch.spooled, results);
      await source.discard(batch.spooled.flatMap(({ answers }) => answers.filter((answer) => !kept.has(answer))));
    }
    if (source.canAsk) await relaxLimits(loading);
  } finally {
    // What is still under way when the disk gave out would be written for nobody.
    stop.abort();
  }
}

/**
 * Windows none of which was too heavy may be as large the next time as the largest of them, and come as a whole where one did
 * that was tried so; the rows of earlier loads say too little of how large where they are wide.
 */
async function relaxLimits({ run, targets, sizes }: Loading): Promise<void> {
  const light = [...targets.values()].flatMap(({ slice: { name }, fingerprint }) => {
    const days = sizes.lightDays(name);
    return days === null ? [] : [{ slice: name, fingerprint, days }];
  });
  await relaxMaxDays(run.warehouse, light);
  for (const { slice, fingerprint } of targets.values()) {
    const wholeDays = sizes.wholeDays(slice.name);
    if (wholeDays !== null) await forgetParts(run.warehouse, { slice: slice.name, fingerprint }, wholeDays);
    const wideDays = sizes.wideDays(slice.name);
    if (wideDays !== null) await learnMaxDays(run.warehouse, { slice: slice.name, fingerprint }, wideDays);
  }
}

/** Joins or divides a slice's windows that were planned before anything was known of it, by what came since. */
function regroup(slice: Slice, { run, queue, sizes }: Loading): void {
  const days = sizes.nextDays(slice.name);
  const gone = queue.map(({ window }) => window).filter((window) => window.slice === slice && window.growsTo !== null);
  const longest = longestOf(gone);
  // Fewer larger requests are worth it from twice the size on.
  if (days === null || (days >= longest && days < 2 * longest)) return;
  const come = regrouped(gone, days);
  if (longestOf(come) === longest) return;
  const byNewest = new Map(come.map((window) => [window.periods.at(-1), window]));
  const isGone = new Set(gone);
  // Each where its newest period was.
  const next = queue.flatMap((asking) =>
    isGone.has(asking.window)
      ? asking.window.periods
          .toReversed()
          .flatMap((due) => byNewest.get(due) ?? [])
          .map(unanswered)
      : [asking],
  );
  queue.splice(0, queue.length, ...next);
  run.record.replan(slice, gone.length, come.length);
  run.emit({ type: 'windows_regrouped', slice: slice.name, from: gone.length, into: come.length });
}

const longestOf = (windows: readonly Window[]): number =>
  Math.max(0, ...windows.map(({ asked }) => daysBetween(asked.start, asked.end)));

/** Loads a batch, but for windows of a meaning, or of weeks, that are no longer the target's. */
async function loadCurrent({ spooled, fetchedAt }: AnswerBatch, loading: Loading): Promise<readonly LoadResult[]> {
  const { run, source, targets } = loading;
  const [first] = spooled;
  const target = first === undefined ? undefined : targets.get(first.window.slice.name);
  if (first === undefined || target === undefined || run.signal.aborted) return [];
  const { slice } = target;
  const current = source.canAsk ? spooled.filter(({ window }) => isCurrent(window, loading)) : spooled;
  if (current.length < spooled.length) run.record.replan(slice, spooled.length - current.length, 0);
  // The ledger learns which metrics came, so that those added since the answers were archived are due.
  const metrics = slice.metrics.filter((metric) => first.window.slice.metrics.includes(metric));
  const { warehouse, runId, request } = run;
  const loaded = await loadBatch(current, {
    warehouse,
    runId,
    target: { ...target, slice: { ...slice, metrics } },
    fetchedAt,
    // Whatever was archived had been accepted, losses too.
    acceptLoss: request.acceptLoss || !source.canAsk,
    read: source.read,
  });
  targets.set(slice.name, { ...loaded.target, slice });
  return loaded.results;
}

/**
 * Whether a window has the meaning and the weeks of its target. A table that was empty turns in place: only its weeks tell a
 * window that was under way meanwhile, and is asked for again.
 */
function isCurrent({ slice, fingerprint, replaced }: Window, { targets, weekStarts }: Loading): boolean {
  const turnedTo = weekStarts.get(slice.name);
  if (fingerprint !== targets.get(slice.name)?.fingerprint) return false;
  return turnedTo === undefined || weekdayOf(replaced.start) === turnedTo;
}

async function afterMiss(missed: Missed, loading: Loading): Promise<void> {
  const { run, source, queue, stop } = loading;
  if (run.signal.aborted) return;
  const { window, failure, heavy } = missed;
  if (failure.code === 'CREDENTIALS_REFUSED') {
    queue.length = 0;
    stop.abort(failure);
    run.record.fail(failure);
  } else if (stop.signal.aborted) {
    return;
  } else if (source.canAsk && !isCurrent(window, loading)) {
    // Its days were asked for again under the weeks the service has.
    run.record.replan(window.slice, 1, 0);
  } else if (heavy.length > 0) {
    await divide(missed, loading);
    regroup(window.slice, loading);
  } else {
    recordFailed(failure, window, run);
  }
}

/** Periods of one window may meet different fates; each is then counted as a window, in the place of the one. */
function countParts(batch: readonly Spooled[], results: readonly LoadResult[], { record }: Run): void {
  for (const { window } of batch) {
    const parts = results.filter((result) => result.window !== window && isPartOf(result.window, window));
    if (parts.length > 0) record.replan(window.slice, 1, parts.length);
  }
}

const isPartOf = (part: Window, { periods }: Window): boolean => part.periods.every((due) => periods.includes(due));

/** Acts on what became of a window; returns the answers that are still needed. */
async function afterLoad(result: LoadResult, batch: readonly Spooled[], loading: Loading): Promise<Answers> {
  const { run, source } = loading;
  const { window } = result;
  if (result.kind === 'loaded') {
    loading.sizes.loaded(window, result.fetched);
    await recordLoaded(result, run);
    if (!source.canAsk) await learnWeek(window, loading);
  } else if (result.kind === 'failed') {
    const spooled = batch.find((each) => each.window === window);
    const isDivided = source.canAsk && spooled !== undefined && (await divideAnew(spooled, result, loading));
    if (!isDivided) recordFailed(result.failure, window, run);
  } else if (result.kind === 'split') return afterShortfall(result, batch, loading);
  else if (!source.canAsk) recordFailed(result.kind === 'week start' ? otherWeeks() : result.failure, window, run);
  else if (result.kind === 'week start') await afterWeekStart(window, result.weekStartsOn, loading);
  else if (window.attempt >= MOST_REPEATS) recordFailed(result.failure, window, run);
  else {
    const where = { slice: window.slice.name, window: labelOf(window) };
    run.emit({ type: 'window_asked_again', ...where, because: result.failure.message });
    loading.queue.unshift(unanswered({ ...window, attempt: window.attempt + 1, growsTo: null }));
  }
  return [];
}

/** The weekday an archived answer's weeks begin on, which the service said when it was loaded first. */
async function learnWeek({ slice, replaced }: Window, { run, targets }: Loading): Promise<void> {
  const target = targets.get(slice.name);
  if (slice.grain !== 'week' || target === undefined) return;
  await learnWeekStart(
    run.warehouse,
    { slice: slice.name, fingerprint: target.fingerprint },
    weekdayOf(replaced.start),
  );
}

function otherWeeks(): Failure {
  return new Failure('DATA_MALFORMED', `The archived answer's weeks began on another day than it was loaded with.`);
}

const UNSTEADY_WEEKS = 'Ask the service what its weeks begin with; until they are steady, use the dimension day.';

async function afterWeekStart(window: Window, weekStartsOn: WeekStart, loading: Loading): Promise<void> {
  const { run, queue, weekStarts } = loading;
  const { slice } = window;
  if (!isCurrent(window, loading)) {
    // Another window that was under way has said so already.
    run.record.replan(slice, 1, 0);
    return;
  }
  const turnedTo = weekStarts.get(slice.name);
  if (turnedTo !== undefined) {
    const names = `a ${weekdayName(weekStartsOn)}, and others of this run on a ${weekdayName(turnedTo)}`;
    const message = `${subjectOf(window)}: its weeks began on ${names}.`;
    recordFailed(new Failure('DATA_MALFORMED', message, { hint: UNSTEADY_WEEKS }), window, run);
    return;
  }
  weekStarts.set(slice.name, weekStartsOn);
  const come = await turnTarget(loading, slice, weekStartsOn);
  // Only now: windows are taken off the queue all the while.
  const gone = queue.filter((other) => other.window.slice === slice);
  const kept = queue.filter((other) => other.window.slice !== slice);
  run.record.replan(slice, gone.length + 1, come.length);
  queue.splice(0, queue.length, ...kept, ...come.map(unanswered));
  const message = `The service begins weeks on ${weekdayName(weekStartsOn)}; its windows were aligned to that day.`;
  await warn({ code: 'WEEK_START', message }, window, run);
}
