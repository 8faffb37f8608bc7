import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../src/config/secret.ts';
import { serviceWords } from '../../src/service/error-words.ts';
import { firstWords } from '../../src/service/setback.ts';

function fixture(name: string): string {
  return readFileSync(new URL(`../fixtures/service/${name}`, import.meta.url), 'utf8');
}

describe("the service's own words", () => {
  const forms = [
    ['an error_code with description', '{"error_code":"request_error","error_desc":"No"}', 'request_error: No'],
    ['a description with details', '{"error_desc":"No","error_desc_details":[{"a":1}]}', 'No [{"a":1}]'],
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
    ['a page without a title', '<!DOCTYPE html><style>p{}</style><p>Sorry,</p><p>down</p>', 'Sorry, down'],
    ['nothing', '', ''],
    ['an array', '[1,2]', '[1,2]'],
    ['details of another shape', '{"detail":[5,"x",null]}', '5; x; null'],
  ] as const;
  test.each(forms)('are found in %s', (_, body, said) => {
    expect(serviceWords(body)).toBe(said);
  });

  test.each([
    ['error.400.unsupported-metric.SYNTHETIC.json', 'request_error: Unsupported metric: currency loc=metrics'],
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
