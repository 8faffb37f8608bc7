import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { bodyChunks, type JsonDocument } from '../../src/simulator/answer.ts';
import { addedWarning, byteEdits, corruptGzip, rowCount } from '../../src/simulator/mutations.ts';
import {
  bareMetric,
  combined,
  duplicatedRow,
  extraKey,
  limitedRows,
  metricAsNumber,
  missingKey,
  nullRows,
  paginated,
  replacedValue,
  wrongTotal,
} from '../support/report-mutations.ts';

const report: JsonDocument = {
  rows: [
    { attr_dependency: {}, day: '2026-01-01', installs: '10', cost: '1.5' },
    { attr_dependency: {}, day: '2026-01-02', installs: '20', cost: '2.5' },
  ],
  totals: { installs: 30, cost: 4 },
  warnings: [],
  pagination: null,
};

const jsonOf = (document: JsonDocument): string =>
  Buffer.concat([...bodyChunks({ kind: 'document', document })]).toString();

describe('a mutation of a report', () => {
  const before = JSON.stringify(report);

  test('replaces one metric and moves its total from 30 to 27.5', () => {
    const changed = replacedValue(0, 'installs', '7.5')(report);
    expect(changed).toMatchObject({ rows: [{ installs: '7.5' }, { installs: '20' }], totals: { installs: 27.5 } });
  });

  test('replaces one metric and keeps the total when told to', () => {
    expect(replacedValue(0, 'installs', '7', 'kept')(report)).toMatchObject({ totals: { installs: 30 } });
  });

  test.each(['NaN', '1,234.5', '', null, 'text'])('leaves the total alone when the new value is %j', (value) => {
    const changed = replacedValue(0, 'installs', value)(report);
    expect(changed).toMatchObject({ rows: [{ installs: value }, {}], totals: { installs: 30 } });
  });

  test('moves a row to a day outside the window, the last row when the number is past the end', () => {
    const changed = replacedValue(99, 'day', '2027-01-01')(report);
    expect(changed).toMatchObject({ rows: [{ day: '2026-01-01' }, { day: '2027-01-01' }] });
  });

  test('writes 9007199254740993 as a bare number with all its 16 digits', () => {
    const text = jsonOf(bareMetric(0, 'installs', '9007199254740993')(report));
    expect(text).toContain('"installs":9007199254740993,');
    expect(JSON.parse(text)).toMatchObject({ totals: { installs: Number(9_007_199_254_740_993n) + 20 } });
  });

  test('writes every value of a metric as a number', () => {
    const written: unknown = JSON.parse(jsonOf(metricAsNumber('cost')(report)));
    expect(written).toMatchObject({ rows: [{ cost: 1.5 }, { cost: 2.5 }] });
  });

  test('adds a key that nobody asked for to both rows', () => {
    const changed = extraKey('surprise', 'yes')(report);
    expect(changed).toMatchObject({ rows: [{ surprise: 'yes' }, { surprise: 'yes' }] });
  });

  test('takes a key out of rows and totals', () => {
    const changed = missingKey('cost')(report);
    expect(JSON.stringify(changed)).not.toContain('cost');
    expect(rowCount(changed)).toBe(2);
  });

  test('says a row twice, identically or in conflict', () => {
    expect(duplicatedRow(0)(report)).toMatchObject({ rows: [{}, {}, { day: '2026-01-01', installs: '10' }] });
    expect(duplicatedRow(0, { installs: '11' })(report)).toMatchObject({ rows: [{}, {}, { installs: '11' }] });
  });

  test('puts a total off by 5', () => {
    expect(wrongTotal('installs', 5)(report)).toMatchObject({ totals: { installs: 35, cost: 4 } });
  });

  test('cuts the rows to 1 in silence or with a warning, the totals speaking of both', () => {
    const silent = limitedRows(1, null)(report);
    expect(silent).toMatchObject({ rows: [{ installs: '10' }], totals: { installs: 30 }, warnings: [] });
    expect(limitedRows(1, 'limited')(report)).toMatchObject({ warnings: ['limited'] });
    expect(limitedRows(2, 'limited')(report)).toBe(report);
  });

  test('warns under the name the envelope uses', () => {
    const { warnings: _, ...rest } = report;
    expect(addedWarning('w')({ ...rest, data_warnings: ['v'] })).toEqual({ ...rest, data_warnings: ['v', 'w'] });
  });

  test('paginates, and nulls the rows', () => {
    expect(combined(paginated({ next: 'x' }), nullRows())(report)).toMatchObject({
      rows: null,
      pagination: { next: 'x' },
    });
  });

  test('leaves a document that is no report, and a report without rows, as they were', () => {
    const error = { error: 'no' };
    const empty = { rows: [], totals: { installs: 0 } };
    for (const mutate of [
      replacedValue(0, 'installs', '7'),
      duplicatedRow(0),
      extraKey('a', 1),
      limitedRows(1, 'limited'),
      metricAsNumber('installs'),
    ]) {
      expect(mutate(error)).toEqual(error);
      expect(mutate(empty)).toEqual(empty);
    }
    expect(combined(nullRows(), paginated({}), addedWarning('w'))(error)).toEqual(error);
  });

  test('changes nothing of the report it was given', () => {
    combined(
      replacedValue(0, 'installs', '7'),
      extraKey('a', 1),
      duplicatedRow(1),
      wrongTotal('cost', 1),
      addedWarning('w'),
      missingKey('day'),
      limitedRows(1, 'limited'),
    )(report);
    expect(JSON.stringify(report)).toBe(before);
  });
});

describe('an edit of bytes', () => {
  const bytes = Buffer.from('{"rows":[]}');

  test('truncates 11 bytes to 5', () => {
    expect(byteEdits.truncated(bytes).toString()).toBe('{"row');
  });

  test('puts a byte order mark before the brace', () => {
    expect(byteEdits.bom(bytes).toString()).toBe('\ufeff{"rows":[]}');
  });

  test('says the document twice', () => {
    expect(byteEdits.two_documents(bytes).toString()).toBe('{"rows":[]}\n{"rows":[]}');
  });

  test.each(['middle', 'checksum'] as const)('corrupts gzip in the %s so that decoding fails', (where) => {
    const gzip = gzipSync('{"rows":[{"installs":"10"},{"installs":"20"}]}');
    const corrupt = corruptGzip(gzip, where);
    expect(corrupt).toHaveLength(gzip.length);
    expect(() => gunzipSync(corrupt)).toThrow('incorrect data check');
    expect(gunzipSync(gzip).toString()).toContain('rows');
  });
});

test('a document of 20000 rows is written in many chunks that join to its JSON', () => {
  const rows = Array.from({ length: 20_000 }, (_, row) => ({
    day: '2026-01-01',
    installs: String(row),
    text: 'é\u0000"',
  }));
  const document = { rows, totals: {}, none: [], nested: { list: [1, 2] } };
  const chunks = [...bodyChunks({ kind: 'document', document })];
  expect(chunks.length).toBeGreaterThan(10);
  expect(Math.max(...chunks.map((chunk) => chunk.length))).toBeLessThan(100_000);
  expect(JSON.parse(Buffer.concat(chunks).toString())).toEqual(document);
});
