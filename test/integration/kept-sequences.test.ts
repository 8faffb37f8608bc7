/** Sequences of nights in which fuzzing once found a law broken. */

import { expect, test } from 'vitest';

import type { LawBroken } from '../fuzz/laws.ts';
import { runSequence } from '../fuzz/run-sequence.ts';
import { type Night, plainRun, type Sequence } from '../fuzz/sequence.ts';
import { calm, type Mood } from '../support/tiny-service.ts';
import { dayNumber } from '../support/tiny-world.ts';

const night = (pauseHours: number, mood: Partial<Mood> = {}): Night => ({
  pauseHours,
  change: null,
  mood: { ...calm, ...mood },
  drop: null,
  isRenamed: false,
  isBesideOut: false,
  run: plainRun,
});

async function brokenIn(sequence: Sequence, held: string): Promise<readonly LawBroken[]> {
  const broken: LawBroken[] = [];
  await runSequence(sequence, held, (law) => broken.push(law));
  return broken;
}

/** Two days are found not to add up while two others are on the wire in parts that lack the rows without a country. */
const foundWhileDivided: Sequence = {
  world: { seed: 997, countries: 2, oddTexts: false, unknownCountry: 'null', weekStart: 0, otherWeekAfterDays: 10 },
  start: '2025-11-05T22:40:00Z',
  slice: {
    name: 'facts',
    grain: 'day',
    texts: ['country_code', 'app_token'],
    metrics: ['revenue_to_cost', 'ecpi'],
    offset: '+00:00',
    currency: null,
    attribution: 'all',
    maturity: 'immature',
    maxRejects: 0,
    firstDay: { daysBefore: 4, rolls: true },
    lastDay: 'yesterday',
    refresh: 'milestones',
    filters: {},
    types: {},
    retainDays: 20,
  },
  beside: null,
  nights: [night(24), night(1), night(192), night(24)],
  audits: false,
  archives: false,
  publishes: [],
};

/** Days by country, whose answers are kept. */
const archiving: Sequence = {
  ...foundWhileDivided,
  slice: {
    ...foundWhileDivided.slice,
    texts: ['country_code'],
    metrics: ['cost'],
    firstDay: { daysBefore: 37, rolls: false },
    retainDays: null,
  },
  nights: [night(24)],
  archives: true,
};

/** Every fourth day seems empty, as the first of the days asked for together. */
const emptyDays = { every: 4, from: 0, as: 'no rows' } as const;

const replays: Record<string, Sequence> = {
  'answers without rows are loaded again where young cohorts are withheld': {
    ...archiving,
    slice: {
      ...archiving.slice,
      metrics: ['all_revenue_total_d60'],
      maturity: 'mature',
      filters: { country_code__in: ['nowhere'] },
    },
  },
  'an empty answer that is loaded again confirms nothing': { ...archiving, nights: [night(24, { empty: emptyDays })] },
  'a replay lets go what `retain` keeps no longer': {
    ...archiving,
    slice: { ...archiving.slice, retainDays: 20 },
    nights: [night(24), night(24 * 8)],
  },
  'of an answer that was believed but for its first days, a replay leaves those days as they are': {
    ...archiving,
    nights: [night(24), night(24), night(24, { empty: emptyDays })],
  },
};

/** 2025-10-26, a Sunday, is the last day of a Monday week and the first of a Sunday week. */
const cutDay = { every: 40, from: dayNumber('2025-10-26') % 40 };

test('an answer without rows for a cut week, which comes after the weeks were turned, is not taken for one of the new weeks', async () => {
  const weekly: Sequence = {
    ...foundWhileDivided,
    world: { ...foundWhileDivided.world, seed: 7, countries: 1, unknownCountry: 'none', otherWeekAfterDays: null },
    start: '2025-11-05T03:00:00Z',
    slice: {
      ...foundWhileDivided.slice,
      grain: 'week',
      texts: [],
      metrics: ['all_revenue_total_d7', 'ecpi'],
      currency: 'USD',
      firstDay: { daysBefore: 10, rolls: true },
      retainDays: null,
    },
    nights: [night(24, { slow: cutDay }), night(24)],
  };
  expect(await brokenIn(weekly, 'abcefg')).toEqual([]);
});

test.each(Object.entries(replays))('%s', async (_, sequence) => {
  expect(await brokenIn(sequence, 'abcgh')).toEqual([]);
});

test('a metric found not to add up, while other days are on the wire in parts that lack rows, costs none of them', async () => {
  expect(await brokenIn(foundWhileDivided, 'abcdefg')).toEqual([]);
});

test('a metric named __proto__ is held against the whole of days that are asked for in parts', async () => {
  const divided: Sequence = {
    ...foundWhileDivided,
    world: {
      seed: 935,
      countries: 4,
      oddTexts: false,
      unknownCountry: 'absent',
      weekStart: 0,
      otherWeekAfterDays: null,
    },
    start: '2025-11-05T03:00:00Z',
    slice: {
      ...foundWhileDivided.slice,
      texts: ['os_name', 'country_code'],
      metrics: ['__proto__'],
      firstDay: { daysBefore: 31, rolls: true },
      retainDays: null,
    },
    nights: [
      night(24, { cap: { rows: 3, totals: 'all', warns: true } }),
      { ...night(24, { unasked: 60 }), change: { toggled: { list: 'metrics', name: 'roas_d7' } } },
    ],
  };
  expect(await brokenIn(divided, 'abcd')).toEqual([]);
});

test('a row whose counts are 0 and whose ratios are not is stored of days that are asked for in parts', async () => {
  const divided: Sequence = {
    ...foundWhileDivided,
    world: { ...foundWhileDivided.world, seed: 6, unknownCountry: 'absent', weekStart: 1, otherWeekAfterDays: null },
    start: '2026-03-02T03:00:00Z',
    slice: {
      ...foundWhileDivided.slice,
      texts: ['country_code', 'os_name'],
      metrics: ['roas_d7', 'ecpi', 'installs'],
      firstDay: { daysBefore: 39, rolls: false },
      retainDays: null,
    },
    nights: [night(24, { cap: { rows: 3, totals: 'all', warns: true } })],
  };
  expect(await brokenIn(divided, 'a')).toEqual([]);
});

test('a night ends whose only day loses rows in parts and is cut as a whole', async () => {
  const slice = {
    ...foundWhileDivided.slice,
    texts: ['country_code'],
    metrics: ['revenue_to_cost', 'all_revenue_total_d7', 'all_revenue_total_d1'],
    firstDay: { daysBefore: 1, rolls: true },
    retainDays: null,
  };
  const cut = { cap: { rows: 3, totals: 'all', warns: true } } as const;
  const sequence: Sequence = {
    ...foundWhileDivided,
    world: { ...foundWhileDivided.world, seed: 415, countries: 4, unknownCountry: 'absent', otherWeekAfterDays: null },
    start: '2026-03-02T03:00:00Z',
    slice,
    nights: [night(24, cut)],
  };
  expect(await brokenIn(sequence, 'abcdefghi')).toEqual([]);
}, 30_000);

/** On a night that cuts answers and says so, of metrics of which nothing says that they add up. */
const cutByName: Sequence = {
  ...archiving,
  world: { seed: 2, countries: 4, oddTexts: true, unknownCountry: 'absent', weekStart: 1, otherWeekAfterDays: null },
  slice: {
    ...archiving.slice,
    grain: 'none',
    texts: ['os_name', 'country_code'],
    metrics: ['all_revenue_total_d60', 'cohort_size_d7', 'ecpi'],
    firstDay: { daysBefore: 29, rolls: false },
  },
  nights: [night(24), night(72, { totals: 'rounded', cap: { rows: 3, totals: 'all', warns: true }, catalog: 'moved' })],
  archives: false,
};

test('rows without a country are not lost where the whole that would show them is cut, too', async () => {
  expect(await brokenIn(cutByName, 'abcdfg')).toEqual([]);
});
