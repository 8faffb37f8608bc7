/**
 * What one atom contributes to a report at a moment: a count, or micro-units of the report's currency, so that sums are exact.
 * Only lifetime values grow for ever (observed: How numbers move).
 */

import type { Atom } from './atoms.ts';
import { choose, fraction, hashText, HOURS_PER_DAY, mix } from './hash.ts';
import { parameterValues } from './parameters.ts';

export interface Moment {
  readonly nowHour: number;
  /** Units of the report's currency per US dollar. */
  readonly rate: number;
  /** The same for revenue, times the share of it that the report requests. */
  readonly revenueRate: number;
  readonly adSpendMode: string;
  /** Null for all. */
  readonly revenueSources: readonly string[] | null;
}

export type Measure = (atom: Atom, at: Moment) => number;

/** `chance`, in [0, 1), differs by atom and measure. */
type Final = (users: number, chance: number, atom: Atom) => number;

interface Pace {
  /** How often it was reported by `nowHour`. */
  readonly stated: (atomHour: number, nowHour: number) => number;
  /** The report, counted from 1, that has the final value at the latest. */
  readonly times: number;
  /** The limits of its relative error before that. */
  readonly low: number;
  readonly high: number;
}

/** Some counts arrive late, others are rejected later, for up to 7 days. */
const byAge: Pace = {
  stated: (atomHour, nowHour) => 1 + Math.floor((nowHour - atomHour) / HOURS_PER_DAY),
  times: 8,
  low: -0.2,
  high: 0.08,
};

/** Spend is updated every day at this hour (UTC). */
const PASS_HOUR = 9;
const passesBy = (hour: number) => Math.floor((hour - PASS_HOUR) / HOURS_PER_DAY);
/** The last pass is at most 14 days after the hour. */
const byPass: Pace = {
  stated: (atomHour, nowHour) => passesBy(nowHour) - passesBy(atomHour),
  times: 14,
  low: -0.15,
  high: 0.15,
};

/** The name seeds the changes, so that no two measures move together. */
function restated({ stated, times, low, high }: Pace, name: string, finalOf: Final): Measure {
  const salt = hashText(name);
  return (atom, { nowHour }) => {
    const time = stated(atom.hour, nowHour);
    if (time < 1) return 0;
    const seed = mix(atom.seed, salt);
    const final = Math.floor(finalOf(atom.installs, fraction(seed), atom));
    if (time > choose(mix(seed, 0), times)) return final;
    const change = low + (high - low) * fraction(mix(seed, time));
    return Math.max(0, Math.floor(final * (1 + change) + fraction(mix(seed, -time))));
  };
}

const settling = (name: string, finalOf: Final) => restated(byAge, name, finalOf);
const spent = (name: string, finalOf: Final) => restated(byPass, name, finalOf);

export function sumOf(...measures: readonly Measure[]): Measure {
  return (atom, at) => measures.reduce((sum, measure) => sum + measure(atom, at), 0);
}

const ifPaid =
  (measure: Measure): Measure =>
  (atom, at) =>
    atom.lane.paid ? measure(atom, at) : 0;

/** Also the members of its cohort. */
export const installs = settling('installs', (users) => users);
export const paidInstalls = ifPaid(installs);
export const organicInstalls: Measure = (atom, at) => (atom.lane.paid ? 0 : installs(atom, at));

const clicksOf: Final = (users, chance) => users * (4 + 20 * chance) + 1;
const impressionsOf: Final = (users, chance) => users * (200 + 900 * chance) + 30;
export const clicks = ifPaid(settling('clicks', clicksOf));
export const impressions = ifPaid(settling('impressions', impressionsOf));
export const sessions = settling('sessions', (users, chance) => users * (2 + 6 * chance) + chance);
export const uninstalls = settling('uninstalls', (users, chance) => users * 0.3 * chance + chance);
export const rejectedInstalls = settling('rejected', (users, chance) => users * 0.1 * chance + 0.3);
export const activeUsers = settling('users', (users, chance) => users * (3 + 5 * chance) + 1);
export const reattributions = settling('reattributions', (users, chance, { reattributed }) =>
  reattributed ? 1 + users * 0.5 * chance : 0,
);

const inCurrency =
  (rate: 'rate' | 'revenueRate', gross: Measure): Measure =>
  (atom, at) =>
    Math.round(gross(atom, at) * at[rate]);

const sourceSalt = hashText('source');

const fromSources =
  (measure: Measure): Measure =>
  (atom, at) => {
    const sources = parameterValues.ad_revenue_sources;
    const source = sources[choose(mix(atom.seed, sourceSalt), sources.length)] ?? '';
    return at.revenueSources?.includes(source) === false ? 0 : measure(atom, at);
  };

const earned = (name: string, grossOf: (value: number, chance: number) => number) =>
  inCurrency(
    'revenueRate',
    settling(name, (users, chance, { lane }) => grossOf(users * lane.userValueMicros, chance)),
  );

export const revenue = earned('revenue', (value, chance) => value * (0.5 + chance));
export const adRevenue = fromSources(earned('ad revenue', (value, chance) => value * 0.6 * chance));
export const allRevenue = sumOf(revenue, adRevenue);

export const eventMeasures = (slug: string) => ({
  events: settling(slug, (users, chance) => users * 0.6 * chance + chance),
  revenue: earned(`${slug} revenue`, (value, chance) => value * 0.2 * chance),
});

const spendOf: Final = (users, _, { lane }) => users * lane.bidMicros;

/** Close to the attributed figures, if the network reports any. */
const reported = (name: string, finalOf: Final) =>
  spent(name, (users, chance, atom) =>
    atom.lane.networkReports ? finalOf(users, 0.5, atom) * (0.85 + 0.3 * chance) : 0,
  );

export const attributedCost = ifPaid(inCurrency('rate', spent('cost', spendOf)));
export const networkCost = inCurrency('rate', reported('network cost', spendOf));
export const networkInstalls = reported('network installs', (users) => users);
export const networkClicks = reported('network clicks', clicksOf);
export const networkImpressions = reported('network impressions', impressionsOf);

/** `mixed` uses the network's figure if it reports one. */
export const cost: Measure = (atom, at) => {
  const byNetwork =
    at.adSpendMode === 'network' || (at.adSpendMode === 'mixed' && atom.lane.networkReports);
  return byNetwork ? networkCost(atom, at) : attributedCost(atom, at);
};

/** In hours after the install, the last wave within 42 days. */
const waves = [
  { share: 0.45, from: 2 * HOURS_PER_DAY, until: 4 * HOURS_PER_DAY },
  { share: 0.1, from: 10 * HOURS_PER_DAY, until: 15 * HOURS_PER_DAY },
  { share: 0.05, from: 36 * HOURS_PER_DAY, until: 42 * HOURS_PER_DAY - 1 },
] as const;
/** Fine conversion values are six bits. */
export const CONVERSION_VALUES = 64;

/** Null counts any conversion value. Each wave of an atom has one. */
export function postbacks(value: number | null): Measure {
  return (atom, { nowHour }) => {
    if (!atom.lane.postbacks) return 0;
    let arrived = 0;
    for (const { share, from, until } of waves) {
      const seed = mix(atom.seed, from);
      const isCounted = value === null || value === choose(mix(seed, 1), CONVERSION_VALUES);
      if (isCounted && nowHour - atom.hour >= from + choose(seed, until - from))
        arrived += Math.ceil(atom.installs * share);
    }
    return arrived;
  };
}

/** `[fromHour, untilHour)`, since the install. */
export interface AgeRange {
  readonly fromHour: number;
  readonly untilHour: number;
}

/** So that the first day's revenue is about one user value. */
const CURVE_UNIT = 5;

/** Fast at first, then slowly for ever. */
function earnedBy(name: string, userShare: number, untilHour: number): Measure {
  const salt = hashText(name);
  return inCurrency('revenueRate', (atom, at) => {
    const ageHours = Math.min(at.nowHour - atom.hour, untilHour);
    const perUser = atom.lane.userValueMicros * userShare * (0.5 + fraction(mix(atom.seed, salt)));
    return Math.floor((installs(atom, at) * perUser * Math.sqrt(ageHours)) / CURVE_UNIT);
  });
}

export const cohortRevenue = (untilHour: number): Measure =>
  earnedBy('cohort revenue', 1, untilHour);
export const cohortAdRevenue = (untilHour: number): Measure =>
  fromSources(earnedBy('cohort ad revenue', 0.25, untilHour));

export function grownIn(
  { fromHour, untilHour }: AgeRange,
  upTo: (untilHour: number) => Measure,
): Measure {
  const [whole, before] = [upTo(untilHour), upTo(fromHour)];
  return (atom, at) => whole(atom, at) - before(atom, at);
}

export function cohortSize({ fromHour }: AgeRange): Measure {
  return (atom, at) => (at.nowHour - atom.hour >= fromHour ? installs(atom, at) : 0);
}

/** Returning users keep adding to it. */
export const lifetimeSize: Measure = (atom, at) => {
  const joined = 0.02 * Math.sqrt((at.nowHour - atom.hour) / HOURS_PER_DAY);
  return Math.floor(installs(atom, at) * (1 + joined) + fraction(atom.seed));
};

/** What the remaining users of a cohort do grows in proportion to the time passed. */
export function lived(name: string, perUser: number, { fromHour, untilHour }: AgeRange): Measure {
  const salt = mix(hashText(name), fromHour);
  return (atom, at) => {
    const share = Math.min(1, (at.nowHour - atom.hour - fromHour) / (untilHour - fromHour));
    if (share <= 0) return 0;
    const retention = 1 / (1 + (atom.lane.churn * fromHour) / HOURS_PER_DAY);
    return Math.floor(
      installs(atom, at) * retention * perUser * share + fraction(mix(atom.seed, salt)),
    );
  };
}
