/** The completeness proof: how far sums and totals may differ, and how far not. */

import { describe, expect, test } from 'vitest';

import { differenceOf } from '../../src/load/proof.ts';
import {
  addTotals,
  compareTotals,
  type Comparison,
  type MetricSum,
  type Proof,
  proofOf,
  statedTotals,
  type Totals,
  totalsOfPages,
} from '../../src/load/totals.ts';

function sumOf(sum: string | null, change: Partial<MetricSum> = {}): MetricSum {
  return {
    metric: 'm',
    sum,
    distinctSum: sum,
    magnitude: Math.abs(Number(sum ?? 0)),
    nonZero: 9,
    digits: 12,
    isCount: false,
    isAssumed: false,
    ...change,
  };
}

const stated = (entries: Record<string, string>): Totals =>
  statedTotals(new Map(Object.entries(entries)));

/** Whether rows with so many digits after the point agree with a total. */
function agrees(sum: MetricSum, total: string, rowCount: number, digits = 12): boolean | null {
  const [compared] = compareTotals([{ ...sum, digits }], stated({ m: total }), rowCount);
  return compared?.agrees ?? null;
}

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
    // A column that was widened states a sum with digits after the point; noise of doubles may be left in it.
    ['1198.0', '1200', false],
    ['1199.9999999999998', '1200', true],
    ['1198.0000000000002', '1200', false],
    ['7.5', '7.5', true],
    // Beyond 2^53 the total itself was rounded on its way.
    ['9007199254740993', '9007199254740992', true],
    ['18014398509481990', '18014398509481988', true],
    ['18014398509481990', '18014498509481988', false],
  ])(
    'whose rows add up to %j agrees with the total %s: %j, exactly and without a tolerance',
    async (sum, total, expected) => {
      expect(agrees(sumOf(sum, { isCount: true }), total, 1000, 0)).toBe(expected);
    },
  );
});

test('a metric without a value is compared as 0, and said to have added up to 0', () => {
  const [compared] = compareTotals([sumOf(null)], stated({ m: '0.0' }), 3);
  expect(compared).toMatchObject({
    metric: 'm',
    sum: '0',
    total: '0.0',
    agrees: true,
    isExact: true,
  });
});

describe('money', () => {
  test('of 1000 rows stated to the cent may lie 5.00 and half a unit of the last digit of its total away', () => {
    const found = (
      [
        ['105', '100.00', 2],
        ['105.005', '100.00', 2],
        ['105.006', '100.00', 2],
        ['105.5', '100', 2],
        ['105.51', '100', 2],
        ['100.0006', '100.0000', 6],
        ['100.0005', '100.0000', 6],
      ] as const
    ).map(([sum, total, digits]) => agrees(sumOf(sum), total, 1000, digits));
    expect(found).toEqual([true, true, false, true, false, false, true]);
  });

  test('to the digits of its total, and to the cent, leaves no room for rows; what rounding allows beyond that does', () => {
    const isExact = (sum: string, total: string): boolean[] => {
      const [found] = compareTotals([sumOf(sum, { digits: 2 })], stated({ m: total }), 1000);
      return [found?.agrees ?? false, found?.isExact ?? false];
    };
    expect(isExact('123.45', '123.45')).toEqual([true, true]);
    expect(isExact('123.449999999999', '123.45')).toEqual([true, true]);
    expect(isExact('123.454', '123.45')).toEqual([true, true]);
    expect(isExact('123.44', '123.45')).toEqual([true, false]);
    expect(isExact('123.44', '123.4')).toEqual([true, false]);
    expect(isExact('123.45', '123')).toEqual([true, false]);
    expect(isExact('123.45', '140')).toEqual([false, false]);
  });

  test('of rows that are written in whole numbers is taken for money of 2 digits, as zeros are not always written', () => {
    expect([agrees(sumOf('10'), '10.01', 2, 0), agrees(sumOf('10'), '10.02', 2, 0)]).toEqual([
      true,
      false,
    ]);
  });

  test('stated with 12 digits may differ by the last place of a sum for each row that was added', () => {
    const sum = sumOf('1000000');
    expect(agrees(sum, '1000000.000000200000', 1000)).toBe(true);
    expect(agrees(sum, '1000000.000001000000', 1000)).toBe(false);
  });

  test('is bounded by the magnitudes added up, not by a sum in which they cancel', () => {
    expect(agrees(sumOf('0', { magnitude: 2_000_000 }), '0.000000100000', 1000)).toBe(true);
    expect(agrees(sumOf('0', { magnitude: 2 }), '0.000000100000', 1000)).toBe(false);
  });

  test('of no rows agrees with nothing but 0', () => {
    expect(agrees(sumOf(null), '0', 0)).toBe(true);
    expect(agrees(sumOf(null), '0.50', 0)).toBe(false);
  });
});

test('identical duplicates may be counted once or as often as they came', () => {
  const doubled = sumOf('30', { distinctSum: '20', isCount: true });
  expect(['30', '20', '25'].map((total) => agrees(doubled, total, 3))).toEqual([true, true, false]);
});

test('the comparison holds only metrics with a total that is a number, with both sides as they were', async () => {
  const sums = ['a', 'b', 'c', 'd'].map((metric) => sumOf('1', { metric, isCount: true }));
  const totals = stated({ a: '1', b: '2.0', c: '', x: '1', d: 'NaN' });
  const compared = compareTotals(sums, totals, 1);
  expect(compared).toMatchObject([
    { metric: 'a', sum: '1', total: '1', agrees: true },
    { metric: 'b', sum: '1', total: '2.0', agrees: false },
  ]);
  expect(compared).toHaveLength(2);
});

function compared(metric: string, change: Partial<Comparison> = {}): Comparison {
  const agrees = change.agrees ?? true;
  return {
    metric,
    sum: '10',
    total: '10',
    agrees,
    isExact: agrees,
    isAssumed: false,
    nonZero: 9,
    ...change,
  };
}

describe('a proof', () => {
  const away = { sum: '7', agrees: false };
  const assumed = { isAssumed: true };
  const zero = { sum: '0', total: '0.0', nonZero: 0 };
  const rounded = { sum: '9.9', isExact: false };

  const [a, odd, fair] = [
    compared('a'),
    compared('x', { ...away, ...assumed }),
    compared('y', assumed),
  ];
  const [none, near] = [compared('a', zero), compared('a', rounded)];

  test.each<[string, readonly Comparison[], string, string | null, readonly string[]]>([
    ['no total', [], 'unverifiable', null, []],
    ['a known metric that agrees', [a], 'proven', null, []],
    ['a known metric that does not', [a, compared('b', away)], 'unproven', 'b', []],
    ['a known one and an assumed one that do not', [odd, compared('b', away)], 'unproven', 'b', []],
    ['an assumed one that does not beside a known one', [a, odd], 'proven', null, ['x']],
    ['an assumed one that does not beside known zeros', [none, odd], 'unproven', 'x', []],
    ['2 assumed ones of which 1 agrees', [odd, fair], 'proven', null, ['x']],
    ['2 assumed ones of which 1 agrees with 0', [odd, { ...fair, ...zero }], 'unproven', 'x', []],
    ['1 assumed one that does not', [odd], 'unproven', 'x', []],
    ['zeros alone', [none], 'proven', null, []],
    ['a known metric that agrees but for rounding', [near], 'unverifiable', null, []],
    ['one beside another that agrees', [near, compared('b')], 'proven', null, []],
    ['one beside zeros', [none, compared('b', rounded)], 'unverifiable', null, []],
    ['one beside an assumed one that does not agree', [near, odd], 'unproven', 'x', []],
  ])('by %s is what it is', (_, comparisons, verdict, against, notAdditive) => {
    const proof = proofOf(comparisons);
    expect([proof.verdict, proof.against?.metric ?? null, proof.notAdditive]).toEqual([
      verdict,
      against,
      notAdditive,
    ]);
  });

  test('shows an assumed metric to add up by 5 values that are not 0, not by 4, and by no answer that is not proven', () => {
    const [few, enough] = [
      compared('few', { ...assumed, nonZero: 4 }),
      compared('enough', { ...assumed, nonZero: 5 }),
    ];
    expect(proofOf([few, enough]).addsUp).toEqual(['enough']);
    expect(proofOf([few, enough, compared('b', away)]).addsUp).toEqual([]);
    expect(proofOf([compared('known')]).addsUp).toEqual([]);
  });
});

describe('the totals of several answers', () => {
  const texts = (totals: Totals): Record<string, string> =>
    Object.fromEntries([...totals].map(([metric, { text }]) => [metric, text]));

  test('of none are none, of one are its own text', () => {
    expect(addTotals([])).toEqual(new Map());
    expect(texts(addTotals([stated({ a: '10.0' })]))).toEqual({ a: '10.0' });
  });

  test('of several are added, how far they may be off too, and a metric that one of them lacks is left out', () => {
    const added = addTotals([
      stated({ a: '1', b: '2' }),
      stated({ a: '10.5', c: '3' }),
      stated({ a: '-1', b: '5' }),
    ]);
    expect(added).toEqual(new Map([['a', { text: '10.5', slack: 0.5 + 0.05 + 0.5 }]]));
  });

  test('of pages that repeat them are those, and their sum, as each may have stated its own', () => {
    const repeated = [stated({ a: '10' }), stated({ a: '10' })];
    const summed = new Set(['a']);
    expect(totalsOfPages(repeated, summed).map(texts)).toEqual([{ a: '10' }, { a: '20' }]);
    expect(
      totalsOfPages([stated({ a: '16.5' }), stated({ a: '16.50' })], summed).map(texts),
    ).toEqual([{ a: '16.5' }, { a: '33' }]);
    expect(
      totalsOfPages([stated({ a: '16.5' }), stated({ a: '16.500000000000004' })], summed),
    ).toHaveLength(2);
    expect(
      totalsOfPages([stated({ a: '1e9' }), stated({ a: '1000000000.0' })], summed),
    ).toHaveLength(2);
    expect(totalsOfPages([stated({ a: '0' }), stated({ a: '-1.4e-14' })], summed)).toHaveLength(2);
    expect(totalsOfPages([stated({ a: '16.5' }), stated({ a: '16.51' })], summed)).toHaveLength(1);
    expect(totalsOfPages([stated({ a: '10' }), stated({ a: '4' })], summed).map(texts)).toEqual([
      { a: '14' },
    ]);
    expect(totalsOfPages([stated({ a: '10' }), stated({})], summed).map(texts)).toEqual([{}]);
    expect(totalsOfPages([stated({ a: '10' })], summed).map(texts)).toEqual([{ a: '10' }]);
    expect(totalsOfPages([], summed).map(texts)).toEqual([{}]);
    // An average that differs from page to page says nothing of what the sums are of, nor does one that a page lacks.
    expect(
      totalsOfPages([stated({ a: '10', mean: '3' }), stated({ a: '10', mean: '4' })], summed),
    ).toHaveLength(2);
    expect(
      totalsOfPages([stated({ a: '10', mean: '3' }), stated({ a: '10' })], summed),
    ).toHaveLength(2);
    expect(totalsOfPages([stated({ mean: '3' }), stated({ mean: '3' })], summed)).toHaveLength(1);
    expect(totalsOfPages([stated({}), stated({ a: '10' })], summed).map(texts)).toEqual([{}]);
  });
});

describe('the parts of a divided window', () => {
  const proven = (...comparisons: Comparison[]): Pick<Proof, 'comparisons'> => ({ comparisons });
  const whole = (entries: Record<string, string>, rows: Record<string, unknown>[] = []) => ({
    stated: [{ totals: new Map(Object.entries(entries)), rows }],
    values: new Map(),
  });
  const counts = [[sumOf('6', { isCount: true })], [sumOf('4', { isCount: true })]];

  test('agree with the whole, or a row may be in neither of them', () => {
    expect(differenceOf(counts, whole({ m: '10' }), [])).toBeNull();
    expect(differenceOf(counts, whole({ m: '11' }), [])).toBe(
      "the m of its parts added up to 10, the whole's total was 11: a value may be in neither part",
    );
    expect(differenceOf(counts, whole({}), [])).toMatch(/the whole's total was 0/);
  });

  test('may have identical rows that the whole counts once or as often as they came', () => {
    const doubled = [
      [sumOf('9', { distinctSum: '6', isCount: true })],
      [sumOf('4', { isCount: true })],
    ];
    const found = ['13', '10', '12'].map(
      (total) => differenceOf(doubled, whole({ m: total }), []) === null,
    );
    expect(found).toEqual([true, true, false]);
  });

  test('are compared by no metric that is only assumed to add up', () => {
    const assumed = counts.map((part) => part.map((sum) => ({ ...sum, isAssumed: true })));
    expect(differenceOf(assumed, whole({ m: '11' }), [])).toBeNull();
  });

  test('are compared with the rows of all years of a whole that states no total', () => {
    const byYear = [
      { year: '2025', m: 4 },
      { year: '2026', m: '6' },
    ];
    expect(differenceOf(counts, whole({}, byYear), [])).toBeNull();
    expect(differenceOf(counts, whole({}, byYear.slice(1)), [])).toMatch(/the whole's total was 6/);
  });

  test('may lie as far from the whole as from their own totals, where money is rounded, and no farther', () => {
    const money = [[sumOf('6.004')], [sumOf('4.004')]];
    const proofs = money.map(([sum]) =>
      proven(compared('m', { sum: sum?.sum ?? '', total: `${Number(sum?.sum) - 0.004}` })),
    );
    expect(differenceOf(money, whole({ m: '10.00' }), proofs)).toBeNull();
    expect(differenceOf(money, whole({ m: '9.99' }), proofs)).toMatch(
      /^the m of its parts added up to 10\.008/,
    );
  });
});
