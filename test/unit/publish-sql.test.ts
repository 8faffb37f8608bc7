import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { exportStatement, formatOf } from '../../src/publish/export-sql.ts';
import { isMetric, plainType } from '../../src/publish/lake-table.ts';

describe('types in the lake', () => {
  test.each([
    ['BIGINT', 'BIGINT'],
    ['DECIMAL(38,12)', 'DECIMAL(38,12)'],
    ['DATE', 'DATE'],
    ['TIMESTAMP', 'TIMESTAMP'],
    ['HUGEINT', 'DECIMAL(38,0)'],
    ['JSON', 'VARCHAR'],
    ['VARCHAR[]', 'VARCHAR'],
    ['UBIGINT', 'VARCHAR'],
  ])('%s is kept as %s', (type, plain) => {
    expect(plainType(type)).toBe(plain);
  });
});

describe('statements of an export', () => {
  test.each([
    ['a.csv', 'csv'],
    ['a.b.PARQUET', 'parquet'],
    ['a.jsonl', 'ndjson'],
    ['a.xlsx', null],
    ['csv', null],
  ])('%s is written as %s', (path, format) => {
    expect(formatOf(path)).toBe(format);
  });

  test('only text is defused, and only in CSV; a heading too', () => {
    const columns = [
      { name: 'day', type: 'DATE' },
      { name: '=name', type: 'VARCHAR' },
      { name: 'cost', type: 'DECIMAL(18,6)' },
    ];
    const days = { from: null, to: day('2026-01-31') };
    const csv = exportStatement('x', columns, days, {
      path: '/o.csv',
      format: 'csv',
      compressed: false,
      defused: true,
    });
    expect(csv.match(/regexp_matches/g)).toHaveLength(1);
    expect(csv).toContain(`as "'=name"`);
    expect(csv).toContain(`where s."day" < DATE '2026-02-01'\norder by s."day", s."=name", 1`);
    expect(
      exportStatement('x', columns, days, { path: '/o', format: 'ndjson', compressed: false, defused: true }),
    ).not.toContain('regexp_matches');
  });
});

test('a column is a metric by its type, whatever the catalog calls it, and never one of our own', () => {
  const columns = [
    { name: 'day', type: 'DATE' },
    { name: 'sdk_version', type: 'VARCHAR' },
    { name: '_odd', type: 'BIGINT' },
    { name: 'region', type: 'DECIMAL(18,6)' },
    { name: 'share', type: 'DOUBLE' },
    { name: 'attr_dependency', type: 'VARCHAR' },
    { name: '_load_id', type: 'BIGINT' },
  ];
  expect(columns.filter(isMetric).map(({ name }) => name)).toEqual(['_odd', 'region', 'share']);
});
