/** What a secret looks like in texts, in JSON and in answers, and what is none. */

import { describe, expect, test } from 'vitest';

import { parseConfig } from '../../src/config/read-config.ts';
import { scrub, scrubbedJson, Secret, secretForms } from '../../src/config/secret.ts';

const VALUE = 'm4rk"ed/t+ken=';
new Secret(VALUE).reveal();
const base64 = (text: string): string => Buffer.from(text).toString('base64');

const forms = [
  VALUE,
  encodeURIComponent(VALUE),
  encodeURIComponent(VALUE).replaceAll(/%../g, (escape) => escape.toLowerCase()),
  JSON.stringify(VALUE).slice(1, -1),
  JSON.stringify(VALUE)
    .slice(1, -1)
    .replaceAll('/', String.raw`\/`),
  base64(VALUE),
  base64(VALUE).replace(/=+$/, ''),
  Buffer.from(VALUE).toString('base64url'),
];

describe('a secret in a text', () => {
  test.each(forms)('is gone in the form %s', (form) => {
    expect(scrub(`a ${form} b`)).toBe('a *** b');
  });

  test.each(['Bearer ', 'Token token=', 'user:', 'u:', 'us:'])(
    'is gone from the base64 of it behind %j',
    (before) => {
      const clean = scrub(base64(`${before}${VALUE}`));
      expect(clean).toContain('***');
      // At most the digits that its own first and last bytes share with a neighbour are left of it.
      expect(clean.length).toBeLessThanOrEqual(base64(before).length + '***'.length + 4);
    },
  );

  test('is gone whole where another secret is a part of it', () => {
    const [inner, outer] = [new Secret('inner-part'), new Secret('the-inner-part-and-more')];
    expect(scrub(`${outer.reveal()} ${inner.reveal()}`)).toBe('*** ***');
  });

  test('of a header is also known without its scheme', () => {
    const header = new Secret('Partner cost-key-77aa');
    expect(scrub(`${header.reveal()}, cost-key-77aa`)).toBe('***, ***');
  });
});

describe('JSON', () => {
  test('is scrubbed in its texts, and stays the JSON it was in numbers, names and structure', () => {
    const digits = new Secret('76543210');
    const value = {
      rows: 1_765_432_101,
      text: `said ${digits.reveal()}`,
      list: [VALUE, 'plain'],
      at: new Date(0),
    };
    expect(JSON.parse(scrubbedJson({ ...value, '76543210': null }))).toEqual({
      rows: 1_765_432_101,
      text: 'said ***',
      list: ['***', 'plain'],
      at: '1970-01-01T00:00:00.000Z',
      '76543210': null,
    });
  });
});

test('the forms that are looked for contain none of one another, and are in every text with a secret', () => {
  new Secret('password').reveal();
  const shortest = secretForms();
  expect(shortest).not.toContain('password');
  for (const form of [...forms, base64(`Bearer ${VALUE}`)])
    expect(shortest.filter((each) => form.includes(each))).not.toEqual([]);
  expect(shortest.filter((form) => VALUE.slice(0, -1).includes(form))).toEqual([]);
  expect(shortest.flatMap((form) => shortest.filter((each) => form.includes(each)))).toEqual(
    shortest,
  );
});

describe('a header of the service', () => {
  const headersOf = (stated: string, also = '') => {
    const { service } = parseConfig(
      `service:\n  base_url: https://a.example.com\n  reports_url: https://a.example.com\n  token: the-token-itself\n  headers: ${stated}\n${also}`,
      { file: '/etc/ripen.yaml', directory: '/etc', environment: { KEY: 'from-the-environment' } },
    );
    if (service.kind !== 'http') throw new Error('expected the real service');
    return service;
  };

  test('is no secret, whatever it looks like, and its value stays in every text', () => {
    const { headers } = headersOf('{ X-Account: "20260201", X-Trace: "${KEY}" }');
    expect(headers).toEqual({ 'X-Account': '20260201', 'X-Trace': 'from-the-environment' });
    expect(scrub('day 20260201 from-the-environment')).toBe('day 20260201 from-the-environment');
  });

  test('is one when it is stated as one, and in cost_headers in either form', () => {
    const also = '  cost_headers: { X-Key: cost-one, X-Other: { secret: cost-two } }';
    const { headers, costHeaders } = headersOf('{ X-Key: { secret: "${KEY}" } }', also);
    const values = [...Object.values(headers), ...Object.values(costHeaders)];
    const revealed = values.map((value) => value instanceof Secret && value.reveal());
    expect(revealed).toEqual(['from-the-environment', 'cost-one', 'cost-two']);
  });

  test.each([
    ['{ X-Account: true }', 'is a truth value; must be text, or {secret: …}'],
    ['{ X-Account: { secret: [a] } }', 'is a list; must be text'],
    ['{ X-Key: { secret: "a\\nb" } }', 'contains control characters'],
    ['{ X-Key: { secrets: abc } }', 'is not a known key; allowed: secret'],
  ])('stated as %s is refused: %s', (stated, words) => {
    expect(() => headersOf(stated)).toThrow(words);
  });
});
