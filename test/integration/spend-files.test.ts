/** Every form a spend file comes in, read exactly. */

import { stat } from 'node:fs/promises';

import { beforeEach, describe, expect, test } from 'vitest';

import type { Failure } from '../../src/errors.ts';
import { textWith } from '../support/matching.ts';
import {
  csvOf,
  goodLine,
  ndjsonOf,
  openSpendFixture,
  type SpendFixture,
} from '../support/spend-fixture.ts';
import {
  type Connection,
  failureFrom,
  type ScriptedServer,
  useService,
} from '../support/scripted-server.ts';

let fixture: SpendFixture;
let server: ScriptedServer;
let connection: Connection;

beforeEach(async () => {
  fixture = await openSpendFixture();
  ({ server, connection } = await useService(() => ({ status: 200 })));
});

/** What reached the service, in the order of the Cost IDs. */
const sent = (): Record<string, string>[] =>
  server.received
    .map(({ body }) => Object.fromEntries(new URLSearchParams(body)))
    .toSorted((one, other) => ((one['cost_id'] ?? '') < (other['cost_id'] ?? '') ? -1 : 1));
const sentAmounts = (): Record<string, string> =>
  Object.fromEntries(
    sent().map((fields) => [fields['cost_id'] ?? '', fields['cost_amount'] ?? '']),
  );
const send = async (file: string) => fixture.send(file, connection.service);
const line = (number: number, change: object = {}) => ({
  ...goodLine,
  cost_id: `sender-${String(number).padStart(6, '0')}`,
  ...change,
});
const refused = async (file: string): Promise<Failure> => failureFrom(send(file));
describe('CSV', () => {
  test('with a byte order mark, CRLF, blank lines and quoted line breaks is read, each line under its own number', async () => {
    const head = 'cost_id,cost_type,cost_currency,cost_amount,tag';
    const file = await fixture.write(
      'f.csv',
      `\uFEFF${head}\r\n\r\nsender-000001,cpc,USD,0.10,"two\r\nlines"\r\nshort,cpc,USD,1,x\r\nsender-000002,cpi,EUR,12345678901234567890.000000000000000001,"a ""b"", c"\n\nsender-000003,cpi,EUR,1,5" disk`,
    );
    expect(await send(file)).toMatchObject({ lines: 4, valid: 3, rejected: 1, accepted: 3 });
    // In the order of the form.
    expect(sent().map((fields) => Object.values(fields))).toEqual([
      ['cpc', 'USD', 'sender-000001', '0.10', 'two\r\nlines'],
      ['cpi', 'EUR', 'sender-000002', '12345678901234567890.000000000000000001', 'a "b", c'],
      ['cpi', 'EUR', 'sender-000003', '1', '5" disk'],
    ]);
    const short = {
      cost_id: 'short',
      cost_type: 'cpc',
      cost_currency: 'USD',
      cost_amount: '1',
      tag: 'x',
    };
    const reasons = ['cost_id had 5 characters, not 12 to 256'];
    expect(await fixture.rejects(file)).toEqual([{ line: 5, reasons, ...short }]);
  });

  test('lines with 4 or 7 values under 5 columns, and ones with bad quotes, are rejected alone', async () => {
    const file = await fixture.write(
      'f.csv',
      `${csvOf([line(1)])}sender-000002,cpc,USD,1\nsender-000003,cpc,USD,1,t,u,v\nsender-000004,cpc,USD,1,"t"t\n${csvOf([line(5)]).split('\n')[1]}\n"open,\n`,
    );
    expect(await send(file)).toMatchObject({ lines: 6, valid: 2, rejected: 4, accepted: 2 });
    expect(
      (await fixture.rejects(file))?.map(({ line: at, reasons }) => [at, reasons.join('; ')]),
    ).toEqual([
      // What the values of a line that fell apart would break besides is not told.
      [3, 'the line had 4 values for 5 columns'],
      [4, 'the line had 7 values for 5 columns'],
      [5, 'a value continues after its closing quote'],
      [
        7,
        'the line had 1 values for 5 columns; a quote is never closed, so the rest was read as one value',
      ],
    ]);
    const raw = ['sender-000003', 'cpc', 'USD', '1', 't', 'u', 'v'];
    expect((await fixture.rejects(file))?.[1]).toEqual({
      line: 4,
      reasons: [expect.any(String)],
      raw,
    });
  });

  test('a value that is not UTF-8 is rejected, its neighbours are sent', async () => {
    const [head, one] = csvOf([line(1)]).split('\n');
    const bad = Buffer.concat([
      Buffer.from(`${head}\n${one}\nsender-000002,cpc,USD,1,caf`),
      Buffer.from([0xe9, 0x0a]),
    ]);
    const file = await fixture.write('f.csv', bad);
    expect(await send(file)).toMatchObject({ valid: 1, rejected: 1 });
    expect((await fixture.rejects(file))?.[0]?.reasons).toEqual(['tag was not UTF-8']);
  });

  test.each([
    ['Cost_ID', 'it had no cost_id.'],
    [' cost_id', 'it had no cost_id.'],
    ['tag,cost_id', 'it had "tag" twice'],
  ])('whose first column is %j is refused as a whole: %s', async (name, said) => {
    const file = await fixture.write('f.csv', csvOf([line(1)]).replace('cost_id', name));
    const failure = await refused(file);
    expect([failure.code, failure.message]).toEqual([
      'SPEND_REJECTED',
      expect.stringContaining(said),
    ]);
    expect([sent(), await fixture.rejects(file), await fixture.ledger()]).toEqual([[], null, []]);
  });
});

describe('newline-delimited JSON', () => {
  test('bare numbers keep their digits: 25-digit amounts, trailing zeros and ids beyond 2^53', async () => {
    const file = await fixture.write(
      'f.ndjson',
      [
        '\uFEFF{"cost_id": 900719925474099312345, "cost_type":"cpc","cost_currency":"USD","cost_amount": 0.1234567890123456789012345 ,"tag":"t"}',
        '',
        '{"cost_id":"sender-000002","cost_type":"cpc","cost_currency":"USD","cost_amount":1.50,"tag":"\\"cost_amount\\":9, 9"}\r',
        '{"cost_id":"sender-000003","cost_type":"cpc","cost_currency":"USD","cost_amount":"2.00","tag":"a\u2028b"}',
      ].join('\n'),
    );
    expect(await send(file)).toMatchObject({ lines: 3, accepted: 3, failures: [] });
    expect(sentAmounts()).toEqual({
      '900719925474099312345': '0.1234567890123456789012345',
      'sender-000002': '1.50',
      'sender-000003': '2.00',
    });
    expect(sent().map((fields) => fields['tag'])).toEqual(['t', '"cost_amount":9, 9', 'a\u2028b']);
  });

  test('what is no object or has a number for a key, a bare 1e-7 and a list in place of a text are rejected under their line numbers', async () => {
    const file = await fixture.write(
      'f.ndjson',
      `${ndjsonOf([line(1)])}\nnot json\n{1:2}\n{"cost_amount":01}\n${ndjsonOf([line(2)]).replace('"0.25"', '1e-7')}${ndjsonOf([line(3, { tag: ['x'] }), line(4, { tag: null })])}`,
    );
    expect(await send(file)).toMatchObject({ lines: 7, valid: 1, rejected: 6 });
    const rejects = await fixture.rejects(file);
    expect(rejects?.map(({ line: at }) => at)).toEqual([3, 4, 5, 6, 7, 8]);
    expect(rejects?.map(({ reasons }) => reasons[0])).toEqual([
      'the line is not a JSON object',
      'the line is not a JSON object',
      'the line is not a JSON object',
      expect.stringContaining('cost_amount must be a plain number'),
      'tag must be text or a number',
      'tag was empty',
    ]);
    expect(rejects?.[0]).toMatchObject({ raw: 'not json', reasons: [expect.any(String)] });
    expect(rejects?.[3]).toMatchObject({ cost_amount: '1e-7' });
  });

  test('a key that 1 line holds 2 times, escaped or not, rejects that line with the key; texts and nested keys are not compared', async () => {
    const twice = JSON.stringify(line(2)).replace(
      '"cost_amount"',
      '"cost_amount":"9","cost\\u005famount"',
    );
    const unknown = JSON.stringify(line(3)).replace('{', '{"note":1,"note":1,');
    const fine = JSON.stringify(line(4, { tag: '{"tag":"tag": tag' })).replace(
      '{',
      '{"list":[{"it":1},{"it":2}],"more":{"tag":"x"},',
    );
    const file = await fixture.write(
      'f.ndjson',
      `${ndjsonOf([line(1)])}${twice}\n${unknown}\n${fine}\n`,
    );
    expect(await send(file)).toMatchObject({ lines: 4, valid: 2, rejected: 2, accepted: 2 });
    expect(sent().map((fields) => fields['cost_id'])).toEqual(['sender-000001', 'sender-000004']);
    expect(await fixture.rejects(file)).toEqual([
      { line: 2, reasons: ['the line had the key "cost_amount" twice'], raw: twice },
      { line: 3, reasons: ['the line had the key "note" twice'], raw: unknown },
    ]);
  });
});

test.each([
  ['f.csv', csvOf, 2],
  ['f.ndjson', ndjsonOf, 1],
] as const)(
  'in %s a NUL in a text rejects its line, in the Cost ID and in the tag',
  async (name, textOf, first) => {
    const nul = '\u0000';
    const lines = [
      line(1, { tag: `a${nul}b` }),
      line(2, { cost_id: `sender-${nul}000002` }),
      line(3),
    ];
    const file = await fixture.write(name, textOf(lines));
    expect(await send(file)).toMatchObject({ lines: 3, rejected: 2, accepted: 1 });
    expect(
      (await fixture.rejects(file))?.map(({ line: at, reasons, ...given }) => [
        at,
        reasons,
        given['tag'],
      ]),
    ).toEqual([
      [first, ['tag contains a NUL character'], `a${nul}b`],
      [first + 1, ['cost_id contains a control character'], 'spring'],
    ]);
  },
);

test.each([
  ['f.parquet', 'does not end in .csv or .ndjson'],
  ['missing.csv', 'was not found'],
])('%s is refused before anything is sent', async (name, problem) => {
  await fixture.write('f.parquet', 'PAR1');
  const failure = await refused(`${fixture.directory}/${name}`);
  expect(failure).toMatchObject({
    code: 'USAGE_INVALID',
    message: textWith(problem),
  });
  expect(server.received).toEqual([]);
});

test('the rejects file is private, and vanishes when nothing is rejected any more', async () => {
  const file = await fixture.write('f.csv', csvOf([line(1, { tag: '' })]));
  const { rejects_file: path } = await send(file);
  expect(path).toBe(`${file}.rejects.ndjson`);
  expect((await stat(`${file}.rejects.ndjson`)).mode & 0o777).toBe(0o600);
  await fixture.write('f.csv', csvOf([line(1)]));
  expect(await send(file)).toMatchObject({ rejects_file: null, accepted: 1 });
  expect(await fixture.rejects(file)).toBeNull();
});
