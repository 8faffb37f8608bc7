/**
 * Extraction: requests windows and spools their answers.
 *
 * Requests many windows at once (the service's pace decides how many are on the wire) and yields what is spooled in batches,
 * because one statement over many files loads fastest. Windows may be added to the queue between batches: split ones, or ones
 * to request again. A failed window is yielded with its failure and the answered parts; nothing here throws for one window.
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

/** The answer to one request of a window, with the instants of the request and the response. */
export interface TimedAnswer extends SpooledAnswer {
  readonly requestedAt: Date;
  readonly receivedAt: Date;
}

/** By request of one window (`requestId`). */
export type TimedAnswers = ReadonlyMap<string, TimedAnswer>;

/** A window to request. */
export interface PendingWindow {
  readonly window: Window;
  /** How often an answer of this window was discarded. */
  readonly attempt: number;
  /** Whether an answer took most rows of a settled period, or had none of one, so that this one confirms or refutes it. */
  readonly isDoubted: boolean;
  /** The answers that this run already has; they are not requested again. */
  readonly answered: TimedAnswers;
  /** What the service states for the whole; null if that was not answered yet. */
  readonly whole: WholeAnswer | null;
}

/** A window without any answer yet. */
export const unanswered = (window: Window, attempt = 0, isDoubted = false): PendingWindow => {
  return { window, attempt, isDoubted, answered: new Map(), whole: null };
};

export interface Missed extends PendingWindow {
  readonly failure: Failure;
  /** The parts (`partId`) that were too heavy. Empty if something else failed; then `answered` is empty too. */
  readonly heavy: ReadonlySet<string>;
}

export interface Batch {
  /** Of one slice and the same metrics, in the order they arrived. */
  readonly spooled: readonly Spooled[];
  readonly missed: readonly Missed[];
  /** Requests since the last batch, whatever their outcome; a slice may occur more than once. */
  readonly requested: readonly { readonly slice: Slice; readonly requests: number }[];
}

interface Extraction {
  readonly service: Pick<Service, 'report'>;
  readonly spool: Pick<Spool, 'pathFor' | 'discard'>;
  /** Reads the pages of a spooled answer, if that is worthwhile before its batch is loaded. */
  readonly read: (window: Window, pages: readonly SavedBody[]) => Promise<void>;
  /** Most windows requested at the same time; the service's own pace may allow fewer. */
  readonly maxConcurrency: number;
  readonly emit: Emit;
  readonly signal: AbortSignal;
  /** How many of a slice's metrics show missing rows by their sums. */
  readonly adding: (slice: Slice) => Adding;
  /** Called with each answer and its plain bytes before the next window is requested; may change the queue. */
  readonly onAnswer: (window: Window, bytes: number) => void;
}

/** One transaction loads a batch: a larger one is no faster, and would all have to be loaded again if it failed. */
const MAX_BATCH_BYTES = 300_000_000;
const MAX_BATCH_WINDOWS = 200;
/** Most answers that wait to be loaded; more would only fill the disk. */
const MAX_WAITING = 80;

type Request = ReturnType<typeof requestsOf>[number];

const missedWhole = (window: Window, failure: Failure): Missed => ({
  ...unanswered(window),
  failure,
  heavy: new Set(),
});

/** Yields answers to the queue's windows until the queue is empty and no request is under way. Takes windows off the queue. */
export async function* extract(
  queue: PendingWindow[],
  extraction: Extraction,
): AsyncGenerator<Batch, void> {
  const underWay = new Set<Promise<void>>();
  const spooled: Spooled[] = [];
  const missed: Missed[] = [];
  const requested: Batch['requested'][number][] = [];
  const settle = async (pending: PendingWindow): Promise<void> => {
    const { window, answered } = pending;
    const ofWhole = wholeRequests(window, extraction.adding(window.slice), pending.whole);
    const requests = requestsOf(window).length - answered.size + ofWhole;
    extraction.emit({
      type: 'window_asked',
      slice: window.slice.name,
      window: labelOf(window),
      requests,
    });
    const answer = await fetchWindow(pending, extraction).catch((error: unknown) =>
      missedWhole(window, asFailure(error)),
    );
    // The whole is requested only after all parts are answered.
    requested.push({
      slice: window.slice,
      requests: 'failure' in answer ? requests - ofWhole : requests,
    });
    if ('failure' in answer) {
      missed.push(answer);
      return;
    }
    spooled.push(answer);
    extraction.onAnswer(window, bytesOf(answer));
  };
  // Also runs while a batch is being loaded. But failures are handled first, because they may end the run.
  const fill = (): void => {
    while (
      underWay.size < extraction.maxConcurrency &&
      spooled.length < MAX_WAITING &&
      missed.length === 0
    ) {
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
      yield {
        spooled: takeOfOneSlice(spooled),
        missed: missed.splice(0),
        requested: requested.splice(0),
      };
      continue;
    }
    if (underWay.size === 0) return;
    await Promise.race(underWay);
  }
}

/** Takes a batch of waiting answers with the slice and metrics of the oldest; no two of them replace the same rows. */
function takeOfOneSlice(waiting: Spooled[]): Spooled[] {
  const [first] = waiting;
  const taken: Spooled[] = [];
  let bytes = 0;
  const isAlike = ({ window }: Spooled): boolean =>
    first !== undefined &&
    window.slice.name === first.window.slice.name &&
    haveSameMetrics(window, first.window);
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

const bytesOf = ({ answers }: Spooled): number =>
  plainBytesOf(answers.flatMap(({ pages }) => pages));

/** Requests all parts of a window and its whole, if it has one; returns the answers or the failure. */
async function fetchWindow(
  pending: PendingWindow,
  extraction: Extraction,
): Promise<Spooled | Missed> {
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
      // The other parts are needed however a heavy one is divided; any other failure aborts them.
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
    if (failure !== undefined)
      return { ...pending, failure, heavy: new Set(heavy.keys()), answered };
    const pagesOf = async (parameters: Readonly<Record<string, string>>): Promise<SpooledPages> =>
      fetchPages(window, parameters, within);
    const adding = extraction.adding(window.slice);
    const whole = hasWhole(window)
      ? await requestWhole(window, pending.whole, { ...within, pagesOf, adding })
      : null;
    return spooledOf({ ...pending, answered, whole }, extraction);
  } catch (error) {
    await extraction.spool.discard({ answers: [...answered.values()] });
    return missedWhole(window, asFailure(error));
  }
}

/** A window with all its answers; finality is judged by its `requestedAt`, the instant of the first request. */
function spooledOf(pending: PendingWindow, extraction: Extraction): Spooled {
  const { window, attempt, isDoubted, answered, whole } = pending;
  const answers = requestsOf(window).flatMap((request) => {
    const answer = answered.get(requestId(request));
    // Its part may have another number now, if another part was divided since.
    return answer === undefined ? [] : [{ ...answer, partNo: request.partNo }];
  });
  const requestedAt = new Date(
    Math.min(...answers.map(({ requestedAt }) => requestedAt.getTime())),
  );
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
  return { window, attempt, isDoubted, answers, whole, requests, requestedAt, receivedAt };
}

async function fetchRequest(
  window: Window,
  request: Request,
  extraction: Extraction,
): Promise<TimedAnswer> {
  const { partNo, metrics } = request;
  const requestedAt = new Date();
  const { pages, unfollowed } = await fetchPages(
    window,
    reportParameters(window, request),
    extraction,
  );
  const receivedAt = new Date();
  await extraction.read(window, pages);
  return { partNo, metrics, pages, unfollowed, requestedAt, receivedAt };
}

/** The answers to those parts of a window that are not to be divided. */
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

/** Fetches every page of a report. Stops, and returns why, if a page leads elsewhere, repeats another or cannot be read. */
async function fetchPages(
  window: Window,
  parameters: Readonly<Record<string, string>>,
  { service, spool, signal }: Extraction,
): Promise<SpooledPages> {
  const pages: SavedBody[] = [];
  /** Addresses of pages, and digests of the first rows of pages: one occurs twice only if the pages are a loop. */
  const seen = new Set<string>();
  const isSeen = (text: string): boolean => seen.size === seen.add(text).size;
  for (let page: string | undefined; ;) {
    const path = spool.pathFor(window);
    const saved: SavedBody | null = await service.report(parameters, path, signal, page);
    if (saved === null)
      return {
        pages,
        unfollowed: page === undefined ? null : `the next page ${page} had no content`,
      };
    pages.push(saved);
    const isRepeated = isSeen(saved.rowsDigest ?? path);
    if (isRepeated)
      return { pages, unfollowed: `the next page ${page} repeated the rows of an earlier one` };
    page = saved.nextPage ?? undefined;
    if (page === undefined) return { pages, unfollowed: saved.unfollowed ?? null };
    if (isSeen(page) || pages.length >= MAX_PAGES) {
      return {
        pages,
        unfollowed: `the next page ${page} was named after ${pages.length} pages, in a loop`,
      };
    }
  }
}
