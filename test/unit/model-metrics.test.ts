/**
 * Every real metric id of the catalog fixture against the rules of maturity, types and additivity.
 *
 * What is expected is worked out from the fixture's own columns (section, formatting, family, additivity, how often it is
 * re-read) and from the placeholders of the id, never from the words in its name.
 */

import { readFileSync } from 'node:fs';

import { describe, expect, test } from 'vitest';

import { MS_PER_DAY } from '../../src/model/calendar.ts';
import { metricFilterNames, type Catalog, type CatalogItem } from '../../src/model/catalog.ts';
import { formatColumnType } from '../../src/model/column-type.ts';
import {
  catalogItemOf,
  globMatches,
  isMetricItem,
  metricOf,
  metricsOf,
  type RememberedMetrics,
} from '../../src/model/metric.ts';
import { slice } from '../support/slice.ts';

const COLUMNS = ['template', 'section', 'formatting', 'family', 'frequency', 'additivity', 'formula'] as const;

type CatalogRow = Readonly<Record<(typeof COLUMNS)[number], string>>;

function readRows(): CatalogRow[] {
  const file = new URL('../fixtures/service/metric_catalog.csv', import.meta.url);
  const [, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const fields = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
      ([, quoted, plain]) => quoted ?? plain ?? '',
    );
    const field = (name: (typeof COLUMNS)[number]): string => fields[COLUMNS.indexOf(name)] ?? '';
    return {
      template: field('template'),
      section: field('section'),
      formatting: field('formatting'),
      family: field('family'),
      frequency: field('frequency'),
      additivity: field('additivity'),
      formula: field('formula'),
    };
  });
}

const rows = readRows();

/** Days until the last installer of a day, a week or a month has completed the age. */
const cohortDays: Record<string, number> = { d0: 1, d7: 8, d30: 31, d120: 121, w4: 36, m3: 121 };
const cohortPeriods = Object.keys(cohortDays);
/** Slugs that look like a cohort period, hold a blank, end in a hash. */
const eventSlugs = ['dulci_purchase_d7_s2s', 'my event', 'x_abc123'];

interface Expected {
  readonly id: string;
  readonly row: CatalogRow;
  /** Days until the age is complete; null without a cohort period. */
  readonly cohort: number | null;
  readonly days: number | null;
  readonly additive: boolean;
  readonly type: string;
}

function horizonOf({ template, section, family, frequency }: CatalogRow, cohort: number | null): number | null {
  const isLifetime = cohort === null && (template.startsWith('cohort_') || template === 'roas');
  if (isLifetime) return null;
  const isConversionValue = family === 'skad_network_metric' || /^ska[dn]_/.test(template);
  if (isConversionValue) return Math.max(42, cohort ?? 0);
  const isSpend = section === 'Cost' || frequency === 'daily' || template.startsWith('network_');
  return Math.max(isSpend ? 14 : 7, cohort ?? 0);
}

function typeOf({ formatting }: CatalogRow, additive: boolean): string {
  if (!additive) return 'DOUBLE';
  if (formatting === 'integer') return 'BIGINT';
  return formatting.startsWith('money') ? 'DECIMAL(18,6)' : 'DOUBLE';
}

function expand(row: CatalogRow): Expected[] {
  const periods = row.template.includes('{cohort_period}') ? cohortPeriods : [''];
  const slugs = row.template.includes('{event_slug}') ? eventSlugs : [''];
  const additive = row.additivity.startsWith('additive');
  return slugs.flatMap((slug) =>
    periods.map((period) => ({
      id: row.template
        .replace('{event_slug}', slug)
        .replace('{cohort_period}', period)
        .replace('{rolling_window}', '7')
        .replace('{base_metric}', 'installs'),
      row,
      cohort: cohortDays[period] ?? null,
      days: horizonOf(row, cohortDays[period] ?? null),
      additive,
      type: typeOf(row, additive),
    })),
  );
}

const expected = rows.flatMap(expand);

const filters: Record<string, string> = {
  cohort_metric: 'cohort_metrics',
  cohort_ad_revenue_metric: 'cohort_metrics',
  event_metric: 'event_metrics',
  ad_spend_metric: 'cost_metrics',
  skad_network_metric: 'skad_metrics',
};

function itemOf({ id, row }: Pick<Expected, 'id' | 'row'>): CatalogItem {
  return {
    filter: filters[row.family] ?? 'overview_metrics',
    id,
    name: '',
    shortName: '',
    section: row.section,
    formatting: row.formatting,
    description: '',
  };
}

const found = (id: string, catalog: Catalog): { days: number | null; additive: boolean; type: string } => {
  const { horizonMs, additive, type } = metricOf(id, catalog);
  return { days: horizonMs === null ? null : horizonMs / MS_PER_DAY, additive, type: formatColumnType(type) };
};

describe('the 177 metrics of the catalog', () => {
  test('are all read: 177 rows that stand for 375 ids, no placeholder left', () => {
    expect(rows).toHaveLength(177);
    expect(new Set(rows.map(({ additivity }) => additivity))).toEqual(
      new Set([
        'additive',
        'additive_derived',
        'ratio',
        'non_additive_average',
        'non_additive_stat',
        'non_additive_abs_diff',
        'unknown',
      ]),
    );
    expect(expected.filter(({ id }) => /[{}]/.test(id))).toEqual([]);
    expect(new Set(expected.map(({ id }) => id)).size).toBe(expected.length);
    expect(expected).toHaveLength(375);
  });

  test.each(expected)('$id settles in $days days, adds up: $additive, is stored as $type', (metric) => {
    const { days, additive, type } = metric;
    expect(found(metric.id, [itemOf(metric)])).toEqual({ days, additive, type });
    const { cohortMs } = metricOf(metric.id, [itemOf(metric)]);
    expect(cohortMs === null ? null : cohortMs / MS_PER_DAY).toBe(metric.cohort);
  });

  test('a catalog of all 375 reads each metric as a catalog of that one does', () => {
    const whole = expected.map(itemOf);
    const differing = expected.filter(({ id, ...metric }) => {
      const one = metricOf(id, [itemOf({ id, ...metric })]);
      return JSON.stringify(metricOf(id, whole)) !== JSON.stringify(one);
    });
    expect(differing).toEqual([]);
  });
});

describe('that a metric adds up', () => {
  const isDocumented = (id: string, catalog: Catalog): boolean => metricOf(id, catalog).additivity === 'documented';
  const ofTemplate = (template: string): Expected[] => expected.filter(({ row }) => row.template === template);

  test('is documented for 143 of 260 that do, and assumed of the other 117', () => {
    const additive = expected.filter((metric) => metric.additive);
    const documented = additive.filter((metric) => isDocumented(metric.id, [itemOf(metric)]));
    expect([documented.length, additive.length]).toEqual([143, 260]);
    expect(additive.filter((metric) => !metricOf(metric.id, [itemOf(metric)]).additive)).toEqual([]);
  });

  test('is documented for none of the 115 ratios, averages and differences, with the catalog or without', () => {
    const others = expected.filter((metric) => !metric.additive);
    const taken = others.filter((metric) => isDocumented(metric.id, [itemOf(metric)]) || isDocumented(metric.id, []));
    expect([others.length, taken.map(({ id }) => id)]).toEqual([115, []]);
  });

  test('is documented by a name alone for nothing that the catalog does not say', () => {
    const bold = expected.filter((metric) => isDocumented(metric.id, []) && !isDocumented(metric.id, [itemOf(metric)]));
    expect(bold.map(({ id }) => id)).toEqual([]);
  });

  test.each([
    'installs',
    'clicks',
    'cost',
    'network_cost',
    'all_revenue',
    'revenue_total_{cohort_period}',
    '{event_slug}_events',
  ])('is documented for %s, so that totals speak for or against an answer', (template) => {
    const found = ofTemplate(template).map((metric) => metricOf(metric.id, [itemOf(metric)]).additivity);
    expect(new Set(found)).toEqual(new Set(['documented']));
  });

  test.each(['skad_conversion_3', 'network_assisted_installs', '{event_slug}_{cohort_period}_conversions_cohort'])(
    'is assumed of %s, which is no evidence against others',
    (template) => {
      const found = ofTemplate(template).map((metric) => metricOf(metric.id, [itemOf(metric)]).additivity);
      expect(new Set(found)).toEqual(new Set(['assumed']));
    },
  );
});

describe('without the catalog, the name alone', () => {
  test('lets 1 metric of 375 settle earlier than the catalog does', () => {
    const early = expected.filter(({ id, days }) => {
      const byName = found(id, []).days;
      return byName !== null && (days === null || byName < days);
    });
    // A count like any other by its name; only its section says that it is read with the costs.
    expect(early.map(({ id }) => id)).toEqual(['paid_installs']);
  });

  test('never adds up what does not', () => {
    const wrong = expected.filter(({ id, additive }) => !additive && found(id, []).additive);
    expect(wrong.map(({ id }) => id)).toEqual([]);
  });

  test('never stores in whole numbers what is none', () => {
    const wrong = expected.filter(({ id, type }) => type !== 'BIGINT' && found(id, []).type === 'BIGINT');
    expect(wrong.map(({ id }) => id)).toEqual([]);
  });

  test('knows money that adds up from its name', () => {
    const missed = expected.filter(({ id, type }) => type.startsWith('DECIMAL') && found(id, []).type !== type);
    expect(missed.map(({ id }) => id)).toEqual([]);
  });

  test.each([
    ['brand_new_metric', 7, true, 'DOUBLE'],
    ['brand_new_metric_d30', 31, true, 'DOUBLE'],
    ['brand_new_metric_w4', 36, true, 'DOUBLE'],
    ['brand_new_metric_m3', 121, true, 'DOUBLE'],
    ['new_events_d3', 7, true, 'BIGINT'],
    ['all_revenue_total_d7', 8, true, 'DECIMAL(18,6)'],
    ['all_revenue_total_in_cohort_d30', 31, true, 'DECIMAL(18,6)'],
    ['revenue_cal_d30', 31, true, 'DECIMAL(18,6)'],
    ['revenue_d30_cal', 31, true, 'DECIMAL(18,6)'],
    ['cohort_size_d7', 8, true, 'BIGINT'],
    ['cohort_size', null, true, 'BIGINT'],
    ['lifetime_value', null, false, 'DOUBLE'],
    ['lifetime_value_d120', 121, false, 'DOUBLE'],
    ['roas', null, false, 'DOUBLE'],
    ['roas_d7', 14, false, 'DOUBLE'],
    ['roas_d30', 31, false, 'DOUBLE'],
    ['ecpi', 14, false, 'DOUBLE'],
    ['ecpi_network', 14, false, 'DOUBLE'],
    ['network_ecpi', 14, false, 'DOUBLE'],
    ['network_cost', 14, true, 'DECIMAL(18,6)'],
    ['network_installs', 14, true, 'BIGINT'],
    ['skad_installs', 42, true, 'BIGINT'],
    ['skad_revenue_d60', 61, true, 'DECIMAL(18,6)'],
    ['daus', 7, false, 'DOUBLE'],
    ['retention_rate_d1', 7, false, 'DOUBLE'],
    ['dulci_purchase_d7_s2s_events', 7, true, 'BIGINT'],
    ['dulci_purchase_d7_s2s_d30_events_cohort', 31, true, 'BIGINT'],
    ['my event_d7_events_cohort', 8, true, 'BIGINT'],
    ['level_d500', 7, true, 'DOUBLE'],
    ['level_w105', 7, true, 'DOUBLE'],
    ['level_m61', 7, true, 'DOUBLE'],
  ])('%s settles in %j days, adds up: %j, is stored as %s', (id, days, additive, type) => {
    expect(found(id, [])).toEqual({ days, additive, type });
  });
});

describe('an event', () => {
  const event = (id: string, formatting: string): CatalogItem =>
    itemOf({
      id,
      row: {
        template: '',
        section: 'Events',
        formatting,
        family: 'event_metric',
        frequency: '',
        additivity: '',
        formula: '',
      },
    });

  test.each([
    // Whatever the app's developers called it: the catalog says that it is an event.
    ['bought_d30', 'integer', 7],
    ['level_up_w4', 'integer', 7],
    ['dulci_purchase_d7_s2s_events', 'integer', 7],
    ['dulci_purchase_d7_s2s_revenue', 'money', 7],
    ['dulci_purchase_d7_s2s_d30_events_cohort', 'integer', 31],
    ['dulci_purchase_d7_s2s_m3_revenue_cohort', 'money', 121],
    ['cost_of_living_events', 'integer', 7],
    ['network_events', 'integer', 7],
    ['cohort_events', 'integer', 7],
    ['roas_events', 'integer', 7],
  ])('called %s (%s) settles in %i days', (id, formatting, days) => {
    expect(found(id, [event(id, formatting)]).days).toBe(days);
  });

  test('whose name is unknown to the catalog and ends like a period is taken for a cohort, and so settles later', () => {
    expect(found('bought_d30', []).days).toBe(31);
    expect(found('bought_d30', [event('bought_d30', 'integer')]).days).toBe(7);
  });
});

describe('a slice', () => {
  const catalog = [
    itemOf({ id: 'installs', row: rows.find(({ template }) => template === 'installs') ?? rows[0] ?? never() }),
  ];
  const declared = slice({
    name: 'daily',
    dimensions: ['day'],
    metrics: ['revenue', 'installs', 'my_event_a_events', 'my_event_b_events', 'lifetime_value', 'roas_d30'],
    horizons: [
      { pattern: 'my_event_b_*', horizonMs: 3 * MS_PER_DAY },
      { pattern: 'my_event_*', horizonMs: 21 * MS_PER_DAY },
      { pattern: 'lifetime_value', horizonMs: 90 * MS_PER_DAY },
      { pattern: 'inst?lls', horizonMs: 0 },
    ],
    types: { revenue: 'DECIMAL(38,10)', roas_d30: 'BIGINT' },
  });

  test('keeps its metrics in configured order, with its own horizons (the first match wins) and types', () => {
    const metrics = metricsOf(declared, catalog).map(({ id, horizonMs, type }) => [
      id,
      horizonMs === null ? null : horizonMs / MS_PER_DAY,
      formatColumnType(type),
    ]);
    expect(metrics).toEqual([
      ['revenue', 7, 'DECIMAL(38,10)'],
      ['installs', 0, 'BIGINT'],
      ['my_event_a_events', 21, 'BIGINT'],
      ['my_event_b_events', 3, 'BIGINT'],
      ['lifetime_value', 90, 'DOUBLE'],
      ['roas_d30', 31, 'BIGINT'],
    ]);
  });
});

describe('what is remembered of metrics', () => {
  const declared = slice({
    name: 'daily',
    dimensions: ['day'],
    metrics: ['installs', 'odd_total', 'even_total', 'roas_d7', 'said_total'],
    additive: { said_total: true },
  });
  const byId = (remembered: RememberedMetrics) =>
    Object.fromEntries(metricsOf(declared, [], remembered).map((metric) => [metric.id, metric]));
  const ids = ['installs', 'odd_total', 'even_total', 'roas_d7', 'said_total'];

  test('corrects what was assumed to add up, and nothing that is documented, stated, or known to be a ratio', () => {
    for (const seen of [true, false]) {
      const found = byId({ horizons: new Map(), addsUp: new Map(ids.map((id) => [id, seen])) });
      expect(ids.map((id) => [found[id]?.additive, found[id]?.additivity])).toEqual([
        [true, 'documented'],
        [seen, 'seen'],
        [seen, 'seen'],
        [false, 'assumed'],
        [true, 'stated'],
      ]);
    }
  });

  test('lengthens a horizon that the catalog gave longer once, for ever too, and shortens none', () => {
    const days = (count: number): number => count * MS_PER_DAY;
    const remembered = new Map([
      ['installs', days(30)],
      ['odd_total', days(2)],
      ['even_total', null],
    ]);
    const found = byId({ horizons: remembered, addsUp: new Map() });
    expect(['installs', 'odd_total', 'even_total', 'said_total'].map((id) => found[id]?.horizonMs)).toEqual([
      days(30),
      days(7),
      null,
      days(7),
    ]);
  });

  test('does not stand against a horizon of the slice’s own', () => {
    const own = { ...declared, horizons: [{ pattern: 'installs', horizonMs: 0 }] };
    const [installs] = metricsOf(own, [], { horizons: new Map([['installs', null]]), addsUp: new Map() });
    expect(installs?.horizonMs).toBe(0);
  });
});

function never(): never {
  throw new RangeError('The fixture is empty.');
}

describe('a glob', () => {
  test.each([
    ['my_event_*', 'my_event_revenue', true],
    ['my_event_*', 'my_event_', true],
    ['my_event_*', 'my_event', false],
    ['my_event_*', 'not_my_event_x', false],
    ['*_d7', 'revenue_d7', true],
    ['*_d7', 'revenue_d70', false],
    ['d?', 'd7', true],
    ['d?', 'd', false],
    ['d?', 'd77', false],
    ['*', '', true],
    ['a.b', 'axb', false],
    ['a.b', 'a.b', true],
    ['(a|b)', 'a', false],
    ['(a|b)', '(a|b)', true],
    ['[ab]', 'a', false],
    ['a+', 'aa', false],
    ['^a$', 'a', false],
    ['a\\b', 'a\\b', true],
    ['*', 'two\nlines', true],
    ['my event*', 'my event_revenue', true],
    ['INSTALLS', 'installs', false],
  ])('%j matches %j: %j', (pattern, name, matches) => {
    expect(globMatches(pattern, name)).toBe(matches);
  });
});

describe('the catalog', () => {
  test('names a metric only in one of its 6 lists of metrics', () => {
    const others = ['dimensions', 'apps', 'cohort_metric_names', 'full_cohort_periods', 'countries'];
    const listed = (filter: string): CatalogItem => ({
      ...itemOf({ id: 'installs', row: rows[0] ?? never() }),
      filter,
    });
    expect(metricFilterNames.map((filter) => isMetricItem(listed(filter)))).toEqual(Array(6).fill(true));
    expect(others.map((filter) => isMetricItem(listed(filter)))).toEqual(Array(5).fill(false));
    expect(catalogItemOf('installs', others.map(listed))).toBeNull();
    expect(catalogItemOf('installs', [...others, 'event_metrics'].map(listed))?.filter).toBe('event_metrics');
  });
});
