/** The completeness proof: how far sums and totals may differ, and how far not. */

import { describe, expect, test } from 'vitest';

import { addTotals, compareTotals, type MetricSum } from '../../src/load/proof.ts';

function sumOf(sum: string | null, change: Partial<MetricSum> = {}): MetricSum {
  return { metric: 'm', sum, distinctSum: sum, magnitude: Math.abs(Number(sum ?? 0)), isCount: false, ...change };
}

const agrees = (sum: MetricSum, total: string, rowCount: number): boolean | null =>
  compareTotals([sum], new Map([['m', total]]), rowCount).at(0)?.agrees ?? null;

describe('a count', () => {
  test.each([
    ['10', '10', true],
    ['10', '10.0', true],
    ['10', '1e1', true],
    ['10', '11', false],
    ['10', '9', false],
    ['10', '10.5', false],
    ['1000000000000', '1000000000001', false],
    ['0', '0', true],
    [null, '0', true],
    [null, '1', false],
    ['-5', '-5', true],
    ['9007199254740990', '9007199254740991', false],
    // Beyond 2^53 the total itself was rounded on its way.
    ['9007199254740993', '9007199254740992', true],
    ['18014398509481990', '18014398509481988', true],
    ['18014398509481990', '18014498509481988', false],
  ])(
    'whose rows add up to %j agrees with the total %s: %j, exactly and without a tolerance',
    (sum, total, expected) => {
      expect(agrees(sumOf(sum, { isCount: true }), total, 1000)).toBe(expected);
    },
  );
});

test('a metric without a value is compared as 0, and said to have added up to 0', () => {
  const [compared] = compareTotals([sumOf(null)], new Map([['m', '0.0']]), 3);
  expect(compared).toEqual({ metric: 'm', sum: '0', total: '0.0', agrees: true });
});

describe('money', () => {
  test('may differ by the last place of a sum for each row that was added, and by no more', () => {
    const sum = sumOf('4503599627370498', { magnitude: 2 ** 52 });
    expect(agrees(sum, '4503599627370496', 2)).toBe(true);
    expect(agrees(sum, '4503599627370496', 1)).toBe(false);
    expect(agrees(sum, '4503599627370495', 2)).toBe(false);
  });

  const cents = Array.from({ length: 1000 }, (_, index) => ((index * 7919) % 99_999) + 1);
  const exact = (values: readonly number[]): string => {
    const sum = values.reduce((total, value) => total + value, 0);
    return `${Math.trunc(sum / 100)}.${String(sum % 100).padStart(2, '0')}`;
  };
  const floated = (values: readonly number[]): string =>
    String(values.reduce((total, value) => total + value / 100, 0));

  test('agrees with a total that was added up in floating point, in any order, though it is not the same number', () => {
    const orders = [cents, cents.toReversed(), cents.toSorted((a, b) => a - b), cents.toSorted((a, b) => b - a)];
    expect(orders.some((values) => floated(values) !== exact(cents))).toBe(true);
    expect(orders.map((values) => agrees(sumOf(exact(cents)), floated(values), 1000))).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });

  test('of 1000 rows of up to 1000 each is not proven when one cent is missing, too much, or in the wrong row', () => {
    const [first = 0, ...others] = cents;
    expect(agrees(sumOf(exact([first - 1, ...others])), floated(cents), 1000)).toBe(false);
    expect(agrees(sumOf(exact([first + 1, ...others])), floated(cents), 1000)).toBe(false);
    expect(agrees(sumOf(exact(others)), floated(cents), 999)).toBe(false);
  });

  test('of one million in 1000 rows may differ by less than a millionth', () => {
    expect(agrees(sumOf('1000000'), '1000000.0000001', 1000)).toBe(true);
    expect(agrees(sumOf('1000000'), '1000000.000001', 1000)).toBe(false);
  });

  test('is bounded by the magnitudes added up, not by a sum in which they cancel', () => {
    const noise = 0.000_000_1;
    expect(agrees(sumOf('0', { magnitude: 2_000_000 }), String(noise), 1000)).toBe(true);
    expect(agrees(sumOf('0', { magnitude: 2 }), String(noise), 1000)).toBe(false);
    expect(agrees(sumOf('0', { magnitude: 2_000_000 }), '0.01', 1000)).toBe(false);
  });

  test('of no rows agrees with nothing but 0', () => {
    expect(agrees(sumOf(null), '0', 0)).toBe(true);
    expect(agrees(sumOf(null), '0.01', 0)).toBe(false);
  });
});

describe('identical duplicates', () => {
  test('may be counted once or as often as they came', () => {
    const doubled = sumOf('30', { distinctSum: '20', isCount: true });
    expect(agrees(doubled, '30', 3)).toBe(true);
    expect(agrees(doubled, '20', 3)).toBe(true);
    expect(agrees(doubled, '25', 3)).toBe(false);
  });
});

describe('the comparison', () => {
  test('holds only metrics the service stated a total for, one that is a number, with both sides as they were', () => {
    const sums = ['a', 'b', 'c', 'd'].map((metric) => sumOf('1', { metric, isCount: true }));
    const totals = new Map([
      ['a', '1'],
      ['b', '2.0'],
      ['c', ''],
      ['x', '1'],
    ]);
    expect(compareTotals(sums, totals, 1)).toEqual([
      { metric: 'a', sum: '1', total: '1', agrees: true },
      { metric: 'b', sum: '1', total: '2.0', agrees: false },
    ]);
    expect(compareTotals([], totals, 1)).toEqual([]);
    expect(compareTotals(sums, new Map(), 1)).toEqual([]);
  });
});

describe('the totals of several answers', () => {
  const totals = (entries: Record<string, string>): Map<string, string> => new Map(Object.entries(entries));

  test('of none are none, of one are its own text', () => {
    expect(addTotals([])).toEqual(new Map());
    expect(addTotals([totals({ a: '10.0' })])).toEqual(totals({ a: '10.0' }));
  });

  test('of several are added, and a metric that one of them lacks is left out', () => {
    const added = addTotals([totals({ a: '1', b: '2' }), totals({ a: '10.5', c: '3' }), totals({ a: '-1', b: '5' })]);
    expect(added).toEqual(totals({ a: '10.5' }));
  });
});
