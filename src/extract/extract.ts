/**
 * Extraction: windows → spooled answers.
 *
 * Asks for many windows at once (the service's pace decides how many are on the wire), saves each answer to the spool,
 * and hands out what is ready in batches, as one statement over many files loads fastest. Windows may be added to the
 * queue between batches: split ones, or ones to be asked for again. What fails comes out as a failure beside its
 * window, with the parts of it that were answered; nothing here throws for one window.
 */

import { asFailure, Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Part } from '../model/part.ts';
import type { Slice } from '../model/slice.ts';
import { labelOf, reportParameters, type Window } from '../model/window.ts';
import type { SavedBody, Service } from '../service/service.ts';
import { quoteLongNumbers } from '../spool/long-numbers.ts';
import type { Spool, Spooled, SpooledAnswer } from '../spool/spool.ts';

/** The answer to one part of a window. */
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
}

export interface Missed {
  readonly window: Window;
  readonly failure: Failure;
  /** The parts that were too heavy; empty when something else failed, and then nothing is answered either. */
  readonly heavy: readonly Part[];
  readonly answered: PartAnswers;
}

export interface Batch {
  /** Of one slice each, in the order they arrived. */
  readonly spooled: readonly Spooled[];
  readonly missed: readonly Missed[];
  /** Reports asked for since the last batch, whatever became of them; a slice may occur more than once. */
  readonly asked: readonly { readonly slice: Slice; readonly requests: number }[];
}

export interface Extraction {
  readonly service: Pick<Service, 'report'>;
  readonly spool: Pick<Spool, 'pathFor' | 'keep' | 'discard'>;
  /** Windows asked for at the same time; the service's own pace may allow fewer. */
  readonly maxConcurrency: number;
  readonly emit: Emit;
  readonly signal: AbortSignal;
}

/** One statement reads a batch, and its rows are held as text once: more files would not load faster in this memory. */
const MAX_BATCH_FILES = 8;
/** Files are parsed in parallel, each in several times its size; more at once would leave the memory limit. */
const MAX_BATCH_BYTES = 300_000_000;
/** One document is parsed as a whole, in five to six times its size. */
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
    const requests = window.parts.length - answered.size;
    extraction.emit({ type: 'window_asked', slice: window.slice.name, window: labelOf(window), requests });
    const answer = await fetchWindow(asking, extraction).catch((error: unknown): Missed => {
      return { window, failure: asFailure(error), heavy: [], answered: new Map() };
    });
    asked.push({ slice: window.slice, requests });
    if ('failure' in answer) missed.push(answer);
    else spooled.push(answer);
  };
  const start = (asking: Asking): void => {
    const task = settle(asking).finally(() => underWay.delete(task));
    underWay.add(task);
  };
  for (;;) {
    while (underWay.size < extraction.maxConcurrency && spooled.length < MAX_WAITING && !extraction.signal.aborted) {
      const next = queue.shift();
      if (next === undefined) break;
      start(next);
    }
    if (spooled.length > 0 || missed.length > 0) {
      yield { spooled: takeOfOneSlice(spooled), missed: missed.splice(0), asked: asked.splice(0) };
      continue;
    }
    if (underWay.size === 0) return;
    await Promise.race(underWay);
  }
}

/** The waiting answers of the slice that waited longest, at most a batch; the others stay. */
function takeOfOneSlice(waiting: Spooled[]): Spooled[] {
  const name = waiting[0]?.window.slice.name;
  const taken: Spooled[] = [];
  let bytes = 0;
  for (const next of waiting.filter(({ window }) => window.slice.name === name)) {
    bytes += plainBytesOf(next);
    const files = taken.reduce((sum, { answers }) => sum + answers.length, next.answers.length);
    if (taken.length > 0 && (files > MAX_BATCH_FILES || bytes > MAX_BATCH_BYTES)) break;
    taken.push(next);
  }
  const rest = waiting.filter((answer) => !taken.includes(answer));
  waiting.splice(0, waiting.length, ...rest);
  return taken;
}

function plainBytesOf({ answers }: Spooled): number {
  return answers.reduce((sum, { body }) => sum + (body?.plainBytes ?? 0), 0);
}

/**
 * All parts of a window, or its failure. One that is too heavy leaves the others to be answered, as they are wanted
 * whatever it is divided into; any other failure gives them up.
 */
async function fetchWindow({ window, answered }: Asking, extraction: Extraction): Promise<Spooled | Missed> {
  const giveUp = new AbortController();
  const signal = AbortSignal.any([extraction.signal, giveUp.signal]);
  const answers = new Map(answered);
  const failures = new Map<Part, Failure>();
  await Promise.all(
    window.parts.map(async (part) => {
      if (answered.has(part)) return;
      try {
        answers.set(part, await fetchPart(window, part, { ...extraction, signal }));
      } catch (error) {
        if (giveUp.signal.aborted) return;
        const failure = asFailure(error);
        failures.set(part, failure);
        if (!isTooHeavy(failure)) giveUp.abort(error);
      }
    }),
  );
  const other = [...failures.values()].find((failure) => !isTooHeavy(failure));
  if (other !== undefined) {
    await extraction.spool.discard({ answers: [...answers.values()] });
    return { window, failure: other, heavy: [], answered: new Map() };
  }
  const [first] = failures.values();
  if (first !== undefined) return { window, failure: first, heavy: [...failures.keys()], answered: answers };
  return spooledOf(window, answers, extraction.emit);
}

function isTooHeavy({ code }: Failure): boolean {
  return code === 'SOURCE_TOO_HEAVY' || code === 'SOURCE_TIMEOUT';
}

/** A window all of whose parts were answered; asked for when the first of them was, which finality is judged by. */
function spooledOf(window: Window, answered: PartAnswers, emit: Emit): Spooled {
  const answers = window.parts.flatMap((part) => answered.get(part) ?? []);
  const requestedAt = new Date(Math.min(...answers.map(({ requestedAt }) => requestedAt.getTime())));
  const receivedAt = new Date(Math.max(...answers.map(({ receivedAt }) => receivedAt.getTime())));
  emit({
    type: 'window_fetched',
    slice: window.slice.name,
    window: labelOf(window),
    bytes: answers.reduce((sum, { body }) => sum + (body?.bytes ?? 0), 0),
    ms: receivedAt.getTime() - requestedAt.getTime(),
  });
  return { window, answers, requests: answers.length, requestedAt, receivedAt };
}

async function fetchPart(window: Window, part: Part, { service, spool, signal }: Extraction): Promise<PartAnswer> {
  const requestedAt = new Date();
  const saved = await service.report(reportParameters(window, part), spool.pathFor(window), signal);
  if (saved !== null && saved.plainBytes > MAX_DOCUMENT_BYTES) throw await tooLarge(window, saved, spool);
  const kept = saved === null ? null : await spool.keep(saved);
  const body = kept?.longNumbers === true ? await quoteLongNumbers(kept) : kept;
  return { body, requestedAt, receivedAt: new Date() };
}

/** The failure of an answer that is whole but too large to be parsed in bounded memory: a smaller question is asked. */
async function tooLarge(window: Window, saved: SavedBody, spool: Extraction['spool']): Promise<Failure> {
  await spool.discard({ answers: [{ body: saved }] });
  const megabytes = Math.round(saved.plainBytes / 1_000_000);
  const message = `slice ${window.slice.name}, ${labelOf(window)}: the answer had ${megabytes} MB, more than the ${MAX_DOCUMENT_BYTES / 1_000_000} MB that are parsed at once.`;
  return new Failure('SOURCE_TOO_HEAVY', message, {
    facts: { bytes: saved.plainBytes },
    hint: 'Drop a dimension from the slice, or filter it.',
  });
}
