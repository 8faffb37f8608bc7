import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';

import { parseConfig } from '../../src/config/read-config.ts';
import { leftToService } from '../../src/config/report-settings.ts';
import { dimensionFilters, dimensions, metricFilters } from '../../src/model/dimension.ts';
import { metricsOf } from '../../src/model/metric.ts';
import type { DateBound, Slice } from '../../src/model/slice.ts';

const REQUIRED = {
  name: 'daily',
  dimensions: ['day'],
  metrics: ['installs'],
  date_period: '-7d:yesterday',
};

const ALWAYS_SENT = {
  attribution_source: 'dynamic',
  attribution_type: 'all',
  cohort_maturity: 'immature',
  sandbox: 'false',
  utc_offset: '+00:00',
};

function configOf(slice: object, defaults: object = {}) {
  const text = stringify({ service: 'simulator', defaults, slices: [{ ...REQUIRED, ...slice }] });
  return parseConfig(text, {
    file: '/somewhere/ripen.yaml',
    directory: '/somewhere',
    environment: {},
  });
}

function sliceOf(slice: object, defaults: object = {}): Slice {
  const [built] = configOf(slice, defaults).slices;
  if (built === undefined) throw new Error('no slice');
  return built;
}

describe('report parameters', () => {
  test('the five with a documented default are always stated, the four without are left and listed', () => {
    expect(sliceOf({}).parameters).toEqual(ALWAYS_SENT);
    expect(leftToService(sliceOf({}))).toEqual([
      'ad_spend_mode',
      'currency',
      'iap_revenue_mode',
      'reattributed',
    ]);
  });

  test('a dimension, filter, index and sort key that no document lists are sent as written; a text that is no list may hold a comma', () => {
    const { dimensions: names, parameters } = sliceOf({
      dimensions: ['day', 'sdk_version', 'a dimension/with: signs'],
      filters: { channel_id__in: ['1'], 'a b__contains': 'x,y' },
      index: ['sdk_version'],
      sort: ['-sdk_version', 'row count'],
    });
    expect(names).toEqual(['day', 'sdk_version', 'a dimension/with: signs']);
    expect(parameters).toMatchObject({
      channel_id__in: '1',
      'a b__contains': 'x,y',
      index: 'sdk_version',
      sort: '-sdk_version,row count',
    });
  });

  test('all 34 dimensions take all 8 suffixes, a metric all 6', () => {
    const texts = dimensions.flatMap((name) =>
      dimensionFilters.map((suffix) => `${name}__${suffix}: x`),
    );
    const numbers = metricFilters.map((suffix) => `dulci_purchase_d7_s2s__${suffix}: 1.5`);
    const filters = z
      .record(z.string(), z.unknown())
      .parse(parse([...texts, ...numbers].join('\n')));
    const { parameters } = sliceOf({ filters });
    expect(Object.keys(parameters)).toHaveLength(34 * 8 + 6 + 5);
    expect(parameters).toMatchObject({
      country_code__not_in: 'x',
      dulci_purchase_d7_s2s__ne: '1.5',
    });
  });

  test('null leaves a parameter out, whatever the defaults say; the others are sorted by name', () => {
    const { parameters } = sliceOf(
      { attribution_type: null, attribution_types: ['click', 'impression'], currency: null },
      { attribution_type: 'click', currency: 'EUR' },
    );
    const { attribution_type: _, ...others } = ALWAYS_SENT;
    expect(parameters).toEqual({ ...others, attribution_types: 'click,impression' });
    expect(Object.keys(parameters)).toEqual(Object.keys(parameters).toSorted());
  });

  test('a slice replaces what the defaults say, key by key: its filters stand in the place of theirs', () => {
    const { parameters, utcOffset } = sliceOf(
      { utc_offset: '+05:30', filters: { os_name__in: ['ios'] } },
      {
        utc_offset: '+01:00',
        currency: 'EUR',
        filters: { os_name__in: ['android'], installs__gte: 1 },
      },
    );
    expect(utcOffset).toBe('+05:30');
    expect(parameters).toEqual({
      ...ALWAYS_SENT,
      utc_offset: '+05:30',
      currency: 'EUR',
      os_name__in: 'ios',
    });
  });
});

const startOf = (bucket: 'week' | 'month', bucketsAgo: number, daysBefore: number): DateBound => ({
  startOf: bucket,
  bucketsAgo,
  daysBefore,
});

describe('a slice', () => {
  test.each([
    [['app', 'month', 'day'], 'day'],
    [['day', 'hour'], 'hour'],
    [['year', 'quarter'], 'quarter'],
    [['app'], null],
  ])('of %j has the grain %s', (names, grain) => {
    expect(sliceOf({ dimensions: names }).grain).toBe(grain);
  });

  test.each([
    ['2026-01-01:2026-01-01', { day: '2026-01-01' }, { day: '2026-01-01' }],
    ['-10d:-3d', { daysAgo: 10 }, { daysAgo: 3 }],
    ['-30d:0d', { daysAgo: 30 }, { daysAgo: 0 }],
    ['yesterday:today', { daysAgo: 1 }, { daysAgo: 0 }],
    ['2026-01-01:-0d', { day: '2026-01-01' }, { daysAgo: 0 }],
    ['1970-01-01:9999-12-31', { day: '1970-01-01' }, { day: '9999-12-31' }],
    ['month_start:yesterday', startOf('month', 0, 0), { daysAgo: 1 }],
    ['week_start:today', startOf('week', 0, 0), { daysAgo: 0 }],
    ['2026-01-01:month_start', { day: '2026-01-01' }, startOf('month', 0, 0)],
    ['today', { daysAgo: 0 }, { daysAgo: 0 }],
    ['yesterday', { daysAgo: 1 }, { daysAgo: 1 }],
    ['this_week', startOf('week', 0, 0), { daysAgo: 0 }],
    ['last_week', startOf('week', 1, 0), startOf('week', 0, 1)],
    ['this_month', startOf('month', 0, 0), { daysAgo: 0 }],
    ['last_month', startOf('month', 1, 0), startOf('month', 0, 1)],
    ['this_month_until_yesterday', startOf('month', 0, 0), { daysAgo: 1 }],
  ])('with the date period %s has both its ends', (text, first, last) => {
    expect(sliceOf({ date_period: text }).datePeriod).toEqual({ first, last });
  });

  test('has the horizons it states or else those of the defaults, settle and lifetime apart', () => {
    const day = 86_400_000;
    const defaults = { horizons: { settle: '2h', 'z_*': '3d' } };
    expect(
      sliceOf({ horizons: { b: '2d', 'a_*': '1d', lifetime: '90d' } }, defaults),
    ).toMatchObject({
      horizons: [
        { pattern: 'b', horizonMs: 2 * day },
        { pattern: 'a_*', horizonMs: day },
      ],
      settleMs: 3_600_000,
      lifetimeMs: 90 * day,
    });
    expect(sliceOf({}, defaults)).toMatchObject({
      horizons: [{ pattern: 'z_*', horizonMs: 3 * day }],
      settleMs: 7_200_000,
      lifetimeMs: 120 * day,
    });
  });

  test('takes every key but its name from the defaults; what is wrong there is told there, once', () => {
    const { name: _, ...others } = REQUIRED;
    const stated = { ...others, types: { installs: 'DOUBLE' }, additive: { installs: false } };
    const text = stringify({
      service: 'simulator',
      defaults: stated,
      slices: [{ name: 'one' }, { name: 'two' }],
    });
    const source = { file: '/somewhere/ripen.yaml', directory: '/somewhere', environment: {} };
    expect(parseConfig(text, source).slices).toMatchObject([
      { name: 'one', metrics: ['installs'], types: { installs: 'DOUBLE' } },
      { name: 'two', dimensions: ['day'], additive: { installs: false } },
    ]);
    const wrong = text.replace('- installs', '- day').replace('date_period', 'date_perid');
    expect(() => parseConfig(wrong, source)).toThrow(
      /^ripen\.yaml:6:7: defaults\.metrics\[0\]: "day" is the name of a date dimension[^\n]*\nripen\.yaml:7:3: defaults\.date_perid: is not a known key; .* did you mean date_period\?$/,
    );
    expect(() => parseConfig(text.replace('defaults:', 'defaults:\n  name: x'), source)).toThrow(
      'defaults.name: is not a known key',
    );
  });

  test('settles in 1h, lives 120d, is refreshed at milestones and tolerates 0 rejects unless it or the defaults say otherwise', () => {
    expect(sliceOf({})).toMatchObject({
      settleMs: 3_600_000,
      lifetimeMs: 120 * 86_400_000,
      refresh: 'milestones',
      maxRejects: 0,
      weekStartsOn: 1,
      types: {},
      additive: {},
      completeness: 'require',
      retainDays: null,
      horizons: [],
    });
    const own = {
      refresh: [1, 2, 30],
      retain: '48h',
      additive: { revenue: false, constructor: false },
    };
    const defaults = {
      refresh: 'nightly',
      retain: '400d',
      max_rejects: 5,
      week_starts_on: 'saturday',
      completeness: 'warn',
    };
    expect(sliceOf({ ...own, types: { installs: 'decimal(18, 6)' } }, defaults)).toMatchObject({
      refresh: [1, 2, 30],
      maxRejects: 5,
      weekStartsOn: 6,
      types: { installs: 'DECIMAL(18,6)' },
      additive: { revenue: false, constructor: false },
      completeness: 'warn',
      retainDays: 2,
    });
  });

  test('may ask for metrics with the names constructor, __proto__, _odd, window_no, period and row count', () => {
    const metrics = ['constructor', '__proto__', '_odd', 'window_no', 'period', 'row count'];
    const built = sliceOf({ metrics, types: { constructor: 'DOUBLE' } });
    expect(built.metrics).toEqual(metrics);
    expect(metricsOf(built, []).map(({ id, type }) => [id, type.kind])).toEqual(
      metrics.map((id) => [id, 'DOUBLE']),
    );
  });
});
