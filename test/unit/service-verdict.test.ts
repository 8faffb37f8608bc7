import { describe, expect, test } from 'vitest';
import { verdictOn } from '../../src/service/verdict.ts';

const table = [
  [200, 'answer'],
  [201, 'answer'],
  [204, 'empty'],
  [301, 'redirected'],
  [302, 'redirected'],
  [303, 'redirected'],
  [307, 'redirected'],
  [308, 'redirected'],
  [400, 'refused'],
  [401, 'credentials'],
  [403, 'forbidden'],
  [404, 'missing'],
  [408, 'faulty'],
  [410, 'missing'],
  [422, 'refused'],
  [429, 'later'],
  [499, 'no answer'],
  [500, 'faulty'],
  [502, 'faulty'],
  [503, 'unavailable'],
  [504, 'too heavy'],
  [524, 'too heavy'],
] as const;

describe('the verdict on a status', () => {
  test.each(table)('%i is judged as "%s"', (status, verdict) => {
    expect(verdictOn(status)).toBe(verdict);
  });

  test.each([
    [1, 100, 'unexpected'],
    [2, 97, 'no answer'],
    [3, 95, 'unexpected'],
    [4, 91, 'unexpected'],
    [5, 95, 'faulty'],
    [9, 100, 'unexpected'],
  ] as const)('of class %i each of the %i that are not listed is judged as "%s"', (first, count, verdict) => {
    const listed = new Set<number>(table.map(([status]) => status));
    const others = Array.from({ length: 100 }, (_, rest) => first * 100 + rest).filter((status) => !listed.has(status));
    expect(others).toHaveLength(count);
    expect(new Set(others.map((status) => verdictOn(status)))).toEqual(new Set([verdict]));
  });
});
