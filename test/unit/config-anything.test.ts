/** Whatever stands in a configuration: it is read, or refused as a configuration; it never breaks the program. */

import { readFileSync } from 'node:fs';

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDocument } from 'yaml';

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

const isMapping = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Every place of a document, root apart. */
function placesOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  const inner = isMapping(value) ? Object.entries(value) : [];
  return [...(path.length === 0 ? [] : [path]), ...inner.flatMap(([step, each]) => placesOf(each, [...path, step]))];
}

test('whatever stands at any one place of the example, it is read, or refused with its problems', () => {
  const document = parseDocument(example);
  const places = placesOf(document.toJS());
  expect(places.length).toBeGreaterThan(100);
  const anything = fc.oneof(
    fc.constantFrom(null, '', '__proto__', 'constructor', -1, 1e300, true, [], {}, [[]], { a: { b: [null] } }, 'a,b'),
    fc.string({ maxLength: 8 }).map((text) => text.replaceAll('$', '')),
  );
  fc.assert(
    fc.property(fc.constantFrom(...places), anything, (place, by) => {
      const changed = document.clone();
      changed.setIn(place, by);
      const { config, problems } = inspectText(String(changed), source);
      expect(config === null).toBe(problems.length > 0);
    }),
    { numRuns: 200, seed: 20_260_101 },
  );
});
