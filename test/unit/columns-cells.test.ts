/** What the column reader makes of each cell and of each document; any other number is in test/property/load-typing.test.ts. */

import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { formatColumnType, parseColumnType } from '../../src/model/column-type.ts';
import { BodyWindow } from '../../src/extract/columns/json-tokens.ts';
import {
  type ColumnsRead,
  REJECTED,
  type SliceColumns,
} from '../../src/extract/columns/reading.ts';
import { SliceReading } from '../../src/extract/columns/slice-reading.ts';
import { TextDictionary } from '../../src/extract/columns/text-dictionary.ts';
import { identifier, literal } from '../../src/warehouse/sql.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { openScratch } from '../support/scratch-warehouse.ts';

let directory = '';
let warehouse: Warehouse;
let made = 0;

beforeAll(async () => {
  const scratch = await openScratch();
  ({ directory, warehouse } = scratch);
  return scratch.close;
});

function columnsOf(names: readonly string[]): SliceColumns {
  return {
    dimensions: names.filter((name) => parseColumnType(name) === null),
    metrics: names.flatMap((id) => {
      const type = parseColumnType(id);
      return type === null ? [] : [{ id, type }];
    }),
  };
}

/** Reads a body in pieces of a size; the path of the file and what was read. */
function readBody(
  columns: SliceColumns,
  body: string | Uint8Array,
  pieceBytes = 1 << 20,
): { readonly path: string; readonly read: ColumnsRead } {
  made += 1;
  const path = join(directory, `${made}.parquet`);
  const reading = new SliceReading({ columns, to: path });
  const bytes = Buffer.from(body);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    if (reading.take(bytes.subarray(at, at + pieceBytes)) !== null) break;
  }
  reading.endBody();
  return { path, read: reading.finish() };
}

const cellRow = z.object({ cell: z.string().nullable(), rejected: z.string().nullable() });

/** What became of the one cell of a document with one row: its text as it is stored, or why it is not. */
async function cell(name: string, value: string | Uint8Array): Promise<string | null> {
  const body = Buffer.concat([
    Buffer.from(`{"rows":[{"${name}":`),
    Buffer.from(value),
    Buffer.from('}]}'),
  ]);
  const { path, read } = readBody(columnsOf([name]), body);
  const [first] = read.bodies;
  if (first?.because !== null) return 'broken';
  if (first.badLabel !== null) return `no date: ${first.badLabel.label}`;
  const unfit = read.unfit.get(name);
  if (unfit !== undefined && !read.hasRejected) return `needs ${formatColumnType(unfit)}`;
  const [found] = await warehouse.rows(
    `select ${identifier(name)}::varchar as cell, ${identifier(REJECTED)} as rejected from read_parquet(${literal(path)})`,
    [],
    cellRow,
  );
  return found === undefined ? 'no row' : found.rejected === null ? found.cell : 'rejected';
}

test('decimals are counted of whole numbers, however the document is divided', () => {
  for (const value of ['1.23456e2', '-12.5', '0.10', '"1.234"', '12345.678E-1']) {
    const body = `{"rows":[{"DECIMAL(18,6)":${value}}]}`;
    const digits = [1, 2, 1 << 20].map((piece) => {
      const { read } = readBody(columnsOf(['DECIMAL(18,6)']), body, piece);
      return [read.bodies[0]?.digits.get('DECIMAL(18,6)'), read.unfit.size, read.hasRejected];
    });
    expect([value, ...digits]).toEqual([value, digits[2], digits[2], digits[2]]);
  }
});

test('decimals are counted of each body, whatever is read beside it', () => {
  const path = join(directory, 'bodies.parquet');
  const reading = new SliceReading({ columns: columnsOf(['DECIMAL(18,6)']), to: path });
  for (const value of ['1.25', '1.123456', '7']) {
    reading.take(Buffer.from(`{"rows":[{"DECIMAL(18,6)":"${value}"}]}`));
    reading.endBody();
  }
  const counted = reading.finish().bodies.map(({ digits }) => digits.get('DECIMAL(18,6)'));
  expect(counted).toEqual([2, 6, undefined]);
});

const widest = '9'.repeat(18);

describe('a cell is stored', () => {
  test.each([
    ['BIGINT', '-0', '0'],
    ['DOUBLE', '-0', '-0.0'],
    ['DOUBLE', '"-0"', '-0.0'],
    ['BIGINT', 'null', null],
    ['BIGINT', '1e5', '100000'],
    ['BIGINT', String.raw`"\u0031"`, '1'],
    ['app', '5', '5'],
    ['app', 'true', 'true'],
    ['app', '{}', '{}'],
    ['day', String.raw`"2026\u002d01-01"`, '2026-01-01'],
    ['app', '""', ''],
    ['app', 'null', null],
    ['app', String.raw`"a\"\\\/\n\t\u00e9\ud83d\ude00"`, 'a"\\/\n\té😀'],
    ['app', '"日本 }],{"', '日本 }],{'],
    ['app', String.raw`"\ud800"`, '\uFFFD'],
    ['app', String.raw`"\udc00\ud800"`, '\uFFFD\uFFFD'],
    ['app', String.raw`"\ud83d\ud83d\ude00"`, '\uFFFD😀'],
    ['app', String.raw`"\ud800\u0041"`, '\uFFFDA'],
    ['app', String.raw`"\\ud800"`, String.raw`\ud800`],
    ['day', '"2024-02-29"', '2024-02-29'],
    ['week', '"2026-01-04 - 2026-01-10"', '2026-01-04'],
    ['month', '"2026-12"', '2026-12-01'],
    ['quarter', '"Q4 2026"', '2026-10-01'],
    ['year', '"1969"', '1969-01-01'],
    ['hour', '"2026-01-01T23:59:59"', '2026-01-01 23:59:59'],
    ['hour', '"1969-12-31T23:59:59"', '1969-12-31 23:59:59'],
    ['hour', '"9999-12-31T23:00:00"', '9999-12-31 23:00:00'],
  ])('%s from %s as %s', async (name, value, stored) => {
    expect(await cell(name, value)).toBe(stored);
  });
});

describe('a cell is not stored', () => {
  test.each([
    ['BIGINT', '"7.5"', 'needs DECIMAL(20,1)'],
    ['BIGINT', `"1${widest}"`, 'needs DECIMAL(19,0)'],
    ['DECIMAL(18,6)', '"0.1234567"', 'needs DECIMAL(19,7)'],
    ['DECIMAL(18,6)', '"1234567890123"', 'needs DECIMAL(19,6)'],
    ['DECIMAL(18,18)', '"1"', 'needs DECIMAL(19,18)'],
    ['DECIMAL(5,2)', '"1000"', 'needs DECIMAL(18,2)'],
    ['BIGINT', 'NaN', 'rejected'],
    ['BIGINT', 'true', 'rejected'],
    ['BIGINT', '[1]', 'rejected'],
    ['DOUBLE', '1e400', 'rejected'],
    ['BIGINT', '01', 'broken'],
    ['BIGINT', '"\t"', 'broken'],
    ['app', '"\t"', 'broken'],
    ['app', String.raw`"\x41"`, 'broken'],
    ['app', String.raw`"\u00g0"`, 'broken'],
    ['app', Buffer.from([0x22, 0xff, 0x22]), 'broken'],
    ['app', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'broken'],
    ['app', Buffer.from([0x22, 0xc0, 0x80, 0x22]), 'broken'],
    ['day', 'null', 'no date: null'],
    ['day', '""', 'no date: '],
    ['day', '"2026-02-30"', 'no date: 2026-02-30'],
    ['day', '"2026-1-1"', 'no date: 2026-1-1'],
    ['day', '"2026-01-01T00:00:00"', 'no date: 2026-01-01T00:00:00'],
    ['day', '"0000-01-01"', 'no date: 0000-01-01'],
    ['week', '"2026-01-04"', 'no date: 2026-01-04'],
    ['week', '"2026-01-04 - 2026-02-31"', 'no date: 2026-01-04 - 2026-02-31'],
    ['month', '"2026-13"', 'no date: 2026-13'],
    ['quarter', '"Q5 2026"', 'no date: Q5 2026'],
    ['year', '20260', 'no date: 20260'],
    ['hour', '"2026-01-01T24:00:00"', 'no date: 2026-01-01T24:00:00'],
    ['hour', '"2026-01-01T23:59:60"', 'no date: 2026-01-01T23:59:60'],
    ['hour', '"2026-01-01T10:00:00Z"', 'no date: 2026-01-01T10:00:00Z'],
  ])('%s from %s: %s', async (name, value, outcome) => {
    expect(await cell(name, value)).toBe(outcome);
  });
});

const pair = columnsOf(['app', 'BIGINT']);
const row = '{"app":"a","BIGINT":"1"}';

describe('a document is whole', () => {
  const both = ['app', 'BIGINT'];
  test.each([
    ['rows last', `{"totals":{"BIGINT":1.0},"warnings":[],"rows":[${row}]}`, 1, both, both],
    ['no rows at all', '{"rows":[ ]}', 0, [], []],
    ['half a surrogate beside the rows', String.raw`{"rows":[],"x":"\ud800"}`, 0, [], []],
    ['a byte order mark', `\u{feff}{"rows":[${row}]}`, 1, both, both],
    ['blanks everywhere', `\n { "rows" : [ ${row} ,\t${row} ] } \r\n`, 2, both, both],
    [
      'other blanks than in its first row',
      `{"rows":[${row}, { "app" : "b" , "BIGINT" : 2 } ]}`,
      2,
      both,
      both,
    ],
    ['keys in another order', `{"rows":[${row},{"BIGINT":"1","app":"a"}]}`, 2, both, both],
    ['an escaped key', String.raw`{"rows":[{"\u0061pp":"a","BIGINT":"1"}]}`, 1, both, both],
    ['an empty row', '{"rows":[{}]}', 1, [], []],
    ['a row without a metric', `{"rows":[${row},{"app":"a"}]}`, 2, both, ['app']],
    [
      'a key that was not requested',
      `{"rows":[${row},{"app":"a","BIGINT":"1","x":1}]}`,
      2,
      [...both, 'x'],
      both,
    ],
    [
      'attr_dependency in one row',
      `{"rows":[${row},{"attr_dependency":{},"app":"a","BIGINT":"1"}]}`,
      2,
      [...both, 'attr_dependency'],
      both,
    ],
  ])('with %s, in one piece and byte by byte', (_, body, rows, keys, commonKeys) => {
    const { read } = readBody(pair, body);
    expect(readBody(pair, body, 1).read).toEqual(read);
    const [first] = read.bodies;
    const found = {
      ...first,
      keys: first?.keys.toSorted(),
      commonKeys: first?.commonKeys.toSorted(),
    };
    expect(found).toMatchObject({
      rows,
      keys: keys.toSorted(),
      commonKeys: commonKeys.toSorted(),
      because: null,
    });
  });
});

describe('a document is broken', () => {
  test.each([
    ['nothing', ''],
    ['no object', '[]'],
    ['no rows member', '{"error":"no"}'],
    ['rows that are null', '{"rows":null}'],
    ['rows that are an object', '{"rows":{}}'],
    ['a null row', '{"rows":[null]}'],
    ['a key twice', '{"rows":[{"app":"a","app":"b","BIGINT":"1"}]}'],
    ['a key twice in the second row', `{"rows":[${row},{"app":"a","BIGINT":"1","app":"a"}]}`],
    ['leading zeros in the second row', `{"rows":[${row},{"app":"a","BIGINT":01}]}`],
    ['a comma behind the rows', `{"rows":[${row},]}`],
    ['a comma behind a member', `{"rows":[${row}],}`],
    ['a comma behind a key of a row', '{"rows":[{"app":"a",}]}'],
    ['no comma between rows', `{"rows":[${row}${row}]}`],
    ['rows before the tail once more', `{"rows":[${row}],"rows":[]}`],
    ['an escaped second rows', String.raw`{"rows":[],"ro\u0077s":[]}`],
    ['a member twice', '{"rows":[],"x":1,"x":1}'],
    ['a member of broken JSON', '{"rows":[],"x":tru}'],
    ['a number of broken JSON', '{"rows":[],"x":01}'],
    ['nesting of 600 levels', `{"rows":[],"x":${'['.repeat(600)}${']'.repeat(600)}}`],
    ['an end in a row', `{"rows":[${row},{"app":"a"`],
    ['an end behind the rows', `{"rows":[${row}]`],
    ['an end in a number beside the rows', '{"rows":[],"x":1'],
    ['a second document', `{"rows":[${row}]}{"rows":[]}`],
    ['a zero byte behind it', `{"rows":[${row}]}\0`],
  ])('with %s', (_, body) => {
    const [first] = readBody(pair, body, 64 * 1024).read.bodies;
    expect(first?.because ?? '').not.toBe('');
  });
});

describe('keys are distinct, and repeat', () => {
  const keyed = columnsOf(['day', 'app', 'BIGINT']);
  const keyedRow = (app: string, dependency = '{}'): string =>
    `{"attr_dependency":${dependency},"day":"2026-01-05","app":${app},"BIGINT":"1"}`;
  test.each([
    ['null beside an empty text', [keyedRow('null'), keyedRow('""')], true],
    ['null twice', [keyedRow('null'), keyedRow('"a"'), keyedRow('null')], false],
    ['a text escaped otherwise', [keyedRow('"a"'), keyedRow(String.raw`"\u0061"`)], false],
    [
      'an object with other blanks',
      [keyedRow('"a"', '{"a":"1"}'), keyedRow('"a"', '{ "a" : "1" }')],
      false,
    ],
  ])('with %s', (_, rows, isDistinct) => {
    expect(readBody(keyed, `{"rows":[${rows.join(',')}]}`).read).toMatchObject({
      bodies: [{ rows: rows.length }],
      isDistinct,
    });
  });

  test('a key of the first of 130,000 rows repeats in the last, two groups and 10,000 texts later', () => {
    const rows = Array.from({ length: 130_000 }, (_, at) =>
      keyedRow(`"${at % 10_000}"`, `{"a":"${at % 13}"}`),
    );
    expect(readBody(keyed, `{"rows":[${rows.join(',')}]}`).read).toMatchObject({
      isDistinct: true,
    });
    const again = [...rows.slice(0, -1), rows[0]].join(',');
    expect(readBody(keyed, `{"rows":[${again}]}`).read).toMatchObject({ isDistinct: false });
  });
});

test('two texts of one hash that differ in their last byte only are two entries of a dictionary', () => {
  const [body, dictionary] = [new BodyWindow(), new TextDictionary(false)];
  body.take(Buffer.from('abcdefabcdeg'), 0);
  expect(dictionary.add(Buffer.from('abcdef'), 7, Buffer.from('abcdef'))).toBe(0);
  expect(dictionary.find(body, 6, 12, 7)).toBe(-1);
  expect(dictionary.add(Buffer.from('abcdeg'), 7, Buffer.from('abcdeg'))).toBe(1);
  expect([dictionary.find(body, 0, 6, 7), dictionary.find(body, 6, 12, 7)]).toEqual([0, 1]);
});
