/** The tiny world holds what the service's interface says of a report, and what is known of how its numbers move. */

import { describe, expect, test } from 'vitest';

import { calm, tinyAnswer, tinyCatalog, type Mood } from '../support/tiny-service.ts';
import {
  dayNumber,
  dayText,
  offsetMs,
  tinyMetrics,
  tinyReport,
  type Parameters,
  type TinyReport,
  type TinyWorld,
} from '../support/tiny-world.ts';

const world: TinyWorld = {
  seed: 7,
  countries: 3,
  oddTexts: true,
  unknownCountry: 'null',
  weekStart: 1,
  otherWeekFrom: null,
};
const all = tinyMetrics.map(({ id }) => id).join(',');
const usual = {
  dimensions: 'day,country_code',
  metrics: all,
  date_period: '2026-01-05:2026-01-11',
  attribution_type: 'all',
};
const DAY_MS = 86_400_000;
const later = Date.parse('2027-01-01T00:00:00Z');

const ask = (change: Parameters = {}, nowMs = later, of = world): TinyReport =>
  tinyReport(of, { ...usual, ...change }, nowMs);
const millionths = (cell: unknown): number => Math.round(Number(cell) * 1_000_000);
const sum = ({ rows }: TinyReport, metric: string): number =>
  rows.reduce((total, row) => total + millionths(row[metric] ?? 0), 0) / 1_000_000;

test('a report is the same whenever it is asked, and another for another seed', () => {
  expect(ask()).toEqual(ask());
  expect(ask({}, later, { ...world })).toEqual(ask());
  expect(ask({}, later, { ...world, seed: 8 })).not.toEqual(ask());
});

const quotients = tinyMetrics.filter(({ kind }) => kind === 'quotient').map(({ id }) => id);
const summed = tinyMetrics.filter(({ kind }) => kind !== 'quotient').map(({ id }) => id);

test('totals are the sums of the rows for counts and money, and are not for quotients', () => {
  const said = ask();
  for (const id of summed) expect(sum(said, id)).toBe(said.totals[id]);
  for (const id of quotients) expect(Math.abs(sum(said, id) - Number(said.totals[id]))).toBeGreaterThan(0.01);
});

test.each([
  ['hour', '2026-01-05T'],
  ['day', '2026-01-05'],
  ['week', '2026-01-05 - 2026-01-11'],
  ['month', '2026-01'],
  ['quarter', 'Q1 2026'],
  ['year', '2026'],
])('rows by %s begin with %s and add up to the same totals', (dimension, label) => {
  const said = ask({ dimensions: dimension });
  const labels = said.rows.map((row) => JSON.stringify(row[dimension]).slice(1, -1)).sort();
  expect(labels[0]?.startsWith(label)).toBe(true);
  expect(new Set(labels).size).toBe(labels.length);
  expect(said.totals['installs']).toBe(ask().totals['installs']);
});

test('hours are labelled in the offset, half-hours too, and a week is as long wherever it begins', () => {
  const { rows } = ask({ dimensions: 'hour', utc_offset: '+05:30' });
  expect(
    rows.every((row) => /^2026-01-(0[5-9]|1[01])T\d\d:30:00$/.test(JSON.stringify(row['hour']).slice(1, -1))),
  ).toBe(true);
  const moving = { ...world, otherWeekFrom: later };
  expect(ask({ dimensions: 'week' }, later, moving).rows.map((row) => row['week'])).toEqual(
    expect.arrayContaining(['2026-01-04 - 2026-01-10', '2026-01-11 - 2026-01-17']),
  );
});

test('a NULL country passes neither __in nor __not_in, every other passes exactly one of them', () => {
  const [inside, outside, whole] = [{ country_code__in: 'de,us' }, { country_code__not_in: 'de,us' }, {}].map(
    (filter) => ask(filter),
  );
  const known = whole?.rows.filter((row) => row['country_code'] !== null) ?? [];
  expect([...(inside?.rows ?? []), ...(outside?.rows ?? [])].length).toBe(known.length);
  expect(known.length).toBeLessThan(whole?.rows.length ?? 0);
  const absent = ask({}, later, { ...world, unknownCountry: 'absent' }).rows;
  expect(absent.filter((row) => !('country_code' in row)).length).toBe((whole?.rows.length ?? 0) - known.length);
});

describe.each(['+00:00', '+05:30', '-04:00'])('in %s', (offset) => {
  test.each(
    tinyMetrics
      .filter(({ kind }) => kind !== 'quotient')
      .map(({ id, finalAfterDays }) => [id, finalAfterDays] as const),
  )('%s of a day moves until %i days after it, and never again', (id, finalAfterDays) => {
    const first = dayNumber('2026-01-05');
    const restated = Array.from({ length: 40 }, (_, nth) => {
      const day = dayText(first + nth);
      const end = (first + nth + 1) * DAY_MS - offsetMs(offset);
      const question = { metrics: id, date_period: `${day}:${day}`, dimensions: 'day', utc_offset: offset };
      const at = (ms: number): unknown => ask(question, ms).totals[id];
      expect(at(end + Math.max(finalAfterDays, 7) * DAY_MS)).toBe(at(later));
      return at(end + finalAfterDays * DAY_MS - 1) !== at(later);
    });
    expect(restated.filter(Boolean).length).toBeGreaterThan(10);
  });
});

test('refuses what it does not know, by name', () => {
  expect(() => ask({ metrics: 'nothing' })).toThrow('Unsupported metric: nothing');
  expect(() => ask({ dimensions: 'day,color' })).toThrow('Unsupported dimension: color');
  expect(() => ask({ currency: 'XXX' })).toThrow('currency');
  expect(() => ask({ date_period: 'yesterday' })).toThrow('field required');
});

describe('a mood', () => {
  const answer = (mood: Partial<Mood>, change: Parameters = {}) =>
    tinyAnswer(
      { world, mood: { ...calm, ...mood }, nowMs: later },
      { ...usual, ...change },
      (cursor) => `next:${cursor}`,
    );

  test('that is calm is the truth itself', () => {
    expect(answer({})).toEqual({ status: 200, document: { ...ask(), warnings: [], pagination: null } });
  });

  test('empties some days, or answers a report of them alone with 204', () => {
    const every = { every: 1, from: 0 };
    expect(answer({ empty: { ...every, as: '204' } }).status).toBe(204);
    expect(answer({ empty: { ...every, as: 'no rows' } }).document).toEqual({ rows: [], totals: {} });
    const days = answer({ empty: { every: 7, from: dayNumber('2026-01-07'), as: '204' } }).document?.['rows'];
    expect(JSON.stringify(days)).not.toContain('2026-01-07');
  });

  test('refuses windows with some days, and reports of too many rows', () => {
    const failing = { every: 7, from: dayNumber('2026-01-07'), with: 403 } as const;
    expect(answer({ failing }).status).toBe(403);
    expect(answer({ failing }, { date_period: '2026-01-08:2026-01-09' }).status).toBe(200);
    expect(answer({ maxRows: 10 }).status).toBe(504);
  });

  test('pages the rows, each once', () => {
    const pages = { size: 9, style: 'cursor', lastHasNext: true } as const;
    const found: unknown[] = [];
    for (let after = 0; after < 1000; after += 9) {
      const { document } = answer({ pages }, { after: String(after) });
      found.push(...(Array.isArray(document?.['rows']) ? document['rows'] : []));
    }
    expect(found).toEqual(ask().rows);
  });

  test('moves the catalog: a list empty, absent, shorter, or a metric in another one', () => {
    const lists = (catalog: Mood['catalog']) => tinyCatalog({ mood: { ...calm, catalog } });
    expect(lists('a list empty').get('overview_metrics')).toEqual([]);
    expect(lists('a list absent').get('cohort_metrics')).toBeNull();
    expect(lists('shorter').get('overview_metrics')).toHaveLength(1);
    expect(
      lists('moved')
        .get('event_metrics')
        ?.map(({ id }) => id),
    ).toContain('cohort_size_d7');
    expect(
      lists('reformatted')
        .get('overview_metrics')
        ?.every(({ formatting }) => formatting === 'decimal'),
    ).toBe(true);
  });
});
