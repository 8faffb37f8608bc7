/**
 * The table of every metric of the world. Reports look metrics up here, filters-data is generated from it.
 *
 * Ids, sections, formattings and formulas follow service-examples/metric_catalog.csv and service-interface: Metrics.
 */

import { cohortMetrics, cohortEventMetrics, lifetimeMetrics } from './cohort-metrics.ts';
import { CONVERSION_VALUES, conversionValue, conversionValueTotal, eventMeasures } from './measures.ts';
import * as measure from './measures.ts';
import { apart, counted, dailyMean, money, price, ratio } from './metric.ts';
import type { Metric } from './metric.ts';

/** Event slugs: one with a space, one with a hash suffix, one that looks as if it held a period. */
export const eventSlugs = [
  'purchase',
  'first purchase',
  'sign_up_a1b2c3',
  'dulci_purchase_d7_s2s',
  'level_10',
] as const;

const conversion = { section: 'Conversion', filter: 'overview_metrics' } as const;
const revenue = { section: 'Revenue', filter: 'overview_metrics' } as const;
const spend = { section: 'Cost', filter: 'overview_metrics', increaseIsNegative: true } as const;
const network = { section: 'Cost', filter: 'cost_metrics' } as const;
const { allRevenue } = measure;
/** Weekly and monthly users per daily one. */
const WEEKLY_REACH = 3.1;
const MONTHLY_REACH = 7.4;

const overview: readonly Metric[] = [
  counted({ ...conversion, id: 'installs', name: 'Installs' }, measure.installs),
  counted({ ...conversion, id: 'clicks', name: 'Clicks' }, measure.clicks),
  counted({ ...conversion, id: 'impressions', name: 'Impressions' }, measure.impressions),
  counted({ ...conversion, id: 'sessions', name: 'Sessions' }, measure.sessions),
  counted({ ...conversion, id: 'reattributions', name: 'Reattributions' }, measure.reattributions),
  counted({ ...conversion, id: 'uninstalls', name: 'Uninstalls', increaseIsNegative: true }, measure.uninstalls),
  counted({ ...conversion, id: 'organic_installs', name: 'Organic installs' }, measure.organicInstalls),
  counted({ ...spend, id: 'paid_installs', name: 'Paid installs', increaseIsNegative: false }, measure.paidInstalls),
  counted({ ...spend, id: 'paid_impressions', name: 'Paid impressions' }, measure.paidImpressions),
  counted(
    { ...conversion, section: 'Fraud', id: 'rejected_installs_anon_ip', name: 'Rejected installs (anonymous IP)' },
    measure.rejectedInstalls,
  ),
  ratio(
    { ...conversion, id: 'ctr', name: 'Click-through rate', shortName: 'CTR' },
    measure.clicks,
    measure.impressions,
  ),
  ratio(
    { ...conversion, id: 'click_conversion_rate', name: 'Click conversion rate', shortName: 'CCR' },
    measure.installs,
    measure.clicks,
  ),
  ratio(
    { ...conversion, id: 'installs_per_mile', name: 'Installs per mille', formatting: 'decimal' },
    measure.installs,
    measure.impressions,
    1000,
  ),
  ratio(
    { ...conversion, id: 'organic_install_rate', name: 'Organic install rate' },
    measure.organicInstalls,
    measure.installs,
  ),
  dailyMean({ ...conversion, id: 'daus', name: 'Average DAU', shortName: 'DAU' }, measure.activeUsers, 1),
  dailyMean({ ...conversion, id: 'waus', name: 'Average WAU', shortName: 'WAU' }, measure.activeUsers, WEEKLY_REACH),
  dailyMean({ ...conversion, id: 'maus', name: 'Average MAU', shortName: 'MAU' }, measure.activeUsers, MONTHLY_REACH),
  money({ ...spend, id: 'cost', name: 'Ad spend' }, measure.cost),
  money({ ...spend, id: 'adjust_cost', name: 'Ad spend (attribution)' }, measure.attributedCost),
  money({ ...spend, id: 'install_cost', name: 'Install cost' }, measure.installCost),
  money({ ...spend, id: 'click_cost', name: 'Click cost' }, measure.clickCost),
  money({ ...spend, id: 'impression_cost', name: 'Impression cost' }, measure.impressionCost),
  money({ ...spend, id: 'event_cost', name: 'Event cost' }, measure.eventCost),
  price(
    { ...spend, id: 'ecpi', name: 'eCPI (paid installs)', shortName: 'eCPI (paid)' },
    measure.cost,
    measure.paidInstalls,
  ),
  price(
    { ...spend, id: 'ecpi_all', name: 'eCPI (all installs)', shortName: 'eCPI (all)' },
    measure.cost,
    measure.installs,
  ),
  price({ ...spend, id: 'ecpm', name: 'eCPM' }, measure.cost, measure.paidImpressions, 1000),
  money({ ...revenue, id: 'revenue', name: 'Revenue' }, measure.revenue),
  money({ ...revenue, id: 'ad_revenue', name: 'Ad revenue' }, measure.adRevenue),
  money({ ...revenue, id: 'all_revenue', name: 'All revenue' }, allRevenue),
  counted({ ...revenue, id: 'revenue_events', name: 'Revenue events' }, measure.revenueEvents),
  price({ ...revenue, id: 'arpdau', name: 'ARPDAU', formatting: 'money_precise' }, allRevenue, measure.activeUsers),
];

const reportedByNetworks: readonly Metric[] = [
  money({ ...network, id: 'network_cost', name: 'Ad spend (network)', increaseIsNegative: true }, measure.networkCost),
  counted({ ...network, id: 'network_installs', name: 'Installs (network)' }, measure.networkInstalls),
  counted({ ...network, id: 'network_clicks', name: 'Clicks (network)' }, measure.networkClicks),
  counted({ ...network, id: 'network_impressions', name: 'Impressions (network)' }, measure.networkImpressions),
  apart(
    { ...network, id: 'network_cost_diff', name: 'Ad spend diff (network)', increaseIsNegative: true },
    'micros',
    measure.networkCost,
    measure.attributedCost,
  ),
  apart(
    { ...network, id: 'network_installs_diff', name: 'Installs diff (network)' },
    'count',
    measure.networkInstalls,
    measure.installs,
  ),
  price({ ...network, id: 'network_ecpi', name: 'eCPI (network)' }, measure.networkCost, measure.networkInstalls),
  price({ ...network, id: 'ecpi_network', name: 'eCPI (network spend)' }, measure.networkCost, measure.installs),
  price({ ...network, id: 'network_ecpc', name: 'eCPC (network)' }, measure.networkCost, measure.networkClicks),
];

function postbackMetrics(): Metric[] {
  const values = { section: 'Conversion Values', filter: 'skad_metrics' } as const;
  const byValue = Array.from({ length: CONVERSION_VALUES }, (_, value) => {
    const arrived = conversionValue(value);
    return [
      counted({ ...values, id: `conversion_value_${value}`, name: `Conversion value ${value}` }, arrived),
      counted({ ...values, id: `skad_conversion_value_${value}`, name: `Conversion value ${value} (SKAN)` }, arrived),
    ];
  });
  return [
    counted({ ...values, section: 'Installs', id: 'skad_installs', name: 'Installs (SKAN)' }, measure.postbackInstalls),
    counted({ ...values, id: 'conversion_value_total', name: 'Conversion value total' }, conversionValueTotal),
    counted(
      { ...values, id: 'skad_conversion_value_total', name: 'Conversion value total (SKAN)' },
      conversionValueTotal,
    ),
    ...byValue.flat(),
  ];
}

function eventMetrics(): Metric[] {
  const events = { section: 'Events', filter: 'event_metrics' } as const;
  return eventSlugs.flatMap((slug, nth) => {
    const measures = eventMeasures(nth);
    const byEvent = [
      counted({ ...events, id: `${slug}_events`, name: `${slug} events` }, measures.events),
      money({ ...events, id: `${slug}_revenue`, name: `${slug} revenue` }, measures.revenue),
    ];
    return byEvent.concat(cohortEventMetrics(slug, nth));
  });
}

/** Every metric by its id, in the order the catalog lists them. */
export const metrics: ReadonlyMap<string, Metric> = new Map(
  [
    ...overview,
    ...lifetimeMetrics,
    ...reportedByNetworks,
    ...postbackMetrics(),
    ...cohortMetrics,
    ...eventMetrics(),
  ].map((metric) => [metric.id, metric]),
);
