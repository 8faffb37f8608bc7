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
  ['installs', 'Conversion', counted(of.installs)],
  ['clicks', 'Conversion', counted(of.clicks)],
  ['impressions', 'Conversion', counted(of.impressions)],
  ['sessions', 'Conversion', counted(of.sessions)],
  ['reattributions', 'Conversion', counted(of.reattributions)],
  ['uninstalls', 'Conversion', counted(of.uninstalls)],
  ['organic_installs', 'Conversion', counted(of.organicInstalls)],
  ['paid_installs', 'Cost', counted(of.paidInstalls)],
  ['paid_impressions', 'Cost', counted(of.impressions)],
  ['rejected_installs_anon_ip', 'Fraud', counted(of.rejectedInstalls)],
  ['ctr', 'Conversion', ratio(of.clicks, of.impressions)],
  ['click_conversion_rate', 'Conversion', ratio(of.installs, of.clicks)],
  ['installs_per_mile', 'Conversion', ratio(of.installs, of.impressions, 1000, 'decimal')],
  ['organic_install_rate', 'Conversion', ratio(of.organicInstalls, of.installs)],
  ['daus', 'Conversion', distinct(of.activeUsers)],
  ['cost', 'Cost', money(of.cost)],
  ['adjust_cost', 'Cost', money(of.attributedCost)],
  ['ecpi', 'Cost', price(of.cost, of.paidInstalls)],
  ['ecpi_all', 'Cost', price(of.cost, of.installs)],
  ['ecpm', 'Cost', price(of.cost, of.impressions, 1000)],
  ['revenue', 'Revenue', money(of.revenue)],
  ['ad_revenue', 'Revenue', money(of.adRevenue)],
  ['all_revenue', 'Revenue', money(of.allRevenue)],
  ['arpdau', 'Revenue', { ...price(of.allRevenue, of.activeUsers), formatting: 'money_precise' }],
  // Cohort metrics without a period grow for ever.
  ['cohort_size', 'Retention', counted(of.lifetimeSize)],
  ['cohort_revenue', 'Revenue', money(of.cohortRevenue(Number.POSITIVE_INFINITY))],
  ['roas', 'Revenue', ratio(of.cohortRevenue(Number.POSITIVE_INFINITY), of.cost)],
]);

const reportedByNetworks = metricsOf('cost_metrics', [
  ['network_cost', 'Cost', money(of.networkCost)],
  ['network_installs', 'Cost', counted(of.networkInstalls)],
  ['network_clicks', 'Cost', counted(of.networkClicks)],
  ['network_impressions', 'Cost', counted(of.networkImpressions)],
  ['network_cost_diff', 'Cost', apart('micros', of.networkCost, of.attributedCost)],
  ['network_installs_diff', 'Cost', apart('count', of.networkInstalls, of.installs)],
  ['network_ecpi', 'Cost', price(of.networkCost, of.networkInstalls)],
  ['ecpi_network', 'Cost', price(of.networkCost, of.installs)],
  ['network_ecpc', 'Cost', price(of.networkCost, of.networkClicks)],
]);

const postbacks = metricsOf('skad_metrics', [
  ['skad_installs', 'Installs', counted(of.postbacks(null))],
  ...Array.from({ length: of.CONVERSION_VALUES }, (_, value): MetricLine => {
    const arrived = counted(of.postbacks(value));
    return [`conversion_value_${value}`, 'Conversion Values', arrived];
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
    ['retained_users', 'Retention', counted(retained)],
    ['cohort_size', 'Retention', counted(size)],
    ['paying_users', 'Revenue', counted(of.lived('payers', 0.06, period))],
    ['sessions', 'Retention', counted(of.lived('sessions', 2.4, period))],
    ['time_spent', 'Retention', counted(of.lived('time', 411, period), 'timeperiod')],
    ['retention_rate', 'Retention', ratio(retained, size)],
    ['revenue', 'Revenue', money(revenue)],
    ['revenue_total', 'Revenue', { ...money(revenueTotal), ...cumulative }],
    ['ad_revenue_total', 'Revenue', { ...money(adTotal), ...cumulative }],
    ['all_revenue_total', 'Revenue', { ...money(allTotal), ...cumulative }],
    ['revenue_per_user', 'Revenue', price(revenue, size)],
    ['roas', 'Revenue', { ...ratio(allTotal, of.cost), ...cumulative }],
    ['roas_ad', 'Revenue', { ...ratio(adTotal, of.cost), ...cumulative }],
  ];
}

export const cohortFamilies: readonly string[] = cohortPeriods
  .slice(0, 1)
  .flatMap((period) => cohortLines(period).map(([id]) => id));

const cohorts = cohortPeriods.flatMap((period) =>
  cohortLines(period).map(([id, section, formula]): MetricLine => {
    return [`${id}_${period.id}`, section, formula];
  }),
);

function eventLines(slug: string): MetricLine[] {
  const { events, revenue } = of.eventMeasures(slug);
  return [
    [`${slug}_events`, 'Events', counted(events)],
    [`${slug}_revenue`, 'Events', money(revenue)],
    ...cohortPeriods.map((period): MetricLine => {
      const occurred = counted(of.lived(slug, 0.8, period));
      return [`${slug}_${period.id}_events_cohort`, 'Events', occurred];
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
