/** What becomes of an answer that the column reader takes, gives up, or comes to grief over. */

import { expect, test } from 'vitest';

import { ColumnAnswers } from '../../src/load/column-answers.ts';
import { repeatingIn } from '../../src/load/stage.ts';
import type { Columns } from '../../src/load/target.ts';
import { MONEY } from '../../src/model/column-type.ts';
import type { SavedBody } from '../../src/service/service.ts';
import type { ColumnReader } from '../../src/spool/columns/column-reader.ts';
import type { ColumnsRead, GaveUp } from '../../src/spool/columns/reading.ts';

const columns: Columns = {
  dimensions: ['day'],
  metrics: [{ id: 'cost', type: MONEY, declared: MONEY, additive: true, isAssumed: false }],
};
const body: SavedBody = { path: '/spool/daily', encoding: 'identity', bytes: 9, plainBytes: 9 };
const taken: ColumnsRead = {
  rows: 2,
  envelopes: [{ rows: 2, members: new Map([['totals', '{"cost":"3"}']]) }],
  isOrdered: true,
  isDistinct: true,
  weekStartsOn: null,
};

/** A reader that answers each reading by its number, from 0. */
function readerOf(answer: (reading: number) => ColumnsRead | GaveUp): Pick<ColumnReader, 'read'> {
  let readings = 0;
  return {
    read: async () => {
      readings += 1;
      return Promise.resolve(answer(readings - 1));
    },
  };
}

/** Why an answer of its own was not taken, so many times. */
async function readTimes(answers: ColumnAnswers, count: number): Promise<(string | null)[]> {
  const found: (string | null)[] = [];
  for (let at = 0; at < count; at += 1) found.push(await answers.read([[body]], columns));
  return found;
}

test('a reader that breaks twice leaves both answers to SQL, is told once, and reads the third answer', async () => {
  const answers = new ColumnAnswers(
    readerOf((reading) => {
      if (reading < 2) throw new Error('the thread ended');
      return taken;
    }),
    '/spool',
  );
  expect(answers.takeTrouble()).toBeNull();
  expect(await readTimes(answers, 3)).toEqual(['the thread ended', 'the thread ended', null]);
  expect(answers.takeTrouble()).toMatchObject({
    code: 'COLUMN_READER_BROKE',
    message: 'The column reader broke, and SQL read the answer, which takes longer and more memory: the thread ended',
  });
  expect(answers.takeTrouble()).toBeNull();
});

test('an answer that is given up, or says an error beside its rows, is left to SQL, and says why', async () => {
  const [envelope] = taken.envelopes;
  if (envelope === undefined) throw new RangeError('No envelope.');
  const refused = { ...taken, envelopes: [{ ...envelope, members: new Map([['error', '"limit"']]) }] };
  const answers = new ColumnAnswers(
    readerOf((reading) => (reading === 0 ? { gaveUp: 'an exponent' } : refused)),
    '/spool',
  );
  expect(await readTimes(answers, 2)).toEqual(['an exponent', expect.stringContaining('"limit"')]);
  expect(answers.takeTrouble()).toBeNull();
});

test('an answer is known again by its list of pages, until it is discarded', async () => {
  const answers = new ColumnAnswers(
    readerOf(() => taken),
    '/spool',
  );
  const pages = [body];
  await answers.read([pages], columns);
  const answer = { pages, unfollowed: null };
  expect(answers.taken(answer)).toMatchObject({ rows: 2, isOrdered: true });
  expect(answers.taken({ pages: [body], unfollowed: null })).toBeUndefined();
  expect(answers.taken({ pages: [], unfollowed: null })).toBeNull();
  await answers.discard([answer]);
  expect(answers.taken(answer)).toBeUndefined();
});

test('of answers that are read together, of 1 page and of 2, each has its own rows and bodies of one file', async () => {
  const pageOf = (rows: number): ColumnsRead['envelopes'][number] => ({
    rows,
    members: new Map(),
  });
  const answers = new ColumnAnswers(
    readerOf(() => ({ ...taken, rows: 7, envelopes: [pageOf(1), pageOf(2), pageOf(4)] })),
    '/spool',
  );
  const [one, other] = [[body], [body, body]];
  expect(await answers.read([one, other], columns)).toBeNull();
  const found = [one, other].map((pages) => answers.taken({ pages, unfollowed: null }));
  expect(found).toMatchObject([
    { rows: 1, firstBody: 0, bodies: 3 },
    { rows: 6, firstBody: 1, bodies: 3 },
  ]);
  expect(new Set(found.map((answer) => answer?.file)).size).toBe(1);
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
