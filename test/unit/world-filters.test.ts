import { expect, test } from 'vitest';
import { createWorld, RequestRefused } from '../../src/simulator/world/world.ts';
import type { Report } from '../../src/simulator/world/world.ts';

/** A cell as text, whichever of its forms it has. */
const textOf = (cell: unknown): string => (typeof cell === 'string' ? cell : JSON.stringify(cell ?? ''));

const now = new Date('2026-06-01T03:00:00Z');
const world = createWorld();

const base = {
  dimensions: 'os_name',
  metrics: 'installs',
  date_period: '2026-01-01:2026-01-07',
  attribution_type: 'all',
  format_dates: 'false',
};

const ask = (parameters: Record<string, string>): Report | null =>
  world.report(new URLSearchParams({ ...base, ...parameters }), now);

function valuesOf(dimension: string, parameters: Record<string, string>): string[] {
  const rows = ask({ dimensions: dimension, ...parameters })?.rows ?? [];
  return [...new Set(rows.map((row) => textOf(row[dimension])))].toSorted();
}

function refusal(query: URLSearchParams): unknown {
  try {
    world.report(query, now);
  } catch (error) {
    if (error instanceof RequestRefused) return { status: error.status, body: error.body };
    throw error;
  }
  return 'accepted';
}

const refused = (parameters: Record<string, string>): unknown =>
  refusal(new URLSearchParams({ ...base, ...parameters }));

test.each([
  ['in', 'android,ios', (os: string) => os === 'android' || os === 'ios'],
  ['not_in', 'android,ios', (os: string) => os !== 'android' && os !== 'ios'],
  ['contains', 'DROID', (os: string) => os.includes('droid')],
  ['exclude', 'DROID', (os: string) => !os.includes('droid')],
  ['starts_with', 'ANDROID', (os: string) => os.startsWith('android')],
  ['not_starts_with', 'ANDROID', (os: string) => !os.startsWith('android')],
  ['ends_with', 'OS', (os: string) => os.endsWith('os')],
  ['not_ends_with', 'OS', (os: string) => !os.endsWith('os')],
])('os_name__%s=%s leaves exactly the systems it describes', (suffix, value, keeps) => {
  const all = valuesOf('os_name', {});
  const kept = valuesOf('os_name', { [`os_name__${suffix}`]: value });
  expect(kept).toEqual(all.filter((os) => keeps(os)));
  expect(kept.length).toBeGreaterThan(0);
  expect(kept.length).toBeLessThan(all.length);
});

test('a list matches exactly: IOS is not ios', () => {
  expect(ask({ os_name__in: 'IOS' })).toBeNull();
  expect(valuesOf('os_name', { os_name__not_in: 'IOS' })).toEqual(valuesOf('os_name', {}));
});

test('several filters must all pass, on dimensions that were not requested too', () => {
  const both = ask({ os_name__in: 'ios', country_code__in: 'US', network__not_in: 'Organic' });
  const one = ask({ os_name__in: 'ios', country_code__in: 'US' });
  expect(both?.totals['installs']).toBeGreaterThan(0);
  expect(both?.totals['installs']).toBeLessThan(one?.totals['installs'] ?? 0);
});

test('date dimensions are filtered by their ISO form, hours among days too', () => {
  expect(valuesOf('day', { day__in: '2026-01-02,2026-01-05' })).toEqual(['2026-01-02', '2026-01-05']);
  expect(valuesOf('day', { day__not_in: '2026-01-02' })).toHaveLength(6);
  const morning = ask({ dimensions: 'day', hour__contains: 'T09:' });
  const byHour = ask({ dimensions: 'hour', hour__contains: 'T09:' });
  expect(byHour?.totals).toEqual(morning?.totals);
  expect(byHour?.rows.every((row) => textOf(row['hour']).includes('T09:'))).toBe(true);
});

test('the currency can be filtered like any dimension', () => {
  expect(ask({ currency_code__in: 'EUR' })).toBeNull();
  expect(ask({ currency_code__in: 'EUR', currency: 'EUR' })?.totals).toEqual(ask({})?.totals);
});

test.each([
  ['lt', (a: number, b: number) => a < b],
  ['lte', (a: number, b: number) => a <= b],
  ['gt', (a: number, b: number) => a > b],
  ['gte', (a: number, b: number) => a >= b],
  ['eq', (a: number, b: number) => a === b],
  ['ne', (a: number, b: number) => a !== b],
])('installs__%s, and the same of cost, compare the grouped rows, and totals are of what is left', (suffix, holds) => {
  const rows = ask({ dimensions: 'country', metrics: 'installs,cost' })?.rows ?? [];
  for (const metric of ['installs', 'cost']) {
    const values = rows.map((row) => Number(row[metric])).toSorted((a, b) => a - b);
    const limit = String(values[Math.floor(values.length / 2)]);
    const left = ask({ dimensions: 'country', metrics: 'installs,cost', [`${metric}__${suffix}`]: limit });
    const expected = rows.filter((row) => holds(Number(row[metric]), Number(limit)));
    expect(left?.rows).toEqual(expected);
    const sum = expected.reduce((all, row) => all + Number(row['installs']), 0);
    expect(left?.totals['installs']).toBe(sum);
  }
});

test('a metric that was not requested can be filtered by, and no comparison holds for a ratio of nothing', () => {
  const left = ask({ dimensions: 'network', ctr__gte: '0' });
  expect(left?.rows.length).toBeGreaterThan(0);
  expect(left?.rows.map((row) => row['network'])).not.toContain('Organic');
});

test('parameters the service does not know change nothing', () => {
  expect(ask({ offset: '10', page: '2', nonsense: '' })).toEqual(ask({}));
  expect(ask({ period_over_period: 'previous_week', index: 'os_name' })).toEqual(ask({}));
});

test('an unsupported metric is refused by name', () => {
  expect(refused({ metrics: 'installs,currency' })).toEqual({
    status: 400,
    body: {
      error_code: 'request_error',
      error_desc: 'Unsupported metric: currency loc=metrics',
      error_desc_details: null,
    },
  });
});

test.each([
  ['dimensions', 'day,nonsense'],
  ['index', 'nonsense'],
  ['nonsense__in', 'a'],
])('an unknown dimension in %s is refused by name', (parameter, value) => {
  expect(refused({ [parameter]: value })).toMatchObject({
    status: 400,
    body: { error_code: 'request_error', error_desc: `Unsupported dimension: nonsense loc=${parameter}` },
  });
});

test('a filter of an unknown metric is refused by name', () => {
  expect(refused({ nonsense__gt: '1' })).toMatchObject({
    status: 400,
    body: { error_desc: 'Unsupported metric: nonsense loc=nonsense__gt' },
  });
});

test.each([
  ['date_period', 'this_decade'],
  ['date_period', '2026-02-30:2026-03-01'],
  ['date_period', '2026-01-02:2026-01-01'],
  ['date_period', '2026-01-01'],
  ['date_period', '2026-01-01:2026-01-02:2026-01-03'],
  ['utc_offset', ' 02:00'],
  ['utc_offset', '2'],
  ['utc_offset', '+15:00'],
  ['cohort_maturity', 'ripe'],
  ['attribution_type', 'clicks'],
  ['attribution_source', 'last'],
  ['reattributed', 'yes'],
  ['iap_revenue_mode', 'GROSS_1'],
  ['ad_revenue_sources', 'unity_sdk,nonsense'],
  ['ad_spend_mode', 'both'],
  ['sandbox', 'maybe'],
  ['format_dates', 'iso'],
  ['period_over_period', 'next_week'],
  ['currency', 'XXX'],
  ['currency', 'usd'],
  ['sort', '-clicks'],
  ['limit', '0'],
  ['limit', 'ten'],
  ['installs__gt', 'many'],
])('%s=%s is refused with its place', (parameter, value) => {
  expect(refused({ [parameter]: value })).toMatchObject({
    status: 400,
    body: { detail: [{ loc: ['query', parameter], type: 'value_error' }] },
  });
});

test('missing required parameters are listed, all at once', () => {
  expect(refusal(new URLSearchParams({ dimensions: 'day' }))).toEqual({
    status: 400,
    body: {
      detail: [
        { loc: ['query', 'metrics'], msg: 'field required', type: 'value_error.missing' },
        { loc: ['query', 'date_period'], msg: 'field required', type: 'value_error.missing' },
      ],
    },
  });
});
