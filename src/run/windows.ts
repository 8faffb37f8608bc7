/** Requests and loads a run's windows. A failed one never fails the others, but refused credentials fail them all. */

import type { Missed } from '../extract/extract.ts';
import { alike } from '../model/alike.ts';
import { lostAppsIn, requestsOnlyLost, withoutLost } from '../load/lost-apps.ts';
import type { LostApps } from '../warehouse/tables/lost-apps.ts';
import { readKnownValues } from '../load/known-values.ts';
import { refusedText, saveAdditivity } from '../warehouse/tables/slice-metrics.ts';
import type { NightControl } from '../load/control-totals.ts';
import { loadBatches, type SliceBatch } from '../load/load.ts';
import type { Loaded, Outcome, Split } from '../load/answered.ts';
import type { Slice } from '../model/slice.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { withChanges, withMetrics } from '../warehouse/tables/target.ts';
import { daysBetween } from '../model/calendar.ts';
import { rowsPerDay } from '../model/ledger.ts';
import {
  splitByPeriods,
  boxesOf,
  boxId,
  controlBoxesOf,
  namesOf,
  partId,
  type Window,
  windowOf,
} from '../model/window.ts';
import { byPriority, resized, type SlicePlan } from '../plan/plan.ts';
import { splitParts } from '../plan/split.ts';
import { type Answer, type PendingWindow, requestedAtOf } from '../extract/spool.ts';
import { saveSize } from '../warehouse/ledger.ts';
import { courseOf, roundAfter } from './next.ts';
import { type Refused, refusedMetric, withoutMetrics, withoutStar } from './refused-metrics.ts';
import { fail, type Run, saveWarnings, warn } from './run.ts';
import type { AnswerBatch, Source, Targets } from './source.ts';

interface Loading {
  readonly targets: Targets;
  /** Must be known before the first load, but not before the first request. */
  readonly lost: () => Promise<LostApps>;
  /** By slice, but for those that its rows twice differed from. */
  readonly controls: Map<string, NightControl>;
}

export async function loadWindows(
  plans: readonly SlicePlan[],
  run: Run,
  source: Source,
  into: Loading,
): Promise<void> {
  const unsized = plans.filter(({ table }) => source.canRequest && rowsPerDay(table) === null);
  await new WindowLoader(run, source, into, unsized).load(byPriority(plans));
}

/** Reads control totals until `limit`. Returns what failed or was left unread, which are no failures of the run. */
export async function readControlWindows(
  windows: readonly Window[],
  run: Run,
  source: Source,
  { targets, limit }: { readonly targets: Targets; readonly limit: AbortSignal },
) {
  const none = { targets, lost: async () => new Map(), controls: new Map() };
  const signal = AbortSignal.any([run.signal, limit]);
  // They are not windows of the run.
  const emit: Emit = (event) => {
    if (event.type === 'failed') run.emit(event);
  };
  const loader = new WindowLoader({ ...run, emit, signal }, source, none, []);
  await loader.load(windows);
  const { failures, unread } = loader;
  if (run.signal.aborted || !limit.aborted) return failures;
  for (const window of unread)
    await saveWindowSize(window, { maxDays: Math.ceil(daysOf(window) / 2) }, run);
  const failure = new Failure('SOURCE_TIMEOUT', 'the service did not answer in time.');
  return [...failures, ...unread.map(({ slice }) => ({ failure, slice }))];
}

const daysOf = ({ requested }: Window) => daysBetween(requested.start, requested.end);

const saveWindowSize = async (
  { slice, fingerprint }: Window,
  size: Parameters<typeof saveSize>[2],
  { warehouse, planAt }: Run,
): Promise<void> => saveSize(warehouse, { slice: slice.name, fingerprint }, size, planAt);

const unanswered = (window: Window): PendingWindow => {
  return { window, doubts: 0, isConfirmation: false, round: null, answers: [] };
};

class WindowLoader {
  readonly #run: Run;
  readonly #source: Source;
  readonly #into: Loading;
  readonly failures: { readonly failure: Failure; readonly slice: Slice }[] = [];
  readonly unread: Window[] = [];
  /** The next one first. The source takes them off. */
  readonly #waiting: PendingWindow[] = [];
  /** Slices whose first answer shows how long their other windows may be. */
  readonly #unsized: Map<string, { readonly plan: SlicePlan; readonly held: Window[] }>;
  readonly #refused = new Map<string, Refused>();
  readonly #stop = new AbortController();

  constructor(run: Run, source: Source, into: Loading, unsized: readonly SlicePlan[]) {
    this.#run = run;
    this.#source = source;
    this.#into = into;
    this.#unsized = new Map(unsized.map((plan) => [plan.slice.name, { plan, held: [] }]));
  }

  async load(windows: readonly Window[]): Promise<void> {
    const begun = new Set<string>();
    for (const window of windows) {
      const { name } = window.slice;
      const unsized = this.#unsized.get(name);
      if (unsized === undefined || !begun.has(name)) this.#waiting.push(unanswered(window));
      else unsized.held.push(window);
      begun.add(name);
    }
    try {
      const { targets } = this.#into;
      const until = AbortSignal.any([this.#run.signal, this.#stop.signal]);
      const onAnswer = (window: Window, bytes: number): void => this.#resize(window, bytes);
      for await (const batch of this.#source.answers(this.#waiting, targets, until, onAnswer)) {
        const pending: PendingWindow[] = [];
        for (const missed of batch.missed) pending.push(...(await this.#afterMiss(missed)));
        const outcomes = await this.#loadBatch(batch);
        for (const outcome of outcomes) pending.push(...(await this.#afterLoad(outcome)));
        await this.#source.archive(batch.spooled, outcomes);
        await saveWarnings(this.#run);
        this.#waiting.unshift(...pending);
        // Some windows that were put back still need answers of this batch.
        const kept = new Set(pending.flatMap(({ answers }) => answers.flatMap(pathsOf)));
        const answers = [...batch.spooled, ...batch.missed].flatMap((taken) => taken.answers);
        await this.#source.discard(
          answers.filter((answer) => !pathsOf(answer).some((path) => kept.has(path))),
        );
      }
    } finally {
      // After a disk failure, requests under way would be written for nothing.
      this.#stop.abort();
      this.unread.push(...this.#waiting.map(({ window }) => window));
    }
  }

  #fail(failure: Failure, window: Window): readonly PendingWindow[] {
    const { slice } = window;
    if (slice.control === undefined) fail(failure, window, this.#run);
    else this.failures.push({ failure, slice });
    return [];
  }

  async #loadBatch({ spooled, fetchedAt }: AnswerBatch): Promise<readonly Outcome[]> {
    if (spooled.length === 0) return [];
    // May give the tables other types.
    const lost = await this.#into.lost();
    const { warehouse, runId, request, signal } = this.#run;
    const { canRequest, read } = this.#source;
    const batches: SliceBatch[] = [];
    for (const answers of alike(spooled, ({ window }) => window.slice.name)) {
      const { slice } = answers[0].window;
      const target = this.#into.targets.get(slice.name);
      if (target === undefined || signal.aborted) {
        this.unread.push(...answers.map(({ window }) => window));
        continue;
      }
      batches.push({
        spooled: answers,
        // So that metrics added after the answers were archived are due.
        target: withMetrics(target, slice.metrics),
        // Archived answers were accepted when they were loaded, losses included.
        // Totals of days that have none yet are no loss.
        acceptLoss: request.acceptLoss || !canRequest || slice.control !== undefined,
        control: this.#into.controls.get(slice.name) ?? null,
      });
    }
    const loading = { warehouse, runId, fetchedAt, lost, read, isReplay: !canRequest };
    const loadedBatches = await loadBatches(batches, loading);
    for (const [at, { outcomes, target }] of loadedBatches.entries()) {
      const { name } = target.slice;
      const whole = this.#into.targets.get(name) ?? target;
      this.#into.targets.set(name, withChanges(whole, target));
      this.#regroup(name, batches[at]?.spooled.length ?? 0, outcomes.length);
    }
    return loadedBatches.flatMap(({ outcomes }) => outcomes);
  }

  async #afterMiss(missed: Missed): Promise<readonly PendingWindow[]> {
    const { window, failure, heavy } = missed;
    if (this.#run.signal.aborted || this.#stop.signal.aborted) {
      this.unread.push(window);
      return [];
    }
    if (failure.code === 'CREDENTIALS_REFUSED') {
      this.unread.push(window, ...this.#waiting.splice(0).map((waiting) => waiting.window));
      this.#stop.abort(failure);
      fail(failure, null, this.#run);
      return [];
    }
    const { name } = window.slice;
    const configured = this.#run.slices.find((slice) => slice.name === name);
    const { warehouse } = this.#run;
    const refused =
      configured === undefined ? null : await refusedMetric(warehouse, window, failure, configured);
    if (refused?.loaded.has(refused.metric) === false) {
      const { metric } = refused;
      const { metrics, loaded } = this.#refused.get(name) ?? { ...refused, metrics: new Set() };
      this.#refused.set(name, { metrics: new Set([...metrics, metric]), loaded });
      const message = refusedText(metric);
      if (!metrics.has(metric)) warn('METRIC_REFUSED', message, name, this.#run);
      return this.#narrow(window, (each) => this.#withoutRefused(each));
    }
    this.#queueHeld(window);
    if (heavy.size > 0)
      return (await this.#divide({ ...missed, parts: heavy })) ?? this.#fail(failure, window);
    const isRefused = failure.code === 'ACCESS_FORBIDDEN' || failure.code === 'SOURCE_REFUSED';
    const lost: LostApps = isRefused ? await this.#into.lost() : new Map();
    const others = withoutLost(window, lost);
    if (others !== null) {
      // Only its own answer shows whether it was refused because of them.
      this.#emitAgain(window, failure.message);
      return [unanswered(others)];
    }
    const target = this.#into.targets.get(name);
    // The stored values of lost apps are kept. The end of the run names them.
    const isKept =
      target !== undefined &&
      requestsOnlyLost(window.slice, lost) &&
      (await lostAppsIn(warehouse, target, lost)).length > 0;
    if (isKept) return this.#narrow(window, () => null);
    return this.#fail(refused === null ? failure : withoutStar(failure, refused.metric), window);
  }

  #withoutRefused(window: Window): Window | null {
    const refused = this.#refused.get(window.slice.name);
    return refused === undefined ? window : withoutMetrics(window, refused);
  }

  #narrow(window: Window, restOf: (window: Window) => Window | null): readonly PendingWindow[] {
    const { name } = window.slice;
    const isOwn = (pending: PendingWindow) => pending.window.slice.name === name;
    const leftOf = (pending: PendingWindow): readonly PendingWindow[] => {
      const rest = isOwn(pending) ? restOf(pending.window) : pending.window;
      if (rest === null) return [];
      return [rest === pending.window ? pending : unanswered(rest)];
    };
    const rest = leftOf(unanswered(window));
    const waiting = this.#waiting.splice(0);
    this.#waiting.push(...waiting.flatMap(leftOf));
    const into = rest.length + this.#waiting.filter(isOwn).length;
    this.#regroup(name, 1 + waiting.filter(isOwn).length, into);
    // Nothing of it is left whose answer they could wait for.
    if (rest.length === 0) this.#queueHeld(window);
    return rest;
  }

  async #afterLoad(outcome: Outcome): Promise<readonly PendingWindow[]> {
    const { window } = outcome;
    if (outcome.kind === 'loaded') {
      if (window.slice.control === undefined) await this.#reportLoaded(outcome);
      return [];
    }
    if (outcome.kind === 'failed') return this.#fail(outcome.failure, window);
    const { spooled, failure } = outcome;
    const { canRequest } = this.#source;
    if (outcome.kind === 'again') {
      if (!canRequest) return this.#fail(failure, window);
      this.#emitAgain(window, failure.message);
      const { boxes, isConfirmation } = outcome;
      // A confirmation may be doubted as often as a first answer, and so may a smaller window.
      const isFirst =
        window.periods.length < spooled.window.periods.length ||
        (isConfirmation && !spooled.isConfirmation);
      const again = {
        window,
        doubts: isFirst ? 0 : spooled.doubts + 1,
        isConfirmation,
        round: boxes === null ? null : spooled.round,
        answers: spooled.answers.filter(({ box }) => boxes?.has(boxId(box)) === false),
      };
      return [again];
    }
    const { parts, shortfall } = outcome;
    const course = courseOf(outcome, canRequest);
    if (course === 'not additive') {
      const metrics = [...(shortfall?.differences.keys() ?? [])];
      await this.#stopSumming(window, metrics, requestedAtOf(spooled.answers));
      const { slice, fingerprint, periods } = window;
      const whole = canRequest ? windowOf(slice, fingerprint, periods) : window;
      const { doubts, isConfirmation } = spooled;
      return [{ ...unanswered(whole), doubts, isConfirmation }];
    }
    if (course === 'divide') {
      const answers = spooled.answers.filter(({ box }) => !parts.has(partId(box.part)));
      const divided = await this.#divide({ ...spooled, ...outcome, answers });
      if (divided !== null) return divided;
    }
    return shortfall !== null && window.slice.completeness === 'warn'
      ? [{ ...spooled, isIndivisible: true }]
      : this.#fail(failure, window);
  }

  async #stopSumming(window: Window, metrics: readonly string[], seenAt: Date) {
    const { name } = window.slice;
    const target = this.#into.targets.get(name);
    if (target === undefined) return;
    for (const metric of metrics) {
      const message = `${metric} is not additive here: smaller requests returned the same rows, but their sum differs from the service's total. It is no longer used as proof.`;
      warn('NOT_ADDITIVE', message, window, this.#run);
    }
    const shown = { notAdditive: metrics, addsUp: [] };
    const unsummed = await saveAdditivity(this.#run.warehouse, target, shown, seenAt);
    this.#into.targets.set(name, unsummed);
  }

  /** Also saves the parts that a window had to be divided into, unless they did not help. */
  async #reportLoaded(loaded: Loaded) {
    const { window, rows, fetched, rejected, restated, empty } = loaded;
    const { slice, parts } = window;
    const counts = { rows, fetched, rejected, restated, empty };
    this.#run.emit({ type: 'window_loaded', ...namesOf(window), ...counts });
    if (parts.length > 1 && loaded.warnings.every(({ code }) => code !== 'UNPROVEN'))
      await saveWindowSize(window, { parts }, this.#run);
    for (const { code, message } of loaded.warnings) {
      // Of a slice whose rows differ from its control totals, one window says so.
      const control = this.#into.controls.get(slice.name);
      if (code === 'CONTROL_DIFFERS' && control !== undefined) {
        if (control.isDoubted) continue;
        this.#into.controls.set(slice.name, { ...control, isDoubted: true });
      }
      warn(code, message, window, this.#run);
    }
  }

  #regroup(slice: string, from: number, into: number) {
    if (from !== into) this.#run.emit({ type: 'windows_regrouped', slice, from, into });
  }

  #emitAgain(window: Window, because: string) {
    this.#run.emit({ type: 'window_asked_again', ...namesOf(window), because });
  }

  /** After a slice's first answer, queues its other windows, as few as that allows. */
  #resize(answered: Window, bytes: number) {
    const bytesPerDay = bytes / daysOf(answered);
    this.#queueHeld(answered, (plan, held) => resized(plan, held, bytesPerDay));
  }

  #queueHeld(
    { slice: { name } }: Window,
    windowsOf = (_: SlicePlan, held: readonly Window[]): readonly Window[] => held,
  ) {
    const unsized = this.#unsized.get(name);
    if (unsized === undefined) return;
    this.#unsized.delete(name);
    const { plan, held } = unsized;
    const windows = windowsOf(plan, held).flatMap((window) => this.#withoutRefused(window) ?? []);
    this.#waiting.push(...windows.map(unanswered));
    this.#regroup(name, held.length, windows.length);
  }

  async #divide(
    divided: PendingWindow &
      Pick<Split, 'failure' | 'parts'> &
      Partial<Pick<Split, 'shortfall' | 'values'>>,
  ): Promise<readonly PendingWindow[] | null> {
    const { window, failure, parts, doubts, isConfirmation } = divided;
    const { warehouse, emit } = this.#run;
    // A slice with a window that was too heavy must not get longer ones.
    this.#queueHeld(window);
    const split = { type: 'window_split', ...namesOf(window), because: failure.message } as const;
    const halves = splitByPeriods(window);
    if (halves !== null) {
      await saveWindowSize(window, { maxDays: Math.max(...halves.map(daysOf)) }, this.#run);
      emit({ ...split, by: 'days', into: halves.length });
      // The newest half first, as the newest windows are requested first.
      return halves.toReversed().map(unanswered);
    }
    const target = this.#into.targets.get(window.slice.name);
    const stored = new Map(target === undefined ? [] : await readKnownValues(warehouse, target));
    const lost = await this.#into.lost();
    // A request that names a lost app may be refused.
    const apps = stored.get('app_token')?.filter(({ value }) => !lost.has(value));
    if (apps !== undefined) stored.set('app_token', apps);
    // An answer cut to one row has one value per dimension: nothing to divide by.
    const inParts =
      splitParts(window, parts, new Map([...stored, ...(divided.values ?? [])])) ??
      splitParts(window, parts, stored);
    if (inParts === null) return null;
    emit({ ...split, by: 'values', into: inParts.parts.length });
    const round = roundAfter(divided.shortfall ?? null, divided.round, window, inParts);
    // Without the batches of a part that was divided.
    const boxes = new Set([...boxesOf(inParts), ...controlBoxesOf(inParts)].map(boxId));
    const answers = divided.answers.filter(({ box }) => boxes.has(boxId(box)));
    return [{ window: inParts, doubts, isConfirmation, round, answers }];
  }
}

const pathsOf = ({ pages }: Answer) => pages.map(({ path }) => path);
