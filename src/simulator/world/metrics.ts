/**
 * The table of every metric of the world. Reports look metrics up here, filters-data is generated from it.
 *
 * Ids, sections, formattings and formulas follow the service's own catalog and service-interface: Metrics.
 */

import { cohortEventMetrics, cohortMetrics, lifetimeMetrics } from './cohort-metrics.ts';
import * as of from './measures.ts';
import { apart, counted, dailyMean, type WorldMetric, metricsOf, money, price, ratio } from './metric.ts';

/** Event slugs: one with a space, one with a hash suffix, one that looks as if it held a period. */
const eventSlugs = ['purchase', 'first purchase', 'sign_up_a1b2c3', 'dulci_purchase_d7_s2s', 'level_10'] as const;

/** Weekly and monthly users per daily one. */
const WEEKLY_REACH = 3.1;
const MONTHLY_REACH = 7.4;

const negative = { increase_is_negative: true };
const costSection = { section: 'Cost', increase_is_negative: true };

const traffic = metricsOf('overview_metrics', 'Conversion', [
  ['installs', 'Installs', counted(of.installs)],
  ['clicks', 'Clicks', counted(of.clicks)],
  ['impressions', 'Impressions', counted(of.impressions)],
  ['sessions', 'Sessions', counted(of.sessions)],
  ['reattributions', 'Reattributions', counted(of.reattributions)],
  ['uninstalls', 'Uninstalls', counted(of.uninstalls), negative],
  ['organic_installs', 'Organic installs', counted(of.organicInstalls)],
  ['paid_installs', 'Paid installs', counted(of.paidInstalls), { section: 'Cost' }],
  ['paid_impressions', 'Paid impressions', counted(of.paidImpressions), costSection],
  ['rejected_installs_anon_ip', 'Rejected installs (anonymous IP)', counted(of.rejectedInstalls), { section: 'Fraud' }],
  ['ctr', 'Click-through rate', ratio(of.clicks, of.impressions), { short_name: 'CTR' }],
  ['click_conversion_rate', 'Click conversion rate', ratio(of.installs, of.clicks), { short_name: 'CCR' }],
  ['installs_per_mile', 'Installs per mille', ratio(of.installs, of.impressions, 1000), { formatting: 'decimal' }],
  ['organic_install_rate', 'Organic install rate', ratio(of.organicInstalls, of.installs)],
  ['daus', 'Average DAU', dailyMean(of.activeUsers, 1), { short_name: 'DAU' }],
  ['waus', 'Average WAU', dailyMean(of.activeUsers, WEEKLY_REACH), { short_name: 'WAU' }],
  ['maus', 'Average MAU', dailyMean(of.activeUsers, MONTHLY_REACH), { short_name: 'MAU' }],
]);

const spend = metricsOf(
  'overview_metrics',
  'Cost',
  [
    ['cost', 'Ad spend', money(of.cost)],
    ['adjust_cost', 'Ad spend (attribution)', money(of.attributedCost)],
    ['install_cost', 'Install cost', money(of.installCost)],
    ['click_cost', 'Click cost', money(of.clickCost)],
    ['impression_cost', 'Impression cost', money(of.impressionCost)],
    ['event_cost', 'Event cost', money(of.eventCost)],
    ['ecpi', 'eCPI (paid installs)', price(of.cost, of.paidInstalls), { short_name: 'eCPI (paid)' }],
    ['ecpi_all', 'eCPI (all installs)', price(of.cost, of.installs), { short_name: 'eCPI (all)' }],
    ['ecpm', 'eCPM', price(of.cost, of.paidImpressions, 1000)],
  ],
  negative,
);

const revenue = metricsOf('overview_metrics', 'Revenue', [
  ['revenue', 'Revenue', money(of.revenue)],
  ['ad_revenue', 'Ad revenue', money(of.adRevenue)],
  ['all_revenue', 'All revenue', money(of.allRevenue)],
  ['revenue_events', 'Revenue events', counted(of.revenueEvents)],
  ['arpdau', 'ARPDAU', price(of.allRevenue, of.activeUsers), { formatting: 'money_precise' }],
]);

const reportedByNetworks = metricsOf('cost_metrics', 'Cost', [
  ['network_cost', 'Ad spend (network)', money(of.networkCost), negative],
  ['network_installs', 'Installs (network)', counted(of.networkInstalls)],
  ['network_clicks', 'Clicks (network)', counted(of.networkClicks)],
  ['network_impressions', 'Impressions (network)', counted(of.networkImpressions)],
  ['network_cost_diff', 'Ad spend diff (network)', apart('micros', of.networkCost, of.attributedCost), negative],
  ['network_installs_diff', 'Installs diff (network)', apart('count', of.networkInstalls, of.installs)],
  ['network_ecpi', 'eCPI (network)', price(of.networkCost, of.networkInstalls)],
  ['ecpi_network', 'eCPI (network spend)', price(of.networkCost, of.installs)],
  ['network_ecpc', 'eCPC (network)', price(of.networkCost, of.networkClicks)],
]);

/** Each under its own name and under that of the install framework. */
const conversionValues = Array.from({ length: of.CONVERSION_VALUES }, (_, value) => {
  const arrived = counted(of.conversionValue(value));
  const name = `Conversion value ${value}`;
  return metricsOf('skad_metrics', 'Conversion Values', [
    [`conversion_value_${value}`, name, arrived],
    [`skad_conversion_value_${value}`, `${name} (SKAN)`, arrived],
  ]);
}).flat();

const postbacks = metricsOf('skad_metrics', 'Conversion Values', [
  ['skad_installs', 'Installs (SKAN)', counted(of.postbackInstalls), { section: 'Installs' }],
  ['conversion_value_total', 'Conversion value total', counted(of.conversionValueTotal)],
  ['skad_conversion_value_total', 'Conversion value total (SKAN)', counted(of.conversionValueTotal)],
]);

const events = eventSlugs.flatMap((slug, nth) => {
  const measures = of.eventMeasures(nth);
  const byEvent = metricsOf('event_metrics', 'Events', [
    [`${slug}_events`, `${slug} events`, counted(measures.events)],
    [`${slug}_revenue`, `${slug} revenue`, money(measures.revenue)],
  ]);
  return byEvent.concat(cohortEventMetrics(slug, nth));
});

/** Every metric by its id, in the order the catalog lists them. */
export const metrics: ReadonlyMap<string, WorldMetric> = new Map(
  [
    ...traffic,
    ...spend,
    ...revenue,
    ...lifetimeMetrics,
    ...reportedByNetworks,
    ...postbacks,
    ...conversionValues,
    ...cohortMetrics,
    ...events,
  ].map((metric) => [metric.id, metric]),
);
