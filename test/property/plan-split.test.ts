/** Laws of dividing a window by values. A failure prints the seed and the path to replay it with. */

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import {
  type KnownValues,
  type Part,
  partFilters,
  partId,
  type Window,
} from '../../src/model/window.ts';
import { splitParts } from '../../src/plan/split.ts';
import { property } from '../support/property.ts';
import { slice, windowOfDays } from '../support/slice.ts';

const dimensions = ['network', 'os_name'] as const;

/** Values the service may have: ordinary, empty, with a comma or a blank, and ones nobody knew of. */
const values = [
  'ios',
  'android',
  'unknown',
  '',
  'Name (1,2)',
  ' padded',
  'Ünï',
  'x',
  'y',
  'z',
  'never seen',
] as const;

type Row = Readonly<Record<(typeof dimensions)[number], string>>;

const rows: readonly Row[] = values.flatMap((network) =>
  values.map((osName) => ({ network, os_name: osName })),
);

const knownOf = fc.uniqueArray(
  fc.record({
    value: fc.constantFrom(...values.filter((value) => value !== 'never seen')),
    rows: fc.integer({ min: 1, max: 50 }),
  }),
  { selector: ({ value }) => value, maxLength: values.length },
);

const knownValues: fc.Arbitrary<KnownValues> = fc.tuple(knownOf, knownOf).map(
  ([networks, osNames]) =>
    new Map([
      ['network', networks],
      ['os_name', osNames],
    ]),
);

const ownFilters = fc.record(
  {
    network__in: fc.constantFrom('ios,x,y', 'x', 'ios,android,unknown,z'),
    network__not_in: fc.constantFrom('x', 'x,y'),
    os_name__in: fc.constantFrom('ios,android', 'ios'),
    os_name__not_in: fc.constantFrom('z,ios'),
  },
  { requiredKeys: [] },
);

/** What the service answers: exact match, in the list or not in it (service-interface: Dimension filters). */
function isAnswered(row: Row, filters: Readonly<Record<string, string>>): boolean {
  return dimensions.every((name) => {
    const wanted = filters[`${name}__in`]?.split(',');
    const unwanted = filters[`${name}__not_in`]?.split(',');
    return (wanted?.includes(row[name]) ?? true) && !(unwanted?.includes(row[name]) ?? false);
  });
}

function windowWith(parameters: Record<string, string>): Window {
  const declared = slice({
    name: 'any',
    dimensions: ['day', ...dimensions],
    metrics: ['installs'],
    parameters,
  });
  return windowOfDays(declared, '2026-01-01', 3);
}

const divideOne = (window: Window, partNo: number, known: KnownValues): Window | null =>
  splitParts(window, new Set(window.parts.slice(partNo, partNo + 1).map(partId)), known);

/** The window divided as often as asked, each time one of its parts, until nothing known divides that. */
function divide(window: Window, known: KnownValues, choices: readonly number[]): Window {
  return choices.reduce(
    (divided, choice) => divideOne(divided, choice % divided.parts.length, known) ?? divided,
    window,
  );
}

const filtersOf = (window: Window, part: Part): Record<string, string> => ({
  ...window.slice.parameters,
  ...partFilters(window.slice, part),
});

const choices = fc.array(fc.nat(100), { maxLength: 12 });

test(
  'however often it is divided, each row of the whole window is answered by exactly one part, unknown values too',
  property([knownValues, ownFilters, choices], { numRuns: 300 }, (known, own, picks) => {
    const window = windowWith(own);
    const divided = divide(window, known, picks);
    const answers = rows.map(
      (row) => divided.parts.filter((part) => isAnswered(row, filtersOf(divided, part))).length,
    );
    expect(answers).toEqual(rows.map((row) => (isAnswered(row, window.slice.parameters) ? 1 : 0)));
  }),
);

test(
  'a division changes one part only, makes one more, and neither days nor periods',
  property([knownValues, ownFilters, choices, fc.nat(20)], {}, (known, own, picks, place) => {
    const before = divide(windowWith(own), known, picks);
    const partNo = place % before.parts.length;
    const after = divideOne(before, partNo, known);
    fc.pre(after !== null);
    expect(after.parts).toHaveLength(before.parts.length + 1);
    expect(after.parts.slice(0, partNo)).toEqual(before.parts.slice(0, partNo));
    expect(after.parts.slice(partNo + 2)).toEqual(before.parts.slice(partNo + 1));
    expect({ ...after, parts: null }).toEqual({ ...before, parts: null });
  }),
);

test(
  'a part is divided as long as two values of it are known that a list can carry, and then no more',
  property([knownValues, ownFilters], { numRuns: 300 }, (known, own) => {
    const window = windowWith(own);
    const sendable = [...known].some(
      ([name, all]) =>
        all.filter(({ value }) => {
          const list = own[name === 'network' ? 'network__in' : 'os_name__in']?.split(',');
          return /^[^\s,](?:[^,]*[^\s,])?$/.test(value) && (list?.includes(value) ?? true);
        }).length > 1,
    );
    expect(divideOne(window, 0, known) !== null).toBe(sendable);
  }),
);

test('a window of 200 or 1000 known networks is divided into 64 parts at most, each with an address of at most 8000 characters', () => {
  const knownNetworks = (count: number, name: string): KnownValues =>
    new Map([
      [
        'network',
        Array.from({ length: count }, (_, index) => ({ value: `${name}${index}`, rows: 1 })),
      ],
    ]);
  // Each time the first part that can be divided is, and then the last: the worst for either kind of list.
  const first = (window: Window, known: KnownValues): Window | null =>
    window.parts.reduce<Window | null>(
      (divided, _, partNo) => divided ?? divideOne(window, partNo, known),
      null,
    );
  const last = (window: Window, known: KnownValues): Window | null =>
    divideOne(window, window.parts.length - 1, known);
  const exhaust = (step: typeof first, known: KnownValues, window = windowWith({})): Window => {
    const divided = step(window, known);
    return divided === null ? window : exhaust(step, known, divided);
  };
  expect(exhaust(first, knownNetworks(200, 'n')).parts).toHaveLength(64);
  const long = knownNetworks(1000, 'network number ');
  for (const divided of [exhaust(first, long), exhaust(last, long)]) {
    const addresses = divided.parts.map(
      (part) => new URLSearchParams(filtersOf(divided, part)).toString().length,
    );
    expect(divided.parts.length).toBeGreaterThan(1);
    expect(divided.parts.length).toBeLessThanOrEqual(64);
    expect(Math.max(...addresses)).toBeLessThanOrEqual(8000);
  }
});
