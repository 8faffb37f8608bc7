/**
 * Windows that were too heavy, or whose rows fell short of what the service stated: divided as long as that helps, else failed.
 *
 * An assumption is no reason to refuse an answer for ever. Where nothing but metrics that only seem to add up, by their names,
 * speaks against an answer, and smaller questions bring no more rows, the rows are whole and the assumption was wrong.
 */

import { Failure } from '../errors.ts';
import { type Asking, type Missed, type PartAnswers, unanswered } from '../extract/extract.ts';
import { readKnownValues } from '../load/known-values.ts';
import { rememberAdditivity } from '../load/load-ledger.ts';
import type { LoadResult, Shortfall } from '../load/load-result.ts';
import type { Target } from '../load/target.ts';
import { daysBetween, lastDay, type WeekStart } from '../model/calendar.ts';
import { labelOf, type Part, type Window, windowOf } from '../model/window.ts';
import { type KnownValues, splitByPeriods, splitParts } from '../plan/split.ts';
import type { Spooled } from '../spool/spool.ts';
import { confirmParts, learnMaxDays } from '../warehouse/ledger.ts';
import { recordFailed, type Run, warn } from './run.ts';
import type { Answers, Source, Targets } from './source.ts';
import type { WindowSizes } from './window-sizes.ts';

/** What is known while the windows of a run are loaded. */
export interface Loading {
  readonly run: Run;
  readonly source: Source;
  readonly targets: Targets;
  readonly queue: Asking[];
  readonly sizes: WindowSizes;
  /** By part, the division it came from. */
  readonly divisions: Map<Part, Division>;
  /** By slice and window. */
  readonly barred: Map<string, Barred>;
  /** By slice and window, what the service could not answer in one. */
  readonly heavy: Set<string>;
  /** By slice, the weekday its windows were aligned to since the run began. */
  readonly weekStarts: Map<string, WeekStart>;
  /** Ends all asking: credentials were refused. */
  readonly stop: AbortController;
}

type Split = Extract<LoadResult, { readonly kind: 'split' }>;

/** Divides a window that fell short, or takes its rows for whole; returns the answers that are still needed. */
export async function afterShortfall(result: Split, batch: readonly Spooled[], loading: Loading): Promise<Answers> {
  const { run, source, targets } = loading;
  const { window } = result;
  const spooled = batch.find((each) => each.window === window);
  const hopeless = window.periods.length > 1 ? null : withoutProgress(result, loading.divisions);
  const odd = !source.canAsk || isWhole(result, loading.divisions) ? suspectedBy(result) : [];
  const target = targets.get(window.slice.name);
  if (odd.length > 0 && spooled !== undefined && target !== undefined) {
    targets.set(window.slice.name, await stopSumming(odd, target, spooled, run));
    const again = source.canAsk ? windowOf(window.slice, window.fingerprint, window.periods) : window;
    loading.queue.unshift(unanswered(again));
    return [];
  }
  if (spooled === undefined || hopeless !== null || !source.canAsk) {
    const failure = source.canAsk ? result.failure : beyondReplay(result.failure, window);
    recordFailed(hopeless === null ? failure : told(failure, hopeless), window, run);
    return [];
  }
  const answered = provenAnswers(spooled, result.shortfalls);
  const missed = {
    window,
    failure: result.failure,
    heavy: [...result.shortfalls.keys()],
    answered,
    whole: spooled.whole,
  };
  const isKept = await divide(missed, loading, result);
  return isKept ? spooled.answers.filter((_, at) => answered.has(window.parts[at] ?? {})) : [];
}

/** The failure of an archived answer: one that is too heavy cannot be divided, nor does it get lighter with time. */
function beyondReplay(failure: Failure, { slice, asked }: Window): Failure {
  const { code, message, facts, cause } = failure;
  if (code !== 'SOURCE_TOO_HEAVY') return failure;
  const backfill = `ripen backfill --slice ${slice.name} --from ${asked.start} --to ${lastDay(asked)}`;
  const hint = `Run \`${backfill}\`, which can ask for less at a time.`;
  return new Failure('ENGINE_MEMORY', message, { facts, hint, cause });
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

function told(failure: Failure, because: string): Failure {
  const { code, message, facts, hint, cause } = failure;
  const text = `${message.replace(/\.$/, '')}; ${because}.`;
  return new Failure(code, text, { facts, ...(hint === null ? {} : { hint }), cause });
}

/**
 * Puts a window's halves into the queue, or the window in more parts, of which those that were answered are not asked for
 * again, or, tried as a whole, in the parts that are held; remembers what was too heavy; fails a window that cannot be divided. Says whether the answered parts are kept.
 */
export async function divide(
  { window, failure, heavy, answered, whole }: Missed,
  { run, source, targets, queue, sizes, divisions, barred, heavy: tooHeavy }: Loading,
  seen: Pick<Split, 'shortfalls' | 'values' | 'rows'> = { shortfalls: new Map(), values: new Map(), rows: new Map() },
): Promise<boolean> {
  const { slice, fingerprint, heldParts } = window;
  const isHeavy = failure.code !== 'DATA_INCOMPLETE';
  const where = { slice: slice.name, window: labelOf(window), because: failure.message };
  if (isHeavy) tooHeavy.add(keyOf(window));
  if (heldParts !== null) {
    await confirmParts(run.warehouse, { slice: slice.name, fingerprint }, run.planAt);
    run.emit({ type: 'window_split', ...where, into: heldParts.length });
    queue.unshift(unanswered({ ...window, parts: heldParts, heldParts: null }));
    return false;
  }
  const { bytes } = failure.facts;
  sizes.tooHeavy(window, typeof bytes === 'number' && window.parts.length === 1 ? bytes : null);
  const halves = splitByPeriods(window);
  if (halves !== null) {
    const days = Math.max(...halves.map(({ asked }) => daysBetween(asked.start, asked.end)));
    await learnMaxDays(run.warehouse, { slice: slice.name, fingerprint }, days);
    run.record.replan(slice, 1, halves.length);
    run.emit({ type: 'window_split', ...where, into: halves.length });
    // First what was asked for first: the newest.
    queue.unshift(...halves.toReversed().map(unanswered));
    if (isHeavy) await source.discard([...answered.values()]);
    return false;
  }
  const held = await heldValues(slice, run, targets);
  const divideBy = (known: KnownValues): Window | null =>
    splitParts(window, heavy, unbarred(known, barred.get(keyOf(window))));
  // An answer cut to one row shows one value of each dimension, and nothing to divide by.
  const divided = divideBy(new Map([...held, ...seen.values])) ?? divideBy(held);
  if (divided === null) {
    recordFailed(failure, window, run);
    if (isHeavy) await source.discard([...answered.values()]);
    return false;
  }
  for (const [part, halves] of divisionsOf(window, divided)) {
    const shortfall = seen.shortfalls.get(part);
    if (shortfall === undefined) continue;
    const before = divisions.get(part);
    const hasGrown = before !== undefined && (before.hasGrown || broughtBy(before, seen.rows) > before.shortfall.rows);
    for (const half of halves) divisions.set(half, { shortfall, halves, hasGrown });
  }
  run.emit({ type: 'window_split', ...where, into: divided.parts.length });
  queue.unshift({ window: divided, answered, whole });
  return true;
}

/**
 * Divides a window by other dimensions than those whose parts lost rows, or asks for it undivided where it never was too
 * heavy: what it was divided for may have been found wrong since. False when nothing is left.
 */
export async function divideAnew(
  { window, whole }: Spooled,
  { failure, values: seen }: Pick<Extract<LoadResult, { kind: 'failed' }>, 'failure' | 'values'>,
  { run, targets, queue, barred, heavy }: Loading,
): Promise<boolean> {
  if (seen === undefined) return false;
  const { slice, fingerprint, periods } = window;
  const undivided = windowOf(slice, fingerprint, periods);
  // Of a first load the parts alone show what other dimensions hold.
  const known = new Map([...(await heldValues(slice, run, targets)), ...seen]);
  let next = barNext(window.parts, barred.get(keyOf(window)));
  for (; next !== null; next = barNext(window.parts, next)) {
    const divided = splitParts(undivided, undivided.parts, unbarred(known, next));
    if (divided === null) continue;
    barred.set(keyOf(window), next);
    const where = { slice: slice.name, window: labelOf(window), because: failure.message };
    run.emit({ type: 'window_split', ...where, into: divided.parts.length });
    queue.unshift({ ...unanswered(divided), whole });
    return true;
  }
  if (heavy.has(keyOf(window)) || window.attempt > 0) return false;
  // Where it is cut again, to divide it by the same dimensions would begin all of this anew, for ever.
  const tried = [...new Set(window.parts.flatMap((part) => Object.keys(part)))];
  const all = [...new Set([...(barred.get(keyOf(window))?.tried ?? []), ...tried])];
  barred.set(keyOf(window), { now: all, tried: all });
  queue.unshift(unanswered({ ...undivided, attempt: 1 }));
  return true;
}

const keyOf = (window: Window): string => `${window.slice.name} ${labelOf(window)}`;

async function heldValues({ name }: Window['slice'], run: Run, targets: Targets): Promise<KnownValues> {
  const target = targets.get(name);
  return target === undefined ? new Map() : readKnownValues(run.warehouse, target);
}

/** Dimensions that a window is not to be divided by, as rows were lost where it was; and all that were tried so. */
interface Barred {
  readonly now: readonly string[];
  readonly tried: readonly string[];
}

/**
 * What to leave out next after parts lost rows: one dimension they were divided by after the other, as one of them may be
 * at fault alone, then all of them; null when that was tried too.
 */
function barNext(parts: readonly Part[], { now, tried }: Barred = { now: [], tried: [] }): Barred | null {
  const used = new Set(parts.flatMap((part) => Object.keys(part)));
  const next = [...used].find((dimension) => !tried.includes(dimension));
  if (next !== undefined) return { now: [next], tried: [...tried, next] };
  return now.length < tried.length ? { now: tried, tried } : null;
}

/** Values to divide by, without those of barred dimensions. */
function unbarred(known: KnownValues, barred: Barred | undefined): KnownValues {
  return new Map([...known].filter(([dimension]) => barred?.now.includes(dimension) !== true));
}

/** A part that fell short, and the two that took its place. */
interface Division {
  readonly shortfall: Shortfall;
  readonly halves: readonly Part[];
  /** Whether a division that the part itself came from brought more rows. */
  readonly hasGrown: boolean;
}

/**
 * Why dividing parts once more cannot help, as a clause: the halves of one of them brought no more rows than it had, and came
 * no nearer to the totals.
 */
function withoutProgress(
  { shortfalls, rows }: Pick<Split, 'shortfalls' | 'rows'>,
  divisions: ReadonlyMap<Part, Division>,
): string | null {
  for (const [part, { isCut, isAssumed }] of shortfalls) {
    const division = divisions.get(part);
    if (division === undefined || isCut) continue;
    const { shortfall, halves } = division;
    const brought = broughtBy(division, rows);
    const isNearer = [...shortfall.differences].some(([metric, before]) => {
      const away = halves.reduce((sum, half) => sum + (shortfalls.get(half)?.differences.get(metric) ?? 0), 0);
      return away < before;
    });
    // A sum of what does not add up comes nearer by chance.
    if ((isAssumed || !isNearer) && brought <= shortfall.rows) return 'dividing it brought no more rows';
  }
  return null;
}

/** How many rows the halves of a division had. */
function broughtBy({ halves }: Division, rows: ReadonlyMap<Part, number>): number {
  return halves.reduce((sum, half) => sum + (rows.get(half) ?? 0), 0);
}

/** By part that was divided, the two that stand in its place; every other part is the very same value as before. */
function divisionsOf(before: Window, divided: Window): Map<Part, readonly Part[]> {
  const divisions = new Map<Part, readonly Part[]>();
  let at = 0;
  for (const part of before.parts) {
    const isSame = divided.parts[at] === part;
    if (!isSame) divisions.set(part, divided.parts.slice(at, at + 2));
    at += isSame ? 1 : 2;
  }
  return divisions;
}

/** The metrics that are all that speaks against an answer and are only assumed to add up; empty where more speaks. */
function suspectedBy(split: Split): readonly string[] {
  const shortfalls = [...split.shortfalls.values()];
  if (!shortfalls.every(({ isAssumed }) => isAssumed)) return [];
  const metrics = new Set<string>();
  for (const { differences } of shortfalls) for (const metric of differences.keys()) metrics.add(metric);
  return [...metrics];
}

/**
 * Whether the rows of one period are all there are: each part that fell short came from a division whose halves both had rows
 * and brought no more than the whole of them, or each dimension has one value at most. Where dividing ever brought more,
 * answers are cut, and no later one can be trusted to be whole.
 */
function isWhole({ window, values, shortfalls, rows }: Split, divisions: ReadonlyMap<Part, Division>): boolean {
  if (window.periods.length > 1) return false;
  if (window.parts.length === 1) return [...values.values()].every((some) => some.length < 2);
  const known = window.parts.flatMap((part) => divisions.get(part) ?? []);
  const hasGrown = known.some((each) => each.hasGrown || broughtBy(each, rows) > each.shortfall.rows);
  const isTold = [...shortfalls.keys()].every((part) =>
    divisions.get(part)?.halves.every((half) => (rows.get(half) ?? 0) > 0),
  );
  return isTold && !hasGrown;
}

/** Remembers and tells that metrics do not add up in a slice; returns the target that no longer sums them. */
async function stopSumming(
  metrics: readonly string[],
  target: Target,
  { window, requestedAt }: { readonly window: Window; readonly requestedAt: Date },
  run: Run,
): Promise<Target> {
  for (const metric of metrics) {
    const message = `The rows' ${metric} did not add up to the service's total, and smaller questions brought no more rows: it is not additive here, and no longer summed.`;
    await warn({ code: 'NOT_ADDITIVE', message }, window, run);
  }
  return rememberAdditivity(run.warehouse, target, { notAdditive: metrics, addsUp: [] }, requestedAt);
}
