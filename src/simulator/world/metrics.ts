/** The metrics of reports and filters-data, after the service's own catalog and service-interface: Metrics. */

import { HOURS_PER_DAY } from './hash.ts';
import * as of from './measures.ts';
import {
  apart,
  counted,
  distinct,
  type MetricLine,
  metricsOf,
  money,
  price,
  ratio,
  type WorldMetrics,
} from './metric.ts';

interface CohortPeriod extends of.AgeRange {
  /** `d7`, `w2`, `m1`. */
  readonly id: string;
}

function periods(letter: string, last: number, days: number): CohortPeriod[] {
  return Array.from({ length: last + 1 }, (_, age) => ({
    id: `${letter}${age}`,
    fromHour: age * days * HOURS_PER_DAY,
    untilHour: (age + 1) * days * HOURS_PER_DAY,
  }));
}

/** d0 to d120, w0 to w52, m0 to m36. A week is 7 days, a month 30 (observed: Metrics). */
export const cohortPeriods: readonly CohortPeriod[] = [
  ...periods('d', 120, 1),
  ...periods('w', 52, 7),
  ...periods('m', 36, 30),
];

/** One has a space, one a hash suffix, and one seems to hold a period. */
const eventSlugs = [
  'purchase',
  'first purchase',
  'sign_up_a1b2c3',
  'dulci_purchase_d7_s2s',
  'level_10',
] as const;

const overview = metricsOf('overview_metrics', [
  ['installs', 'Installs', 'Conversion', counted(of.installs)],
  ['clicks', 'Clicks', 'Conversion', counted(of.clicks)],
  ['impressions', 'Impressions', 'Conversion', counted(of.impressions)],
  ['sessions', 'Sessions', 'Conversion', counted(of.sessions)],
  ['reattributions', 'Reattributions', 'Conversion', counted(of.reattributions)],
  ['uninstalls', 'Uninstalls', 'Conversion', counted(of.uninstalls)],
  ['organic_installs', 'Organic installs', 'Conversion', counted(of.organicInstalls)],
  ['paid_installs', 'Paid installs', 'Cost', counted(of.paidInstalls)],
  ['paid_impressions', 'Paid impressions', 'Cost', counted(of.impressions)],
  [
    'rejected_installs_anon_ip',
    'Rejected installs (anonymous IP)',
    'Fraud',
    counted(of.rejectedInstalls),
  ],
  ['ctr', 'Click-through rate', 'Conversion', ratio(of.clicks, of.impressions)],
  ['click_conversion_rate', 'Click conversion rate', 'Conversion', ratio(of.installs, of.clicks)],
  [
    'installs_per_mile',
    'Installs per mille',
    'Conversion',
    ratio(of.installs, of.impressions, 1000, 'decimal'),
  ],
  [
    'organic_install_rate',
    'Organic install rate',
    'Conversion',
    ratio(of.organicInstalls, of.installs),
  ],
  ['daus', 'Average DAU', 'Conversion', distinct(of.activeUsers)],
  ['cost', 'Ad spend', 'Cost', money(of.cost)],
  ['adjust_cost', 'Ad spend (attribution)', 'Cost', money(of.attributedCost)],
  ['ecpi', 'eCPI (paid installs)', 'Cost', price(of.cost, of.paidInstalls)],
  ['ecpi_all', 'eCPI (all installs)', 'Cost', price(of.cost, of.installs)],
  ['ecpm', 'eCPM', 'Cost', price(of.cost, of.impressions, 1000)],
  ['revenue', 'Revenue', 'Revenue', money(of.revenue)],
  ['ad_revenue', 'Ad revenue', 'Revenue', money(of.adRevenue)],
  ['all_revenue', 'All revenue', 'Revenue', money(of.allRevenue)],
  [
    'arpdau',
    'ARPDAU',
    'Revenue',
    { ...price(of.allRevenue, of.activeUsers), formatting: 'money_precise' },
  ],
  // Cohort metrics without a period grow for ever.
  ['cohort_size', 'Cohort size', 'Retention', counted(of.lifetimeSize)],
  [
    'cohort_revenue',
    'Cohort revenue',
    'Revenue',
    money(of.cohortRevenue(Number.POSITIVE_INFINITY)),
  ],
  ['roas', 'ROAS', 'Revenue', ratio(of.cohortRevenue(Number.POSITIVE_INFINITY), of.cost)],
]);

const reportedByNetworks = metricsOf('cost_metrics', [
  ['network_cost', 'Ad spend (network)', 'Cost', money(of.networkCost)],
  ['network_installs', 'Installs (network)', 'Cost', counted(of.networkInstalls)],
  ['network_clicks', 'Clicks (network)', 'Cost', counted(of.networkClicks)],
  ['network_impressions', 'Impressions (network)', 'Cost', counted(of.networkImpressions)],
  [
    'network_cost_diff',
    'Ad spend diff (network)',
    'Cost',
    apart('micros', of.networkCost, of.attributedCost),
  ],
  [
    'network_installs_diff',
    'Installs diff (network)',
    'Cost',
    apart('count', of.networkInstalls, of.installs),
  ],
  ['network_ecpi', 'eCPI (network)', 'Cost', price(of.networkCost, of.networkInstalls)],
  ['ecpi_network', 'eCPI (network spend)', 'Cost', price(of.networkCost, of.installs)],
  ['network_ecpc', 'eCPC (network)', 'Cost', price(of.networkCost, of.networkClicks)],
]);

const postbacks = metricsOf('skad_metrics', [
  ['skad_installs', 'Installs (SKAN)', 'Installs', counted(of.postbacks(null))],
  ...Array.from({ length: of.CONVERSION_VALUES }, (_, value): MetricLine => {
    const arrived = counted(of.postbacks(value));
    return [`conversion_value_${value}`, `Conversion value ${value}`, 'Conversion Values', arrived];
  }),
]);

function cohortLines(period: CohortPeriod): MetricLine[] {
  const size = of.cohortSize(period);
  const retained = of.lived('retained', 1, period);
  const revenue = of.grownIn(period, of.cohortRevenue);
  const revenueTotal = of.cohortRevenue(period.untilHour);
  const adTotal = of.cohortAdRevenue(period.untilHour);
  const allTotal = of.sumOf(revenueTotal, adTotal);
  /** Withheld from mature cohorts until every member has reached the end of the period. */
  const cumulative = { completeAfterDays: period.untilHour / HOURS_PER_DAY };
  return [
    ['retained_users', 'Retained users', 'Retention', counted(retained)],
    ['cohort_size', 'Cohort size', 'Retention', counted(size)],
    ['paying_users', 'Paying users', 'Revenue', counted(of.lived('payers', 0.06, period))],
    ['sessions', 'Sessions', 'Retention', counted(of.lived('sessions', 2.4, period))],
    ['time_spent', 'Time spent', 'Retention', counted(of.lived('time', 411, period), 'timeperiod')],
    ['retention_rate', 'Retention rate', 'Retention', ratio(retained, size)],
    ['revenue', 'Revenue', 'Revenue', money(revenue)],
    ['revenue_total', 'Revenue total', 'Revenue', { ...money(revenueTotal), ...cumulative }],
    ['ad_revenue_total', 'Ad revenue total', 'Revenue', { ...money(adTotal), ...cumulative }],
    ['all_revenue_total', 'All revenue total', 'Revenue', { ...money(allTotal), ...cumulative }],
    ['revenue_per_user', 'Revenue per user', 'Revenue', price(revenue, size)],
    ['roas', 'ROAS', 'Revenue', { ...ratio(allTotal, of.cost), ...cumulative }],
    ['roas_ad', 'ROAS (ad revenue)', 'Revenue', { ...ratio(adTotal, of.cost), ...cumulative }],
  ];
}

export const cohortFamilies: readonly (readonly [id: string, name: string])[] = cohortPeriods
  .slice(0, 1)
  .flatMap((period) => cohortLines(period).map(([id, name]) => [id, name]));

const cohorts = cohortPeriods.flatMap((period) =>
  cohortLines(period).map(([id, name, section, formula]): MetricLine => {
    return [`${id}_${period.id}`, `${name} ${period.id.toUpperCase()}`, section, formula];
  }),
);

function eventLines(slug: string): MetricLine[] {
  const { events, revenue } = of.eventMeasures(slug);
  return [
    [`${slug}_events`, `${slug} events`, 'Events', counted(events)],
    [`${slug}_revenue`, `${slug} revenue`, 'Events', money(revenue)],
    ...cohortPeriods.map((period): MetricLine => {
      const occurred = counted(of.lived(slug, 0.8, period));
      return [
        `${slug}_${period.id}_events_cohort`,
        `${slug} events ${period.id.toUpperCase()}`,
        'Events',
        occurred,
      ];
    }),
  ];
}

export const metrics: WorldMetrics = new Map(
  [
    ...overview,
    ...reportedByNetworks,
    ...postbacks,
    ...metricsOf('cohort_metrics', cohorts),
    ...metricsOf('event_metrics', eventSlugs.flatMap(eventLines)),
  ].map((metric) => [metric.id, metric]),
);
