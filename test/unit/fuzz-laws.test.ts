/** The laws of the fuzzed nights notice what they are for: each is shown one night as it should be, and one spoilt. */

import { describe, expect, test } from 'vitest';

import type { SyncSummary } from '../../src/run/summary.ts';
import { everythingSettles, laws, type RunNight } from '../fuzz/laws.ts';
import { meaningOf, plainRun, type SliceChoice } from '../fuzz/sequence.ts';
import type { Stored, StoredRow } from '../fuzz/stored.ts';
import { calm, saidOn, type TinyNight } from '../support/tiny-service.ts';
import { dayNumber, dayText, type TinyWorld } from '../support/tiny-world.ts';

const start = '2026-03-02T03:00:00Z';
const nowMs = Date.parse(start);
const world: TinyWorld = {
  seed: 3,
  countries: 2,
  oddTexts: false,
  unknownCountry: 'none',
  weekStart: 1,
  otherWeekFrom: null,
};
const night: TinyNight = { world, mood: calm, nowMs };
const slice: SliceChoice = {
  name: 'facts',
  grain: 'day',
  texts: ['country_code'],
  metrics: ['installs', 'cost'],
  offset: '+00:00',
  currency: null,
  attribution: 'all',
  maturity: 'immature',
  maxRejects: 0,
  firstDay: { daysBefore: 30, rolls: false },
  lastDay: 'yesterday',
  refresh: 'milestones',
  filters: {},
  types: {},
  retainDays: null,
};
const summary: SyncSummary = {
  run_id: 'r',
  status: 'succeeded',
  as_of: start,
  started_at: start,
  finished_at: start,
  slices: [],
  partners: { rows: 0 },
  links: { rows: 0, removed: 0 },
  service: { requests: 0, retries: 0, peak_concurrency: 0, bytes: 0 },
  published: [],
  failures: [],
};

/** The 30 days as they should be stored: cells are final 7 and 14 days, and an hour, after their day. */
function wellStored(): Stored {
  const first = dayNumber('2026-01-31');
  const days = Array.from({ length: 30 }, (_, nth) => first + nth);
  const period = `${dayText(first)}:${dayText(first + 29)}`;
  const said = saidOn(night, { ...meaningOf(slice), metrics: 'installs,cost', date_period: period });
  const isFinal = (day: number, after: number): boolean => (day + 1 + after) * 86_400_000 + 3_600_000 <= nowMs;
  const text = (cell: unknown): string | null =>
    cell === null || cell === '' ? null : JSON.stringify(cell).replaceAll('"', '');
  const rowOf = (row: (typeof said.rows)[number], final: boolean): StoredRow => {
    const day = dayNumber(text(row['day']) ?? '');
    const shown = (metric: string, after: number): [string, string | null] => [
      metric,
      !final || isFinal(day, after) ? text(row[metric]) : null,
    ];
    return new Map([
      ['day', text(row['day'])],
      ['country_code', text(row['country_code'])],
      shown('installs', 7),
      shown('cost', 14),
    ]);
  };
  return {
    meaning: 'the only one',
    columns: new Map([
      ['day', 'DATE'],
      ['country_code', 'VARCHAR'],
      ['installs', 'BIGINT'],
      ['cost', 'DECIMAL(18,6)'],
    ]),
    rows: said.rows.map((row) => rowOf(row, false)),
    finalRows: said.rows.map((row) => rowOf(row, true)),
    periods: days.map((day) => ({
      start: dayText(day),
      end: dayText(day + 1),
      askedStart: dayText(day),
      askedEnd: dayText(day + 1),
      fetchedMs: nowMs,
      state: isFinal(day, 14) ? 'final' : 'maturing',
      final: new Set([...(isFinal(day, 7) ? ['installs'] : []), ...(isFinal(day, 14) ? ['cost'] : [])]),
    })),
    warnings: [],
  };
}

const good = wellStored();
const first = good.rows[0] ?? new Map<string, string | null>();

const run = (stored: Partial<Stored> = {}, change: Partial<RunNight> = {}): RunNight => ({
  night,
  droppedBefore: null,
  run: plainRun,
  slice,
  summary,
  ...change,
  stored: { ...good, ...stored },
});

function broken(law: string, ...nights: readonly RunNight[]): readonly string[] {
  const held = law === 'd' ? everythingSettles : laws.get(law);
  return held?.({ start, nights }) ?? ['there is no such law'];
}

const failure = { code: 'DATA_INCOMPLETE', slice: 'facts', window: null, message: 'm', hint: null } as const;

test('a night as it should be breaks no law', () => {
  expect(['a', 'b', 'c', 'd', 'f', 'g'].flatMap((law) => broken(law, run()))).toEqual([]);
});

describe('law a notices', () => {
  const changed = (metric: string, value: string | null): Stored['rows'] => [
    new Map([...first, [metric, value]]),
    ...good.rows.slice(1),
  ];

  test.each([
    ['a value that is off by a millionth', changed('cost', `${first.get('cost') ?? ''}0001`), 'cost of'],
    ['a value that is NULL', changed('installs', null), 'is null, was stated as'],
    ['a row that is lost', good.rows.slice(1), 'lacks 1 of'],
    ['a row twice', [first, ...good.rows], 'a key twice'],
    ['a row that nobody said', [new Map([...first, ['country_code', 'xx']]), ...good.rows], 'rows that were not said'],
    ['a row of a day without a period', [new Map([...first, ['day', '2020-01-01']]), ...good.rows], 'lie in no period'],
  ])('%s', (_, rows, text) => {
    expect(broken('a', run({ rows })).join()).toContain(text);
  });

  test('a period that was fetched at no night, and two meanings in one table', () => {
    const [period, ...others] = good.periods;
    if (period === undefined) throw new RangeError('no period');
    expect(broken('a', run({ periods: [{ ...period, fetchedMs: 1 }, ...others] })).join()).toContain('at no night');
    const before = run({}, { slice: { ...slice, currency: 'EUR' }, night: { ...night, nowMs: 1 } });
    expect(broken('a', before, run({ periods: [{ ...period, fetchedMs: 1 }, ...others] })).join()).toContain(
      '2 meanings',
    );
  });
});

test('law b notices a day that is gone, and lets it go where retain does', () => {
  const later = run({ periods: good.periods.slice(1) });
  expect(broken('b', run(), later).join()).toContain('1 days that were loaded are gone, 2026-01-31 first');
  expect(broken('b', run(), { ...later, slice: { ...slice, retainDays: 20 } })).toEqual([]);
});

describe('law c notices', () => {
  test('what is called final and moves, is missing, or is shown and not final', () => {
    const newest = good.periods.map((period) => ({ ...period, final: new Set(['installs', 'cost']) }));
    expect(broken('c', run({ periods: newest, finalRows: good.rows })).join()).toContain('is called final');
    expect(broken('c', run({ finalRows: good.finalRows.slice(1) })).join()).toContain('has null, for ever');
    expect(broken('c', run({ finalRows: good.rows })).join()).toContain('is not final and shown');
  });

  test('an answer that was empty once and is called final, and believes one that was empty twice', () => {
    const empty: TinyNight = { ...night, mood: { ...calm, empty: { every: 1, from: 0, as: '204' } } };
    const told = run({ rows: [], finalRows: [] }, { night: empty });
    expect(broken('c', told)).not.toEqual([]);
    expect(broken('c', told, told)).toEqual([]);
  });
});

test('law d notices an old period that is not settled, and takes a warning about it or a cut one', () => {
  const stored = { periods: good.periods.map((period) => ({ ...period, fetchedMs: nowMs, state: 'maturing' })) };
  const old = { night: { ...night, nowMs: nowMs + 70 * 86_400_000 }, slice: { ...slice, lastDay: { daysBefore: 1 } } };
  expect(broken('d', run(stored, old)).join()).toContain('30 old periods are not settled');
  const told = { ...stored, warnings: [{ runId: 'r', code: 'EMPTY_PERIODS', start: '2026-01-31', end: '2026-03-02' }] };
  expect(broken('d', run(told, old))).toEqual([]);
  const before = { ...old, summary: { ...summary, run_id: 'another' } };
  expect(broken('d', run(told, before))).not.toEqual([]);
  const cut = (state: string): Stored['periods'] =>
    good.periods.map((period) => ({ ...period, end: '2030-01-01', start: '2020-01-01', state }));
  const inTime = (periods: Stored['periods']): Stored['periods'] =>
    periods.map((each) => ({ ...each, end: each.askedEnd }));
  expect(broken('d', run({ periods: inTime(cut('cut')) }, old))).toEqual([]);
  expect(broken('d', run({ periods: inTime(cut('maturing')) }, old))).not.toEqual([]);
});

test('law f notices a failure and a hole after good answers, law g a bug', () => {
  const failed = { summary: { ...summary, failures: [failure] } };
  expect(broken('f', run({}, failed)).join()).toContain('DATA_INCOMPLETE though every question was answered well');
  expect(broken('f', run({ periods: good.periods.slice(0, -1) })).join()).toContain('1 days of the coverage');
  const bug = { summary: { ...summary, failures: [{ ...failure, code: 'BUG' as const }] } };
  expect(broken('g', run({}, bug))).toEqual(['BUG: m']);
});
