/** What extraction asks for of a window in parts, and what it keeps of it when some of them fail. */

import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { Failure, type FailureCode } from '../../src/errors.ts';
import { type Asking, type Batch, extract, type PartAnswer } from '../../src/extract/extract.ts';
import { day } from '../../src/model/calendar.ts';
import { type Part, type Window, windowOf } from '../../src/model/window.ts';
import type { ReportPage, SavedBody } from '../../src/service/service.ts';
import type { Spool, WholeAnswer } from '../../src/spool/spool.ts';
import { slice } from '../support/slice.ts';

const directory = mkdtempSync(join(tmpdir(), 'ripen-extract-'));
const fileOf = (name: string): string => join(directory, name);
afterAll(() => rmSync(directory, { recursive: true }));

const asPart = (...apps: string[]): Part => ({ app_token: { in: apps, notIn: [] } });
const rest: Part = { app_token: { in: null, notIn: ['a', 'b'] } };

const bucket = { start: day('2026-01-01'), end: day('2026-01-02') };
const declared = slice({ name: 'daily', dimensions: ['day', 'app_token'], metrics: ['installs'] });

const filtered = { ...declared, parameters: { ...declared.parameters, installs__gte: '1' } };

const windowIn = (...parts: Part[]): Window =>
  windowOf(declared, 'f', [{ period: { bucket, asked: bucket }, reason: 'new' }], parts);

const bodyAt = (path: string): SavedBody => ({
  path,
  bytes: 7,
  plainBytes: 7,
  encoding: 'identity',
});

/** What a part was answered with, in files of these names. */
const answerIn = (at: Partial<Pick<PartAnswer, 'requestedAt' | 'receivedAt'>>, ...paths: string[]): PartAnswer => ({
  pages: paths.map(bodyAt),
  unfollowed: null,
  requestedAt: new Date(0),
  receivedAt: new Date(0),
  ...at,
});
const pathsOf = ({ pages }: Pick<PartAnswer, 'pages'>): string[] => pages.map(({ path }) => path);
const noWhole: WholeAnswer = { totals: new Map(), rows: [], values: new Map() };

interface Told {
  readonly batches: readonly Batch[];
  /** `app_token` filters of the reports that were asked for. */
  readonly asked: readonly string[];
  /** Their filters of a metric, else empty. */
  readonly filters: readonly string[];
  readonly discarded: readonly string[];
}

/**
 * Extracts from a service that fails some reports, by their filter; the others are answered in files of that name, which
 * the disk may refuse to remove.
 */
async function extracted(
  asking: Asking,
  failing: Readonly<Record<string, FailureCode>>,
  {
    onDiscard = () => {},
    adding = 'all',
    byApp = [{ rows: [{ app_token: 'a', installs: 12 }, { installs: 1 }, { app_token: 1.5, installs: 1 }] }],
  }: { onDiscard?: () => void; adding?: 'all' | 'some' | 'none'; byApp?: readonly unknown[] } = {},
): Promise<Told> {
  const [asked, filters, discarded]: [string[], string[], string[]] = [[], [], []];
  const report = async (
    parameters: Readonly<Record<string, string>>,
    _: string,
    signal: AbortSignal,
    page?: ReportPage,
  ) => {
    const outside = parameters['app_token__not_in'];
    const unfiltered = parameters['dimensions'] === 'day' ? 'whole' : 'whole by app_token';
    const part = parameters['app_token__in'] ?? (outside === undefined ? null : `not ${outside}`);
    const isWhole = parameters['dimensions'] !== 'day,app_token';
    const filter = part === null ? unfiltered : isWhole ? `whole of ${part}` : part;
    asked.push(filter);
    filters.push(parameters['installs__gte'] ?? '');
    const code = failing[filter];
    if (code !== undefined) throw new Failure(code, filter);
    await new Promise((resolve) => setTimeout(resolve, 5));
    signal.throwIfAborted();
    if (filter === 'whole by app_token') {
      const at = page?.kind === 'cursor' ? Number(page.value) : 0;
      const file = fileOf(`${filter} ${at}`);
      await writeFile(file, JSON.stringify(byApp[at]));
      return { ...bodyAt(file), pagination: byApp[at + 1] === undefined ? null : { next: String(at + 1) } };
    }
    if (!filter.startsWith('whole')) return bodyAt(filter);
    // Each has a file of its own: one is read while the next is written.
    const file = fileOf(filter);
    await writeFile(file, '{"totals":{"installs":12,"cost":"0.10","odd":null}}');
    return bodyAt(file);
  };
  const spool = {
    pathFor: () => '',
    keep: async <T>(body: T) => body,
    discard: async ({ answers }: Parameters<Spool['discard']>[0]) => {
      onDiscard();
      discarded.push(...answers.flatMap(({ pages }) => pages.map(({ path }) => path)));
    },
  };
  const batches: Batch[] = [];
  const signal = new AbortController().signal;
  for await (const batch of extract([asking], {
    service: { report },
    spool,
    maxConcurrency: 2,
    came: () => {},
    emit: () => {},
    signal,
    read: async () => {},
    adding: () => adding,
  })) {
    batches.push(batch);
  }
  return { batches, asked, filters, discarded };
}

test('of 3 parts, 2 of which are too heavy, the third is answered and handed out with the failure', async () => {
  const window = windowIn(asPart('a'), asPart('b'), rest);
  const failing = { a: 'SOURCE_TOO_HEAVY', b: 'SOURCE_TIMEOUT' } as const;
  const { batches, discarded } = await extracted({ window, answered: new Map(), whole: noWhole }, failing);
  const [missed] = batches.flatMap((batch) => batch.missed);
  expect(missed?.heavy).toEqual(window.parts.slice(0, 2));
  expect([...(missed?.answered ?? [])].map(([part, answer]) => [part, pathsOf(answer)])).toEqual([[rest, ['not a,b']]]);
  expect(batches.flatMap(({ asked }) => asked)).toEqual([{ slice: declared, requests: 3 }]);
  expect(discarded).toEqual([]);
});

test('a part that was answered is not asked for again: its answer takes its place among those of the others', async () => {
  const window = windowIn(asPart('a'), asPart('b'), rest);
  const at = { requestedAt: new Date('2026-02-01T02:30:00Z'), receivedAt: new Date('2026-02-01T02:31:00Z') };
  const answered = new Map([[window.parts[1] ?? rest, answerIn(at)]]);
  const { batches, asked } = await extracted({ window, answered, whole: noWhole }, {});
  const [spooled] = batches.flatMap((batch) => batch.spooled);
  expect(asked).toEqual(['a', 'not a,b']);
  expect(spooled?.answers.map(pathsOf)).toEqual([['a'], [], ['not a,b']]);
  expect(spooled).toMatchObject({ requests: 4, whole: noWhole });
  expect(batches.flatMap(({ asked }) => asked)).toEqual([{ slice: declared, requests: 2 }]);
});

test('a window counts as asked for when the first of its parts was, which finality is judged by', async () => {
  const window = windowIn(asPart('a'), rest);
  const at = { requestedAt: new Date('2026-02-01T02:30:00Z'), receivedAt: new Date('2026-02-01T02:31:00Z') };
  const answered = new Map([[window.parts[0] ?? rest, answerIn(at)]]);
  const { batches } = await extracted({ window, answered, whole: noWhole }, {});
  const [spooled] = batches.flatMap((batch) => batch.spooled);
  expect(spooled?.requestedAt).toEqual(at.requestedAt);
  expect(spooled?.receivedAt.getTime()).toBeGreaterThan(at.receivedAt.getTime());
});

test('a part that is refused gives the others up, and what was answered of them is removed', async () => {
  const window = windowIn(asPart('a'), asPart('b'), rest);
  const answered = new Map([[window.parts[1] ?? rest, answerIn({}, 'b')]]);
  const { batches, discarded } = await extracted({ window, answered, whole: noWhole }, { a: 'SOURCE_REFUSED' });
  const [missed] = batches.flatMap((batch) => batch.missed);
  expect(missed).toMatchObject({ failure: { code: 'SOURCE_REFUSED' }, heavy: [] });
  expect(missed?.answered.size).toBe(0);
  expect(discarded).toEqual(['b']);
});

test('a disk that does not remove what was answered is the failure of that window, and of nothing else', async () => {
  const window = windowIn(asPart('a'), rest);
  const answered = new Map([[rest, answerIn({}, 'rest')]]);
  const { batches } = await extracted(
    { window, answered, whole: noWhole },
    { a: 'SOURCE_REFUSED' },
    {
      onDiscard: () => {
        throw new Failure('STORAGE_FAILED', 'The spool could not be used.');
      },
    },
  );
  const [missed] = batches.flatMap((batch) => batch.missed);
  expect(missed).toMatchObject({ window, failure: { code: 'STORAGE_FAILED' }, heavy: [] });
  expect(batches.flatMap(({ asked }) => asked)).toEqual([{ slice: declared, requests: 2 - answered.size }]);
});

test('a window in 2 parts is asked for as a whole once, by its date alone and without their filters; its file is removed', async () => {
  const window = windowIn(asPart('a'), rest);
  const { batches, asked, discarded } = await extracted({ window, answered: new Map(), whole: null }, {});
  const [spooled] = batches.flatMap((batch) => batch.spooled);
  expect(asked.toSorted()).toEqual(['a', 'not a,b', 'whole']);
  expect(spooled).toMatchObject({
    requests: 3,
    whole: {
      totals: new Map([
        ['installs', '12'],
        ['cost', '0.10'],
      ]),
    },
  });
  expect(discarded).toEqual([fileOf('whole')]);
});

test('where some metrics do not add up the whole is also asked for by what divides the window, whose values tell', async () => {
  const window = windowIn(asPart('a'), rest);
  const asking = { window, answered: new Map(), whole: null };
  const { batches, asked } = await extracted(asking, {}, { adding: 'some' });
  const [spooled] = batches.flatMap((batch) => batch.spooled);
  expect(asked.toSorted()).toEqual(['a', 'not a,b', 'whole', 'whole by app_token']);
  expect(spooled?.requests).toBe(4);
  expect(spooled?.whole).toMatchObject({ values: new Map([['app_token', new Set(['a', null])]]) });
});

test('where some metrics add up, values that the service refuses to tell are done without', async () => {
  const window = windowIn(asPart('a'), rest);
  const asking = { window, answered: new Map(), whole: null };
  const failing = { 'whole by app_token': 'SOURCE_TOO_HEAVY' } as const;
  const [some, none] = [
    await extracted(asking, failing, { adding: 'some' }),
    await extracted(asking, failing, { adding: 'none' }),
  ].map(({ batches }) => batches.flatMap(({ spooled }) => spooled.map(({ whole }) => whole)));
  expect(some).toMatchObject([
    {
      totals: new Map([
        ['installs', '12'],
        ['cost', '0.10'],
      ]),
      values: new Map([['app_token', new Set()]]),
    },
  ]);
  expect(none).toMatchObject([{ because: 'whole by app_token', failure: { code: 'SOURCE_TOO_HEAVY' } }]);
});

test('the values of a whole are those of all its pages, and none are known where it may lack rows', async () => {
  const window = windowIn(asPart('a'), rest);
  const wholes = async (byApp: readonly unknown[], adding: 'some' | 'none'): Promise<unknown[]> => {
    const { batches } = await extracted({ window, answered: new Map(), whole: null }, {}, { adding, byApp });
    return batches.flatMap(({ spooled }) => spooled.map(({ whole }) => whole));
  };
  const pages = ['a', 'b', null].map((app) => ({ rows: [{ app_token: app, installs: 1 }] }));
  expect(await wholes(pages, 'none')).toMatchObject([{ values: new Map([['app_token', new Set(['a', 'b', null])]]) }]);

  const rows = [{ app_token: 'a', installs: 1 }];
  const cut = [{ rows, warnings: ['The report was limited to 1 rows.'] }];
  const failed = [{ rows, error: 'query cancelled' }];
  expect(await wholes(cut, 'some')).toMatchObject([{ values: new Map([['app_token', new Set()]]) }]);
  expect(await wholes(cut, 'none')).toEqual([
    { because: 'by app_token it was not complete: the service warned: The report was limited to 1 rows.' },
  ]);
  expect(await wholes(failed, 'none')).toEqual([{ because: 'the service said error: "query cancelled"' }]);
});

test('a whole that the service refuses is not the end of the window: why is told with its parts', async () => {
  const window = windowIn(asPart('a'), rest);
  const { batches } = await extracted({ window, answered: new Map(), whole: null }, { whole: 'SOURCE_REFUSED' });
  const [spooled] = batches.flatMap((batch) => batch.spooled);
  expect(spooled?.whole).toMatchObject({ because: 'whole', failure: { code: 'SOURCE_REFUSED' } });
  expect(spooled?.answers.map(pathsOf)).toEqual([['a'], ['not a,b']]);
});

test('a window in 1 part has no whole to be held against, nor has one whose slice filters a metric and has none that adds up', async () => {
  const windows = [windowIn({}), { ...windowIn(asPart('a'), rest), slice: filtered }];
  for (const window of windows) {
    const { batches, asked } = await extracted({ window, answered: new Map(), whole: null }, {}, { adding: 'none' });
    expect(asked).toHaveLength(window.parts.length);
    expect(batches.flatMap((batch) => batch.spooled.map(({ whole }) => whole))).toEqual([null]);
  }
});

test('of a slice that filters a metric the whole and each part are asked for without that; a part that was asked for so is not again', async () => {
  const window = { ...windowIn(asPart('a'), rest), slice: filtered };
  const { batches, asked, filters } = await extracted({ window, answered: new Map(), whole: null }, {});
  const [spooled] = batches.flatMap((batch) => batch.spooled);
  expect(asked.toSorted()).toEqual(['a', 'not a,b', 'whole', 'whole of a', 'whole of not a,b']);
  expect(filters.toSorted()).toEqual(['', '', '', '1', '1']);
  expect(spooled?.requests).toBe(5);
  const whole = spooled?.whole ?? null;
  expect(whole).toMatchObject({ byPart: new Map(window.parts.map((part) => [part, {}])) });

  const divided = { ...window, parts: [...window.parts.slice(1), asPart('b')] };
  const again = await extracted({ window: divided, answered: new Map(), whole }, {});
  expect(again.asked.toSorted()).toEqual(['b', 'not a,b', 'whole of b']);
});
