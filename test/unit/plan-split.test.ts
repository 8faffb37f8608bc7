/** Which values a window is divided by: the most even division that is known, within what an address can carry. */

import { describe, expect, test } from 'vitest';

import { type Part, partId, type Window } from '../../src/model/window.ts';
import { splitParts, type KnownValues } from '../../src/plan/split.ts';
import { slice, windowOfDays } from '../support/slice.ts';

/** A window of one day. */
function windowOfParts(parameters: Record<string, string>, parts: readonly Part[]): Window {
  const declared = slice({ name: 'a', dimensions: ['day', 'network', 'os_name'], metrics: ['installs'], parameters });
  return windowOfDays(declared, '2026-01-01', 1, parts);
}

const known = (values: Readonly<Record<string, Readonly<Record<string, number>>>>): KnownValues =>
  new Map(
    Object.entries(values).map(([dimension, rows]) => [
      dimension,
      Object.entries(rows).map(([value, count]) => ({ value, rows: count })),
    ]),
  );

const oneOf = (...values: string[]) => ({ in: values, notIn: [] });
const noneOf = (...values: string[]) => ({ in: null, notIn: values });

/** The first two parts of a one-day window that was divided once. */
function halves(values: KnownValues, parameters: Record<string, string> = {}, part: Part = {}): readonly Part[] | null {
  return splitParts(windowOfParts(parameters, [part]), new Set([partId(part)]), values)?.parts ?? null;
}

describe('by values', () => {
  test('the largest ones are set apart until they are half of the rows, and everything else, unknown values too, is the rest', () => {
    const values = known({ network: { a: 10, b: 40, c: 30, d: 20 } });
    expect(halves(values)).toEqual([{ network: oneOf('b') }, { network: noneOf('b') }]);
    expect(halves(known({ network: { a: 10, b: 20, c: 30, d: 10, e: 30 } }))).toEqual([
      { network: oneOf('c') },
      { network: noneOf('c') },
    ]);
    expect(halves(known({ network: { a: 25, b: 25, c: 25, d: 25 } }))).toEqual([
      { network: oneOf('a', 'b') },
      { network: noneOf('a', 'b') },
    ]);
  });

  test('one that is more than half of the rows is set apart alone', () => {
    expect(halves(known({ network: { a: 1, b: 98, c: 1 } }))).toEqual([
      { network: oneOf('b') },
      { network: noneOf('b') },
    ]);
  });

  test('values of equally many rows go by their names, so that the same question is asked tomorrow', () => {
    expect(halves(known({ network: { d: 1, b: 1, c: 1, a: 1 } }))?.[0]).toEqual({ network: oneOf('a', 'b') });
  });

  test('the dimension that divides most evenly is taken, wherever it stands', () => {
    const [even, uneven] = [
      { a: 50, b: 50 },
      { ios: 90, android: 10 },
    ];
    const wanted = [{ network: oneOf('a') }, { network: noneOf('a') }];
    expect(halves(known({ network: even, os_name: uneven }))).toEqual(wanted);
    expect(halves(known({ os_name: uneven, network: even }))).toEqual(wanted);
    const thirds = { ios: 34, android: 33, windows: 33 };
    expect(halves(known({ os_name: thirds, network: even }))).toEqual(wanted);
  });

  test('how even a division is does not depend on how many rows there are', () => {
    const values = known({ network: { a: 6, b: 4 }, os_name: { ios: 55, android: 45 } });
    expect(halves(values)).toEqual([{ os_name: oneOf('ios') }, { os_name: noneOf('ios') }]);
  });

  test("only those of the slice's own list count, of the part's own set, and not of what it leaves out", () => {
    const values = known({ network: { a: 4, b: 3, c: 2, d: 1 } });
    expect(halves(values, { network__in: 'c,d' })).toEqual([{ network: oneOf('c') }, { network: noneOf('c') }]);
    expect(halves(values, {}, { network: oneOf('b', 'd') })).toEqual([
      { network: oneOf('b') },
      { network: { in: ['b', 'd'], notIn: ['b'] } },
    ]);
    expect(halves(values, {}, { network: noneOf('a', 'b') })).toEqual([
      { network: oneOf('c') },
      { network: noneOf('a', 'b', 'c') },
    ]);
    expect(halves(values, {}, { network: oneOf('b') })).toBeNull();
  });

  describe('no more of them are set apart than 3000 characters of an address', () => {
    /** How many of 40 values that long are set apart in a part. */
    const sizes = (value: (letter: string) => string, part: Part = {}): number | undefined => {
      const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN'.split('');
      const values = known({ network: Object.fromEntries(letters.map((letter) => [value(letter), 1])) });
      return halves(values, {}, part)?.[0]?.['network']?.in?.length;
    };
    const ofLength = (length: number) => (letter: string) => letter.repeat(length);

    test('of 270 characters each, with an encoded comma between them, 11 make 3000 exactly', () => {
      expect(sizes(ofLength(270))).toBe(11);
      expect(sizes(ofLength(271))).toBe(10);
    });

    test('a letter beyond ASCII counts as the 6 characters it is encoded in', () => {
      expect(sizes((letter) => `${letter.repeat(264)}ü`)).toBe(11);
      expect(sizes((letter) => `${letter.repeat(265)}ü`)).toBe(10);
    });

    test('what the part says already counts as well, be it in its set or left out', () => {
      for (const named of [oneOf('x'.repeat(2080)), noneOf('x'.repeat(2080))]) {
        // 3 of 303 characters and 2 commas are 915 of the 920 that are left.
        expect(sizes(ofLength(303), { os_name: named })).toBe(3);
        expect(sizes(ofLength(305), { os_name: named })).toBe(2);
      }
      expect(sizes(ofLength(305), { os_name: oneOf('x'.repeat(2800)) })).toBeUndefined();
    });
  });
});

const ids = (...parts: readonly Part[]): ReadonlySet<string> => new Set(parts.map(partId));

describe('of several parts', () => {
  const values = known({ network: { a: 1, b: 1, c: 1, d: 1 } });
  const [first, second, third] = [
    { network: oneOf('a', 'b') },
    { network: noneOf('a', 'b') },
    { os_name: oneOf('ios') },
  ];

  test('each that is named is divided, and every other stays the value that it was', () => {
    const window = windowOfParts({}, [first, third, second]);
    const divided = splitParts(window, ids(second, first), values);
    expect(divided?.parts).toEqual([
      { network: oneOf('a') },
      { network: { in: ['a', 'b'], notIn: ['a'] } },
      third,
      { network: oneOf('c') },
      { network: noneOf('a', 'b', 'c') },
    ]);
    expect(divided?.parts[2]).toBe(third);
  });

  test('none are, when one of them cannot be, when none is named, or when one is no part of the window', () => {
    const window = windowOfParts({}, [first, { network: oneOf('a') }, second]);
    expect(splitParts(window, ids(...window.parts.slice(0, 2)), values)).toBeNull();
    expect(splitParts(window, ids(), values)).toBeNull();
    expect(splitParts(window, ids(third), values)).toBeNull();
  });
});
