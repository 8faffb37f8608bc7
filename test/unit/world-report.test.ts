import { expect, test } from 'vitest';
import { dimensions } from '../../src/model/dimension.ts';
import { createWorld } from '../support/simulator/world.ts';
import type { Report, World } from '../support/simulator/world.ts';

/** A cell as text, whichever of its forms it has. */
const textOf = (cell: unknown): string => (typeof cell === 'string' ? cell : JSON.stringify(cell ?? ''));

const now = new Date('2026-06-01T03:00:00Z');
const world = createWorld();

function ask(parameters: Record<string, string>, of: World = world, at = now): Report | null {
  const query = new URLSearchParams({
    dimensions: 'day',
    metrics: 'installs',
    date_period: '2026-01-01:2026-01-07',
    attribution_type: 'all',
    format_dates: 'false',
    ...parameters,
  });
  return of.report(query, at);
}

const rowsOf = (parameters: Record<string, string>): Report['rows'] => ask(parameters)?.rows ?? [];
const total = (metric: string, parameters: Record<string, string> = {}): number =>
  ask({ metrics: metric, ...parameters })?.totals[metric] ?? 0;

test('two worlds of the same options answer alike, byte for byte, in whatever order they are asked', () => {
  const parameters = { dimensions: 'hour,campaign', metrics: 'installs,cost,roas_d7,skad_installs' };
  const other = createWorld();
  ask({ date_period: '2026-03-01:2026-03-31' }, other);
  expect(JSON.stringify(ask(parameters, other))).toBe(JSON.stringify(ask(parameters)));
});

test('another seed makes another world', () => {
  expect(ask({}, createWorld({ seed: 2 }))?.totals).not.toEqual(ask({})?.totals);
});

test('a row carries attr_dependency, then every dimension and metric in the order requested', () => {
  const [row] = rowsOf({ dimensions: dimensions.join(','), metrics: 'cost,installs' });
  expect(Object.keys(row ?? {})).toEqual(['attr_dependency', ...dimensions, 'cost', 'installs']);
});

test.each([
  ['hour', '2026-01-01T00:00:00'],
  ['day', '2026-01-01'],
  ['week', '2025-12-29 - 2026-01-04'],
  ['month', '2026-01'],
  ['quarter', 'Q1 2026'],
  ['year', '2026'],
])('the first %s of 2026 reads %s', (dimension, expected) => {
  const texts = rowsOf({ dimensions: dimension }).map((row) => row[dimension]);
  expect(texts[0]).toBe(expected);
  expect(new Set(texts).size).toBe(texts.length);
});

test('weeks begin on Sunday in a world that says so', () => {
  const report = ask({ dimensions: 'week' }, createWorld({ weekStartsOn: 0 }));
  expect(report?.rows[0]?.['week']).toBe('2025-12-28 - 2026-01-03');
});

test('dates are written for people unless format_dates is false', () => {
  const [row] = rowsOf({ dimensions: 'hour,day,week,month', format_dates: 'true' });
  expect(row?.['day']).toBe('01/01/2026');
  expect(row?.['hour']).toMatch(/^01\/01\/2026 \d\d:00$/);
  expect(row?.['week']).toBe('12/29/2025 - 01/04/2026');
  expect(row?.['month']).toBe('January 2026');
});

test('under +05:30 hours are labelled :30, and all of them lie inside the days asked for', () => {
  const hours = rowsOf({ dimensions: 'hour', utc_offset: '+05:30' }).map((row) => textOf(row['hour']));
  expect(hours.length).toBeGreaterThan(100);
  for (const hour of hours) expect(hour).toMatch(/^2026-01-0[1-7]T\d\d:30:00$/);
});

test('an organic row belongs to partner -300, which the partner list does not have', () => {
  const [row] = rowsOf({ dimensions: 'partner_name,network,campaign', network__in: 'Organic' });
  expect(row).toMatchObject({
    partner_name: 'Organic',
    campaign: 'unknown',
    attr_dependency: { partner_id: '-300', partner: 'Organic', campaign_id_network: 'unknown' },
  });
  expect(world.partners.map((partner) => partner.id)).not.toContain(-300);
});

test('attr_dependency is empty without named entities, and flat, a list or a nested map with them', () => {
  for (const row of rowsOf({ dimensions: 'day,country_code' })) expect(row['attr_dependency']).toEqual({});
  const named = rowsOf({ dimensions: 'country,campaign,channel' }).map((row) => JSON.stringify(row['attr_dependency']));
  expect(named.some((text) => text.startsWith('{"campaign_id_network":"'))).toBe(true);
  expect(named.some((text) => text.startsWith('{"campaign_id_network":["'))).toBe(true);
  expect(named.every((text) => /"channel":\{".+":\["/.test(text))).toBe(true);
});

test.each(['app', 'campaign', 'adgroup', 'creative', 'channel', 'hour,campaign', 'partner_name,creative'])(
  'no two rows by %s have the same dimensions and attr_dependency',
  (list) => {
    const named = list.split(',');
    const keys = rowsOf({ dimensions: list }).map((row) =>
      JSON.stringify([row['attr_dependency'], ...named.map((dimension) => row[dimension])]),
    );
    expect(keys.length).toBeGreaterThan(1);
    expect(new Set(keys).size).toBe(keys.length);
  },
);

test('most values are strings, about 1 in 50 a number, and every integer form means the same integer', () => {
  const cells = rowsOf({ dimensions: 'day,country,network,os_name', metrics: 'installs,clicks,sessions' }).flatMap(
    (row) => [row['installs'], row['clicks'], row['sessions']],
  );
  const numbers = cells.filter((cell) => typeof cell === 'number').length / cells.length;
  expect(numbers).toBeGreaterThan(0.01);
  expect(numbers).toBeLessThan(0.04);
  expect(cells.some((cell) => typeof cell === 'string' && cell.endsWith('.0'))).toBe(true);
  for (const cell of cells) expect(textOf(cell)).toMatch(/^\d+(\.0)?$/);
});

test('money is exact to 2 to 6 decimals, and a ratio of nothing is null or empty', () => {
  const rows = rowsOf({ dimensions: 'day,country,network', metrics: 'cost,revenue,ctr' });
  for (const row of rows) expect(textOf(row['revenue'])).toMatch(/^\d+(\.\d{1,6})?$/);
  const organic = rows.filter((row) => row['network'] === 'Organic').map((row) => row['ctr']);
  expect(new Set(organic)).toEqual(new Set([null, '']));
});

test('cost is the sum of its four kinds, and under ad_spend_mode=network what networks report', () => {
  const kinds = ['install_cost', 'click_cost', 'impression_cost', 'event_cost'].map((kind) => total(kind));
  expect(kinds.reduce((sum, kind) => sum + kind, 0)).toBeCloseTo(total('cost'), 5);
  expect(total('cost', { ad_spend_mode: 'adjust' })).toBe(total('adjust_cost'));
  expect(total('cost', { ad_spend_mode: 'network' })).toBe(total('network_cost'));
  const mixed = total('cost', { ad_spend_mode: 'mixed' });
  expect([total('cost'), total('network_cost')]).not.toContain(mixed);
});

test('EUR is 0.92 of USD, GROSS_50 half the revenue, and neither changes counts', () => {
  expect(total('cost', { currency: 'EUR' }) / total('cost')).toBeCloseTo(0.92, 5);
  expect(total('revenue', { iap_revenue_mode: 'GROSS_50' }) / total('revenue')).toBeCloseTo(0.5, 5);
  expect(total('installs', { currency: 'EUR', iap_revenue_mode: 'GROSS_50' })).toBe(total('installs'));
  expect(rowsOf({ dimensions: 'currency,currency_code', currency: 'EUR' })[0]).toMatchObject({
    currency: 'Euro',
    currency_code: 'EUR',
  });
});

test('parts of closed parameters add up: attribution types, reattributed, operating systems, revenue sources', () => {
  const sum = (metric: string, name: string, values: readonly string[]): number =>
    values.reduce((all, value) => all + total(metric, { [name]: value }), 0);
  const systems = [...new Set(rowsOf({ dimensions: 'os_name' }).map((row) => textOf(row['os_name'])))];
  const sources = ['admost_sdk', 'applovin_max_sdk', 'ironsource_sdk', 'unity_sdk'];
  expect(systems.length).toBeGreaterThan(2);
  expect(sum('installs', 'attribution_type', ['click', 'impression'])).toBe(total('installs'));
  expect(sum('installs', 'reattributed', ['true', 'false'])).toBe(total('installs'));
  expect(sum('installs', 'os_names', systems)).toBe(total('installs'));
  expect(sum('ad_revenue', 'ad_revenue_sources', sources)).toBeCloseTo(total('ad_revenue'), 5);
});

test('left out, attribution_type counts clicks only', () => {
  const query = new URLSearchParams({
    dimensions: 'day',
    metrics: 'installs',
    date_period: '2026-01-01:2026-01-07',
  });
  expect(world.report(query, now)?.totals['installs']).toBe(total('installs', { attribution_type: 'click' }));
  expect(total('installs', { attribution_type: 'click' })).toBeLessThan(total('installs'));
});

test('attribution_source=first credits reattributed users to Organic and loses none', () => {
  expect(total('installs', { attribution_source: 'first' })).toBe(total('installs'));
  const organic = { network__in: 'Organic' };
  expect(total('installs', { ...organic, attribution_source: 'first' })).toBeGreaterThan(total('installs', organic));
});

test('the sandbox is another, smaller world', () => {
  expect(total('installs', { sandbox: 'true' })).toBeGreaterThan(0);
  expect(total('installs', { sandbox: 'true' })).toBeLessThan(total('installs') / 5);
});

test('under cohort_maturity=mature cumulative values of incomplete cohorts are 0.0 or null, and missing from totals', () => {
  const parameters = { metrics: 'revenue_total_d7,revenue_d7,installs', date_period: '2026-05-20:2026-05-31' };
  const open = ask(parameters);
  const mature = ask({ ...parameters, cohort_maturity: 'mature' });
  const withheld = (mature?.rows ?? []).map(
    (row) => row['revenue_total_d7'] === '0.0' || row['revenue_total_d7'] === null,
  );
  expect(withheld).toEqual([false, false, false, false, true, true, true, true, true, true, true, true]);
  expect(mature?.rows.slice(0, 4)).toEqual(open?.rows.slice(0, 4));
  expect(mature?.totals['revenue_total_d7']).toBeLessThan(open?.totals['revenue_total_d7'] ?? 0);
  expect(mature?.totals['revenue_d7']).toBe(open?.totals['revenue_d7']);
});

test('rows are sorted by several keys, descending with a minus', () => {
  const rows = rowsOf({ dimensions: 'day,os_name', sort: '-day,installs' });
  const keys = rows.map((row): [string, number] => [textOf(row['day']), Number(row['installs'])]);
  const expected = keys.toSorted(([a, n], [b, m]) => (a === b ? n - m : a < b ? 1 : -1));
  expect(keys).toEqual(expected);
  expect(keys[0]?.[0]).toBe('2026-01-07');
});

test('a limit cuts rows, keeps totals, and is warned of', () => {
  const whole = ask({});
  const cut = ask({ limit: '2' });
  expect(cut?.rows).toEqual(whole?.rows.slice(0, 2));
  expect(cut?.totals).toEqual(whole?.totals);
  expect(cut).toMatchObject({ warnings: [expect.stringContaining('limited to 2 rows')], pagination: null });
  expect(whole).toMatchObject({ warnings: [] });
});

test('nothing exists before 2022, after now, or where no row passes: the answer is null', () => {
  expect(ask({ date_period: '2021-12-01:2021-12-31' })).toBeNull();
  expect(ask({ date_period: '2026-06-02:2026-06-30' })).toBeNull();
  expect(ask({ country_code__in: 'nowhere' })).toBeNull();
  const today = ask({ dimensions: 'hour', date_period: '2026-06-01:2026-06-01' });
  for (const row of today?.rows ?? []) expect(textOf(row['hour']) <= '2026-06-01T03:00:00').toBe(true);
});

test.each([
  ['-10d:-3d', '2026-05-22', '2026-05-29'],
  ['2026-05-01:-30d', '2026-05-01', '2026-05-02'],
  ['yesterday', '2026-05-31', '2026-05-31'],
  ['last_week', '2026-05-25', '2026-05-31'],
  ['last_month', '2026-05-01', '2026-05-31'],
])('date_period %s is %s to %s on 1 June 2026', (period, first, last) => {
  const days = rowsOf({ date_period: period }).map((row) => row['day']);
  expect([days[0], days.at(-1)]).toEqual([first, last]);
});
