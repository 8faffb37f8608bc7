import { describe, expect, test } from 'vitest';

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
