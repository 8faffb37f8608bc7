/** What is read of the service beside its rows: how long to wait, its own words, long numbers, the pages of a list. */

import { readFileSync } from 'node:fs';

import { describe, expect, test } from 'vitest';

import { Secret } from '../../src/config/secret.ts';
import { parseJson } from '../../src/service/body.ts';
import { waitMs } from '../../src/service/clock.ts';
import { firstWords, serviceWords } from '../../src/service/error-words.ts';

describe('the wait before the next try', () => {
  test('is what the service asked for, in full up to 5 minutes', () => {
    const requested = (requestedMs: number): number =>
      waitMs({ tries: 1, requestedMs, isOverload: true, random: 0 });
    expect([requested(120_000), requested(300_000), requested(3_600_000)]).toEqual([
      120_000, 300_000, 300_000,
    ]);
  });

  test('is anything up to 1, 2, 4 … 60 s after an outage', () => {
    const waits = [1, 2, 3, 6, 7, 50].map((tries) => {
      const wait = (random: number): number =>
        waitMs({ tries, requestedMs: null, isOverload: false, random });
      return [wait(0), wait(1)];
    });
    expect(waits).toEqual([
      [0, 1000],
      [0, 2000],
      [0, 4000],
      [0, 32_000],
      [0, 60_000],
      [0, 60_000],
    ]);
  });

  test('is at least half of that after a 429', () => {
    const wait = (random: number): number =>
      waitMs({ tries: 3, requestedMs: null, isOverload: true, random });
    expect([wait(0), wait(1)]).toEqual([2000, 4000]);
  });
});

const fixture = (name: string): string =>
  readFileSync(new URL(`../fixtures/service/${name}`, import.meta.url), 'utf8');

describe("the service's own words", () => {
  test.each([
    [
      'an error_code with description',
      '{"error_code":"request_error","error_desc":"No"}',
      'request_error: No',
    ],
    [
      'a description with details',
      '{"error_desc":"No","error_desc_details":[{"a":1}]}',
      'No [{"a":1}]',
    ],
    [
      'a list of details',
      '{"detail":[{"loc":["query","a"],"msg":"bad"},{"loc":["b",0],"msg":"worse"}]}',
      'query.a: bad; b.0: worse',
    ],
    ['a detail as text', '{"detail":"Not found"}', 'Not found'],
    ['an error as text', '{"error":"Account closed"}', 'Account closed'],
    ['an error with a message', '{"error":{"message":"Account closed"}}', 'Account closed'],
    ['a message', '{"message":"Try later"}', 'Try later'],
    ['an unknown object', '{"oops":1}', '{"oops":1}'],
    ['plain text', 'Bad request\r\n', 'Bad request'],
    [
      'a page with a title',
      '<html><head><title>502 Bad Gateway</title></head><body>x</body></html>',
      '502 Bad Gateway',
    ],
    [
      'a page without a title',
      '<!DOCTYPE html><style>p{}</style><p>Sorry,</p><p>down</p>',
      'Sorry, down',
    ],
    ['nothing', '', ''],
    ['an array', '[1,2]', '[1,2]'],
    ['details of another shape', '{"detail":[5,"x",null]}', '5; x; null'],
  ])('are found in %s', (_, body, said) => {
    expect(serviceWords(body)).toBe(said);
  });

  test.each([
    [
      'error.400.unsupported-metric.SYNTHETIC.json',
      'request_error: Unsupported metric: currency loc=metrics',
    ],
    ['error.400.filters-loc.SYNTHETIC.json', 'query.required_filters: is not valid'],
  ])('name the parameter in %s', (name, said) => {
    expect(serviceWords(fixture(name))).toBe(said);
  });
});

describe('foreign text in a message', () => {
  test('loses escape sequences, line breaks and everything after 200 characters', () => {
    const words = firstWords(`a\u001b[31mb\nc\u202e${'x'.repeat(300)}`);
    expect(words.startsWith('a [31mb c x')).toBe(true);
    expect(words).toHaveLength(200);
  });

  test('shows no part of a secret that straddles the 200th character', () => {
    const secret = new Secret('straddling-secret');
    expect(firstWords(`${'x'.repeat(195)}${secret.reveal()}`)).not.toContain('stra');
  });
});

test('integers of 16 digits and more keep every digit, as strings', () => {
  expect(parseJson('{"id":9007199254740993,"b":[-12345678901234567890],"c":174}')).toEqual({
    id: '9007199254740993',
    b: ['-12345678901234567890'],
    c: 174,
  });
});

test('digits inside strings, keys and fractions are left as they are', () => {
  const text = String.raw`{"9007199254740993":"a \" 9007199254740993","x":0.1234567890123456789,"y":1234567890123456789e2}`;
  expect(parseJson(text)).toEqual(JSON.parse(text));
});

test('broken JSON with long integers is still an error', () => {
  expect(() => parseJson('{"id":9007199254740993,')).toThrow(SyntaxError);
});
