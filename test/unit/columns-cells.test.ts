/** What the column reader takes and what it gives up, cell by cell and document by document. */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { parseColumnType } from '../../src/model/column-type.ts';
import { BodyWindow } from '../../src/spool/columns/json-tokens.ts';
import type { ColumnsRead, SliceColumns } from '../../src/spool/columns/reading.ts';
import { SliceReading } from '../../src/spool/columns/slice-reading.ts';
import { TextDictionary } from '../../src/spool/columns/text-dictionary.ts';
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
  const kinds = ['hour', 'day', 'week', 'month', 'quarter', 'year'] as const;
  return {
    dimensions: names
      .filter((name) => parseColumnType(name) === null)
      .map((name) => ({ name, kind: kinds.find((kind) => kind === name) ?? 'text' })),
    metrics: names.flatMap((name) => {
      const type = parseColumnType(name);
      return type === null ? [] : [{ name, type }];
    }),
  };
}

/** Reads a body in pieces of a size; the path of the file and what was read. */
function readBody(
  columns: SliceColumns,
  body: string | Uint8Array,
  pieceBytes = 1 << 20,
): { readonly path: string; readonly read: ColumnsRead | string } {
  made += 1;
  const path = join(directory, `${made}.parquet`);
  const reading = new SliceReading({ columns, to: path }, null);
  const bytes = Buffer.from(body);
  for (let at = 0; at < bytes.length; at += pieceBytes) reading.take(bytes.subarray(at, at + pieceBytes));
  const because = reading.endBody();
  if (because !== null) reading.abandon();
  return { path, read: because ?? reading.finish() };
}

/** The one cell of a document with one row, as text; `gave up` when it was not taken. */
async function cell(name: string, value: string | Uint8Array): Promise<string | null> {
  const body = Buffer.concat([Buffer.from(`{"rows":[{"${name}":`), Buffer.from(value), Buffer.from('}]}')]);
  const { path, read } = readBody(columnsOf([name]), body);
  if (typeof read === 'string') return 'gave up';
  const [row] = await warehouse.rows(
    `select ${identifier(name)}::varchar as cell from read_parquet(${literal(path)})`,
    [],
    z.object({ cell: z.string().nullable() }),
  );
  return row === undefined ? 'no row' : row.cell;
}

const widest = '9'.repeat(18);

describe('a cell is taken', () => {
  test.each([
    ['BIGINT', '"0"', '0'],
    ['BIGINT', '12', '12'],
    ['BIGINT', '"-12"', '-12'],
    ['BIGINT', '-0', '0'],
    ['BIGINT', '"007"', '7'],
    ['BIGINT', '"10.0"', '10'],
    ['BIGINT', '"10.000"', '10'],
    ['BIGINT', `"${widest}"`, widest],
    ['BIGINT', `-${widest}`, `-${widest}`],
    ['BIGINT', '9007199254740993', '9007199254740993'],
    ['BIGINT', '"-4294967296"', '-4294967296'],
    ['BIGINT', '"2147483648"', '2147483648'],
    ['BIGINT', 'null', null],
    ['BIGINT', '""', null],
    ['BIGINT', '"  "', null],
    ['DECIMAL(18,6)', '"0.1"', '0.100000'],
    ['DECIMAL(18,6)', '-0.000001', '-0.000001'],
    ['DECIMAL(18,6)', '"123456789012.123456"', '123456789012.123456'],
    ['DECIMAL(18,6)', '"-9007199254.740993"', '-9007199254.740993'],
    ['DECIMAL(18,6)', '"1.5000000000000000000000000"', '1.500000'],
    ['DECIMAL(18,9)', '"123456789"', '123456789.000000000'],
    ['DECIMAL(18,18)', '"0.123456789012345678"', '.123456789012345678'],
    ['DECIMAL(18,18)', '"-0"', '.000000000000000000'],
    ['DECIMAL(5,2)', '"999.99"', '999.99'],
    ['DECIMAL(18,0)', `"${widest}.0"`, widest],
    ['DOUBLE', '"0.1"', '0.1'],
    ['DOUBLE', '0.30000000000000004', '0.30000000000000004'],
    ['DOUBLE', '"-0"', '-0.0'],
    ['DOUBLE', '-0.0', '-0.0'],
    ['DOUBLE', '"9007199254740993"', '9007199254740992.0'],
    ['DOUBLE', `"${'1'.repeat(180)}.5"`, '1.111111111111111e+179'],
    ['DOUBLE', '""', null],
    ['app', '""', ''],
    ['app', 'null', null],
    ['app', String.raw`"a\"\\\/\n\t\u00e9\ud83d\ude00"`, 'a"\\/\n\té😀'],
    ['app', '"日本 }],{"', '日本 }],{'],
    ['day', '"2024-02-29"', '2024-02-29'],
    ['week', '"2026-01-04 - 2026-01-10"', '2026-01-04'],
    ['month', '"2026-12"', '2026-12-01'],
    ['quarter', '"Q4 2026"', '2026-10-01'],
    ['year', '"1969"', '1969-01-01'],
    ['hour', '"2026-01-01T23:59:59"', '2026-01-01 23:59:59'],
    ['hour', '"1969-12-31T23:59:59"', '1969-12-31 23:59:59'],
  ])('%s from %s as %s', async (name, value, stored) => {
    expect(await cell(name, value)).toBe(stored);
  });
});

describe('a cell is given up', () => {
  test.each([
    ['BIGINT', '"7.5"'],
    ['BIGINT', '"1e5"'],
    ['BIGINT', '1e5'],
    ['BIGINT', '"+1"'],
    ['BIGINT', '"0x10"'],
    ['BIGINT', '"1_000"'],
    ['BIGINT', '"1 000"'],
    ['BIGINT', '" 1"'],
    ['BIGINT', '"1 "'],
    ['BIGINT', '"\t"'],
    ['BIGINT', '"-"'],
    ['BIGINT', '"NaN"'],
    ['BIGINT', `"1${widest}"`],
    ['BIGINT', '01'],
    ['BIGINT', 'true'],
    ['BIGINT', '[1]'],
    ['BIGINT', String.raw`"\u0031"`],
    ['DECIMAL(18,6)', '"0.1234567"'],
    ['DECIMAL(18,6)', '"1234567890123"'],
    ['DECIMAL(18,6)', '".5"'],
    ['DECIMAL(18,6)', '"5."'],
    ['DECIMAL(18,18)', '"1"'],
    ['DECIMAL(5,2)', '"1000"'],
    ['DOUBLE', '"1e5"'],
    ['DOUBLE', '-0'],
    ['DOUBLE', '"inf"'],
    ['DOUBLE', '1e400'],
    ['DOUBLE', `"${'1'.repeat(400)}"`],
    ['app', '5'],
    ['app', 'true'],
    ['app', '{}'],
    ['app', '"\t"'],
    ['app', String.raw`"\ud800"`],
    ['app', String.raw`"\udc00\ud800"`],
    ['app', String.raw`"\ud800\u0041"`],
    ['app', String.raw`"\x41"`],
    ['app', String.raw`"\u00g0"`],
    ['app', Buffer.from([0x22, 0xff, 0x22])],
    ['app', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['app', Buffer.from([0x22, 0xc0, 0x80, 0x22])],
    ['day', 'null'],
    ['day', '""'],
    ['day', '"2026-02-30"'],
    ['day', '"2026-1-1"'],
    ['day', '"2026-01-01T00:00:00"'],
    ['day', '"0000-01-01"'],
    ['day', String.raw`"2026\u002d01-01"`],
    ['week', '"2026-01-04"'],
    ['week', '"2026-01-04 - 2026-02-31"'],
    ['month', '"2026-13"'],
    ['quarter', '"Q5 2026"'],
    ['year', '20260'],
    ['hour', '"2026-01-01T24:00:00"'],
    ['hour', '"2026-01-01T23:59:60"'],
    ['hour', '"2026-01-01T10:00:00Z"'],
    ['hour', '"2400-01-01T00:00:00"'],
  ])('%s from %s', async (name, value) => {
    expect(await cell(name, value)).toBe('gave up');
  });
});

const pair = columnsOf(['app', 'BIGINT']);
const row = '{"app":"a","BIGINT":"1"}';

describe('a document is taken', () => {
  test.each([
    ['rows last', `{"totals":{"BIGINT":1.0},"warnings":[],"rows":[${row}]}`, 1],
    ['no rows at all', '{"rows":[ ]}', 0],
    ['a byte order mark', `\u{feff}{"rows":[${row}]}`, 1],
    ['blanks everywhere', `\n { "rows" : [ ${row} ,\t${row} ] } \r\n`, 2],
    ['other blanks than in its first row', `{"rows":[${row}, { "app" : "b" , "BIGINT" : 2 } ]}`, 2],
    ['keys in another order than the columns', '{"rows":[{"BIGINT":"1","app":"a"}]}', 1],
    ['attr_dependency', '{"rows":[{"attr_dependency":{},"app":"a","BIGINT":"1"}]}', 1],
  ])('with %s', (_, body, rows) => {
    expect(readBody(pair, body).read).toMatchObject({ rows });
  });
});

describe('a document is given up and leaves no file', () => {
  test.each([
    ['nothing', ''],
    ['no object', '[]'],
    ['no rows member', '{"error":"no"}'],
    ['rows that are null', '{"rows":null}'],
    ['rows that are an object', '{"rows":{}}'],
    ['a null row', '{"rows":[null]}'],
    ['an empty row', '{"rows":[{}]}'],
    ['a row without a metric', '{"rows":[{"app":"a"}]}'],
    ['a second row without a metric', `{"rows":[${row},{"app":"a"}]}`],
    ['a key that was not requested', '{"rows":[{"app":"a","BIGINT":"1","x":1}]}'],
    ['such a key in the second row', `{"rows":[${row},{"app":"a","BIGINT":"1","x":1}]}`],
    ['a key twice', '{"rows":[{"app":"a","app":"b","BIGINT":"1"}]}'],
    ['a key twice in the second row', `{"rows":[${row},{"app":"a","BIGINT":"1","app":"a"}]}`],
    ['leading zeros in the second row', `{"rows":[${row},{"app":"a","BIGINT":01}]}`],
    ['another order in the second row', `{"rows":[${row},{"BIGINT":"1","app":"a"}]}`],
    ['an escaped key', String.raw`{"rows":[{"\u0061pp":"a","BIGINT":"1"}]}`],
    ['attr_dependency in the second row only', `{"rows":[${row},{"attr_dependency":{},"app":"a","BIGINT":"1"}]}`],
    ['a comma behind the rows', `{"rows":[${row},]}`],
    ['a comma behind a member', `{"rows":[${row}],}`],
    ['no comma between rows', `{"rows":[${row}${row}]}`],
    ['rows before the tail once more', `{"rows":[${row}],"rows":[]}`],
    ['an escaped second rows', String.raw`{"rows":[],"ro\u0077s":[]}`],
    ['a member twice', '{"rows":[],"x":1,"x":1}'],
    ['a member of broken JSON', '{"rows":[],"x":tru}'],
    ['a number of broken JSON', '{"rows":[],"x":01}'],
    ['a lone surrogate beside the rows', String.raw`{"rows":[],"x":"\ud800"}`],
    ['nesting of 600 levels', `{"rows":[],"x":${'['.repeat(600)}${']'.repeat(600)}}`],
    ['an end in a row', `{"rows":[${row},{"app":"a"`],
    ['an end behind the rows', `{"rows":[${row}]`],
    ['an end in a number beside the rows', '{"rows":[],"x":1'],
    ['a second document', `{"rows":[${row}]}{"rows":[]}`],
    ['a zero byte behind it', `{"rows":[${row}]}\0`],
  ])('with %s', async (_, body) => {
    const before = await readdir(directory);
    const { read } = readBody(pair, body, 64 * 1024);
    expect(read).toEqual(expect.any(String));
    expect(await readdir(directory)).toEqual(before);
  });
});

describe('keys are distinct, and repeat', () => {
  const keyed = columnsOf(['day', 'app', 'BIGINT']);
  const keyedRow = (app: string, dependency = '{}', day = '2026-01-05'): string =>
    `{"attr_dependency":${dependency},"day":"${day}","app":${app},"BIGINT":"1"}`;
  test.each([
    ['no row', [], true],
    ['one row', [keyedRow('"a"')], true],
    ['another text', [keyedRow('"a"'), keyedRow('"b"')], true],
    ['another day', [keyedRow('"a"'), keyedRow('"a"', '{}', '2026-01-06')], true],
    ['another attr_dependency', [keyedRow('"a"'), keyedRow('"a"', '{"a":"1"}')], true],
    ['null beside an empty text', [keyedRow('null'), keyedRow('""')], true],
    ['null twice', [keyedRow('null'), keyedRow('"a"'), keyedRow('null')], false],
    ['a row apart', [keyedRow('"a"'), keyedRow('"b"'), keyedRow('"a"')], false],
    ['a text escaped otherwise', [keyedRow('"a"'), keyedRow(String.raw`"\u0061"`)], false],
    ['an object with other blanks', [keyedRow('"a"', '{"a":"1"}'), keyedRow('"a"', '{ "a" : "1" }')], false],
  ])('with %s', (_, rows, isDistinct) => {
    expect(readBody(keyed, `{"rows":[${rows.join(',')}]}`).read).toMatchObject({ rows: rows.length, isDistinct });
  });

  test('a key of the first of 130,000 rows repeats in the last, two groups and 10,000 texts later', () => {
    const rows = Array.from({ length: 130_000 }, (_, at) => keyedRow(`"${at % 10_000}"`, `{"a":"${at % 13}"}`));
    expect(readBody(keyed, `{"rows":[${rows.join(',')}]}`).read).toMatchObject({ isDistinct: true });
    const again = [...rows.slice(0, -1), rows[0]].join(',');
    expect(readBody(keyed, `{"rows":[${again}]}`).read).toMatchObject({ isDistinct: false });
  });
});

test('two texts of one hash that differ in their last byte only are two entries of a dictionary', () => {
  const [body, dictionary] = [new BodyWindow(), new TextDictionary()];
  body.take(Buffer.from('abcdefabcdeg'), 0);
  expect(dictionary.add(Buffer.from('abcdef'), 7, Buffer.from('abcdef'))).toBe(0);
  expect(dictionary.find(body, 6, 12, 7)).toBe(-1);
  expect(dictionary.add(Buffer.from('abcdeg'), 7, Buffer.from('abcdeg'))).toBe(1);
  expect([dictionary.find(body, 0, 6, 7), dictionary.find(body, 6, 12, 7)]).toEqual([0, 1]);
});

test('a document is read alike in pieces of 1, 2, 3, 7 and 100 bytes and in one', async () => {
  const columns = columnsOf(['day', 'week', 'app', 'BIGINT', 'DECIMAL(18,6)', 'DOUBLE']);
  const row = (at: number): string =>
    `{"attr_dependency":{"a":"}${at % 3}"},"day":"2026-01-0${1 + (at % 9)}","week":"2026-01-04 - 2026-01-10",` +
    String.raw`"app":"\u00e9 \"${at % 5} 日本", "BIGINT":${at * 1_000_003}, "DECIMAL(18,6)":"-${at}.25","DOUBLE":-0.${at}}`;
  const rows = Array.from({ length: 40 }, (_, at) => row(at)).join(',\n ');
  const body = `{"totals": {"BIGINT": 12345.0}, "rows": [${rows}], "warnings": ["é\\n"], "x": -12.5e3}`;
  const whole = readBody(columns, body);
  expect(whole.read).toMatchObject({
    rows: 40,
    envelopes: [
      {
        members: new Map([
          ['totals', '{"BIGINT": 12345.0}'],
          ['warnings', '["é\\n"]'],
        ]),
      },
    ],
    weekStartsOn: 0,
  });
  const content = async (path: string): Promise<unknown> =>
    warehouse.rows(
      `select to_json(list(t))::varchar as rows from read_parquet(${literal(path)}) as t`,
      [],
      z.object({ rows: z.string() }),
    );
  for (const pieceBytes of [1, 2, 3, 7, 100]) {
    const pieces = readBody(columns, body, pieceBytes);
    expect(pieces.read).toEqual(whole.read);
    expect(await content(pieces.path)).toEqual(await content(whole.path));
  }
});
