/** Slices held against filters-data and against the calendar, each remark at the place of its setting. */

import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';

import { catalogLists } from '../../src/check/catalog-lists.ts';
import { scheduleRemarks } from '../../src/check/schedule.ts';
import { sliceRemarks } from '../../src/check/slice.ts';
import { placed, toldOnce, type Finding } from '../../src/check/finding.ts';
import { inspectText } from '../../src/config/read-config.ts';
import type { Catalog, CatalogItem } from '../../src/model/catalog.ts';
import { metricsOf } from '../../src/model/metric.ts';

function item(filter: string, id: string, name = id): CatalogItem {
  return { filter, id, name, shortName: '', section: '', formatting: '', description: '' };
}

const metricLists = [
  item('overview_metrics', 'installs'),
  item('overview_metrics', 'clicks'),
  item('cost_metrics', 'network_cost'),
  item('skad_metrics', 'skad_installs'),
  item('cohort_metrics', 'cohort_size_d7'),
  item('cohort_metrics', 'constructor'),
  item('event_metrics', 'row count'),
  item('etl_metrics', 'sessions'),
];

const catalog = [
  ...metricLists,
  item('dimensions', 'day'),
  item('dimensions', 'os_name'),
  item('dimensions', 'sdk_version'),
  item('os_names', 'ios'),
  item('os_names', 'android'),
  item('apps', 'abc123def456', 'My App'),
  item('partners', '17', 'Some Partner'),
  item('currencies', 'USD'),
  item('utc_offset', '+00:00'),
  item('utc_offset', '+01:00'),
  item('ad_revenue_sources', 'one'),
  item('cohort_maturity', 'fully_mature'),
  item('index', 'day'),
];

const NOW = new Date('2026-03-05T02:30:00Z');
const REQUIRED = { name: 'daily', dimensions: ['day', 'os_name'], metrics: ['installs'], date_period: '-7d:yesterday' };
const SETTLED = { cohort_maturity: 'fully_mature', sort: ['day'] };

/** What is found at an instant of slices with these settings besides the required ones; lines and columns are those of `stringify`. */
function findingsOf(slices: readonly object[], items: Catalog = catalog, defaults: object = {}): Finding[] {
  const text = stringify({
    service: 'simulator',
    defaults,
    slices: slices.map((settings) => ({ ...REQUIRED, ...SETTLED, ...settings })),
  });
  const { config, stated } = inspectText(text, { file: 'ripen.yaml', directory: '', environment: {} });
  const lists = catalogLists(items);
  const found = config.slices.flatMap((slice, index) => {
    const checked = { slice, index, stated };
    const remarks = [...sliceRemarks(checked, lists), ...scheduleRemarks(checked, metricsOf(slice, items), NOW)];
    return placed(remarks, slice.name, stated);
  });
  return toldOnce(found);
}

const found = (settings: object, items: Catalog = catalog): Finding[] => findingsOf([settings], items);

describe('a slice held against filters-data', () => {
  test('one that names only what is listed, or what rows say of organic users, has 0 findings', () => {
    const filters = {
      os_name__in: ['ios', 'android'],
      app_token__in: ['abc123def456'],
      app__in: ['My App'],
      partner_id__not_in: [17, -300],
      partner_name__in: ['Organic'],
      installs__gte: 1,
      'row count__lt': '-1.5e3',
      sdk_version__starts_with: '4',
      campaign__in: ['Summer (123)'],
      os_name__contains: 'whatever',
    };
    const dimensions = ['day', 'os_name', 'sdk_version'];
    const metrics = ['installs', 'constructor', 'row count'];
    const settings = { filters, dimensions, metrics, currency: 'USD', utc_offset: '+01:00', sort: ['-row count'] };
    expect(found(settings)).toStrictEqual([]);
  });

  test('an unknown metric is an error with the nearest name, at its line and column', () => {
    expect(found({ metrics: ['clicks', 'instals'] })).toStrictEqual([
      {
        severity: 'error',
        code: 'SOURCE_REFUSED',
        slice: 'daily',
        setting: 'slices[0].metrics[1]',
        place: 'ripen.yaml:10:9',
        message: 'filters-data listed no metric instals; the service would refuse the whole report',
        hint: 'Did you mean installs?',
      },
    ]);
  });

  test.each([
    [['installs', 'instals'], 'Remove it; installs is asked for already.'],
    [['installs', 'os_name2'], 'Correct or remove it; `ripen catalog WORD` searches the metrics.'],
    [['installs', 'sdk_version'], 'It is a dimension: move it to dimensions.'],
    [['installs', 'country'], 'It is a dimension: move it to dimensions.'],
  ])('of the metrics %j the last is refused, and the advice helps: %s', (metrics, hint) => {
    expect(found({ metrics })).toMatchObject([{ severity: 'error', hint }]);
  });

  test('a metric in other letters than listed is a warning', () => {
    expect(found({ metrics: ['Clicks'] })).toMatchObject([
      { severity: 'warning', setting: 'slices[0].metrics[0]', hint: 'Did you mean clicks?' },
    ]);
  });

  test('with 1 of the 6 lists of metrics empty an unknown metric is a warning that names the list', () => {
    const without = catalog.filter(({ filter }) => filter !== 'event_metrics');
    const [finding, ...more] = found({ metrics: ['instals'] }, without);
    expect(finding).toMatchObject({ severity: 'warning', code: null, hint: 'Did you mean installs?' });
    expect(finding?.message).toContain('nothing at all under event_metrics');
    expect(more).toEqual([]);
  });

  test('an unknown metric in a metric filter is an error at the key, with the nearest filter', () => {
    expect(found({ filters: { clikcs__gte: 1 } })).toMatchObject([
      { severity: 'error', setting: 'slices[0].filters.clikcs__gte', hint: 'Did you mean clicks__gte?' },
    ]);
  });

  test('a dimension that is not listed is a warning, as the lists drift', () => {
    const [finding] = found({ dimensions: ['day', 'platform'] });
    expect(finding).toMatchObject({ severity: 'warning', code: null, setting: 'slices[0].dimensions[1]' });
    expect(finding?.message).toContain('platform');
  });

  test.each([
    ['contry_code', 'Did you mean country_code?'],
    ['a_new_one', null],
  ])('while filters-data lists no dimension, %s is held against the documented ones: %s', (name, hint) => {
    const dimensions = ['day', name, 'region'];
    const findings = found({ dimensions, cohort_maturity: 'mature' }, metricLists);
    expect(findings).toMatchObject([{ severity: 'warning', setting: 'slices[0].dimensions[1]', hint }]);
  });

  test.each([
    [{ installs__in: ['1'] }, 'It is a metric: its filters end in lt, lte, gt, gte, eq, ne.'],
    [{ sdk_versoin__in: ['1'] }, 'Did you mean sdk_version__in?'],
    [{ channel_id__in: ['1'] }, '`ripen catalog WORD` searches the dimensions.'],
    [
      { sdk_version__gte: 1 },
      'It is a dimension: its filters end in in, not_in, contains, exclude, starts_with, not_starts_with, ends_with, not_ends_with.',
    ],
  ])('a filter %j by what is not listed is told with what would work: %s', (filters, hint) => {
    expect(found({ filters }).map((finding) => finding.hint)).toEqual([hint]);
  });

  test.each([
    [{ filters: { os_name__in: ['ios', 'androd'] } }, 'filters.os_name__in[1]', 'Did you mean android?'],
    [{ filters: { os_name__not_in: ['andriod'] } }, 'filters.os_name__not_in[0]', 'Did you mean android?'],
    [{ filters: { os_name__in: ['IOS'] } }, 'filters.os_name__in[0]', 'Did you mean ios?'],
    [{ filters: { os_name__in: ['ios', 'IOS'] } }, 'filters.os_name__in[1]', 'Remove IOS.'],
    [{ filters: { os_name__in: ['android', 'andriod'] } }, 'filters.os_name__in[1]', null],
    [{ filters: { app__in: ['My Ap'] } }, 'filters.app__in[0]', 'Did you mean My App?'],
    [{ filters: { app_token__in: ['abc123def45'] } }, 'filters.app_token__in[0]', 'Did you mean abc123def456?'],
    [{ currency: 'UDS' }, 'currency', 'Did you mean USD?'],
    [{ currency: 'usd' }, 'currency', 'Did you mean USD?'],
    [{ os_names: ['ios', 'Android'] }, 'os_names[1]', 'Did you mean android?'],
    [{ ad_revenue_sources: ['onee'] }, 'ad_revenue_sources[0]', 'Did you mean one?'],
    [{ cohort_maturity: 'fully_matur' }, 'cohort_maturity', 'Did you mean fully_mature?'],
    [{ cohort_maturity: 'mature' }, 'cohort_maturity', null],
    [{ attribution_type: 'clicks' }, 'attribution_type', 'Did you mean click?'],
    [{ reattributed: 'ture' }, 'reattributed', 'Did you mean true?'],
    [{ utc_offset: '+05:17' }, 'utc_offset', '`ripen catalog` lists those it knows, under utc_offset.'],
    [{ sort: ['-instals'] }, 'sort[0]', 'Did you mean installs?'],
    [{ sort: ['clicks'] }, 'sort[0]', 'Ask for it, or leave it out of sort.'],
    [
      { index: ['day'], dimensions: ['os_name'], date_period: '2026-01-01:2026-01-31', sort: ['os_name'] },
      'index[0]',
      'Ask for it, or leave it out of index.',
    ],
    [{ extra_parameters: { curency: 'EUR' } }, 'extra_parameters.curency', 'Did you mean currency?'],
    [{ attribution_types: ['click'] }, 'attribution_types', 'Set attribution_type: null to send the list alone.'],
  ])('%j is 1 warning at %s: %s', (settings, setting, hint) => {
    expect(found(settings)).toMatchObject([{ severity: 'warning', setting: `slices[0].${setting}`, hint }]);
  });

  test.each([
    [{ attribution_type: null, extra_parameters: { something_new: 1 } }],
    [{ attribution_type: null, attribution_types: ['click'] }],
    [{ reattributed: false }],
    [{ attribution_type: 'impression' }],
  ])('%j is known, or unknown by design', (settings) => {
    expect(found(settings)).toEqual([]);
  });

  test('an offset is found in a list of hours, and a list that cannot be read proves nothing', () => {
    const offsets = (...ids: string[]): CatalogItem[] => [
      ...catalog.filter(({ filter }) => filter !== 'utc_offset'),
      ...ids.map((id) => item('utc_offset', id)),
    ];
    expect(found({ utc_offset: '-03:30' }, offsets('0', '-3.5'))).toEqual([]);
    expect(found({ utc_offset: '-03:00' }, offsets('0', '-3.5'))).toHaveLength(1);
    expect(found({ utc_offset: '-03:00' }, offsets('Asia/Tokyo'))).toEqual([]);
    expect(found({ utc_offset: '+00:00' }, offsets('1'))).toEqual([]);
  });

  test('a list that filters-data left empty proves nothing', () => {
    const filters = { os_name__in: ['anything'], app_token__in: ['x'], anything__gte: 1 };
    const settings = {
      metrics: ['anything'],
      dimensions: ['day', 'region'],
      currency: 'EUR',
      cohort_maturity: 'mature',
    };
    expect(found({ ...settings, filters, iap_revenue_mode: 'GROSS_1', utc_offset: '+05:17' }, [])).toStrictEqual([]);
  });

  test('while nothing is listed, usd is no code of ISO 4217 but USD is, and XBX is neither', () => {
    expect(found({ currency: 'usd', cohort_maturity: 'mature' }, [])).toMatchObject([{ hint: 'Did you mean USD?' }]);
    expect(found({ currency: 'XBX', cohort_maturity: 'mature' }, [])).toMatchObject([{ hint: null }]);
  });

  test('a wrong value of the defaults is told once for 3 slices, at the defaults, of no slice', () => {
    const slices = ['a', 'b', 'c'].map((name) => ({ name }));
    expect(findingsOf(slices, catalog, { currency: 'usd', filters: { os_name__in: ['IOS'] } })).toMatchObject([
      { slice: null, setting: 'defaults.currency', place: 'ripen.yaml:3:13' },
      { slice: null, setting: 'defaults.filters.os_name__in[0]', place: 'ripen.yaml:6:9' },
    ]);
  });
});

describe('the dates of a slice', () => {
  test.each([
    [{ date_period: '2026-03-06:2026-04-01' }, 'no day before 2026-03-06'],
    [{ date_period: '9999-12-31:9999-12-31' }, 'no day before 9999-12-31'],
    [{ date_period: '2026-03-01:-10d' }, 'no day before 2026-03-11'],
    [{ date_period: '2026-03-20:-10d' }, 'no day before 2026-03-30'],
    [{ date_period: '2026-03-04:month_start' }, 'no day before 2026-04-01'],
    [{ date_period: '2026-03-04:week_start' }, 'no day before 2026-03-09'],
    [{ date_period: '2026-06-15:month_start' }, 'no day before 2026-07-01'],
  ])('%j lies in the future, and is 1 warning', (settings, words) => {
    const findings = found(settings);
    expect(findings).toMatchObject([{ severity: 'warning', setting: 'slices[0].date_period' }]);
    expect(findings[0]?.message).toContain(words);
  });

  test.each(['yesterday:2026-02-20', 'month_start:2026-02-28', '-3d:2026-03-01'])(
    'the date period %s, whose start has passed its end, is 1 warning with both days',
    (period) => {
      const findings = found({ date_period: period });
      expect(findings).toMatchObject([{ severity: 'warning', setting: 'slices[0].date_period' }]);
      expect(findings[0]?.message).toMatch(/begins on 2026-03-0\d, as of today, and ended on 2026-0/);
    },
  );

  test('a horizon behind one that matches all it does is a warning at its name; one in another order is none', () => {
    const horizons = { 'installs*': '2d', '*': '3d', installs: '4d', settle: '2h', 'cl*': '5d' };
    const findings = found({ horizons });
    expect(findings.map(({ severity, setting, hint }) => [severity, setting, hint])).toEqual([
      ['warning', 'slices[0].horizons.installs', 'Put it before installs*; the first that matches counts.'],
      ['warning', 'slices[0].horizons.cl*', 'Put it before *; the first that matches counts.'],
    ]);
    expect(found({ horizons: { installs: '4d', 'installs*': '2d', '*': '3d' } })).toEqual([]);
  });

  test.each(['2026-03-05:9999-12-31', 'month_start:yesterday', '1970-01-01:yesterday', 'last_month', 'today'])(
    'the date period %s is no finding',
    (period) => {
      expect(found({ date_period: period })).toEqual([]);
    },
  );

  test.each(['-9d:yesterday', 'this_month', '2026-01-01:today', '-9d:2026-03-04'])(
    'without a date dimension %s is never final',
    (period) => {
      const settings = { dimensions: ['os_name'], date_period: period, sort: ['os_name'] };
      expect(found(settings)).toMatchObject([{ severity: 'warning', setting: 'slices[0].date_period' }]);
      expect(found({ ...settings, date_period: '2026-01-01:2026-03-04' })).toEqual([]);
    },
  );

  test.each([
    [{ refresh: [1, 8] }, null],
    [{ refresh: [1, 9, 30] }, 'the ages 9, 30, but at the age of 8 days'],
    [{ refresh: [1, 15], metrics: ['installs', 'network_cost'] }, null],
    [{ refresh: [1, 16], metrics: ['installs', 'network_cost'] }, 'the age 16, but at the age of 15 days'],
    [{ refresh: [31], horizons: { 'inst*': '30d' } }, null],
    [{ refresh: [32], horizons: { 'inst*': '30d' } }, 'the age 32, but at the age of 31 days'],
    [{ refresh: [8], horizons: { settle: '30h' } }, null],
    [{ refresh: [9], horizons: { settle: '30h' } }, null],
  ])('of %j beyond the longest horizon is told: %s', (settings, words) => {
    const findings = found(settings);
    expect(findings.map(({ setting }) => setting?.replace(/\[\d\]$/, ''))).toEqual(
      words === null ? [] : ['slices[0].refresh'],
    );
    expect(findings[0]?.message ?? '').toContain(words ?? '');
  });

  test('ages are held against the lifetime of what never becomes final: 121 days by default', () => {
    const lasting = [...catalog, item('overview_metrics', 'cohort_revenue')];
    const metrics = ['installs', 'cohort_revenue'];
    expect(found({ metrics, refresh: [121] }, lasting)).toEqual([]);
    expect(found({ metrics, refresh: [122] }, lasting)).toHaveLength(1);
  });

  test.each([
    ['8d', null],
    ['7d', 'installs may change for 7d'],
    ['6d', 'installs may change for 7d'],
  ])('periods kept for %s are final before they are let go, or told: %s', (retain, words) => {
    const findings = found({ retain });
    expect(findings.map(({ setting }) => setting)).toEqual(words === null ? [] : ['slices[0].retain']);
    expect(findings[0]?.message ?? '').toContain(words ?? '');
  });
});
