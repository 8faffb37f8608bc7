import { describe, expect, test } from 'vitest';

import { sliceFindings } from '../../src/commands/check-slice.ts';
import type { CatalogItem } from '../../src/model/catalog.ts';
import { parseDay, parseUtcOffset } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';

function item(filter: string, id: string, name = id): CatalogItem {
  return { filter, id, name, shortName: '', section: '', formatting: '', description: '' };
}

const catalog = [
  item('overview_metrics', 'installs'),
  item('cost_metrics', 'network_cost'),
  item('dimensions', 'day'),
  item('dimensions', 'os_name'),
  item('os_names', 'ios'),
  item('os_names', 'android'),
  item('apps', 'abc123def456', 'My App'),
  item('currencies', 'USD'),
];

function slice(change: Partial<Slice>): Slice {
  const [firstDay, offset] = [parseDay('2026-01-01'), parseUtcOffset('+00:00')];
  if (firstDay === null || offset === null) throw new Error('not a day or an offset');
  return {
    name: 's',
    dimensions: ['day', 'os_name'],
    metrics: ['installs'],
    grain: 'day',
    datePeriod: { first: { day: firstDay }, last: { daysAgo: 1 } },
    utcOffset: offset,
    parameters: {},
    refresh: 'milestones',
    horizons: [],
    settleMs: 0,
    lifetimeMs: 0,
    types: {},
    maxRejects: 0,
    additive: {},
    completeness: 'require',
    retainDays: null,
    ...change,
  };
}

describe('a slice held against filters-data', () => {
  test('one that names only what is listed has 0 findings', () => {
    const parameters = {
      os_name__in: 'ios,android',
      app_token__in: 'abc123def456',
      app__in: 'My App',
      currency: 'USD',
    };
    expect(sliceFindings(slice({ parameters }), catalog)).toStrictEqual([]);
  });

  test('an unknown metric is an error with the nearest name', () => {
    expect(sliceFindings(slice({ metrics: ['instals'] }), catalog)).toMatchObject([
      { severity: 'error', code: 'SOURCE_REFUSED', slice: 's', hint: 'Did you mean installs?' },
    ]);
  });

  test('an unknown metric in a metric filter is an error too', () => {
    const findings = sliceFindings(slice({ parameters: { clicks__gte: '1' } }), catalog);
    expect(findings).toMatchObject([{ severity: 'error' }]);
    expect(findings[0]?.message).toContain('clicks');
  });

  test('a dimension that is not listed is a warning, as the lists drift', () => {
    const findings = sliceFindings(slice({ dimensions: ['day', 'platform'] }), catalog);
    expect(findings).toMatchObject([{ severity: 'warning', code: null }]);
    expect(findings[0]?.message).toContain('platform');
  });

  test.each([
    ['os_name__in', 'ios,androd', 'androd', 'Did you mean android?'],
    ['os_name__not_in', 'andriod', 'andriod', 'Did you mean android?'],
    ['currency', 'UDS', 'UDS', 'Did you mean USD?'],
    ['app__in', 'My Ap', 'My Ap', 'Did you mean My App?'],
  ])('%s=%s names %s in a warning: %s', (key, value, unknown, hint) => {
    const findings = sliceFindings(slice({ parameters: { [key]: value } }), catalog);
    expect(findings).toMatchObject([{ severity: 'warning', hint }]);
    expect(findings[0]?.message).toContain(` ${unknown} `);
  });

  test.each([
    ['os_name__contains', 'whatever'],
    ['campaign__in', 'Summer (123)'],
    ['os_name__in', 'IOS'],
    ['utc_offset', '+00:00'],
  ])('%s=%s is not held against a list', (key, value) => {
    expect(sliceFindings(slice({ parameters: { [key]: value } }), catalog)).toStrictEqual([]);
  });

  test('a list that filters-data left empty proves nothing', () => {
    expect(sliceFindings(slice({ metrics: ['anything'], dimensions: ['region'] }), [])).toStrictEqual([]);
  });
});
