/** Requests many windows at once and yields what is spooled in batches, as one statement over many files loads fastest. */

import { asFailure, type Failure, isPassing, isTooHeavy } from '../errors.ts';
import type { Emit } from '../events.ts';
import {
  type Box,
  boxesOf,
  boxId,
  controlBoxesOf,
  haveSameMetrics,
  namesOf,
  partId,
  replacesSame,
  reportParameters,
  subjectOf,
  type Window,
} from '../model/window.ts';
import type { SavedBody, Service } from '../service/service.ts';
import type { BodyHead } from './columns/reading.ts';
import { paginationIn, unusable } from './envelope.ts';
import {
  type Answer,
  type PendingWindow,
  plainBytesOf,
  receivedAtOf,
  requestedAtOf,
  type Spool,
  type Spooled,
} from './spool.ts';

export interface Missed extends PendingWindow {
  readonly failure: Failure;
  /** The parts (`partId`) that were too heavy. Empty if something else failed, as `answers` is then. */
  readonly heavy: ReadonlySet<string>;
}

export interface Batch {
  /** Of one slice and the same metrics, or small ones of several. */
  readonly spooled: readonly Spooled[];
  readonly missed: readonly Missed[];
}

interface Extraction {
  readonly service: Pick<Service, 'report'>;
  readonly spool: Pick<Spool, 'pathFor' | 'discard'>;
  /** Reads a large page into columns at once. */
  readonly readPage: (window: Window, box: Box, page: SavedBody) => Promise<BodyHead>;
  /** Most windows at once. The service's pace may allow fewer. */
  readonly maxConcurrency: number;
  readonly emit: Emit;
  readonly signal: AbortSignal;
  /** Called before the next window is requested. May change the queue. */
  readonly onAnswer: (window: Window, bytes: number) => void;
}

/** Larger batches load no faster, and would all be loaded again if they failed. */
const MAX_BATCH_BYTES = 300_000_000;
const MAX_BATCH_WINDOWS = 200;
/** More waiting answers would only fill the disk. */
const MAX_WAITING = 80;

/** After unusable answers. */
const MAX_REPEATS = 2;

export async function* extract(
  queue: PendingWindow[],
  extraction: Extraction,
): AsyncGenerator<Batch, void> {
  const underWay = new Set<Promise<void>>();
  const spooled: Spooled[] = [];
  const missed: Missed[] = [];
  const settle = async (pending: PendingWindow) => {
    const result = await fetchWindow(pending, extraction);
    if ('failure' in result) {
      missed.push(result);
      return;
    }
    spooled.push(result);
    extraction.onAnswer(result.window, plainBytesOf(result.answers));
  };
  // Also runs while a batch is loaded. Failures are handled first, as they may end the run.
  const fill = () => {
    const { maxConcurrency, signal } = extraction;
    while (underWay.size < maxConcurrency && spooled.length < MAX_WAITING && missed.length === 0) {
      const next = signal.aborted ? undefined : queue.shift();
      if (next === undefined) return;
      const task = settle(next).finally(() => {
        underWay.delete(task);
        fill();
      });
      underWay.add(task);
    }
  };
  for (;;) {
    fill();
    if (spooled.length > 0 || missed.length > 0)
      yield { spooled: takeBatch(spooled), missed: missed.splice(0) };
    else if (underWay.size > 0) await Promise.race(underWay);
    else return;
  }
}

const MAX_SHARED_SLICES = 20;
const MAX_SHARED_BYTES = 2_000_000;

/** Also takes the answers of other slices while they are small together. */
function takeBatch(waiting: Spooled[]): Spooled[] {
  const taken = takeOfOneSlice(waiting, MAX_BATCH_BYTES);
  const names = new Set(taken.map(({ window }) => window.slice.name));
  const bytesOf = (spooled: readonly Spooled[]) =>
    plainBytesOf(spooled.flatMap(({ answers }) => answers));
  let room = MAX_SHARED_BYTES - bytesOf(taken);
  for (const next of waiting.slice()) {
    const { name } = next.window.slice;
    if (names.size === MAX_SHARED_SLICES || bytesOf([next]) > room) break;
    if (names.has(name)) continue;
    names.add(name);
    const others = takeOfOneSlice(waiting, room, [next]);
    room -= bytesOf(others);
    taken.push(...others);
  }
  return taken;
}

function takeOfOneSlice(waiting: Spooled[], maxBytes: number, [first] = waiting): Spooled[] {
  const taken: Spooled[] = [];
  let bytes = 0;
  const isAlike = ({ window }: Spooled) =>
    first !== undefined &&
    window.slice.name === first.window.slice.name &&
    haveSameMetrics(window, first.window);
  for (const next of waiting.filter(isAlike)) {
    bytes += plainBytesOf(next.answers);
    if (taken.length > 0 && (taken.length >= MAX_BATCH_WINDOWS || bytes > maxBytes)) break;
    if (taken.some(({ window }) => replacesSame(window, next.window))) break;
    taken.push(next);
  }
  const rest = waiting.filter((answer) => !taken.includes(answer));
  waiting.splice(0, waiting.length, ...rest);
  return taken;
}

async function fetchWindow(pending: PendingWindow, extraction: Extraction) {
  const { window } = pending;
  const { emit } = extraction;
  const names = namesOf(window);
  const [boxes, controls] = [boxesOf(window), controlBoxesOf(window)];
  const answers = new Map(pending.answers.map((answer) => [boxId(answer.box), answer]));
  const left = [...boxes, ...controls].filter((box) => !answers.has(boxId(box)));
  emit({ type: 'window_asked', ...names, requests: left.length });
  let requests = 0;
  const count = (sent: number) => void (requests += sent);
  const missed = (failure: Failure, rest: Pick<Missed, 'answers' | 'heavy'>): Missed => {
    emit({ type: 'window_missed', ...names, requests, because: failure.message });
    return { ...pending, failure, ...rest };
  };
  const giveUp = new AbortController();
  const signal = AbortSignal.any([extraction.signal, giveUp.signal]);
  const heavy = new Map<string, Failure>();
  let controlFailure: Failure | null = null;
  const fetch = async (box: Box) => {
    if (answers.has(boxId(box))) return;
    try {
      answers.set(boxId(box), await fetchBox(window, box, { ...extraction, signal }, count));
    } catch (error) {
      const failure = asFailure(error);
      const { kind, code } = failure;
      const isOfRun = ['storage', 'bug'].includes(kind) || code === 'CREDENTIALS_REFUSED';
      // The other parts are needed however a heavy one is divided.
      if (box.control === null && isTooHeavy(failure)) heavy.set(partId(box.part), failure);
      else if (box.control !== null && !isOfRun && !signal.aborted) {
        // The sums show missing rows too, but for those without a value that adds up.
        const hasSums = controls.some(({ control }) => control?.length === 1);
        const isOptional = box.control.length > 1 && !isPassing(failure) && hasSums;
        if (!isOptional) controlFailure ??= failure;
      } else giveUp.abort(failure);
    }
  };
  try {
    await Promise.all(boxes.map(fetch));
    giveUp.signal.throwIfAborted();
    const [failure] = heavy.values();
    if (failure !== undefined)
      return missed(failure, { heavy: new Set(heavy.keys()), answers: [...answers.values()] });
    await Promise.all(controls.map(fetch));
    giveUp.signal.throwIfAborted();
    const inOrder = [...boxes, ...controls].flatMap((box) => {
      const answer = answers.get(boxId(box));
      // Part numbers change when another part is divided.
      return answer === undefined ? [] : [{ ...answer, box }];
    });
    const pages = inOrder.flatMap((answer) => answer.pages);
    const bytes = pages.reduce((sum, page) => sum + page.bytes, 0);
    const ms = receivedAtOf(inOrder).getTime() - requestedAtOf(inOrder).getTime();
    emit({ type: 'window_fetched', ...names, requests, bytes, ms });
    return { ...pending, answers: inOrder, controlFailure };
  } catch (error) {
    await extraction.spool.discard([...answers.values()]);
    return missed(asFailure(error), { heavy: new Set(), answers: [] });
  }
}

/** Requests again while the answer is unusable. Returns the last one in any case. */
async function fetchBox(
  window: Window,
  box: Box,
  { service, spool, readPage, emit, signal }: Extraction,
  count: (requests: number) => void,
): Promise<Answer> {
  for (let repeats = 0; ; repeats += 1) {
    const pages: SavedBody[] = [];
    const read = new Map<string, BodyHead>();
    const request = {
      parameters: reportParameters(window, box),
      pathFor: () => spool.pathFor(window),
      // Control totals may be refused or too heavy where every other report is answered.
      isCounted: window.slice.control === undefined,
      readPage: async (page: SavedBody) => {
        pages.push(page);
        const head = await readPage(window, box, page);
        read.set(page.path, head);
        return { ...head, pagination: paginationIn(head.members) };
      },
    };
    const requestedAt = new Date();
    let because: string;
    try {
      const report = await service.report(request, signal);
      count(report.requests);
      // Without those that were requested again.
      const heads = report.pages.flatMap(({ path }) => read.get(path) ?? []);
      const isEmpty = box.control !== null && heads.every(({ rows }) => rows === 0);
      const reason = unusable(heads) ?? (isEmpty ? 'it had no rows' : null);
      if (reason === null || repeats >= MAX_REPEATS)
        return { ...report, box, requestedAt, receivedAt: new Date() };
      because = `${subjectOf(window)}: the answer was unusable: ${reason}.`;
      await spool.discard([{ pages }]);
    } catch (error) {
      await spool.discard([{ pages }]);
      const failure = asFailure(error);
      count(pages.length + 1);
      // No request is lighter than the totals, which may have been slow only for a moment.
      const isRepeated = box.control?.length === 1 && isTooHeavy(failure) && repeats < MAX_REPEATS;
      if (!isRepeated) throw failure;
      because = failure.message;
    }
    emit({ type: 'window_asked_again', ...namesOf(window), because });
  }
}
