/** Slices compared with filters-data and against the calendar, each remark at the place of its setting. */

import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';

import { CatalogLists, sliceFindings } from '../../src/report/check/slice.ts';
import { mergedNotes, type Finding } from '../../src/report/check/finding.ts';
import { inspectText } from '../../src/config/read-config.ts';
import type { Catalog } from '../../src/model/catalog.ts';
import type { CatalogItem } from '../../src/model/catalog-item.ts';

function item(filter: string, id: string, name = id): CatalogItem {
  return { filter, id, name, shortName: '', section: '', formatting: '', description: '' };
}

const lists = (items: Readonly<Record<string, readonly string[]>>): CatalogItem[] =>
  Object.entries(items).flatMap(([filter, ids]) => ids.map((id) => item(filter, id)));

const metricLists = lists({
  overview_metrics: ['installs', 'clicks'],
  cost_metrics: ['network_cost'],
  skad_metrics: ['skad_installs'],
  cohort_metrics: ['cohort_size_d7', 'constructor'],
  event_metrics: ['row count'],
  etl_metrics: ['sessions'],
});

const catalog = [
  ...metricLists,
  ...lists({
    dimensions: ['day', 'os_name', 'sdk_version'],
    os_names: ['ios', 'android'],
    currencies: ['USD'],
    utc_offset: ['+00:00', '+01:00'],
    ad_revenue_sources: ['one'],
    cohort_maturity: ['fully_mature'],
    index: ['day'],
  }),
  item('apps', 'abc123def456', 'My App'),
  item('partners', '17', 'Some Partner'),
];

const NOW = new Date('2026-03-05T02:30:00Z');
const REQUIRED = {
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs'],
  date_period: '-7d:yesterday',
};
const SETTLED = {
  cohort_maturity: 'fully_mature',
  reattributed: 'all',
  ad_spend_mode: 'network',
  iap_revenue_mode: 'total',
  currency: 'USD',
};

/** What is found at an instant of slices with these settings besides the required ones; lines and columns are those of `stringify`. */
function findingsOf(
  slices: readonly object[],
  items: Catalog = catalog,
  defaults: object = {},
): Finding[] {
  const text = stringify({
    service: 'simulator',
    defaults,
    slices: slices.map((settings) => ({ ...REQUIRED, ...SETTLED, ...settings })),
  });
  const { config, stated } = inspectText(text, {
    file: 'ripen.yaml',
    directory: '',
    environment: {},
  });
  const lists = new CatalogLists(items);
  const found = (config?.slices ?? []).flatMap((slice, index) =>
    sliceFindings({ slice, index, stated, lists }, NOW),
  );
  return mergedNotes(found);
}

const found = (settings: object, items: Catalog = catalog): Finding[] =>
  findingsOf([settings], items);

describe('a slice compared with filters-data', () => {
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
    const settings = {
      filters,
      dimensions: ['day', 'os_name', 'sdk_version'],
      metrics: ['installs', 'constructor', 'row count'],
      horizons: { constructor: '1d', 'row count': '1d' },
      utc_offset: '+01:00',
      sort: ['-row count'],
    };
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

  test('with 1 of the 6 lists of metrics empty an unknown metric is a warning that names the list', () => {
    const without = catalog.filter(({ filter }) => filter !== 'event_metrics');
    const message: unknown = expect.stringContaining('nothing at all under event_metrics');
    expect(found({ metrics: ['instals'] }, without)).toMatchObject([
      { severity: 'warning', code: null, hint: 'Did you mean installs?', message },
    ]);
  });

  test.each([
    [{ sdk_versoin__in: ['1'] }, 'warning', 'Did you mean sdk_version?'],
    [{ publisher__in: ['1'] }, 'warning', '`ripen catalog WORD` searches the dimensions.'],
    [{ clikcs__gte: 1 }, 'error', 'Did you mean clicks?'],
  ])(
    'a filter %j by what is not listed is told at its key, as %s, with what would work: %s',
    (filters, severity, hint) => {
      const setting = `slices[0].filters.${Object.keys(filters).join()}`;
      expect(found({ filters })).toMatchObject([{ severity, setting, hint }]);
    },
  );

  test.each([
    [
      { dimensions: ['day', 'a_new_one'] },
      'dimensions[1]',
      '`ripen catalog WORD` searches the dimensions.',
    ],
    [
      { filters: { os_name__in: ['ios', 'androd'] } },
      'filters.os_name__in[1]',
      'Did you mean android?',
    ],
    [
      { filters: { os_name__not_in: ['andriod'] } },
      'filters.os_name__not_in[0]',
      'Did you mean android?',
    ],
    [{ filters: { os_name__in: ['ios', 'IOS'] } }, 'filters.os_name__in[1]', 'Did you mean ios?'],
    [
      { filters: { os_name__in: ['android', 'andriod'] } },
      'filters.os_name__in[1]',
      'Did you mean android?',
    ],
    [
      { filters: { app_token__in: ['abc123def45'] } },
      'filters.app_token__in[0]',
      'Did you mean abc123def456?',
    ],
    [{ currency: 'UDS' }, 'currency', 'Did you mean USD?'],
    [{ os_names: ['ios', 'Android'] }, 'os_names[1]', 'Did you mean android?'],
    [{ cohort_maturity: 'new' }, 'cohort_maturity', null],
    [{ attribution_type: 'clicks' }, 'attribution_type', 'Did you mean click?'],
    [
      { attribution_types: ['click'] },
      'attribution_types',
      'Set attribution_type: null to send the list alone.',
    ],
    [{ reattributed: 'ture' }, 'reattributed', 'Did you mean true?'],
  ])('%j is 1 warning at %s: %s', (settings, setting, hint) => {
    expect(found(settings)).toMatchObject([
      { severity: 'warning', setting: `slices[0].${setting}`, hint },
    ]);
  });

  test.each([
    [{ extra_parameters: { something_new: 1 } }],
    [{ attribution_type: null, attribution_types: ['click'] }],
    [{ reattributed: false }],
  ])('%j is known, or unknown by design', (settings) => {
    expect(found(settings)).toEqual([]);
  });

  test('a list that filters-data left empty proves nothing', () => {
    const filters = { os_name__in: ['anything'], app_token__in: ['x'], anything__gte: 1 };
    const settings = {
      metrics: ['anything'],
      dimensions: ['day', 'region'],
      currency: 'EUR',
      cohort_maturity: 'mature',
    };
    expect(
      found({ ...settings, filters, iap_revenue_mode: 'GROSS_1', utc_offset: '+05:17' }, []),
    ).toStrictEqual([]);
  });

  test('a wrong value of the defaults is told once for 3 slices, at the defaults, of no slice', () => {
    const slices = ['a', 'b', 'c'].map((name) => ({ name }));
    expect(findingsOf(slices, catalog, { filters: { os_name__in: ['IOS'] } })).toMatchObject([
      { slice: null, setting: 'defaults.filters.os_name__in[0]', place: 'ripen.yaml:5:9' },
    ]);
  });
});

describe('the dates of a slice', () => {
  test.each([
    ['2026-03-06:2026-04-01', /covers no day as of 2026-03-05 in \+00:00/],
    ['2026-03-01:-10d', /covers no day/],
    ['-3d:2026-03-01', /covers no day/],
  ])(
    'the date period %s, which lies in the future or ends before it begins, is 1 warning: %s',
    (period, words) => {
      const message: unknown = expect.stringMatching(words);
      expect(found({ date_period: period })).toMatchObject([
        { severity: 'warning', setting: 'slices[0].date_period', message },
      ]);
    },
  );

  test.each(['2026-03-05:9999-12-31', 'month_start:yesterday', '1970-01-01:yesterday', 'today'])(
    'the date period %s is no finding',
    (period) => {
      expect(found({ date_period: period })).toEqual([]);
    },
  );

  test('periods kept for 8 days are final before they are removed; for 7 or 6 a warning says that they never are', () => {
    const kept = ['8d', '7d', '6d'].map((retain) => found({ retain }));
    const warning = {
      setting: 'slices[0].retain',
      message: expect.stringContaining('installs may change for 7 days') as unknown,
    };
    expect(kept).toMatchObject([[], [warning], [warning]]);
  });
});
