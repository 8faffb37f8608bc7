/**
 * Extraction: windows → spooled answers.
 *
 * Asks for many windows at once (the service's pace decides how many are on the wire), saves each answer to the spool,
 * and hands out what is ready in batches, as one statement over many files loads fastest. Windows may be added to the
 * queue between batches: split ones, or ones to be asked for again. What fails comes out as a failure beside its
 * window, with the parts of it that were answered; nothing here throws for one window.
 */

import { asFailure, type Failure, isTooHeavy } from '../errors.ts';
import type { Emit } from '../events.ts';
import {
  haveSameMetrics,
  labelOf,
  partId,
  replacesSame,
  reportParameters,
  requestId,
  requestsOf,
  type Window,
} from '../model/window.ts';
import type { Slice } from '../model/slice.ts';
import { MAX_PAGES } from '../service/paging.ts';
import type { SavedBody, Service } from '../service/service.ts';
import {
  plainBytesOf,
  type Spool,
  type Spooled,
  type SpooledAnswer,
  type SpooledPages,
  type WholeAnswer,
} from '../spool/spool.ts';
import { type Adding, requestWhole, hasWhole, wholeRequests } from './whole.ts';

/** The answer to one request of a window, and when that was sent. */
export interface TimedAnswer extends SpooledAnswer {
  readonly requestedAt: Date;
  readonly receivedAt: Date;
}

/** By request of one window (`requestId`). */
export type TimedAnswers = ReadonlyMap<string, TimedAnswer>;

/** A window to request. */
export interface PendingWindow {
  readonly window: Window;
  /** How often an answer of this window was thrown away. */
  readonly attempt: number;
  /** What this run was answered already, which is not requested again. */
  readonly answered: TimedAnswers;
  /** What the service states of the whole, where that was answered already. */
  readonly whole: WholeAnswer | null;
}

/** A window of which nothing was answered yet. */
export const unanswered = (window: Window, attempt = 0): PendingWindow => {
  return { window, attempt, answered: new Map(), whole: null };
};

export interface Missed extends PendingWindow {
  readonly failure: Failure;
  /** The parts (`partId`) that were too heavy; empty when something else failed, and then nothing is answered either. */
  readonly heavy: ReadonlySet<string>;
}

export interface Batch {
  /** Of one slice each, in the order they arrived. */
  readonly spooled: readonly Spooled[];
  readonly missed: readonly Missed[];
  /** Reports asked for since the last batch, whatever became of them; a slice may occur more than once. */
  readonly requested: readonly { readonly slice: Slice; readonly requests: number }[];
}

interface Extraction {
  readonly service: Pick<Service, 'report'>;
  readonly spool: Pick<Spool, 'pathFor' | 'discard'>;
  /** Reads the pages of an answer that has landed, where that is worth while before its batch is loaded. */
  readonly read: (window: Window, pages: readonly SavedBody[]) => Promise<void>;
  /** Windows asked for at the same time; the service's own pace may allow fewer. */
  readonly maxConcurrency: number;
  readonly emit: Emit;
  readonly signal: AbortSignal;
  /** Which of a slice's metrics show by their sums that rows are missing. */
  readonly adding: (slice: Slice) => Adding;
  /** Called with each answer and its plain bytes before the next window is requested; may change the queue. */
  readonly onAnswer: (window: Window, bytes: number) => void;
}

/** One transaction loads a batch: what is larger gains nothing by it, and would have to be loaded again if it failed. */
const MAX_BATCH_BYTES = 300_000_000;
const MAX_BATCH_WINDOWS = 200;
/** Answers waiting to be loaded; more would only fill the disk. */
const MAX_WAITING = 80;

type Request = ReturnType<typeof requestsOf>[number];

/** A window that failed as a whole. */
const missedWhole = (window: Window, failure: Failure): Missed => ({
  ...unanswered(window),
  failure,
  heavy: new Set(),
});

/** Answers to the queue's windows until the queue is empty and nothing is under way. Takes windows off the queue. */
export async function* extract(queue: PendingWindow[], extraction: Extraction): AsyncGenerator<Batch, void> {
  const underWay = new Set<Promise<void>>();
  const spooled: Spooled[] = [];
  const missed: Missed[] = [];
  const requested: Batch['requested'][number][] = [];
  const settle = async (pending: PendingWindow): Promise<void> => {
    const { window, answered } = pending;
    const ofWhole = wholeRequests(window, extraction.adding(window.slice), pending.whole);
    const requests = requestsOf(window).length - answered.size + ofWhole;
    extraction.emit({ type: 'window_asked', slice: window.slice.name, window: labelOf(window), requests });
    const answer = await fetchWindow(pending, extraction).catch((error: unknown) =>
      missedWhole(window, asFailure(error)),
    );
    // The whole is requested once all parts were answered.
    requested.push({ slice: window.slice, requests: 'failure' in answer ? requests - ofWhole : requests });
    if ('failure' in answer) {
      missed.push(answer);
      return;
    }
    spooled.push(answer);
    extraction.onAnswer(window, bytesOf(answer));
  };
  // Also while a batch is being loaded; but what failed is judged first, as it may end the run.
  const fill = (): void => {
    while (underWay.size < extraction.maxConcurrency && spooled.length < MAX_WAITING && missed.length === 0) {
      const next = extraction.signal.aborted ? undefined : queue.shift();
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
    if (spooled.length > 0 || missed.length > 0) {
      yield { spooled: takeOfOneSlice(spooled), missed: missed.splice(0), requested: requested.splice(0) };
      continue;
    }
    if (underWay.size === 0) return;
    await Promise.race(underWay);
  }
}

/**
 * The waiting answers of the slice, and to the metrics, that waited longest, at most a batch; the others stay. A batch ends before an answer whose
 * days lie among those of another one of it, as those of the archive may.
 */
function takeOfOneSlice(waiting: Spooled[]): Spooled[] {
  const [first] = waiting;
  const taken: Spooled[] = [];
  let bytes = 0;
  const isAlike = ({ window }: Spooled): boolean =>
    first !== undefined && window.slice.name === first.window.slice.name && haveSameMetrics(window, first.window);
  for (const next of waiting.filter(isAlike)) {
    bytes += bytesOf(next);
    if (taken.length > 0 && (taken.length >= MAX_BATCH_WINDOWS || bytes > MAX_BATCH_BYTES)) break;
    if (taken.some(({ window }) => replacesSame(window, next.window))) break;
    taken.push(next);
  }
  const rest = waiting.filter((answer) => !taken.includes(answer));
  waiting.splice(0, waiting.length, ...rest);
  return taken;
}

const bytesOf = ({ answers }: Spooled): number => plainBytesOf(answers.flatMap(({ pages }) => pages));

/**
 * All requests of a window and, of several parts, its whole; or its failure. A part that is too heavy leaves the others to be answered,
 * as they are wanted whatever it is divided into; any other failure gives them up.
 */
async function fetchWindow(pending: PendingWindow, extraction: Extraction): Promise<Spooled | Missed> {
  const { window } = pending;
  const giveUp = new AbortController();
  const within = { ...extraction, signal: AbortSignal.any([extraction.signal, giveUp.signal]) };
  const answered = new Map(pending.answered);
  const heavy = new Map<string, Failure>();
  const fetch = async (request: Request): Promise<void> => {
    try {
      answered.set(requestId(request), await fetchRequest(window, request, within));
    } catch (error) {
      const failure = asFailure(error);
      if (isTooHeavy(failure)) heavy.set(partId(request.part), failure);
      else giveUp.abort(failure);
    }
  };
  try {
    await Promise.all(
      requestsOf(window)
        .filter((request) => !answered.has(requestId(request)))
        .map(fetch),
    );
    giveUp.signal.throwIfAborted();
    const [failure] = heavy.values();
    if (failure !== undefined) return { ...pending, failure, heavy: new Set(heavy.keys()), answered };
    const pagesOf = async (parameters: Readonly<Record<string, string>>): Promise<SpooledPages> =>
      fetchPages(window, parameters, within);
    const adding = extraction.adding(window.slice);
    const whole = hasWhole(window) ? await requestWhole(window, pending.whole, { ...within, pagesOf, adding }) : null;
    return spooledOf({ ...pending, answered, whole }, extraction);
  } catch (error) {
    await extraction.spool.discard({ answers: [...answered.values()] });
    return missedWhole(window, asFailure(error));
  }
}

/** A window all of whose requests were answered; requested when the first of them was, which finality is judged by. */
function spooledOf({ window, attempt, answered, whole }: PendingWindow, extraction: Extraction): Spooled {
  const answers = requestsOf(window).flatMap((request) => {
    const answer = answered.get(requestId(request));
    // Since it was answered, another part may have been divided.
    return answer === undefined ? [] : [{ ...answer, partNo: request.partNo }];
  });
  const requestedAt = new Date(Math.min(...answers.map(({ requestedAt }) => requestedAt.getTime())));
  const receivedAt = new Date(Math.max(...answers.map(({ receivedAt }) => receivedAt.getTime())));
  const pages = answers.flatMap((answer) => answer.pages);
  extraction.emit({
    type: 'window_fetched',
    slice: window.slice.name,
    window: labelOf(window),
    bytes: pages.reduce((sum, page) => sum + page.bytes, 0),
    ms: receivedAt.getTime() - requestedAt.getTime(),
  });
  const ofWhole = wholeRequests(window, extraction.adding(window.slice));
  const requests = answers.reduce((sum, answer) => sum + Math.max(1, answer.pages.length), ofWhole);
  return { window, attempt, answers, whole, requests, requestedAt, receivedAt };
}

async function fetchRequest(window: Window, request: Request, extraction: Extraction): Promise<TimedAnswer> {
  const { partNo, metrics } = request;
  const requestedAt = new Date();
  const { pages, unfollowed } = await fetchPages(window, reportParameters(window, request), extraction);
  const receivedAt = new Date();
  await extraction.read(window, pages);
  return { partNo, metrics, pages, unfollowed, requestedAt, receivedAt };
}

/** The answers to the parts of a window that are not to be divided. */
export function provenAnswers(
  { window, answers, requestedAt, receivedAt }: Spooled,
  divided: ReadonlySet<string>,
): TimedAnswers {
  const proven = answers.flatMap((answer) => {
    const part = window.parts[answer.partNo];
    if (part === undefined || divided.has(partId(part))) return [];
    return [[requestId({ ...answer, part }), { ...answer, requestedAt, receivedAt }] as const];
  });
  return new Map(proven);
}

/** Every page of a report; at a page that leads elsewhere, repeats an earlier one or cannot be read it ends, and says so. */
async function fetchPages(
  window: Window,
  parameters: Readonly<Record<string, string>>,
  { service, spool, signal }: Extraction,
): Promise<SpooledPages> {
  const pages: SavedBody[] = [];
  /** Pages and beginnings of rows, none of which occurs twice unless the pages are a loop. */
  const seen = new Set<string>();
  const isSeen = (text: string): boolean => seen.size === seen.add(text).size;
  for (let page: string | undefined; ;) {
    const path = spool.pathFor(window);
    const saved: SavedBody | null = await service.report(parameters, path, signal, page);
    if (saved === null)
      return { pages, unfollowed: page === undefined ? null : `the next page ${page} had no content` };
    pages.push(saved);
    const isRepeated = isSeen(saved.rowsDigest ?? path);
    if (isRepeated) return { pages, unfollowed: `the next page ${page} repeated the rows of an earlier one` };
    page = saved.nextPage ?? undefined;
    if (page === undefined) return { pages, unfollowed: saved.unfollowed ?? null };
    if (isSeen(page) || pages.length >= MAX_PAGES) {
      return { pages, unfollowed: `the next page ${page} was named after ${pages.length} pages, in a loop` };
    }
  }
}
