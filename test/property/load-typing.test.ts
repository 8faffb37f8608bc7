/**
 * What is stored is what was stated, to the last digit: random texts through the readings of a load, back from a real
 * DuckDB. A failure prints the seed and the path to replay it with.
 */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { ReadPages } from '../../src/load/read-pages.ts';
import { type Columns, createTable, type Target } from '../../src/warehouse/tables/target.ts';
import {
  type ColumnType,
  digitsOf,
  formatDecimal,
  parseColumnType,
  parseDecimal,
} from '../../src/model/column-type.ts';
import { boxesOf } from '../../src/model/window.ts';
import { openColumnReader } from '../../src/extract/columns/column-reader.ts';
import { REJECTED } from '../../src/extract/columns/reading.ts';
import type { Spooled } from '../../src/extract/spool.ts';
import { identifier, literal } from '../../src/warehouse/sql.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { property } from '../support/property.ts';
import { openScratch } from '../support/scratch-warehouse.ts';
import { countMetric, slice, windowOfDays } from '../support/slice.ts';

let directory = '';
let warehouse: Warehouse;
let made = 0;
const reader = openColumnReader();

beforeAll(async () => {
  const scratch = await openScratch();
  ({ directory, warehouse } = scratch);
  return scratch.close;
});

afterAll(async () => reader.close());

const everyType = [
  'BIGINT',
  'DECIMAL(18,6)',
  'DOUBLE',
  'DECIMAL(5,2)',
  'DECIMAL(38,10)',
  'DECIMAL(18,0)',
];

function typeOf(text: string): ColumnType {
  const type = parseColumnType(text);
  if (type === null) throw new RangeError(`${text} is no type.`);
  return type;
}

type Stored = Readonly<Record<string, string | null>>;

/** An answer of one row for each text and type, in quotes or as it is. */
async function spooledOf(
  texts: readonly string[],
  columns: Columns,
  isBare: boolean,
): Promise<Spooled> {
  made += 1;
  const path = join(directory, `answer ${made}`);
  const rows = texts.flatMap((text, no) =>
    columns.metrics.map(({ id }, at) => {
      const value = isBare ? text : JSON.stringify(text);
      const others = columns.metrics.flatMap((other) =>
        other.id === id ? [] : [`${JSON.stringify(other.id)}:null`],
      );
      const cells = [
        `"no":"${no * columns.metrics.length + at}"`,
        ...others,
        `${JSON.stringify(id)}:${value}`,
      ];
      return `{${cells.join(',')}}`;
    }),
  );
  await writeFile(path, `{"rows":[${rows.join(',')}]}`);
  const daily = slice({
    name: 'daily',
    dimensions: columns.dimensions,
    metrics: columns.metrics.map(({ id }) => id),
  });
  const window = windowOfDays(daily, '2026-01-05');
  const page = { path, encoding: 'identity', bytes: 9, plainBytes: 9 } as const;
  const at = new Date(0);
  const saved = { pages: [page], unfollowed: null, requests: 1, requestedAt: at, receivedAt: at };
  return {
    window,
    doubts: 0,
    isConfirmation: false,
    round: null,
    answers: boxesOf(window).map((box) => Object.assign({ box }, saved)),
    controlFailure: null,
  };
}

/** Each text in each type, as a load reads it: what is to be stored, or `rejected`. */
async function store(
  texts: readonly string[],
  typeTexts: readonly string[],
  isBare = false,
): Promise<readonly Stored[]> {
  const columns: Columns = {
    dimensions: ['no'],
    metrics: typeTexts.map((id) => ({ ...countMetric(id, 7), type: typeOf(id) })),
  };
  await warehouse.run(
    createTable('held', columns).replace('create table', 'create or replace temp table'),
  );
  const spooled = await spooledOf(texts, columns, isBare);
  const target: Target = {
    slice: spooled.window.slice,
    fingerprint: 'f',
    state: 'live',
    table: 'held',
    columns,
    catalog: [],
  };
  const pages = new ReadPages(reader, directory);
  await pages.readAll([spooled], target);
  const [read] = spooled.answers.flatMap((answer) => answer.pages.map((page) => pages.of(page)));
  expect(read?.body.rows).toBe(texts.length * typeTexts.length);
  const values = typeTexts.map((type) => `${identifier(type)}::varchar`).join(', ');
  const stored = await warehouse.rows(
    `select "no", case when ${identifier(REJECTED)} is null then coalesce(${values})
         when coalesce(${values}) is null then 'rejected' else 'both' end as value
     from read_parquet(${literal(read?.file ?? '')})`,
    [],
    z.object({ no: z.string(), value: z.string().nullable() }),
  );
  await pages.discard(spooled.answers);
  const found = new Map(stored.map(({ no, value }) => [Number(no), value]));
  return texts.map((_, no) =>
    Object.fromEntries(
      typeTexts.map((type, at) => [type, found.get(no * typeTexts.length + at) ?? null]),
    ),
  );
}

const isOfDoubles = (typeText: string): boolean => typeOf(typeText).kind === 'DOUBLE';

/** What a text must become in a column, in one comparable form. */
function expectedIn(typeText: string, text: string, stored: string | null): string | null {
  if (text.replaceAll(' ', '') === '') return null;
  const decimal = parseDecimal(text);
  if (decimal === null) return 'rejected';
  if (isOfDoubles(typeText))
    return Number.isFinite(Number(text)) ? `double ${Number(text)}` : 'rejected';
  const holds = typeOf(typeText);
  const { whole, fraction } = digitsOf(decimal);
  // A number that fits its column is stored; another one may take more digits than any column has.
  const mayBeRejected = whole > holds.whole || fraction > holds.fraction;
  if (mayBeRejected && stored === 'rejected') return 'rejected';
  return formatDecimal(decimal);
}

function foundIn(typeText: string, stored: string | null): string | null {
  if (stored === null || stored === 'rejected') return stored;
  if (isOfDoubles(typeText)) return `double ${Number(stored)}`;
  const decimal = parseDecimal(stored);
  return decimal === null ? stored : formatDecimal(decimal);
}

async function comparison(
  texts: readonly string[],
  typeTexts: readonly string[] = everyType,
): Promise<{ readonly found: unknown; readonly expected: unknown }> {
  const stored = await store(texts, typeTexts);
  const each = (
    side: (type: string, text: string, value: string | null) => string | null,
  ): unknown[] =>
    texts.map((text, index) => [
      text,
      ...typeTexts.map((type) => `${type}: ${side(type, text, stored[index]?.[type] ?? null)}`),
    ]);
  return { found: each((type, _, value) => foundIn(type, value)), expected: each(expectedIn) };
}

test.each(
  [
    '0|-0|0.0|00|10.0|5.|.5|-.5|+5|+.5|5.e1|1e2|1E2|1e+2|-1.5e-2|7.5|1e-7',
    '9007199254740993|999999999999999999|9223372036854775807|-9223372036854775808|9223372036854775808',
    '0.1|0.1234567890|123456789012.123456|-123456789012.123456|1234567890123.5|0.12345678901234567',
    '-12345678901234567890.0123456789|0.123456789012345678|-4294967296|2147483648|-9007199254.740993|-0.000001',
    '| |  | 7|7 | 7.5 |1.000000000000|1.0000001|007|000000000000000000000000007',
    'NaN|nan|Infinity|-inf|1,234.5|1_000|0x10|1e400|-1e400|abc|1 2|1 000|-|--1|1e|١',
    `1e308|1.7976931348623157e308|5e-324|1e-400|${'9'.repeat(39)}|${'9'.repeat(300)}|${'9'.repeat(309)}|${'1'.repeat(180)}.5`,
    '1e22|123456789012345678901234567890|0.000000000000000001|0.9|1.5|99.99|9.5',
  ].map((texts) => [texts.split('|')]),
)('%j are stored exactly, as NULL where blank, or set aside, in 6 types', async (texts) => {
  const { found, expected } = await comparison(texts);
  expect(found).toEqual(expected);
});

test.each([
  ['BIGINT', ['7.5', '999999999999999999', '1234567890123']],
  ['BIGINT', ['1e-7', '9007199254740993', '1234567890123', '12']],
  ['DECIMAL(18,0)', ['0.001', '9007199254740993', '999999999999999999']],
  ['DECIMAL(18,2)', ['0.001', '1234567890123456.78', '1234567890123456']],
])(
  'in a %s column that widens for one of %j, the ordinary long ones stay what they were',
  async (type, texts) => {
    const { found, expected } = await comparison(texts, [type]);
    expect(found).toEqual(expected);
  },
);

test('a number of 300 digits with an exponent of 99 is set aside, and the batch is not lost', async () => {
  const { found, expected } = await comparison([`${'9'.repeat(300)}e99`, '7'], ['DOUBLE']);
  expect(found).toEqual(expected);
});

test.each(['DECIMAL(18,18)', 'DECIMAL(6,6)'])(
  'a whole number in a %s column, which has no digit before the point, is stored or set aside',
  async (type) => {
    const { found, expected } = await comparison(['0.5', '0', '1', '1.0', '9'], [type]);
    expect(found).toEqual(expected);
  },
);

const digits = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...Array.from('0123456789')), minLength, maxLength });

const text = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom('', '-'), digits(1, 12), digits(0, 6))
      .map(([sign, whole, part]) => `${sign}${whole}${part === '' ? '' : `.${part}`}`),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.constantFrom('', '-', '+'),
        digits(0, 20),
        digits(0, 20),
        fc.constantFrom('', 'e0', 'e-3', 'E5', 'e+2'),
        fc.constantFrom('', ' '),
      )
      .map(
        ([sign, whole, part, power, blank]) => `${blank}${sign}${whole}.${part}${power}${blank}`,
      ),
  },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom('', ' ', 'NaN', 'n/a', '1,5', '0x1', '1e999', '-') },
);

test(
  'any texts are stored as stated, as the nearest double in a DOUBLE, or set aside with their row',
  property([fc.array(text, { minLength: 1, maxLength: 40 })], { numRuns: 25 }, async (texts) => {
    const { found, expected } = await comparison(texts);
    expect(found).toEqual(expected);
  }),
);

/** A number that is long, short, large, small, negative nothing, or of as many digits as tell doubles apart. */
const oddNumber = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.constantFrom(1, 9, 15, 16, 17, 18, 20, 25).chain((most) => digits(most, most)),
      fc.nat({ max: 25 }),
      fc.constantFrom('', '', '', 'e-7', 'e22', 'E308', 'e-320'),
      fc.constantFrom('', '', '0', '000000'),
    )
    .map(([sign, all, point, power, zeros]) => {
      const at = Math.max(1, all.length - point);
      return `${sign}${all.slice(0, at)}${at < all.length ? `.${all.slice(at)}${zeros}` : ''}${power}`;
    }),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc
    .tuple(fc.double({ noNaN: true, min: -1e15, max: 1e15 }), fc.integer({ min: 15, max: 20 }))
    .map(([value, places]) => value.toPrecision(places)),
  fc.constantFrom(
    '700000000000000.2',
    '700000000000000.3',
    '600000000000000.7',
    '600000000000000.125',
  ),
  fc.constantFrom(
    '-0',
    '-0.0',
    '0',
    '1e308',
    '-1e308',
    '9e308',
    '5e-324',
    '3e-324',
    '9007199254740993',
    '4.9e-324',
  ),
);

/** A number that JSON has without quotes. */
const bareForm = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;

test(
  'numbers for columns of doubles are stored as the same bits in quotes and bare, or set aside',
  property(
    [fc.array(oddNumber, { minLength: 40, maxLength: 80 })],
    { numRuns: 25, seed: 20_260_601 },
    async (texts) => {
      const types = ['DOUBLE'];
      const { found, expected } = await comparison(texts, types);
      expect(found).toEqual(expected);
      const numbers = texts.filter((each) => bareForm.test(each));
      expect(await store(numbers, types, true)).toEqual(await store(numbers, types));
    },
  ),
);
