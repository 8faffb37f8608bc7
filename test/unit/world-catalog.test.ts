import { expect, test } from 'vitest';
import { catalogFilters, catalogSections, metricFilterNames } from '../../src/model/catalog.ts';
import { dimensions } from '../../src/model/dimension.ts';
import { createWorld, RequestRefused } from '../support/simulator/world.ts';
import type { FilterItem } from '../support/simulator/world.ts';

/** A cell as text, whichever of its forms it has. */
const textOf = (cell: unknown): string => (typeof cell === 'string' ? cell : JSON.stringify(cell ?? ''));

const world = createWorld();

function list(filter: string, parameters: Record<string, string> = {}): readonly FilterItem[] {
  return world.filtersData(new URLSearchParams({ required_filters: filter, ...parameters }))[filter] ?? [];
}

const idsOf = (items: readonly FilterItem[]): string[] => items.map((item) => item.id);

test.each(catalogFilters)('%s lists items with every field, each id once', (filter) => {
  const items = list(filter);
  expect(items.length).toBeGreaterThan(0);
  expect(new Set(idsOf(items)).size).toBe(items.length);
  for (const item of items.slice(0, 50)) {
    expect(Object.keys(item)).toEqual([
      'id',
      'name',
      'short_name',
      'section',
      'formatting',
      'description',
      'increase_is_negative',
    ]);
  }
});

test('several filters come in one answer, under their names', () => {
  const answer = world.filtersData(new URLSearchParams({ required_filters: 'apps,dimensions' }));
  expect(Object.keys(answer)).toEqual(['apps', 'dimensions']);
  expect(idsOf(answer['apps'] ?? [])).toEqual(world.apps.map((app) => app.token));
  expect(idsOf(answer['dimensions'] ?? [])).toEqual([...dimensions]);
});

test('cohort_metrics lists every family for d0 to d120, w0 to w52 and m0 to m36', () => {
  const ids = new Set(idsOf(list('cohort_metrics')));
  const families =
    'retained_users cohort_size revenue revenue_total ad_revenue ad_revenue_total all_revenue_total ' +
    'all_revenue_total_in_cohort paying_users roas roas_ad revenue_per_user time_spent sessions retention_rate';
  for (const family of families.split(' ')) {
    for (const period of ['d0', 'd120', 'w0', 'w52', 'm0', 'm36']) expect(ids).toContain(`${family}_${period}`);
  }
  expect(ids.size).toBe(15 * (121 + 53 + 37));
});

test('event_metrics holds slugs with a space, with a hash, and with what looks like a period', () => {
  const ids = idsOf(list('event_metrics'));
  for (const slug of ['first purchase', 'sign_up_a1b2c3', 'dulci_purchase_d7_s2s']) {
    for (const form of ['events', 'revenue', 'd7_events_cohort', 'm3_conversions_cohort']) {
      expect(ids).toContain(`${slug}_${form}`);
    }
  }
});

test('the metrics of the interface document are there', () => {
  const ids = new Set(metricFilterNames.flatMap((filter) => idsOf(list(filter))));
  const wanted =
    'installs clicks impressions sessions reattributions uninstalls rejected_installs_anon_ip cost adjust_cost ' +
    'install_cost click_cost impression_cost event_cost network_cost network_installs network_clicks ' +
    'network_impressions network_cost_diff network_installs_diff ecpi ecpi_all ecpm ctr network_ecpi ecpi_network ' +
    'revenue ad_revenue all_revenue revenue_events cohort_revenue roas daus waus maus arpdau skad_installs ' +
    'skad_conversion_value_0 skad_conversion_value_63 conversion_value_total cohort_size';
  for (const id of wanted.split(' ')) expect(ids).toContain(id);
});

test('every metric listed can be reported, and its value is a number, empty or null', () => {
  const ids = [...new Set(metricFilterNames.flatMap((filter) => idsOf(list(filter))))];
  const query = new URLSearchParams({
    dimensions: 'country_code',
    metrics: ids.join(','),
    date_period: '2024-01-01:2024-01-01',
    country_code__in: 'US',
    attribution_type: 'all',
  });
  const report = world.report(query, new Date('2028-01-01T00:00:00Z'));
  expect(ids.length).toBeGreaterThan(5_000);
  const row = report?.rows[0] ?? {};
  expect(ids.filter((id) => !/^(-?\d+(\.\d+)?(e-\d+)?)?$/.test(textOf(row[id])))).toEqual([]);
  expect(ids.filter((id) => !Number.isFinite(report?.totals[id]))).toEqual([]);
});

test('section limits items, whatever its spelling in the items', () => {
  const sections = new Set(list('skad_metrics', { section: 'conversion_values' }).map((item) => item.section));
  expect(sections).toEqual(new Set(['Conversion Values']));
  expect(list('cohort_metrics', { section: 'fraud' })).toEqual([]);
});

test('__contains finds parts of ids and of names, and takes no notice of case', () => {
  expect(idsOf(list('countries', { countries__contains: 'GERM' }))).toEqual(['DE']);
  expect(idsOf(list('cost_metrics', { cost_metrics__contains: 'network_COST_d' }))).toEqual(['network_cost_diff']);
  expect(list('countries', { currencies__contains: 'euro' }).length).toBe(list('countries').length);
});

test.each([
  [{ required_filters: 'apps,nonsense' }, 'required_filters', 'is not valid', 'value_error'],
  [{}, 'required_filters', 'field required', 'value_error.missing'],
  [
    { required_filters: 'apps', section: 'Cost' },
    'section',
    `value is not a valid enumeration member; permitted: ${catalogSections.join(', ')}`,
    'value_error',
  ],
])('%j is refused with 400', (parameters, parameter, msg, type) => {
  const query = new URLSearchParams(Object.entries(parameters));
  const ask = (): unknown => world.filtersData(query);
  expect(ask).toThrow(RequestRefused);
  expect(ask).toThrow(
    expect.objectContaining({ status: 400, body: { detail: [{ loc: ['query', parameter], msg, type }] } }),
  );
});
