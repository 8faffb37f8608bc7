/**
 * Cohort metrics: what the users an atom installed did by an age, as far as they have lived it; each family once per
 * period, and the lifetime values without one.
 *
 * A value of age N grows hourly from nothing until the users' own N+1st day (week, month) is over, hence never later
 * than N+1 of them after the end of the install day. Members are the installs that count at the moment, so that late
 * rejections take cohorts along. Lifetime values grow for ever, ever more slowly.
 */

import type { Atom } from './atoms.ts';
import { fraction, mix } from './hash.ts';
import { cost, countsAdRevenue, installs, type Measure, sumOf } from './measures.ts';
import { counted, type WorldMetric, type MetricLine, metricsOf, money, price, ratio } from './metric.ts';

interface CohortPeriod {
  /** `d7`, `w2`, `m1`. */
  readonly id: string;
  /** Ages, `[fromHour, untilHour)`, in hours since the install. */
  readonly fromHour: number;
  readonly untilHour: number;
}

const HOURS_PER_DAY = 24;

function periods(letter: string, last: number, days: number): CohortPeriod[] {
  return Array.from({ length: last + 1 }, (_, age) => ({
    id: `${letter}${age}`,
    fromHour: age * days * HOURS_PER_DAY,
    untilHour: (age + 1) * days * HOURS_PER_DAY,
  }));
}

/** Every period the service knows: d0 to d120, w0 to w52, m0 to m36; a week is 7 days, a month 30 (observed: Metrics). */
export const cohortPeriods: readonly CohortPeriod[] = [
  ...periods('d', 120, 1),
  ...periods('w', 52, 7),
  ...periods('m', 36, 30),
];

/** Salts of cohort measures; events take the ones after the last. */
const salts = { iap: 400, ad: 401, retained: 402, payers: 403, sessions: 404, time: 405, events: 420 } as const;

const PAYING_SHARE = 0.06;
const SESSIONS_PER_USER = 2.4;
const SECONDS_PER_USER = 411;
const AD_SHARE = 0.5;
/** Divides the square root of an age in hours, so that the first day's worth is about one user value. */
const CURVE_UNIT = 5;

/** Users earn as the square root of their age: much at first, a little for ever, and alike on every machine. */
function earnedBy(kind: 'iap' | 'ad', atom: Atom, members: number, ageHours: number): number {
  const chance = fraction(mix(atom.seed, salts[kind]));
  const scale = kind === 'ad' ? AD_SHARE * chance : 0.5 + chance;
  return Math.floor((members * atom.lane.userValueMicros * scale * Math.sqrt(ageHours)) / CURVE_UNIT);
}

/** Revenue of a cohort up to an age; `Infinity` is a lifetime. */
function cohortRevenue(kind: 'iap' | 'ad', untilHour: number): Measure {
  return (atom, ageHours, at) => {
    if (kind === 'ad' && !countsAdRevenue(atom, at)) return 0;
    const members = installs(atom, ageHours, at);
    return Math.round(earnedBy(kind, atom, members, Math.min(ageHours, untilHour)) * at.revenueRate);
  };
}

/** The difference of two measures; exact, as both are integers. */
function differenceOf(whole: Measure, part: Measure): Measure {
  return (atom, ageHours, at) => whole(atom, ageHours, at) - part(atom, ageHours, at);
}

/** A measure from an age on; nothing before it. */
function fromAge(hours: number, measure: Measure): Measure {
  return (atom, ageHours, at) => (ageHours >= hours ? measure(atom, ageHours, at) : 0);
}

/** What the users who are still there do in a period, in proportion to how much of it they have lived. */
function lived({ fromHour, untilHour }: CohortPeriod, salt: number, perRetainedUser: number): Measure {
  return (atom, ageHours, at) => {
    if (ageHours <= fromHour) return 0;
    const share = ageHours >= untilHour ? 1 : (ageHours - fromHour) / (untilHour - fromHour);
    const retention = 1 / (1 + (atom.lane.churn * fromHour) / HOURS_PER_DAY);
    const users = installs(atom, ageHours, at) * retention;
    return Math.floor(users * perRetainedUser * share + fraction(mix(mix(atom.seed, salt), fromHour)));
  };
}

function measuresOf(period: CohortPeriod) {
  const { fromHour, untilHour } = period;
  const iapTotal = cohortRevenue('iap', untilHour);
  const adTotal = cohortRevenue('ad', untilHour);
  const total = sumOf(iapTotal, adTotal);
  return {
    size: fromAge(fromHour, installs),
    retained: lived(period, salts.retained, 1),
    payers: lived(period, salts.payers, PAYING_SHARE),
    sessions: lived(period, salts.sessions, SESSIONS_PER_USER),
    time: lived(period, salts.time, SECONDS_PER_USER),
    iap: differenceOf(iapTotal, cohortRevenue('iap', fromHour)),
    ad: differenceOf(adTotal, cohortRevenue('ad', fromHour)),
    iapTotal,
    adTotal,
    total,
    totalWhenComplete: fromAge(untilHour, total),
  };
}

type CohortMeasures = ReturnType<typeof measuresOf>;

/** The families in the order of the catalog; `cumulative` values are withheld until every member has lived the period. */
const families: readonly {
  readonly id: string;
  readonly name: string;
  readonly section?: string;
  readonly cumulative?: boolean;
  readonly formatting?: string;
  readonly of: (measures: CohortMeasures) => MetricLine[2];
}[] = [
  { id: 'retained_users', name: 'Retained users', section: 'Retention', of: (the) => counted(the.retained) },
  { id: 'cohort_size', name: 'Cohort size', section: 'Retention', of: (the) => counted(the.size) },
  { id: 'paying_users', name: 'Paying users', of: (the) => counted(the.payers) },
  { id: 'sessions', name: 'Sessions', section: 'Retention', of: (the) => counted(the.sessions) },
  {
    id: 'time_spent',
    name: 'Time spent',
    section: 'Retention',
    formatting: 'timeperiod',
    of: (the) => counted(the.time),
  },
  { id: 'retention_rate', name: 'Retention rate', section: 'Retention', of: (the) => ratio(the.retained, the.size) },
  { id: 'revenue', name: 'Revenue', of: (the) => money(the.iap) },
  { id: 'revenue_total', name: 'Revenue total', cumulative: true, of: (the) => money(the.iapTotal) },
  { id: 'ad_revenue', name: 'Ad revenue', of: (the) => money(the.ad) },
  { id: 'ad_revenue_total', name: 'Ad revenue total', cumulative: true, of: (the) => money(the.adTotal) },
  { id: 'all_revenue_total', name: 'All revenue total', cumulative: true, of: (the) => money(the.total) },
  {
    id: 'all_revenue_total_in_cohort',
    name: 'All revenue total in cohort',
    cumulative: true,
    of: (the) => money(the.totalWhenComplete),
  },
  { id: 'revenue_per_user', name: 'Revenue per user', of: (the) => price(the.iap, the.size) },
  { id: 'roas', name: 'ROAS', cumulative: true, of: (the) => ratio(the.total, cost) },
  { id: 'roas_ad', name: 'ROAS (ad revenue)', cumulative: true, of: (the) => ratio(the.adTotal, cost) },
];

/** Readable names of the cohort families by the id they have without a period. */
export const cohortFamilies: readonly (readonly [id: string, name: string])[] = families.map(({ id, name }) => [
  id,
  name,
]);

/** Every cohort family for every period. */
export const cohortMetrics: readonly WorldMetric[] = cohortPeriods.flatMap((period) => {
  const measures = measuresOf(period);
  const lines = families.map(({ id, name, section, cumulative, formatting, of }): MetricLine => {
    const formula = of(measures);
    return [
      `${id}_${period.id}`,
      `${name} ${period.id.toUpperCase()}`,
      { ...formula, formatting: formatting ?? formula.formatting },
      {
        section: section ?? 'Revenue',
        completeAfterDays: cumulative === true ? period.untilHour / HOURS_PER_DAY : null,
      },
    ];
  });
  return metricsOf('cohort_metrics', 'Revenue', lines);
});

/** The cohort metrics of the nth event, for every period: occurrences, and users who had it. */
export function cohortEventMetrics(slug: string, nth: number): WorldMetric[] {
  const salt = salts.events + 2 * nth;
  const lines = cohortPeriods.flatMap((period): MetricLine[] => {
    const age = period.id.toUpperCase();
    return [
      [`${slug}_${period.id}_events_cohort`, `${slug} events ${age}`, counted(lived(period, salt, 0.8))],
      [`${slug}_${period.id}_conversions_cohort`, `${slug} conversions ${age}`, counted(lived(period, salt + 1, 0.3))],
    ];
  });
  return metricsOf('event_metrics', 'Events', lines);
}

const lifetimeIap = cohortRevenue('iap', Number.POSITIVE_INFINITY);
const lifetimeAd = cohortRevenue('ad', Number.POSITIVE_INFINITY);
/** Users ever counted; returning ones keep joining. */
const lifetimeSize: Measure = (atom, ageHours, at) => {
  const joined = 0.02 * Math.sqrt(ageHours / HOURS_PER_DAY);
  return Math.floor(installs(atom, ageHours, at) * (1 + joined) + fraction(mix(atom.seed, salts.retained)));
};

/** Values without a period: they grow for ever. */
export const lifetimeMetrics: readonly WorldMetric[] = metricsOf('overview_metrics', 'Revenue', [
  ['cohort_size', 'Cohort size', counted(lifetimeSize), { section: 'Retention' }],
  ['cohort_revenue', 'Cohort revenue', money(lifetimeIap)],
  ['cohort_ad_revenue', 'Cohort ad revenue', money(lifetimeAd)],
  ['roas', 'ROAS', ratio(sumOf(lifetimeIap, lifetimeAd), cost)],
]);
