/** Where the rows of answers lie that were read, alone or together. */

import { expect, test } from 'vitest';

import { ReadAnswers } from '../../src/load/read-answers.ts';
import type { Target } from '../../src/tables/target.ts';
import { MONEY } from '../../src/model/column-type.ts';
import type { SavedBody } from '../../src/service/service.ts';
import type { Spooled } from '../../src/spool/spool.ts';
import { countMetric, slice, windowOfDays } from '../support/slice.ts';
import type { ColumnReader } from '../../src/spool/columns/column-reader.ts';
import type { ColumnsRead } from '../../src/spool/columns/reading.ts';

const daily = slice({ name: 'daily', dimensions: ['day'], metrics: ['cost'] });
const target: Target = {
  slice: daily,
  fingerprint: 'f',
  state: 'live',
  table: 'main."daily"',
  columns: {
    dimensions: ['day'],
    metrics: [{ ...countMetric('cost', 7), type: MONEY }],
  },
  catalog: [],
};
const bodyAt = (path: string): SavedBody => ({ path: `/spool/${path}`, encoding: 'identity', bytes: 9, plainBytes: 9 });
const taken: ColumnsRead = {
  rows: 2,
  envelopes: [{ rows: 2, members: new Map(), keys: [], commonKeys: [], badLabel: null, because: null }],
  unfit: new Map(),
  digits: new Map(),
  hasExtra: false,
  hasRejected: false,
  isOrdered: true,
  isDistinct: true,
  weekStartsOn: null,
};

const reader: Pick<ColumnReader, 'read'> = { read: async () => Promise.resolve(taken) };

const spooledOf = (...answers: readonly (readonly SavedBody[])[]): Spooled => ({
  window: windowOfDays(daily, '2026-01-05'),
  answers: answers.map((pages, partNo) => ({ partNo, metrics: daily.metrics, pages, unfollowed: null })),
  whole: null,
  attempt: 0,
  isDoubted: false,
  requests: 1,
  requestedAt: new Date(0),
  receivedAt: new Date(0),
});

test('an answer is known again by the path of its first page, until it is discarded', async () => {
  const answers = new ReadAnswers(reader, '/spool');
  const spooled = spooledOf([bodyAt('a')], []);
  await answers.readAll([spooled], target);
  expect(answers.of(spooled)).toMatchObject([{ rows: 2, isOrdered: true }, null]);
  expect(answers.of(spooledOf([bodyAt('b')]))).toEqual([null]);
  await answers.discard(spooled.answers);
  expect(answers.of(spooled)).toEqual([null, null]);
});
