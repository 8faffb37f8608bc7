/** Laws of decimals, column types and durations. A failure prints the seed and the path to replay it with. */

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import {
  BIGINT,
  type ColumnType,
  decimalType,
  formatDecimal,
  MONEY,
  parseDecimal,
  widen,
} from '../../src/model/column-type.ts';
import { property } from '../support/property.ts';

const digit = fc.constantFrom(...Array.from('0123456789'));
const digits = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: digit, minLength, maxLength });
const blanks = fc.constantFrom('', ' ', '\t', '  \n');

interface Written {
  readonly text: string;
  /** The value times ten to the 500, exactly. */
  readonly scaled: bigint;
}

const SCALE = 500;

/** A number in any of the forms the service might write, with its value by arithmetic on whole numbers. */
const written: fc.Arbitrary<Written> = fc
  .record({
    sign: fc.constantFrom('', '-', '+'),
    whole: digits(0, 30),
    fraction: fc.option(digits(0, 30), { nil: null }),
    exponent: fc.option(fc.integer({ min: -400, max: 400 }), { nil: null }),
    letter: fc.constantFrom('e', 'E'),
    plus: fc.boolean(),
    before: blanks,
    after: blanks,
  })
  .filter(({ whole, fraction }) => whole !== '' || (fraction ?? '') !== '')
  .map(({ sign, whole, fraction, exponent, letter, plus, before, after }) => {
    const power =
      exponent === null ? '' : `${letter}${plus && exponent >= 0 ? '+' : ''}${exponent}`;
    const text = `${before}${sign}${whole}${fraction === null ? '' : `.${fraction}`}${power}${after}`;
    const shift = SCALE + (exponent ?? 0) - (fraction ?? '').length;
    const size = BigInt(`0${whole}${fraction ?? ''}`) * 10n ** BigInt(shift);
    return { text, scaled: sign === '-' ? -size : size };
  });

function scaledValue(plain: string): bigint {
  const negative = plain.startsWith('-');
  const [whole = '', fraction = ''] = plain.replace('-', '').split('.');
  const size = BigInt(whole + fraction.padEnd(SCALE, '0'));
  return negative ? -size : size;
}

function plainOf(text: string): string {
  const decimal = parseDecimal(text);
  if (decimal === null) throw new RangeError(`${text} was refused.`);
  return formatDecimal(decimal);
}

test(
  'a number keeps its exact value, however it is written',
  property([written], { numRuns: 2000 }, ({ text, scaled }) => {
    expect(scaledValue(plainOf(text))).toBe(scaled);
  }),
);

test(
  'reading what was written changes nothing more, and there is one text for one value',
  property([written], { numRuns: 2000 }, ({ text }) => {
    const plain = plainOf(text);
    expect(plainOf(plain)).toBe(plain);
    expect(parseDecimal(plain)).toEqual(parseDecimal(text));
    expect(plain).toMatch(/^(0|-?(0\.\d*[1-9]|[1-9]\d*(\.\d*[1-9])?))$/);
  }),
);

const foreign = fc
  .string({ minLength: 1, maxLength: 3 })
  .filter((text) => !/^[\d+\-.eE\s]*$/.test(text));

test(
  'a text that holds any character but digits, sign, point, exponent and blanks at its ends is refused',
  property([written, foreign, fc.nat(60)], { numRuns: 1000 }, ({ text }, intruder, place) => {
    const at = place % (text.length + 1);
    expect(parseDecimal(text.slice(0, at) + intruder + text.slice(at))).toBeNull();
  }),
);

const exactType: fc.Arbitrary<ColumnType> = fc.oneof(
  fc.constant(BIGINT),
  fc.constant(MONEY),
  fc
    .tuple(fc.integer({ min: 1, max: 38 }), fc.nat(38))
    .map(([width, scale]) => decimalType(width, Math.min(scale, width))),
);
const need = fc.record({ whole: fc.nat(45), fraction: fc.nat(45) });

test(
  'a widened column holds what it held and what it must hold, and is refused only beyond 38 digits',
  property([exactType, need], { numRuns: 3000 }, (type, needed) => {
    const before = type;
    const after = widen(type, needed);
    // A BIGINT column may hold 19 digits, although not every number of 19 digits fits it.
    const held = type.kind === 'BIGINT' && after?.kind === 'DECIMAL' ? 19 : before.whole;
    const most =
      Math.max(type.kind === 'BIGINT' ? 19 : before.whole, needed.whole) +
      Math.max(before.fraction, needed.fraction);
    const fits = needed.whole <= before.whole && needed.fraction <= before.fraction;
    expect(after === null).toBe(!fits && most > 38);
    expect(after === null || (after.whole >= held && after.fraction >= before.fraction)).toBe(true);
    expect(
      after === null || (after.whole >= needed.whole && after.fraction >= needed.fraction),
    ).toBe(true);
    expect(after === null || after.whole + after.fraction <= 38).toBe(true);
  }),
);

const small = fc.record({ whole: fc.nat(18), fraction: fc.nat(18) });

test(
  'the order in which a column of 18 digits or more widens does not decide where it ends',
  property([exactType, small, small], { numRuns: 2000 }, (type, first, second) => {
    // Below 18 digits the first widening fills the room up to 18.
    fc.pre(type.whole + type.fraction >= 18);
    const step = (from: ColumnType | null, to: typeof first): ColumnType | null =>
      from === null ? null : widen(from, to);
    const [oneWay, otherWay] = [step(widen(type, first), second), step(widen(type, second), first)];
    expect(oneWay === null || otherWay === null ? null : oneWay).toEqual(
      oneWay === null ? null : otherWay,
    );
  }),
);
