/**
 * Every documented form of a metric against the service's own glossary: whatever the event is called, whatever list the service
 * puts the metric in, it is final no earlier than the latest of its parts, and adds up only where it is a sum of what adds up.
 *
 * What is expected is worked out from the glossary's formulas and types, never from `config/metrics.csv`.
 */

import { readFileSync } from 'node:fs';

import { assert, constantFrom, oneof, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';

import { MS_PER_DAY } from '../../src/model/calendar.ts';
import { metricFilterNames } from '../../src/model/catalog.ts';
import type { CatalogItem } from '../../src/model/catalog-item.ts';
import { DOUBLE, formatColumnType } from '../../src/model/column-type.ts';
import { documentedForms, documentedMetric } from '../../src/model/metric-forms.ts';
import {
  globMatches,
  isMetricItem,
  metricItems,
  metricOf,
  metricsOf,
} from '../../src/model/metric.ts';
import { slice } from '../support/slice.ts';

interface GlossaryRow {
  readonly id: string;
  readonly type: string;
  readonly section: string;
  readonly formatting: string;
  readonly formula: string;
}

const glossary: readonly GlossaryRow[] = readFileSync(
  new URL('../fixtures/service/metric_glossary.csv', import.meta.url),
  'utf8',
)
  .trimEnd()
  .split('\n')
  .slice(1)
  .map((line) => {
    const [id = '', type = '', section = '', formatting = '', formula = ''] = [
      ...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g),
    ].map(([, quoted, plain]) => quoted ?? plain ?? '');
    return { id, type, section, formatting, formula };
  });
const byId = new Map(glossary.map((row) => [row.id, row]));

/** Days until the last installer of a day, a week or a month has the age. */
const completeDays: Readonly<Record<string, number>> = {
  d0: 1,
  d1: 2,
  d7: 8,
  d30: 31,
  d60: 61,
  d120: 121,
  w0: 8,
  w4: 36,
  w52: 372,
  m0: 31,
  m3: 121,
  m36: 1111,
};
const ages = Object.keys(completeDays);
/** Events may be called anything: like an age, a family, a list, another form. */
const hostileEvents = [
  ...'first purchase|level_d7|cohort_skip|skad|roas|network_cost'.split('|'),
  ...'dulci_purchase_d7_s2s|sum_rate_per_x|a"b\\{period}|__proto__|d7'.split('|'),
];
const otherLists: readonly (string | null)[] = [...metricFilterNames, null];
const lifetimes = new Set(['cohort_revenue', 'uninstall_cohort']);

/** What a formula names: forms of the glossary, in its readable words. */
function partsOf({ id, formula }: GlossaryRow): GlossaryRow[] {
  const named = formula.startsWith('[')
    ? [...formula.matchAll(/'([^']+)'/g)].map(([, part = '']) => part)
    : formula
        .replaceAll('{event slug}', '{event_slug}')
        .replaceAll('{cohort period}', '{cohort_period}')
        .split(/[-+*/()|]/)
        .map((part) =>
          part
            .trim()
            .toLowerCase()
            .replaceAll(' ', '_')
            .replace('general_revenue_', 'general revenue_'),
        )
        .filter((part) => part !== '' && !/^[\d.]+$/.test(part));
  return named
    .filter((part) => part !== id)
    .map((part) => {
      const row = byId.get(part);
      if (row === undefined)
        throw new Error(`${id} is computed from ${part}, which the glossary lacks`);
      return row;
    });
}

/** The fewest days after which a form may be final; null: never. */
function fewestDays(row: GlossaryRow, age: string): number | null {
  const { id, type, section } = row;
  if (lifetimes.has(id) || id.startsWith('cohort_ad_revenue')) return null;
  const own = [7, id.includes('{cohort_period}') ? (completeDays[age] ?? 0) : 0];
  if (
    type === 'skad_network_metric' ||
    /(^|_)ska[dn]_|(?<!non)_skan$|_(events|revenue)_(min|max|est)$/.test(id)
  )
    own.push(42);
  if (section === 'Cost' || type === 'ad_spend_metric') own.push(14);
  const all = [...own, ...partsOf(row).map((part) => fewestDays(part, age))];
  return all.includes(null) ? null : Math.max(...all.map(Number));
}

function isSum(row: GlossaryRow): boolean {
  const { id, type, formatting, formula } = row;
  if (
    type === 'mavg' ||
    formatting === 'percent' ||
    /(^|_)[dwm]aus$/.test(id) ||
    id.endsWith('_bits')
  )
    return false;
  if (!formula.startsWith('[') && /[/|*]/.test(formula)) return false;
  return partsOf(row).every(isSum);
}

const idOf = (row: GlossaryRow, age: string, event: string): string =>
  row.id
    .replace('{event_slug}', () => event)
    .replace('{cohort_period}', age)
    .replace('{rolling_window}', '7')
    .replace('{confidence_level}', '95')
    .replace('{base_metric}', 'installs');

const item = (filter: string, id: string, change: Partial<CatalogItem> = {}): CatalogItem => {
  return {
    filter,
    id,
    name: '',
    shortName: '',
    section: '',
    formatting: '',
    description: '',
    ...change,
  };
};

const days = (id: string, listed?: CatalogItem): number | null => {
  const { horizonMs } = metricOf(id, listed);
  return horizonMs === null ? null : horizonMs / MS_PER_DAY;
};

describe('the documented forms', () => {
  test('say of each of the 624 of the glossary how its values are formatted', () => {
    const wrong = glossary.filter(
      (row) => metricOf(idOf(row, 'd7', 'purchase'), undefined).kind === 'unknown',
    );
    expect(glossary).toHaveLength(624);
    expect(wrong.map(({ id }) => id)).toEqual([]);
  });

  test('are final no earlier than their latest part and add up only as sums, with any event, any age, in any list', () => {
    const anyEvent = oneof(constantFrom(...hostileEvents), string({ minLength: 1, maxLength: 12 }));
    const cases = [
      constantFrom(...glossary),
      constantFrom(...ages),
      anyEvent,
      constantFrom(...otherLists),
    ] as const;
    const isSafe = property(...cases, (row, age, event, list) => {
      const id = idOf(row, age, event);
      const { horizonMs, additive } = metricOf(id, list === null ? undefined : item(list, id));
      const fewest = fewestDays(row, age);
      const isEarly = horizonMs !== null && (fewest === null || horizonMs / MS_PER_DAY < fewest);
      expect({ id, isEarly, addsUpWrongly: additive && !isSum(row) }).toEqual({
        id,
        isEarly: false,
        addsUpWrongly: false,
      });
    });
    expect(() => assert(isSafe, { numRuns: 8000 })).not.toThrow();
  });

  test.each(ages)(
    'are final on the very day that their formula allows at the age %s, in the list the service has them in',
    (age) => {
      const wrong = glossary.filter((row) => {
        const id = idOf(row, age, 'purchase');
        const isEvent = row.type === 'event_metric';
        const known = days(id, item(isEvent ? 'event_metrics' : 'overview_metrics', id));
        // What every network reports itself is final as spend is, whatever section it stands in.
        const fewest = row.id === 'network_assisted_installs' ? 14 : fewestDays(row, age);
        return known !== fewest;
      });
      expect(wrong.map(({ id }) => id)).toEqual([]);
    },
  );

  test('hold no form twice, and name parts that are forms', () => {
    const forms = documentedForms.map(({ form }) => form);
    expect(new Set(forms).size).toBe(forms.length);
    const parts = documentedForms
      .flatMap(({ computedFrom }) => computedFrom.replace(/^1000 \* /, '').split(/; | \/ /))
      .filter((part) => part !== '' && part !== '{metric}');
    expect(parts.filter((part) => !forms.includes(part))).toEqual([]);
  });
});

describe('a metric', () => {
  test.each<[string, number | null, boolean, string]>([
    ['installs', 7, true, 'BIGINT'],
    ['purchase_d60_events_per_period', 61, true, 'BIGINT'],
    ['purchase_d3_revenue_cohort_cal', 7, true, 'DECIMAL(18,6)'],
    ['purchase_events_min', 42, true, 'BIGINT'],
    ['purchase_skan_ecpa', 42, false, 'DOUBLE'],
    ['general revenue_revenue_est', 42, true, 'DECIMAL(18,6)'],
    ['return_on_investment', null, false, 'DOUBLE'],
    ['revenue_to_cost', null, false, 'DOUBLE'],
    ['cohort_gross_profit', null, true, 'DECIMAL(18,6)'],
    ['gross_profit', 14, true, 'DECIMAL(18,6)'],
    ['roas_d7', 14, false, 'DOUBLE'],
    ['roas_d30', 31, false, 'DOUBLE'],
    ['ecpi_network', 14, false, 'DOUBLE'],
    ['mavg_7_roas_d30', 31, false, 'DOUBLE'],
    ['mavg_7_unheard_of', null, false, 'DOUBLE'],
    ['level_d7_d30_events_cohort', 31, true, 'BIGINT'],
    ['cohort_skip_events', 7, true, 'BIGINT'],
    ['ad_revenue_applovin_max_d7', 8, true, 'DECIMAL(18,6)'],
    ['ad_revenue_unheard_of', null, false, 'DOUBLE'],
    ['level_d401_events_cohort', null, false, 'DOUBLE'],
    ['brand_new_metric', null, false, 'DOUBLE'],
  ])('%s is final after %j days, adds up: %j, is stored as %s', (id, horizon, additive, type) => {
    const known = metricOf(id, undefined);
    expect([days(id), known.additive, formatColumnType(known.type)]).toEqual([
      horizon,
      additive,
      type,
    ]);
  });

  test('of a form that only events have is of none where the service lists it, but not among the events', () => {
    const id = 'lifetime_total_revenue';
    expect(days(id, item('event_metrics', id))).toBe(7);
    expect(days(id, item('overview_metrics', id))).toBeNull();
  });

  test('of no documented form is told as such, and takes its type from how the service formats it', () => {
    const known = ['integer', 'money', 'percent'].map((formatting) =>
      metricOf('new', item('cost_metrics', 'new', { formatting })),
    );
    expect(known.map(({ type }) => formatColumnType(type))).toEqual([
      'BIGINT',
      'DECIMAL(18,6)',
      'DOUBLE',
    ]);
    const horizonFrom = 'no documented form: never final unless the slice states a horizon';
    expect(known[0]).toMatchObject({ kind: 'unknown', horizonFrom, additivity: 'assumed' });
  });

  test('says which part makes it late, and the age of its cohorts without it', () => {
    expect(metricOf('roas_d7', undefined)).toMatchObject({
      horizonFrom: 'documented as roas_{period}; its latest part is install_cost',
      cohort: { name: 'roas', unit: 'd', days: 7, completeDays: 8 },
    });
    expect(metricOf('first purchase_w1_events_cohort', undefined)).toMatchObject({
      horizonFrom: 'documented as {event}_{period}_events_cohort',
      cohort: { name: 'first purchase_events_cohort', unit: 'w', days: 7, completeDays: 15 },
    });
  });

  test('is what the most specific of the 6 lists says, and only what one of them holds', () => {
    const order = ['event', 'cohort', 'skad', 'cost', 'overview', 'etl'].map(
      (name) => `${name}_metrics`,
    );
    for (const [rank, best] of order.entries()) {
      const catalog = order.slice(rank).map((filter) => item(filter, 'installs'));
      expect(metricItems(catalog.toReversed()).get('installs')?.filter).toBe(best);
      expect(metricItems(catalog).get('installs')?.filter).toBe(best);
    }
    expect(order.map((filter) => isMetricItem(item(filter, 'a')))).toEqual(Array(6).fill(true));
    expect(
      ['dimensions', 'apps', 'cohort_metric_names'].some((filter) =>
        isMetricItem(item(filter, 'a')),
      ),
    ).toBe(false);
  });
});

describe('a slice', () => {
  const metrics = ['revenue', 'new_count', 'my_a_events', 'my_b_events', 'roas', 'roas_d30'];
  const declared = slice({
    name: 'daily',
    dimensions: ['day'],
    metrics,
    horizons: [
      { pattern: 'my_b_*', horizonMs: 3 * MS_PER_DAY },
      { pattern: 'my_*', horizonMs: 21 * MS_PER_DAY },
      { pattern: 'roas', horizonMs: 90 * MS_PER_DAY },
    ],
    types: { revenue: 'DECIMAL(38,10)' },
    additive: { roas_d30: true },
  });

  const catalog = [item('overview_metrics', 'new_count', { formatting: 'integer' })];

  test('states horizons (the first that matches counts), types and additivity over what is documented', () => {
    const known = metricsOf(declared, catalog);
    expect(known.map(({ horizonMs }) => horizonMs && horizonMs / MS_PER_DAY)).toEqual([
      7,
      null,
      21,
      3,
      90,
      31,
    ]);
    expect(known[2]?.horizonFrom).toBe('horizons of the slice');
    expect(formatColumnType(known[0]?.type ?? DOUBLE)).toBe('DECIMAL(38,10)');
    expect(known[5]).toMatchObject({ additive: true, additivity: 'stated' });
  });

  test('takes what answers showed for what was only assumed, and for nothing else', () => {
    const seen = new Map(metrics.map((id) => [id, false]));
    const known = metricsOf(declared, catalog, seen);
    const told = known.map(({ additive, additivity }) => `${additivity} ${additive}`);
    const documented = 'documented true';
    expect(told).toEqual([
      documented,
      'seen false',
      documented,
      documented,
      'documented false',
      'stated true',
    ]);
  });
});

describe('a glob', () => {
  test.each([
    ['my_event_*', 'my_event_', true],
    ['my_event_*', 'my_event', false],
    ['*_d7', 'revenue_d70', false],
    ['d?', 'd7', true],
    ['d?', 'd77', false],
    ['a.b', 'axb', false],
    ['(a|b)', '(a|b)', true],
    ['[ab]', 'a', false],
    ['a\\b', 'a\\b', true],
    ['*', 'two\nlines', true],
    ['INSTALLS', 'installs', false],
  ])('%j matches %j: %j', (pattern, name, matches) => {
    expect(globMatches(pattern, name)).toBe(matches);
  });
});

test.each([
  ['spend', 'cost', 'adjust_cost', 'network_cost', 'ad_spend_network'],
  ['revenue', 'revenue', 'all_revenue', 'all_revenue_total_d7', 'cohort_revenue', 'x_revenue'],
  ['neither', 'gross_profit', 'cohort_gross_profit', 'ecpi', 'roas_d7', 'installs', 'revenue_est'],
  ['neither', 'network_ad_spend_skan', 'all_revenue_per_user_d7', 'no_documented_form_of_revenues'],
])('is %s as its kind and those of its parts say: %s, %s, %s, %s, …', (flow, ...ids) => {
  expect(ids.map((id) => documentedMetric(id, null)?.flow ?? 'neither')).toStrictEqual(
    ids.map(() => flow),
  );
});
