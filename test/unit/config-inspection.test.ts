/** What is left of a configuration with mistakes, for telling more of it in the same round. */

import { readFileSync } from 'node:fs';

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';

import { inspectText, parseConfig } from '../../src/config/read-config.ts';
import { asFailure } from '../../src/errors.ts';

const source = { file: 'ripen.yaml', directory: '/work', environment: { RIPEN_TOKEN: 'hidden-token' } };
const example = readFileSync(new URL('../../config/example.yaml', import.meta.url), 'utf8');
const exampleSource = {
  ...source,
  environment: {
    RIPEN_TOKEN: 'hidden-token',
    COST_KEY: 'hidden-key',
    PING_URL: 'https://hidden.example.com/ping',
    SLACK_URL: 'https://hidden.example.com/hook',
  },
};

/** The lines a configuration is refused with; none when it is sound. */
function refusal(text: string): string[] {
  try {
    parseConfig(text, source);
    return [];
  } catch (thrown) {
    const { code, message } = asFailure(thrown);
    if (code !== 'CONFIG_INVALID') throw thrown;
    return message.split('\n');
  }
}

const linesOf = (text: string): string[] =>
  inspectText(text, source).problems.map(
    ({ place, key, text: said }) => `${place}: ${key === '' ? '' : `${key}: `}${said}`,
  );

describe('a configuration with mistakes', () => {
  test('of 10 mistakes is told as it is refused, and keeps what is right of its slice', () => {
    const text = readFileSync(new URL('../fixtures/config/ten-mistakes.yaml', import.meta.url), 'utf8');
    expect(linesOf(text)).toEqual(refusal(text));
    const { config, stated } = inspectText(text, source);
    expect(config.slices).toMatchObject([
      { name: 'network_daily', dimensions: ['day'], metrics: ['installs', 'Installs'], completeness: 'require' },
    ]);
    expect(stated.isSound(['service'])).toBe(false);
    expect(stated.isWrong(['slices', 0])).toBe(false);
    expect(stated.isSound(['slices', 0])).toBe(false);
    expect(stated.isWrong(['slices', 0, 'date_period'])).toBe(true);
    expect(stated.isSound(['slices', 0, 'metrics', 0])).toBe(true);
  });

  test('never calls a service with a part of its settings: it is stood in for', () => {
    const text =
      'service: { base_url: "https://a.example.com", reports_url: "https://b.example.com", token: t, ca: x }';
    const { config, stated } = inspectText(text, source);
    expect(config.service.kind).toBe('simulator');
    expect(stated.isSound(['service'])).toBe(false);
  });

  test('keeps each slice at its place, be it no mapping at all', () => {
    const text = stringify({
      service: 'simulator',
      slices: ['text', { name: 'two', metrics: [] }, 7, { name: 'Four' }],
    });
    const { config, stated } = inspectText(text, source);
    expect(config.slices.map(({ name }) => name)).toEqual(['slice_1', 'two', 'slice_3', 'slice_4']);
    expect(['two', 'Four'].map((name, index) => stated.valueAt(['slices', index * 2 + 1, 'name']) === name)).toEqual([
      true,
      true,
    ]);
  });

  test('that is sound is the configuration itself', () => {
    const { config, problems } = inspectText(example.replace(/^ {2}ca_file.*$/m, ''), exampleSource);
    expect(problems).toEqual([]);
    expect(config.slices.map(({ name }) => name)).toEqual(['network_daily', 'app_weekly', 'revenue_curve']);
    expect(JSON.stringify(config)).toBe(
      JSON.stringify(parseConfig(example.replace(/^ {2}ca_file.*$/m, ''), exampleSource)),
    );
  });

  test.each(['', '- a', 'service: [', '%YAML 1.1\n---\na: b'])(
    'of which nothing can be read, as %j, is refused',
    (text) => {
      expect(() => inspectText(text, source)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    },
  );
});

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

test('whatever stands at any one place of the example, inspection tells what parsing refuses, and never anything else', () => {
  const document: unknown = parse(example);
  const places = placesOf(document);
  expect(places.length).toBeGreaterThan(100);
  const anything = fc.oneof(
    fc.constantFrom(null, '', '__proto__', 'constructor', -1, 1e300, true, [], {}, [[]], { a: { b: [null] } }, 'a,b'),
    fc.string({ maxLength: 8 }).map((text) => text.replaceAll('$', '')),
  );
  fc.assert(
    fc.property(fc.constantFrom(...places), anything, (place, by) => {
      const text = stringify(replaced(document, place, by));
      const refused = outcome(() => parseConfig(text, exampleSource));
      const inspected = outcome(() => inspectText(text, exampleSource).problems);
      expect(inspected.code).toBe(refused.code === null || inspected.problems > 0 ? null : refused.code);
      expect(inspected.problems > 0).toBe(refused.code !== null && inspected.code === null);
    }),
    { numRuns: 200, seed: 20_260_101 },
  );
});

function outcome(run: () => unknown): { readonly code: string | null; readonly problems: number } {
  try {
    const result = run();
    return { code: null, problems: Array.isArray(result) ? result.length : 0 };
  } catch (thrown) {
    const { code } = asFailure(thrown);
    if (code !== 'CONFIG_INVALID') throw thrown;
    return { code, problems: 0 };
  }
}
