import { describe, expect, test } from 'vitest';

import { plainType } from '../../src/publish/lake-table.ts';

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
