/** The cohort part of the metrics table: each family once per period, and the lifetime values without one. */

import {
  cohortEvents,
  cohortPeriods,
  cohortRevenue,
  cohortSessions,
  cohortSize,
  differenceOf,
  lifetimeCohortSize,
  payingUsers,
  retainedUsers,
  timeSpent,
  whenComplete,
} from './cohorts.ts';
import type { CohortPeriod } from './cohorts.ts';
import { cost, sumOf } from './measures.ts';
import { counted, money, price, ratio } from './metric.ts';
import type { Metric } from './metric.ts';

/** Readable names of the cohort families by the id they have without a period. */
export const cohortFamilies = {
  retained_users: 'Retained users',
  cohort_size: 'Cohort size',
  paying_users: 'Paying users',
  sessions: 'Sessions',
  time_spent: 'Time spent',
  retention_rate: 'Retention rate',
  revenue: 'Revenue',
  revenue_total: 'Revenue total',
  ad_revenue: 'Ad revenue',
  ad_revenue_total: 'Ad revenue total',
  all_revenue_total: 'All revenue total',
  all_revenue_total_in_cohort: 'All revenue total in cohort',
  revenue_per_user: 'Revenue per user',
  roas: 'ROAS',
  roas_ad: 'ROAS (ad revenue)',
} as const;

type Family = keyof typeof cohortFamilies;

function metricsOf(period: CohortPeriod): Metric[] {
  const entry = (family: Family, section: 'Retention' | 'Revenue') => ({
    id: `${family}_${period.id}`,
    name: `${cohortFamilies[family]} ${period.id.toUpperCase()}`,
    section,
    filter: 'cohort_metrics' as const,
  });
  const cumulative = (family: Family) => ({
    ...entry(family, 'Revenue'),
    completeAfterDays: period.completeAfterDays,
  });

  const size = cohortSize(period);
  const retained = retainedUsers(period);
  const iapTotal = cohortRevenue('iap', period.untilHour);
  const adTotal = cohortRevenue('ad', period.untilHour);
  const total = sumOf(iapTotal, adTotal);
  const iap = differenceOf(iapTotal, cohortRevenue('iap', period.fromHour));
  const ad = differenceOf(adTotal, cohortRevenue('ad', period.fromHour));

  return [
    counted(entry('retained_users', 'Retention'), retained),
    counted(entry('cohort_size', 'Retention'), size),
    counted(entry('paying_users', 'Revenue'), payingUsers(period)),
    counted(entry('sessions', 'Retention'), cohortSessions(period)),
    counted({ ...entry('time_spent', 'Retention'), formatting: 'timeperiod' }, timeSpent(period)),
    ratio(entry('retention_rate', 'Retention'), retained, size),
    money(entry('revenue', 'Revenue'), iap),
    money(cumulative('revenue_total'), iapTotal),
    money(entry('ad_revenue', 'Revenue'), ad),
    money(cumulative('ad_revenue_total'), adTotal),
    money(cumulative('all_revenue_total'), total),
    money(cumulative('all_revenue_total_in_cohort'), whenComplete(period, total)),
    price(entry('revenue_per_user', 'Revenue'), iap, size),
    ratio({ ...cumulative('roas') }, total, cost),
    ratio({ ...cumulative('roas_ad') }, adTotal, cost),
  ];
}

/** Every cohort family for every period. */
export const cohortMetrics: readonly Metric[] = cohortPeriods.flatMap((period) => metricsOf(period));

/** The cohort metrics of the nth event, for every period. */
export function cohortEventMetrics(slug: string, nth: number): Metric[] {
  const entry = { section: 'Events', filter: 'event_metrics' } as const;
  return cohortPeriods.flatMap((period) => {
    const measures = cohortEvents(nth, period);
    const age = period.id.toUpperCase();
    return [
      counted({ ...entry, id: `${slug}_${period.id}_events_cohort`, name: `${slug} events ${age}` }, measures.events),
      counted(
        { ...entry, id: `${slug}_${period.id}_conversions_cohort`, name: `${slug} conversions ${age}` },
        measures.conversions,
      ),
    ];
  });
}

const lifetimeIap = cohortRevenue('iap', Number.POSITIVE_INFINITY);
const lifetimeAd = cohortRevenue('ad', Number.POSITIVE_INFINITY);
const lifetime = { section: 'Revenue', filter: 'overview_metrics' } as const;

/** Values without a period: they grow for ever. */
export const lifetimeMetrics: readonly Metric[] = [
  counted({ ...lifetime, section: 'Retention', id: 'cohort_size', name: 'Cohort size' }, lifetimeCohortSize),
  money({ ...lifetime, id: 'cohort_revenue', name: 'Cohort revenue' }, lifetimeIap),
  money({ ...lifetime, id: 'cohort_ad_revenue', name: 'Cohort ad revenue' }, lifetimeAd),
  ratio({ ...lifetime, id: 'roas', name: 'ROAS' }, sumOf(lifetimeIap, lifetimeAd), cost),
];
