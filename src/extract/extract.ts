/**
 * Extraction: windows → spooled answers.
 *
 * Asks for many windows at once (the service's pace decides how many are on the wire), saves each answer to the spool,
 * and hands out what is ready in batches, as one statement over many files loads fastest. Windows may be added to the
 * queue between batches: split ones, or ones to be asked for again. What fails comes out as a failure beside its
 * window, with the parts of it that were answered; nothing here throws for one window.
 */

import { asFailure, Failure, isTooHeavy } from '../errors.ts';
import type { Emit } from '../events.ts';
import { labelOf, type Part, replacesSame, reportParameters, type Window } from '../model/window.ts';
import type { Slice } from '../model/slice.ts';
import { linkSignals } from '../service/clock.ts';
import type { SavedBody, Service } from '../service/service.ts';
import { quoteLongNumbers } from '../spool/long-numbers.ts';
import type { Spool, Spooled, SpooledAnswer, WholeAnswer } from '../spool/spool.ts';
import { fetchPages } from './pages.ts';
import { askByYear, askWhole, type AskingWhole, type Pages, requestsOfWhole, wholeRequests } from './whole.ts';

/** The answer to one part of a window, and when it was asked for. */
export interface PartAnswer extends SpooledAnswer {
  readonly requestedAt: Date;
  readonly receivedAt: Date;
}

/** By part of one window, the very value that stands in the window: a part that was divided since is another. */
export type PartAnswers = ReadonlyMap<Part, PartAnswer>;

/** A window to ask for. */
export interface Asking {
  readonly window: Window;
  /** What this run was answered already; only the other parts are asked for. */
  readonly answered: PartAnswers;
  /** What the service states of the whole, where that was answered already. */
  readonly whole: WholeAnswer | null;
}

/** A window of which nothing was answered yet. */
export const unanswered = (window: Window): Asking => ({ window, answered: new Map(), whole: null });

export interface Missed {
  readonly window: Window;
  readonly failure: Failure;
  /** The parts that were too heavy; empty when something else failed, and then nothing is answered either. */
  readonly heavy: readonly Part[];
  readonly answered: PartAnswers;
  readonly whole: WholeAnswer | null;
}

export interface Batch {
  /** Of one slice each, in the order they arrived. */
  readonly spooled: readonly Spooled[];
  readonly missed: readonly Missed[];
  /** Reports asked for since the last batch, whatever became of them; a slice may occur more than once. */
  readonly asked: readonly { readonly slice: Slice; readonly requests: number }[];
}

interface Extraction extends Pick<AskingWhole, 'adding'> {
  readonly service: Pick<Service, 'report'>;
  readonly spool: Pick<Spool, 'pathFor' | 'keep' | 'discard'>;
  /** Windows asked for at the same time; the service's own pace may allow fewer. */
  readonly maxConcurrency: number;
  readonly emit: Emit;
  readonly signal: AbortSignal;
  /** Reads answers of one meaning, with a window of it, into columns together; false where SQL has to read one of them, which takes several times its memory. */
  readonly read: (window: Window, answers: readonly (readonly SavedBody[])[]) => Promise<boolean>;
  /** Whether answers are kept after they are loaded, for SQL to read. */
  readonly isArchived: boolean;
  /** Told of each answer and its plain bytes before the next window is asked for; may change the queue. */
  readonly came: (window: Window, bytes: number) => void;
}

/** One transaction loads a batch: what is larger gains nothing by it, and would have to be loaded again if it failed. */
const MAX_BATCH_BYTES = 300_000_000;
const MAX_BATCH_WINDOWS = 200;
/** SQL parses a document as a whole, in five to six times its size. */
const MAX_DOCUMENT_BYTES = 60_000_000;
/** Answers waiting to be loaded; more would only fill the disk. */
const MAX_WAITING = 80;

/** Answers to the queue's windows until the queue is empty and nothing is under way. Takes windows off the queue. */
export async function* extract(queue: Asking[], extraction: Extraction): AsyncGenerator<Batch, void> {
  const underWay = new Set<Promise<void>>();
  const spooled: Spooled[] = [];
  const missed: Missed[] = [];
  const asked: Batch['asked'][number][] = [];
  const settle = async (asking: Asking): Promise<void> => {
    const { window, answered } = asking;
    const requests = window.parts.length - answered.size + wholeRequests(window, asking.whole, extraction);
    extraction.emit({ type: 'window_asked', slice: window.slice.name, window: labelOf(window), requests });
    const answer = await fetchWindow(asking, extraction).catch((error: unknown): Missed => {
      return { window, failure: asFailure(error), heavy: [], answered: new Map(), whole: null };
    });
    asked.push({ slice: window.slice, requests });
    if ('failure' in answer) {
      missed.push(answer);
      return;
    }
    spooled.push(answer);
    extraction.came(window, plainBytesOf(answer));
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
      const read = await readSmall(takeOfOneSlice(spooled), extraction);
      missed.push(...read.missed);
      yield { spooled: read.spooled, missed: missed.splice(0), asked: asked.splice(0) };
      continue;
    }
    if (underWay.size === 0) return;
    await Promise.race(underWay);
  }
}

/**
 * The waiting answers of the slice that waited longest, at most a batch; the others stay. A batch ends before an answer whose
 * days lie among those of another one of it, as those of the archive may.
 */
export function takeOfOneSlice(waiting: Spooled[]): Spooled[] {
  const name = waiting[0]?.window.slice.name;
  const taken: Spooled[] = [];
  let bytes = 0;
  for (const next of waiting.filter(({ window }) => window.slice.name === name)) {
    bytes += plainBytesOf(next);
    if (taken.length > 0 && (taken.length >= MAX_BATCH_WINDOWS || bytes > MAX_BATCH_BYTES)) break;
    if (taken.some(({ window }) => replacesSame(window, next.window))) break;
    taken.push(next);
  }
  const rest = waiting.filter((answer) => !taken.includes(answer));
  waiting.splice(0, waiting.length, ...rest);
  return taken;
}

function plainBytesOf({ answers }: Spooled): number {
  return answers.flatMap(({ pages }) => pages).reduce((sum, page) => sum + page.plainBytes, 0);
}

/**
 * All parts of a window, or its failure. One that is too heavy leaves the others to be answered, as they are wanted
 * whatever it is divided into; any other failure gives them up. A window of several parts is asked for as a whole besides, and
 * one with pages that could not be followed by the year.
 */
async function fetchWindow(asking: Asking, extraction: Extraction): Promise<Spooled | Missed> {
  const { window, answered } = asking;
  const giveUp = new AbortController();
  const linked = linkSignals(extraction.signal, giveUp.signal);
  const within = { ...extraction, signal: linked.signal };
  const answers = new Map(answered);
  const failures = new Map<Part, Failure>();
  let { whole } = asking;
  let byYear: WholeAnswer | null = null;
  const asked = {
    ...within,
    pagesOf: async (parameters: Readonly<Record<string, string>>): Promise<Pages> =>
      fetchPages(window, parameters, within),
  };
  const tried = async (part: Part | null, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (giveUp.signal.aborted) return;
      const failure = asFailure(error);
      if (part !== null) failures.set(part, failure);
      if (part === null || !isTooHeavy(failure)) giveUp.abort(error);
    }
  };
  try {
    await Promise.all([
      ...window.parts.map(async (part) => {
        if (answered.has(part)) return;
        await tried(part, async () => {
          answers.set(part, await fetchPart(window, part, within));
        });
      }),
      tried(null, async () => {
        if (wholeRequests(window, asking.whole, extraction) > 0) whole = await askWhole(window, asking.whole, asked);
      }),
    ]);
    const isUnfollowed = [...answers.values()].some(({ unfollowed }) => unfollowed !== null);
    if (isUnfollowed && failures.size === 0) {
      await tried(null, async () => {
        byYear = await askByYear(window, asked);
      });
    }
  } finally {
    linked.unlink();
  }
  const other = [...failures.values()].find((failure) => !isTooHeavy(failure));
  const ended = other ?? (giveUp.signal.aborted ? asFailure(giveUp.signal.reason) : undefined);
  if (ended !== undefined) {
    await extraction.spool.discard({ answers: [...answers.values()] });
    return { window, failure: ended, heavy: [], answered: new Map(), whole: null };
  }
  const [first] = failures.values();
  if (first !== undefined) return { window, failure: first, heavy: [...failures.keys()], answered: answers, whole };
  return spooledOf(window, answers, { whole, byYear }, extraction);
}

/** A window all of whose parts were answered; asked for when the first of them was, which finality is judged by. */
function spooledOf(
  window: Window,
  answered: PartAnswers,
  { whole, byYear }: Pick<Spooled, 'whole' | 'byYear'>,
  extraction: Extraction,
): Spooled {
  const answers = window.parts.flatMap((part) => answered.get(part) ?? []);
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
  const ofWhole = requestsOfWhole(window, whole, extraction) + (byYear === null ? 0 : 1);
  const requests = answers.reduce((sum, answer) => sum + Math.max(1, answer.pages.length), ofWhole);
  return { window, answers, whole, byYear, requests, requestedAt, receivedAt };
}

async function fetchPart(window: Window, part: Part, extraction: Extraction): Promise<PartAnswer> {
  const requestedAt = new Date();
  const { pages, unfollowed } = await fetchPages(window, reportParameters(window, part), extraction);
  const receivedAt = new Date();
  const kept = extraction.isArchived ? await quoted(pages) : pages;
  const read = isSmall(kept) ? kept : await readPages(window, kept, extraction);
  return { pages: read, unfollowed, requestedAt, receivedAt };
}

/**
 * Bytes of an answer that is read only with the others of its batch, as one: a reader and a file of its own take longer to
 * make than it takes to read, and the engine longer to open.
 */
const SMALL_BYTES = 128 * 1024;

const isSmall = (pages: readonly SavedBody[]): boolean =>
  pages.reduce((sum, { plainBytes }) => sum + plainBytes, 0) <= SMALL_BYTES;

/** A batch with its small answers read: together where the column reader takes all of them, else one by one. */
async function readSmall(
  batch: readonly Spooled[],
  extraction: Extraction,
): Promise<Pick<Batch, 'spooled' | 'missed'>> {
  const small = new Set(
    batch.flatMap(({ answers }) => answers.filter(({ pages }) => pages.length > 0 && isSmall(pages))),
  );
  // What broke it, one of them will meet again and tell of itself.
  const isRead = small.size > 1 && (await readTogether(batch, small, extraction).catch(() => false));
  if (isRead) return { spooled: batch, missed: [] };
  const read = await Promise.all(batch.map(async (each) => readAlone(each, small, extraction)));
  return {
    spooled: read.filter((each) => 'answers' in each),
    missed: read.filter((each) => 'failure' in each),
  };
}

/** A window with each of its small answers read by itself, or its failure. */
async function readAlone(
  spooled: Spooled,
  small: ReadonlySet<SpooledAnswer>,
  extraction: Extraction,
): Promise<Spooled | Missed> {
  const { window } = spooled;
  const answers: SpooledAnswer[] = [];
  try {
    for (const answer of spooled.answers) {
      const isUnread = small.has(answer);
      answers.push(isUnread ? { ...answer, pages: await readPages(window, answer.pages, extraction) } : answer);
    }
    return { ...spooled, answers };
  } catch (error) {
    // What ended the reading is worth more than a disk that does not let go of the rest.
    await extraction.spool.discard(spooled).catch(() => {});
    return { window, failure: asFailure(error), heavy: [], answered: new Map(), whole: null };
  }
}

/** Reads small answers as one; false where they are none. What is seen of the rows of all is true of each, but for weeks. */
async function readTogether(
  batch: readonly Spooled[],
  small: ReadonlySet<SpooledAnswer>,
  { read }: Extraction,
): Promise<boolean> {
  const [first] = batch;
  if (first === undefined || first.window.slice.grain === 'week') return false;
  if (batch.some(({ window }) => window.fingerprint !== first.window.fingerprint)) return false;
  // So that the dates go on from one answer to the next.
  const inOrder = batch.toSorted((a, b) => (a.window.replaced.start < b.window.replaced.start ? -1 : 1));
  const answers = inOrder.flatMap((each) => each.answers.filter((answer) => small.has(answer)));
  return read(
    first.window,
    answers.map(({ pages }) => pages),
  );
}

const quoted = async (pages: readonly SavedBody[]): Promise<readonly SavedBody[]> =>
  Promise.all(pages.map(quoteLongNumbers));

/** The pages as they are to be loaded: in columns, or with numbers that SQL does not round. */
async function readPages(
  window: Window,
  pages: readonly SavedBody[],
  { read, isArchived, spool }: Extraction,
): Promise<readonly SavedBody[]> {
  if (await read(window, [pages])) return pages;
  const large = pages.find(({ plainBytes }) => plainBytes > MAX_DOCUMENT_BYTES);
  if (large !== undefined) throw await tooLarge(window, large, { pages }, spool);
  return isArchived ? pages : quoted(pages);
}

/** The failure of an answer that is whole but too large to be parsed in bounded memory: a smaller question is asked. */
async function tooLarge(
  window: Window,
  saved: SavedBody,
  answer: Pick<SpooledAnswer, 'pages'>,
  spool: Extraction['spool'],
): Promise<Failure> {
  await spool.discard({ answers: [answer] });
  const megabytes = Math.round(saved.plainBytes / 1_000_000);
  const message = `slice ${window.slice.name}, ${labelOf(window)}: the answer had ${megabytes} MB, more than the ${MAX_DOCUMENT_BYTES / 1_000_000} MB of an unusual one that are parsed at once.`;
  return new Failure('SOURCE_TOO_HEAVY', message, {
    facts: { bytes: saved.plainBytes },
    hint: 'Drop a dimension from the slice, or filter it.',
  });
}
