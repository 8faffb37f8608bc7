/** Canonical JSON: the same text for all spellings of one value, and another one for another value. */

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { canonicalJson } from '../../src/model/canonical-json.ts';
import { property } from '../support/property.ts';

/** A value in one of the ways to write it: its keys turned round, blanks between its tokens, every letter escaped. */
function spelled(value: unknown, isOther: boolean): string {
  const blank = isOther ? ' \n' : '';
  if (Array.isArray(value))
    return `[${blank}${value.map((each) => spelled(each, isOther)).join(`,${blank}`)}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(
      ([key, each]) => `${spelled(key, isOther)}${blank}:${spelled(each, isOther)}`,
    );
    return `{${(isOther ? members.toReversed() : members).join(`${blank},`)}${blank}}`;
  }
  if (typeof value !== 'string' || !isOther) return JSON.stringify(value);
  const units = Array.from({ length: value.length }, (_, at) =>
    value.charCodeAt(at).toString(16).padStart(4, '0'),
  );
  return `"${units.map((unit) => String.raw`\u${unit.toUpperCase()}`).join('')}"`;
}

test(
  'every spelling of a value has one text, which says the same and stays as it is',
  property([fc.jsonValue({ stringUnit: 'binary' })], { numRuns: 2000 }, (value) => {
    const text = canonicalJson(spelled(value, false));
    expect(canonicalJson(spelled(value, true))).toBe(text);
    expect(canonicalJson(text)).toBe(text);
    // Of numbers only the sign of a zero is lost.
    expect(JSON.parse(text)).toEqual(
      JSON.parse(JSON.stringify(value), (_, each: unknown) => (each === 0 ? 0 : each)),
    );
  }),
);

test.each([
  ['{"b":1,"a":{"d":[],"c":{}}}', '{"a":{"c":{},"d":[]},"b":1}'],
  ['{"10":1,"9":2,"":3}', '{"":3,"10":1,"9":2}'],
  ['{"a":2,"b":0,"a":1}', '{"a":2,"a":1,"b":0}'],
  ['{"__proto__":1,"constructor":2}', '{"__proto__":1,"constructor":2}'],
  [String.raw`{"a":"\u0070\/\u001F\u2028"}`, '{"a":"p/\\u001f\u2028"}'],
  ['[1.50, 1e2, -0, 0.10, 12345678901234567890123]', '[1.5,100,0,0.1,12345678901234567890123]'],
  ['{"a,b":"}]{["}', '{"a,b":"}]{["}'],
  [' null ', 'null'],
  ['"x"', '"x"'],
  ['[NaN,-Infinity,1e401]', '[NaN,-Infinity,1e401]'],
])('%s is %s', (json, said) => {
  expect(canonicalJson(json)).toBe(said);
});

test('nesting of 100,000 levels ends', () => {
  const [open, close] = ['{"a":['.repeat(50_000), ']}'.repeat(50_000)];
  expect(canonicalJson(`${open}1${close}`)).toBe(`${open}1${close}`);
});
