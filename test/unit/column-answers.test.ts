/** Where the rows of answers lie that were read, alone or together. */

import { expect, test } from 'vitest';

import { ColumnAnswers } from '../../src/load/column-answers.ts';
import { repeatingIn } from '../../src/load/stage.ts';
import type { Columns } from '../../src/load/target.ts';
import { MONEY } from '../../src/model/column-type.ts';
import type { SavedBody } from '../../src/service/service.ts';
import { day } from '../../src/model/calendar.ts';
import { windowOf } from '../../src/model/window.ts';
import type { Spooled } from '../../src/spool/spool.ts';
import { slice } from '../support/slice.ts';
import type { ColumnReader } from '../../src/spool/columns/column-reader.ts';
import type { ColumnsRead } from '../../src/spool/columns/reading.ts';

const columns: Columns = {
  dimensions: ['day'],
  metrics: [{ id: 'cost', type: MONEY, declared: MONEY, additive: true, isAssumed: false }],
};
const daily = slice({ name: 'daily', dimensions: ['day'], metrics: ['cost'] });
const days = { start: day('2026-01-05'), end: day('2026-01-06') };
const body: SavedBody = { path: '/spool/daily', encoding: 'identity', bytes: 9, plainBytes: 9 };
const envelopeOf = (rows: number): ColumnsRead['envelopes'][number] => ({
  rows,
  members: new Map(),
  keys: [],
  commonKeys: [],
  because: null,
});
const taken: ColumnsRead = {
  rows: 2,
  envelopes: [envelopeOf(2)],
  textsBecause: null,
  isOrdered: true,
  isDistinct: true,
  weekStartsOn: null,
};

const readerOf = (read: ColumnsRead): Pick<ColumnReader, 'read'> => ({ read: async () => Promise.resolve(read) });

const spooledOf = (...answers: readonly (readonly SavedBody[])[]): Spooled => ({
  window: windowOf(daily, 'f', [{ period: { bucket: days, asked: days }, reason: 'new' }]),
  answers: answers.map((pages) => ({ pages, unfollowed: null })),
  whole: null,
  attempt: 0,
  requests: 1,
  requestedAt: new Date(0),
  receivedAt: new Date(0),
});

test('an answer is known again by its list of pages, until it is discarded', async () => {
  const answers = new ColumnAnswers(readerOf(taken), '/spool');
  const spooled = spooledOf([body], []);
  await answers.readAll([spooled], columns);
  expect(answers.of(spooled)).toMatchObject([{ rows: 2, isOrdered: true }, null]);
  expect(answers.of(spooledOf([body]))).toEqual([null]);
  await answers.discard(spooled.answers);
  expect(answers.of(spooled)).toEqual([null, null]);
});

test('of answers that are read together, of 1 page and of 2, each has its own rows and bodies of one file', async () => {
  const answers = new ColumnAnswers(readerOf({ ...taken, rows: 7, envelopes: [1, 2, 4].map(envelopeOf) }), '/spool');
  const spooled = spooledOf([body], [body, body]);
  await answers.readAll([spooled], columns);
  expect(answers.of(spooled)).toMatchObject([
    { rows: 1, firstBody: 0, bodies: 3 },
    { rows: 6, firstBody: 1, bodies: 3 },
  ]);
  expect(new Set(answers.of(spooled).map((answer) => answer?.file)).size).toBe(1);
});

test('of 4 windows those of 2 parts and of a repeated key are looked through, those of 1 part with distinct keys not', () => {
  const parts = [
    { windowNo: 0, isDistinct: true },
    { windowNo: 1, isDistinct: true },
    { windowNo: 1, isDistinct: true },
    { windowNo: 2, isDistinct: false },
    { windowNo: 3, isDistinct: true },
  ];
  expect(repeatingIn(parts)).toEqual(new Set([1, 2]));
  expect(repeatingIn([])).toEqual(new Set());
});
