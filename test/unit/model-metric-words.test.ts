/** What decides on a metric: the catalog where it knows, else whole words of its name. */

import { describe, expect, test } from 'vitest';

import { MS_PER_DAY } from '../../src/model/calendar.ts';
import { metricFilterNames, type CatalogItem } from '../../src/model/catalog.ts';
import { formatColumnType } from '../../src/model/column-type.ts';
import { catalogItemOf, metricItems, metricOf } from '../../src/model/metric.ts';

const item = (id: string, change: Partial<CatalogItem> = {}): CatalogItem => ({
  filter: 'overview_metrics',
  id,
  name: '',
  shortName: '',
  section: '',
  formatting: 'decimal',
  description: '',
  ...change,
});

const known = (id: string, ...items: CatalogItem[]): [string, number | null, boolean, string] => {
  const { family, horizonMs, additive, type } = metricOf(id, items);
  return [family, horizonMs === null ? null : horizonMs / MS_PER_DAY, additive, formatColumnType(type)];
};

describe('without a catalog', () => {
  test.each([
    ['installs', 'other', 7],
    ['cohort_size_d7', 'cohort', 8],
    ['revenue_d0', 'cohort', 7],
    ['network_cost', 'spend', 14],
    ['roas_d30', 'spend', 31],
    ['skad_installs', 'conversion_value', 42],
    ['conversion_value', 'conversion_value', 42],
    ['conversion_values', 'conversion_value', 42],
    ['conversion_63', 'conversion_value', 42],
    ['lifetime_value', 'lifetime', null],
    ['cohort_size', 'lifetime', null],
  ])('%s is of the family %s, which settles in %j days', (id, family, days) => {
    expect(known(id).slice(0, 2)).toEqual([family, days]);
  });

  test.each([
    ['level_d400', 401],
    ['level_d401', 7],
    ['level_w104', 736],
    ['level_w105', 7],
    ['level_m60', 1831],
    ['level_m61', 7],
  ])('%s settles in %i days: a longer period than the service has is none', (id, days) => {
    expect(known(id)[1]).toBe(days);
  });

  test.each([
    'social_network_installs',
    'users_networked',
    'old_skad_total',
    'post_conversion_3',
    'conversion_3_extra',
    'users_skanned',
    'old_cohort_count',
  ])('%s is of no special family, as its words only look like those that are', (id) => {
    expect(known(id).slice(0, 2)).toEqual(['other', 7]);
  });

  test('a return on spend that is not of the lifetime settles as spend does', () => {
    expect(known('net_roas')).toEqual(['spend', 14, false, 'DOUBLE']);
  });

  test.each(['cpi', 'cpc', 'cpm', 'cpa', 'dau', 'daus', 'wau', 'waus', 'mau', 'maus'])('%s does not add up', (id) => {
    expect(known(id).slice(2)).toEqual([false, 'DOUBLE']);
  });

  test.each(['completion_percent', 'completion_percentage', 'mavg_7_installs', 'revenue_per_user'])(
    '%s does not add up',
    (id) => {
      expect(known(id)[2]).toBe(false);
    },
  );

  test.each(['conversion_3', 'conversion_63', 'conversion_value_3', 'skad_conversion_value_63', 'skad_payloads'])(
    '%s is a count',
    (id) => {
      expect(known(id)[3]).toBe('BIGINT');
    },
  );

  test.each([
    'preinstalls',
    'events_quality',
    'non_organic_value',
    'post_conversion_3',
    'conversion_3_extra',
    'valid_payloads_total',
  ])('%s is no count, as its words only look like those that are', (id) => {
    expect(known(id).slice(2)).toEqual([true, 'DOUBLE']);
  });

  test('xmavg_installs adds up: only a whole word makes a moving average', () => {
    expect(known('xmavg_installs').slice(2)).toEqual([true, 'BIGINT']);
  });
});

describe('the catalog knows better than the name', () => {
  test.each<[string, Partial<CatalogItem>, string, number]>([
    ['its list of costs', { filter: 'cost_metrics' }, 'spend', 14],
    ['its section Cost', { section: 'Cost' }, 'spend', 14],
    ['its list of install-framework metrics', { filter: 'skad_metrics' }, 'conversion_value', 42],
    ['its section Conversion Values', { section: 'Conversion Values' }, 'conversion_value', 42],
    ['any other list', { filter: 'cohort_metrics' }, 'other', 7],
  ])('%s makes `alpha` settle as it does', (_, change, family, days) => {
    expect(known('alpha', item('alpha', change)).slice(0, 2)).toEqual([family, days]);
  });

  test.each([
    ['alpha', 'integer', true, 'BIGINT'],
    ['alpha', 'money', true, 'DECIMAL(18,6)'],
    ['alpha', 'money_precise', true, 'DECIMAL(18,6)'],
    ['alpha', 'decimal', true, 'DOUBLE'],
    ['alpha', 'timeperiod', true, 'DOUBLE'],
    ['revenue', 'decimal', true, 'DECIMAL(18,6)'],
    ['revenue', 'timeperiod', true, 'DOUBLE'],
    ['installs', 'percent', false, 'DOUBLE'],
    ['installs', 'select', false, 'DOUBLE'],
    ['installs', 'string', false, 'DOUBLE'],
    ['retention_rate', 'integer', false, 'DOUBLE'],
  ])('%s, formatted as %s, adds up: %j, and is stored as %s', (id, formatting, additive, type) => {
    expect(known(id, item(id, { formatting })).slice(2)).toEqual([additive, type]);
  });

  test.each([
    ['conversion_rate_events', true],
    ['high_rate_cohort_events', true],
    ['shots_per_game2_events', true],
    ['purchase_rate_cohort', false],
    ['purchase_cost_cohort', false],
    ['purchase_revenue_per_user', false],
  ])('an event called %s adds up: %j, by what follows its own words alone', (id, additive) => {
    expect(known(id, item(id, { filter: 'event_metrics' }))[2]).toBe(additive);
  });
});

describe('a metric in several lists', () => {
  /** From the most specific to the least. */
  const order = ['event_metrics', 'cohort_metrics', 'skad_metrics', 'cost_metrics', 'overview_metrics', 'etl_metrics'];

  test('is what the most specific of the 6 lists says, wherever that one stands', () => {
    expect([...order].sort()).toEqual([...metricFilterNames].sort());
    for (const [rank, best] of order.entries()) {
      const others = order.slice(rank + 1).map((filter) => item('alpha', { filter }));
      for (let at = 0; at <= others.length; at += 1) {
        const catalog = others.toSpliced(at, 0, item('alpha', { filter: best }));
        expect(catalogItemOf('alpha', catalog)?.filter).toBe(best);
        expect(metricItems(catalog).get('alpha')?.filter).toBe(best);
      }
    }
  });

  test('is no item of another list, nor of another id', () => {
    const catalog = [item('alpha', { filter: 'dimensions' }), item('beta'), item('gamma', { filter: 'apps' })];
    expect(catalogItemOf('alpha', catalog)).toBeNull();
    expect([...metricItems(catalog).keys()]).toEqual(['beta']);
  });
});
