/**
 * Extraction: windows → spooled answers.
 *
 * Asks for many windows at once (the service's pace decides how many are on the wire), saves each answer to the spool,
 * and hands out what is ready in batches, as one statement over many files loads fastest. Windows may be added to the
 * queue between batches: split ones, or ones to be asked for again. What fails comes out as a failure beside its
 * window; nothing here throws for one window.
 */

import { rm } from 'node:fs/promises';

import { asFailure, Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Part } from '../model/part.ts';
import { labelOf, reportParameters, type Window } from '../model/window.ts';
import type { SavedBody, Service } from '../service/service.ts';
import { quoteLongNumbers } from '../spool/long-numbers.ts';
import type { Spool, Spooled, SpooledAnswer } from '../spool/spool.ts';

export interface Missed {
  readonly window: Window;
  readonly failure: Failure;
  /** Which of the window's parts failed first. */
  readonly partNo: number;
}

export interface Batch {
  /** Of one slice each, in the order they arrived. */
  readonly spooled: readonly Spooled[];
  readonly missed: readonly Missed[];
}

export interface Extraction {
  readonly service: Service;
  readonly spool: Spool;
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
export async function* extract(queue: Window[], extraction: Extraction): AsyncGenerator<Batch, void> {
  const underWay = new Set<Promise<void>>();
  const spooled: Spooled[] = [];
  const missed: Missed[] = [];
  const settle = async (window: Window): Promise<void> => {
    const answer = await fetchWindow(window, extraction);
    if ('failure' in answer) missed.push(answer);
    else spooled.push(answer);
  };
  const start = (window: Window): void => {
    const task = settle(window).finally(() => underWay.delete(task));
    underWay.add(task);
  };
  for (;;) {
    while (underWay.size < extraction.maxConcurrency && spooled.length < MAX_WAITING && !extraction.signal.aborted) {
      const next = queue.shift();
      if (next === undefined) break;
      start(next);
    }
    if (spooled.length > 0 || missed.length > 0) {
      yield { spooled: takeOfOneSlice(spooled), missed: missed.splice(0) };
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

/** All parts of a window, or the first failure; the parts still under way are then given up. */
async function fetchWindow(window: Window, extraction: Extraction): Promise<Spooled | Missed> {
  const requestedAt = new Date();
  const giveUp = new AbortController();
  const signal = AbortSignal.any([extraction.signal, giveUp.signal]);
  const failures: Missed[] = [];
  const answers = await Promise.all(
    window.parts.map(async (part, partNo) => {
      try {
        return await fetchPart(window, part, { ...extraction, signal });
      } catch (error) {
        failures.push({ window, failure: asFailure(error), partNo });
        giveUp.abort(error);
        return { body: null };
      }
    }),
  );
  const [failed] = failures;
  if (failed !== undefined) return failed;
  const receivedAt = new Date();
  extraction.emit({
    type: 'window_fetched',
    slice: window.slice.name,
    window: labelOf(window),
    bytes: answers.reduce((sum, { body }) => sum + (body?.bytes ?? 0), 0),
    ms: receivedAt.getTime() - requestedAt.getTime(),
  });
  return { window, answers, requests: answers.length, requestedAt, receivedAt };
}

async function fetchPart(window: Window, part: Part, { service, spool, signal }: Extraction): Promise<SpooledAnswer> {
  const saved = await service.report(reportParameters(window, part), spool.pathFor(window), signal);
  if (saved !== null && saved.plainBytes > MAX_DOCUMENT_BYTES) throw await tooLarge(window, saved);
  const kept = saved === null ? null : await spool.keep(saved);
  return { body: kept?.longNumbers === true ? await quoteLongNumbers(kept) : kept };
}

/** The failure of an answer that is whole but too large to be parsed in bounded memory: a smaller question is asked. */
async function tooLarge(window: Window, saved: SavedBody): Promise<Failure> {
  await rm(saved.path, { force: true });
  const megabytes = Math.round(saved.plainBytes / 1_000_000);
  const message = `slice ${window.slice.name}, ${labelOf(window)}: the answer had ${megabytes} MB, more than the ${MAX_DOCUMENT_BYTES / 1_000_000} MB that are parsed at once.`;
  return new Failure('SOURCE_TOO_HEAVY', message, {
    facts: { bytes: saved.plainBytes },
    hint: 'Drop a dimension from the slice, or filter it.',
  });
}
