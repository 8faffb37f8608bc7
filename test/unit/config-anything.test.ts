/** Whatever stands in a configuration: it is read, or refused as a configuration; it never breaks the program. */

import { readFileSync } from 'node:fs';

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';

import { inspectText } from '../../src/config/read-config.ts';

const source = {
  file: 'ripen.yaml',
  directory: '/work',
  environment: {
    RIPEN_TOKEN: 'hidden-token',
    COST_KEY: 'hidden-key',
    PING_URL: 'https://hidden.example.com/ping',
    SLACK_URL: 'https://hidden.example.com/hook',
  },
};
const example = readFileSync(new URL('../../config/example.yaml', import.meta.url), 'utf8');

/** Every place of a document, root apart. */
function placesOf(value: unknown, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  const inner: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? [...value.entries()]
    : z.record(z.string(), z.unknown()).safeParse(value).success
      ? Object.entries(z.record(z.string(), z.unknown()).parse(value))
      : [];
  return [...(path.length === 0 ? [] : [path]), ...inner.flatMap(([step, each]) => placesOf(each, [...path, step]))];
}

function replaced(value: unknown, [step, ...rest]: readonly (string | number)[], by: unknown): unknown {
  if (step === undefined) return by;
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    return items.map((each, index) => (index === step ? replaced(each, rest, by) : each));
  }
  const mapping = z.record(z.string(), z.unknown()).parse(value);
  return { ...mapping, [step]: replaced(mapping[step], rest, by) };
}

test('whatever stands at any one place of the example, it is read, or refused with its problems', () => {
  const document: unknown = parse(example);
  const places = placesOf(document);
  expect(places.length).toBeGreaterThan(100);
  const anything = fc.oneof(
    fc.constantFrom(null, '', '__proto__', 'constructor', -1, 1e300, true, [], {}, [[]], { a: { b: [null] } }, 'a,b'),
    fc.string({ maxLength: 8 }).map((text) => text.replaceAll('$', '')),
  );
  fc.assert(
    fc.property(fc.constantFrom(...places), anything, (place, by) => {
      const { config, problems } = inspectText(stringify(replaced(document, place, by)), source);
      expect(config === null).toBe(problems.length > 0);
    }),
    { numRuns: 200, seed: 20_260_101 },
  );
});
