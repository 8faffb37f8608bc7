/** What extraction asks for of a window in parts, and what it keeps of it when some of them fail. */

import { expect, test } from 'vitest';

import { Failure, type FailureCode } from '../../src/errors.ts';
import { extract, type Asking, type Batch } from '../../src/extract/extract.ts';
import { day } from '../../src/model/calendar.ts';
import type { Part } from '../../src/model/part.ts';
import { windowOf, type Window } from '../../src/model/window.ts';
import type { SavedBody } from '../../src/service/service.ts';
import { slice } from '../support/slice.ts';

const asPart = (...apps: string[]): Part => ({ app_token: { in: apps, notIn: [] } });
const rest: Part = { app_token: { in: null, notIn: ['a', 'b'] } };

const bucket = { start: day('2026-01-01'), end: day('2026-01-02') };
const declared = slice({ name: 'daily', dimensions: ['day', 'app_token'], metrics: ['installs'] });

const windowIn = (...parts: Part[]): Window =>
  windowOf(declared, 'f', [{ period: { bucket, asked: bucket }, reason: 'new' }], parts);

const bodyAt = (path: string): SavedBody => ({
  path,
  bytes: 7,
  plainBytes: 7,
  encoding: 'identity',
  sha256: '',
  longNumbers: false,
});

interface Told {
  readonly batches: readonly Batch[];
  /** `app_token` filters of the reports that were asked for. */
  readonly asked: readonly string[];
  readonly discarded: readonly string[];
}

/**
 * Extracts from a service that fails some reports, by their filter; the others are answered in files of that name, which
 * the disk may refuse to remove.
 */
async function extracted(
  asking: Asking,
  failing: Readonly<Record<string, FailureCode>>,
  onDiscard: () => void = () => {},
): Promise<Told> {
  const [asked, discarded]: [string[], string[]] = [[], []];
  const report = async (parameters: Readonly<Record<string, string>>, _: string, signal: AbortSignal) => {
    const filter = parameters['app_token__in'] ?? `not ${parameters['app_token__not_in'] ?? ''}`;
    asked.push(filter);
    const code = failing[filter];
    if (code !== undefined) throw new Failure(code, filter);
    await new Promise((resolve) => setTimeout(resolve, 5));
    signal.throwIfAborted();
    return bodyAt(filter);
  };
  const spool = {
    pathFor: () => '',
    keep: async <T>(body: T) => body,
    discard: async ({
      answers,
    }: {
      readonly answers: readonly { readonly body: { readonly path: string } | null }[];
    }) => {
      onDiscard();
      discarded.push(...answers.map(({ body }) => body?.path ?? ''));
    },
  };
  const batches: Batch[] = [];
  const signal = new AbortController().signal;
  for await (const batch of extract([asking], {
    service: { report },
    spool,
    maxConcurrency: 2,
    emit: () => {},
    signal,
  })) {
    batches.push(batch);
  }
  return { batches, asked, discarded };
}

test('of 3 parts, 2 of which are too heavy, the third is answered and handed out with the failure', async () => {
  const window = windowIn(asPart('a'), asPart('b'), rest);
  const failing = { a: 'SOURCE_TOO_HEAVY', b: 'SOURCE_TIMEOUT' } as const;
  const { batches, discarded } = await extracted({ window, answered: new Map() }, failing);
  const [missed] = batches.flatMap((batch) => batch.missed);
  expect(missed?.heavy).toEqual(window.parts.slice(0, 2));
  expect([...(missed?.answered ?? [])].map(([part, { body }]) => [part, body?.path])).toEqual([[rest, 'not a,b']]);
  expect(batches.flatMap(({ asked }) => asked)).toEqual([{ slice: declared, requests: 3 }]);
  expect(discarded).toEqual([]);
});

test('a part that was answered is not asked for again: its answer takes its place among those of the others', async () => {
  const window = windowIn(asPart('a'), asPart('b'), rest);
  const at = { requestedAt: new Date('2026-02-01T02:30:00Z'), receivedAt: new Date('2026-02-01T02:31:00Z') };
  const earlier = { ...at, body: null };
  const answered = new Map([[window.parts[1] ?? rest, earlier]]);
  const { batches, asked } = await extracted({ window, answered }, {});
  const [spooled] = batches.flatMap((batch) => batch.spooled);
  expect(asked).toEqual(['a', 'not a,b']);
  expect(spooled?.answers.map(({ body }) => body?.path ?? null)).toEqual(['a', null, 'not a,b']);
  expect(spooled?.requests).toBe(3);
  expect(batches.flatMap(({ asked }) => asked)).toEqual([{ slice: declared, requests: 2 }]);
});

test('a window counts as asked for when the first of its parts was, which finality is judged by', async () => {
  const window = windowIn(asPart('a'), rest);
  const at = { requestedAt: new Date('2026-02-01T02:30:00Z'), receivedAt: new Date('2026-02-01T02:31:00Z') };
  const answered = new Map([[window.parts[0] ?? rest, { ...at, body: null }]]);
  const { batches } = await extracted({ window, answered }, {});
  const [spooled] = batches.flatMap((batch) => batch.spooled);
  expect(spooled?.requestedAt).toEqual(at.requestedAt);
  expect(spooled?.receivedAt.getTime()).toBeGreaterThan(at.receivedAt.getTime());
});

test('a part that is refused gives the others up, and what was answered of them is removed', async () => {
  const window = windowIn(asPart('a'), asPart('b'), rest);
  const earlier = { body: bodyAt('b'), requestedAt: new Date(0), receivedAt: new Date(0) };
  const answered = new Map([[window.parts[1] ?? rest, earlier]]);
  const { batches, discarded } = await extracted({ window, answered }, { a: 'SOURCE_REFUSED' });
  const [missed] = batches.flatMap((batch) => batch.missed);
  expect(missed).toMatchObject({ failure: { code: 'SOURCE_REFUSED' }, heavy: [] });
  expect(missed?.answered.size).toBe(0);
  expect(discarded).toEqual(['b']);
});

test('a disk that does not remove what was answered is the failure of that window, and of nothing else', async () => {
  const window = windowIn(asPart('a'), rest);
  const answered = new Map([[rest, { body: bodyAt('rest'), requestedAt: new Date(0), receivedAt: new Date(0) }]]);
  const { batches } = await extracted({ window, answered }, { a: 'SOURCE_REFUSED' }, () => {
    throw new Failure('STORAGE_FAILED', 'The spool could not be used.');
  });
  const [missed] = batches.flatMap((batch) => batch.missed);
  expect(missed).toMatchObject({ window, failure: { code: 'STORAGE_FAILED' }, heavy: [] });
  expect(batches.flatMap(({ asked }) => asked)).toEqual([{ slice: declared, requests: 2 - answered.size }]);
});
