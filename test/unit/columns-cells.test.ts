/** What the column reader makes of each cell and of each document. */

import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { formatColumnType, parseColumnType } from '../../src/model/column-type.ts';
import { BodyWindow } from '../../src/spool/columns/json-tokens.ts';
import { type ColumnsRead, REJECTED, type SliceColumns } from '../../src/spool/columns/reading.ts';
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
  const body = Buffer.concat([Buffer.from(`{"rows":[{"${name}":`), Buffer.from(value), Buffer.from('}]}')]);
  const { path, read } = readBody(columnsOf([name]), body);
  const [envelope] = read.envelopes;
  if (envelope?.because !== null) return 'broken';
  if (envelope.badLabel !== null) return `no date: ${envelope.badLabel.label}`;
  const unfit = read.unfit.get(name);
  if (unfit !== undefined && !read.hasRejected) return `needs ${formatColumnType(unfit)}`;
  const [found] = await warehouse.rows(
    `select ${identifier(name)}::varchar as cell, ${identifier(REJECTED)} as rejected from read_parquet(${literal(path)})`,
    [],
    cellRow,
  );
  return found === undefined ? 'no row' : found.rejected === null ? found.cell : 'rejected';
}

const widest = '9'.repeat(18);

describe('a cell is stored', () => {
  test.each([
    ['BIGINT', '"0"', '0'],
    ['BIGINT', '12', '12'],
    ['BIGINT', '"-12"', '-12'],
    ['BIGINT', '-0', '0'],
    ['DOUBLE', '-0', '-0.0'],
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
    ['BIGINT', '"1e5"', '100000'],
    ['BIGINT', '1e5', '100000'],
    ['BIGINT', '"+1"', '1'],
    ['BIGINT', '" 1"', '1'],
    ['BIGINT', '"1 "', '1'],
    ['BIGINT', String.raw`"\u0031"`, '1'],
    ['DECIMAL(18,6)', '".5"', '0.500000'],
    ['DECIMAL(18,6)', '"5."', '5.000000'],
    ['DECIMAL(38,10)', '"-12345678901234567890.0123456789"', '-12345678901234567890.0123456789'],
    ['DECIMAL(38,10)', '-7', '-7.0000000000'],
    ['DECIMAL(20,0)', '"12345678901234567891"', '12345678901234567891'],
    ['DOUBLE', '"1e5"', '100000.0'],
    ['app', '5', '5'],
    ['app', 'true', 'true'],
    ['app', '{}', '{}'],
    ['day', String.raw`"2026\u002d01-01"`, '2026-01-01'],
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
    ['BIGINT', '"0x10"', 'rejected'],
    ['BIGINT', '"1_000"', 'rejected'],
    ['BIGINT', '"1 000"', 'rejected'],
    ['BIGINT', '"-"', 'rejected'],
    ['BIGINT', '"NaN"', 'rejected'],
    ['BIGINT', 'NaN', 'rejected'],
    ['BIGINT', 'true', 'rejected'],
    ['BIGINT', '[1]', 'rejected'],
    ['BIGINT', `"${'9'.repeat(39)}"`, 'rejected'],
    ['DOUBLE', '"inf"', 'rejected'],
    ['DOUBLE', '1e400', 'rejected'],
    ['DOUBLE', `"${'1'.repeat(400)}"`, 'rejected'],
    ['BIGINT', '01', 'broken'],
    ['BIGINT', '"\t"', 'broken'],
    ['app', '"\t"', 'broken'],
    ['app', String.raw`"\ud800"`, 'broken'],
    ['app', String.raw`"\udc00\ud800"`, 'broken'],
    ['app', String.raw`"\ud800\u0041"`, 'broken'],
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
    ['a byte order mark', `\u{feff}{"rows":[${row}]}`, 1, both, both],
    ['blanks everywhere', `\n { "rows" : [ ${row} ,\t${row} ] } \r\n`, 2, both, both],
    ['other blanks than in its first row', `{"rows":[${row}, { "app" : "b" , "BIGINT" : 2 } ]}`, 2, both, both],
    ['keys in another order', `{"rows":[${row},{"BIGINT":"1","app":"a"}]}`, 2, both, both],
    ['an escaped key', String.raw`{"rows":[{"\u0061pp":"a","BIGINT":"1"}]}`, 1, both, both],
    ['an empty row', '{"rows":[{}]}', 1, [], []],
    ['a row without a metric', `{"rows":[${row},{"app":"a"}]}`, 2, both, ['app']],
    ['a key that was not requested', `{"rows":[${row},{"app":"a","BIGINT":"1","x":1}]}`, 2, [...both, 'x'], both],
    [
      'attr_dependency in one row',
      `{"rows":[${row},{"attr_dependency":{},"app":"a","BIGINT":"1"}]}`,
      2,
      [...both, 'attr_dependency'],
      both,
    ],
  ])('with %s', (_, body, rows, keys, commonKeys) => {
    const [envelope] = readBody(pair, body).read.envelopes;
    const found = { ...envelope, keys: envelope?.keys.toSorted(), commonKeys: envelope?.commonKeys.toSorted() };
    expect(found).toMatchObject({ rows, keys: keys.toSorted(), commonKeys: commonKeys.toSorted(), because: null });
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
    ['a lone surrogate beside the rows', String.raw`{"rows":[],"x":"\ud800"}`],
    ['nesting of 600 levels', `{"rows":[],"x":${'['.repeat(600)}${']'.repeat(600)}}`],
    ['an end in a row', `{"rows":[${row},{"app":"a"`],
    ['an end behind the rows', `{"rows":[${row}]`],
    ['an end in a number beside the rows', '{"rows":[],"x":1'],
    ['a second document', `{"rows":[${row}]}{"rows":[]}`],
    ['a zero byte behind it', `{"rows":[${row}]}\0`],
  ])('with %s', (_, body) => {
    const [envelope] = readBody(pair, body, 64 * 1024).read.envelopes;
    expect(envelope?.because ?? '').not.toBe('');
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
  const [body, dictionary] = [new BodyWindow(), new TextDictionary(false)];
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
