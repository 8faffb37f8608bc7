import { describe, expect, test } from 'vitest';

import { formatColumnType, parseColumnType } from '../../src/model/column-type.ts';
import { resolveOddTexts, widenForDigits } from '../../src/load/odd-texts.ts';

/** What becomes of texts of one metric: their plain forms, the reasons of those refused, and the column's new type. */
function resolved(
  typeText: string,
  texts: readonly string[],
  declaredText = typeText,
): readonly [readonly string[], readonly string[], string | null] {
  const [type, declared] = [parseColumnType(typeText), parseColumnType(declaredText)];
  if (type === null || declared === null) throw new RangeError(`${typeText} or ${declaredText} is no type.`);
  const { plain, notNumbers, widened } = resolveOddTexts(
    texts.map((text) => ({ metric: 'm', text })),
    [{ id: 'm', type, declared }],
  );
  const wider = widened.get('m');
  return [
    plain.map((each) => each.plain),
    notNumbers.map(({ reason }) => reason),
    wider === undefined ? null : formatColumnType(wider),
  ];
}

const types = ['BIGINT', 'DECIMAL(18,6)', 'DOUBLE'];

describe('texts that are no numbers', () => {
  const refused = [
    'NaN',
    'nan',
    'Infinity',
    '-Infinity',
    'inf',
    '1,234.5',
    '1_000',
    '0x10',
    'n/a',
    '-',
    '.',
    '1e',
    '١٢',
    '12 %',
    'null',
    '--5',
  ];

  test.each(types.flatMap((type) => refused.map((text) => [type, text] as const)))(
    'in a %s column %j is refused, and is neither NULL nor 0',
    (type, text) => {
      expect(resolved(type, [text])).toEqual([[], ['not a number'], null]);
    },
  );

  test('1e400 is a number that only a DOUBLE could hold, and does not', () => {
    expect(resolved('DOUBLE', ['1e400', '-1e400'])).toEqual([
      [],
      ['beyond the range of a double', 'beyond the range of a double'],
      null,
    ]);
    expect(resolved('BIGINT', ['1e400'])[1]).toEqual([
      '401 digits before the point and 0 after do not fit BIGINT, nor any wider type',
    ]);
    expect(resolved('DECIMAL(18,6)', ['1e400'])[1]).toEqual([
      '401 digits before the point and 0 after do not fit DECIMAL(18,6), nor any wider type',
    ]);
    expect(types.map((type) => resolved(type, ['1e401'])[1])).toEqual([
      ['not a number'],
      ['not a number'],
      ['not a number'],
    ]);
  });
});

describe('numbers in an unusual form', () => {
  test.each([
    ['BIGINT', '7.5', '7.5', 'DECIMAL(20,1)'],
    ['BIGINT', '1e-7', '0.0000001', 'DECIMAL(26,7)'],
    ['BIGINT', '9007199254740993', '9007199254740993', null],
    ['BIGINT', '999999999999999999', '999999999999999999', null],
    ['BIGINT', '9223372036854775807', '9223372036854775807', 'DECIMAL(19,0)'],
    ['BIGINT', '18446744073709551616', '18446744073709551616', 'DECIMAL(20,0)'],
    ['BIGINT', '1e3', '1000', null],
    ['BIGINT', '+10', '10', null],
    ['BIGINT', ' 10 ', '10', null],
    ['BIGINT', '10.0e0', '10', null],
    ['BIGINT', '.0', '0', null],
    ['BIGINT', '00000000000000000000010', '10', null],
    ['DECIMAL(18,6)', '0.1234567891', '0.1234567891', 'DECIMAL(22,10)'],
    ['DECIMAL(18,6)', '1e-7', '0.0000001', 'DECIMAL(19,7)'],
    ['DECIMAL(18,6)', '1e-6', '0.000001', null],
    ['DECIMAL(18,6)', '1234567890123', '1234567890123', 'DECIMAL(19,6)'],
    ['DECIMAL(18,6)', '1.5e2', '150', null],
    ['DECIMAL(18,6)', '.5', '0.5', null],
    [
      'DECIMAL(18,6)',
      '12345678901234567890123456789012.123456',
      '12345678901234567890123456789012.123456',
      'DECIMAL(38,6)',
    ],
    // The nearest double is what a DOUBLE column promises; the text is only trimmed.
    ['DOUBLE', '.5', '.5', null],
    ['DOUBLE', ' 7.5 ', '7.5', null],
    ['DOUBLE', '1e-7', '1e-7', null],
    ['DOUBLE', '1e308', '1e308', null],
    ['DOUBLE', '1e-400', '1e-400', null],
  ])('in a %s column %j is stored as %s and the column becomes %j', (type, text, plain, wider) => {
    expect(resolved(type, [text])).toEqual([[plain], [], wider]);
  });

  test('in a column that became DOUBLE only what a double says to the last digit is stored', () => {
    const texts = ['1e-7', '123456789.12345678', '9007199254740993', '123456789012.123456', '1e-400', '1e400', '-0.50'];
    const reason = 'its column is DOUBLE, which would round it (`types: { m: DOUBLE }` lets it)';
    expect(resolved('DOUBLE', texts, 'DECIMAL(18,6)')).toEqual([
      ['1e-7', '123456789.12345678', '-0.50'],
      [reason, reason, reason, 'beyond the range of a double'],
      null,
    ]);
    expect(resolved('DOUBLE', texts)[1]).toEqual(['beyond the range of a double']);
  });

  test('several numbers widen a column for all of them, step by step', () => {
    expect(resolved('DECIMAL(18,6)', ['0.12345678', '12345678901234.5', '1e-10'])).toEqual([
      ['0.12345678', '12345678901234.5', '0.0000000001'],
      [],
      'DECIMAL(24,10)',
    ]);
  });

  test('a number that no type of 38 digits holds beside the column is refused, and the others still widen it', () => {
    const [plain, reasons, wider] = resolved('DECIMAL(18,6)', ['0.12345678', '1e-30', 'NaN', '7e-9']);
    expect(plain).toEqual(['0.12345678', '0.000000007']);
    expect(reasons).toEqual([
      '0 digits before the point and 30 after do not fit DECIMAL(20,8), nor any wider type',
      'not a number',
    ]);
    expect(wider).toBe('DECIMAL(21,9)');
  });

  test('each metric has its own type and its own end', () => {
    const [count, money] = [parseColumnType('BIGINT'), parseColumnType('DECIMAL(18,6)')];
    if (count === null || money === null) throw new RangeError('Two types were expected.');
    const { widened, plain } = resolveOddTexts(
      [
        { metric: 'count', text: '7.5' },
        { metric: 'money', text: '7.5e0' },
      ],
      [
        { id: 'count', type: count, declared: count },
        { id: 'money', type: money, declared: money },
      ],
    );
    expect([...widened].map(([metric, type]) => [metric, formatColumnType(type)])).toEqual([
      ['count', 'DECIMAL(20,1)'],
    ]);
    expect(plain.map(({ metric, text, plain: number }) => [metric, text, number])).toEqual([
      ['count', '7.5', '7.5'],
      ['money', '7.5e0', '7.5'],
    ]);
  });

  test('a metric without a type is a bug, and is named', () => {
    expect(() => resolveOddTexts([{ metric: 'stranger', text: '1' }], [])).toThrow(/stranger/);
  });
});

describe('plain numbers that are known by their digits', () => {
  test.each([
    ['BIGINT', 19, 0, 'DECIMAL(19,0)'],
    ['BIGINT', 1, 2, 'DECIMAL(21,2)'],
    ['DECIMAL(18,6)', 13, 7, 'DECIMAL(20,7)'],
    ['DECIMAL(18,6)', 12, 6, 'DECIMAL(18,6)'],
    // Beyond 38 digits together, though each text may fit by itself: they are decided one by one.
    ['DECIMAL(18,6)', 18, 18, 'DECIMAL(36,18)'],
    ['DECIMAL(30,6)', 18, 18, null],
    // None was found.
    ['BIGINT', null, null, null],
    ['BIGINT', null, 7, null],
    ['BIGINT', 30, null, null],
  ])('in a %s column, of up to %j digits before the point and %j after it, make it %j', (text, whole, fraction, to) => {
    const type = parseColumnType(text);
    if (type === null) throw new RangeError(`${text} is no type.`);
    const widened = widenForDigits([{ metric: 'm', whole, fraction }], new Map([['m', type]])).get('m');
    expect(widened === undefined ? null : formatColumnType(widened)).toBe(to);
  });

  test('of a metric without a type are a bug, and it is named', () => {
    expect(() => widenForDigits([{ metric: 'stranger', whole: 1, fraction: 0 }], new Map())).toThrow(/stranger/);
  });
});
