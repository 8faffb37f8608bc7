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

/** Days by country and app, of metrics that do not add up; each case says what it has otherwise. */
const usual: Sequence = {
  world: { seed: 997, countries: 2, oddTexts: false, unknownCountry: 'null', weekStart: 0, otherWeekAfterDays: 10 },
  start: '2025-11-05T22:40:00Z',
  slice: {
    name: 'facts',
    grain: 'day',
    texts: ['country_code'],
    metrics: ['cost'],
    offset: '+00:00',
    currency: null,
    attribution: 'all',
    maturity: 'immature',
    maxRejects: 0,
    firstDay: { daysBefore: 37, rolls: false },
    lastDay: 'yesterday',
    refresh: 'milestones',
    filters: {},
    types: {},
    retainDays: null,
  },
  beside: null,
  nights: [night(24)],
  audits: false,
  archives: false,
  publishes: [],
};

interface Case {
  readonly held: string;
  readonly world?: Partial<Sequence['world']>;
  readonly slice?: Partial<Sequence['slice']>;
  readonly of?: Partial<Sequence>;
}

/** Every fourth day seems empty, as the first of the days asked for together. */
const emptyDays = { every: 4, from: 0, as: 'no rows' } as const;
const cut = { cap: { rows: 3, totals: 'all', warns: true } } as const;
/** 2025-10-26, a Sunday, is the last day of a Monday week and the first of a Sunday week. */
const cutDay = { every: 40, from: dayNumber('2025-10-26') % 40 };
const rolling = (daysBefore: number) => ({ daysBefore, rolls: true });

const cases: Record<string, Case> = {
  'an answer without rows for a cut week, which comes after the weeks were turned, is not taken for one of the new weeks':
    {
      held: 'abcefg',
      world: { seed: 7, countries: 1, unknownCountry: 'none', otherWeekAfterDays: null },
      slice: {
        grain: 'week',
        texts: [],
        metrics: ['all_revenue_total_d7', 'ecpi'],
        currency: 'USD',
        firstDay: rolling(10),
      },
      of: { start: '2025-11-05T03:00:00Z', nights: [night(24, { slow: cutDay }), night(24)] },
    },
  'answers without rows are loaded again where young cohorts are withheld': {
    held: 'abcgh',
    slice: { metrics: ['all_revenue_total_d60'], maturity: 'mature', filters: { country_code__in: ['nowhere'] } },
    of: { archives: true },
  },
  'an empty answer that is loaded again confirms nothing': {
    held: 'abcgh',
    of: { archives: true, nights: [night(24, { empty: emptyDays })] },
  },
  'a replay lets go what `retain` keeps no longer': {
    held: 'abcgh',
    slice: { retainDays: 20 },
    of: { archives: true, nights: [night(24), night(24 * 8)] },
  },
  'of an answer that was believed but for its first days, a replay leaves those days as they are': {
    held: 'abcgh',
    of: { archives: true, nights: [night(24), night(24), night(24, { empty: emptyDays })] },
  },
  'a metric found not to add up, while other days are on the wire in parts that lack rows, costs none of them': {
    held: 'abcdefg',
    slice: {
      texts: ['country_code', 'app_token'],
      metrics: ['revenue_to_cost', 'ecpi'],
      firstDay: rolling(4),
      retainDays: 20,
    },
    of: { nights: [night(24), night(1), night(192), night(24)] },
  },
  'a metric named __proto__ is compared with the whole of days that are asked for in parts': {
    held: 'abcd',
    world: { seed: 935, countries: 4, unknownCountry: 'absent', otherWeekAfterDays: null },
    slice: { texts: ['os_name', 'country_code'], metrics: ['__proto__'], firstDay: rolling(31) },
    of: {
      start: '2025-11-05T03:00:00Z',
      nights: [
        night(24, cut),
        { ...night(24, { unasked: 60 }), change: { toggled: { list: 'metrics', name: 'roas_d7' } } },
      ],
    },
  },
  'a row whose counts are 0 and whose ratios are not is stored of days that are asked for in parts': {
    held: 'a',
    world: { seed: 6, unknownCountry: 'absent', weekStart: 1, otherWeekAfterDays: null },
    slice: {
      texts: ['country_code', 'os_name'],
      metrics: ['roas_d7', 'ecpi', 'installs'],
      firstDay: { daysBefore: 39, rolls: false },
    },
    of: { start: '2026-03-02T03:00:00Z', nights: [night(24, cut)] },
  },
  'a night ends whose only day loses rows in parts and is cut as a whole': {
    held: 'abcdefghi',
    world: { seed: 415, countries: 4, unknownCountry: 'absent', otherWeekAfterDays: null },
    slice: { metrics: ['revenue_to_cost', 'all_revenue_total_d7', 'all_revenue_total_d1'], firstDay: rolling(1) },
    of: { start: '2026-03-02T03:00:00Z', nights: [night(24, cut)] },
  },
  'rows without a country are not lost where the whole that would show them is cut, too': {
    held: 'abcdfg',
    world: { seed: 2, countries: 4, oddTexts: true, unknownCountry: 'absent', weekStart: 1, otherWeekAfterDays: null },
    slice: {
      grain: 'none',
      texts: ['os_name', 'country_code'],
      metrics: ['all_revenue_total_d60', 'cohort_size_d7', 'ecpi'],
      firstDay: { daysBefore: 29, rolls: false },
    },
    of: {
      nights: [night(24), night(72, { totals: 'rounded', ...cut, catalog: 'moved' })],
    },
  },
};

test.each(Object.entries(cases))('%s', async (_, { held, world, slice, of }) => {
  const sequence: Sequence = {
    ...usual,
    ...of,
    world: { ...usual.world, ...world },
    slice: { ...usual.slice, ...slice },
  };
  const broken: LawBroken[] = [];
  await runSequence(sequence, held, (law) => broken.push(law));
  expect(broken).toEqual([]);
});
