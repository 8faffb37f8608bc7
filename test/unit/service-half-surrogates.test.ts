/** Halves of characters in JSON text: mended, and nothing else touched. */

import { array, assert, constantFrom, integer, oneof, property, string } from 'fast-check';
import { expect, test } from 'vitest';

import { HalfSurrogates, withoutHalves } from '../../src/service/plain-text.ts';

const mended = (text: string, size: number): string => {
  const halves = new HalfSurrogates();
  const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    halves.take(text.slice(index * size, (index + 1) * size)),
  );
  return pieces.join('') + halves.end();
};

test.each([
  [String.raw`{"a":"x\ud83d"}`, String.raw`{"a":"x\ufffd"}`],
  [String.raw`{"a":"\uDE00\uD83D"}`, String.raw`{"a":"\ufffd\ufffd"}`],
  [String.raw`{"a":"\ud83d\ud83d\ude00"}`, String.raw`{"a":"\ufffd\ud83d\ude00"}`],
  [String.raw`{"a":"\ud83dx\ude00"}`, String.raw`{"a":"\ufffdx\ufffd"}`],
  [String.raw`{"a":"\ud83d\\ude00"}`, String.raw`{"a":"\ufffd\\ude00"}`],
  [String.raw`{"a":"\\ud83d\ude00"}`, String.raw`{"a":"\\ud83d\ufffd"}`],
])('%s becomes %s', (text, clean) => {
  expect(withoutHalves(text)).toBe(clean);
});

test.each([
  String.raw`{"a":"\ud83d\ude00 \uD83D\uDE00"}`,
  String.raw`{"a":"\\ud83d and \\\\ude00 and \\"}`,
  String.raw`{"a":"\ud7ff\ue000\u00e9\n\/\""}`,
  '{"a":"no escape at all, 😀 as it is"}',
])('%s stays as it is', (text) => {
  expect(withoutHalves(text)).toBe(text);
});

test('in pieces of 1 to 9 characters every text reads as the well-formed one, and one that was well-formed is untouched', () => {
  const parts = [
    String.raw`\ud83d`,
    String.raw`\ude00`,
    String.raw`\uD83D\uDE00`,
    String.raw`\\`,
    String.raw`\"`,
    String.raw`\u00e9`,
    'ud83d',
    'd8',
    'x',
  ];
  assert(
    property(
      array(oneof(constantFrom(...parts), string().map(inJson)), { maxLength: 12 }),
      integer({ min: 1, max: 9 }),
      (texts, size) => {
        const text = `"${texts.join('')}"`;
        const said: unknown = JSON.parse(text);
        const clean = mended(text, size);
        const wellFormed = Buffer.from(String(said)).toString();
        expect(JSON.parse(clean)).toBe(wellFormed);
        expect(clean === text).toBe(said === wellFormed);
      },
    ),
    { numRuns: 3000 },
  );
});

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);
