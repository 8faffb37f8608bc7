/**
 * Measures: what one atom contributes at a moment, as an integer.
 *
 * Counts are whole numbers, money is micro-units of the report's currency, rounded per atom: sums are exact, whichever
 * way the atoms are grouped. How they settle (observed: How numbers move): each rule takes what a value will be in the end
 * and says what of it shows at an age, in whole hours since the hour it belongs to. The age after which nothing moves is
 * always reached before the end of the value's day plus the horizon. Cohort measures are in `cohort-metrics.ts`.
 */

import type { Atom } from './atoms.ts';
import { choose, fraction, mix } from './hash.ts';
import { pricings } from './lanes.ts';
import { parameterValues, type ValueOf } from './parameters.ts';

/** When and in which terms a report looks at the atoms. */
export interface Moment {
  /** Whole hours since 1970 (UTC). */
  readonly nowHour: number;
  /** What a US dollar is in the report's currency. */
  readonly rate: number;
  /** The same for revenue, of which only a share may be reported. */
  readonly revenueRate: number;
  readonly adSpendMode: ValueOf<'ad_spend_mode'>;
  /** Within which counts settle. */
  readonly settlingDays: number;
  /** Ad revenue sources that count; null counts all. */
  readonly revenueSources: readonly string[] | null;
}

export type Measure = (atom: Atom, ageHours: number, at: Moment) => number;

/** Each measure has its own salts, so that no two of them move together. */
const salts = {
  installs: 100,
  clicks: 110,
  impressions: 120,
  sessions: 130,
  reattributions: 140,
  uninstalls: 150,
  rejected: 160,
  users: 170,
  revenue: 180,
  adRevenue: 190,
  revenueEvents: 200,
  source: 210,
  cost: 220,
  networkCost: 230,
  networkInstalls: 240,
  networkClicks: 250,
  networkImpressions: 260,
  postbacks: 270,
  events: 300,
} as const;

const HOURS_PER_DAY = 24;

/** Counts: late arrivals and rejections end just under so many days after the hour. */
export const SETTLING_DAYS = 7;
const MAX_SHARE_LATE = 0.16;
const MAX_SHARE_REJECTED = 0.12;

/** An integer that settles within some days: some of it arrives late, and some is counted at first and rejected later. */
function settledAt(final: number, seed: number, ageHours: number, days: number): number {
  const settlingHours = days * HOURS_PER_DAY;
  if (ageHours >= settlingHours - 1) return final;
  let value = final;
  const late = mix(seed, 11);
  if (ageHours <= choose(late, settlingHours - 1)) {
    value -= Math.floor(final * MAX_SHARE_LATE * fraction(mix(late, 1)) + fraction(mix(late, 2)));
  }
  const rejected = mix(seed, 13);
  if (ageHours <= choose(rejected, settlingHours - 1)) {
    value += Math.floor(final * MAX_SHARE_REJECTED * fraction(mix(rejected, 1)) + fraction(mix(rejected, 2)));
  }
  return Math.max(0, value);
}

/** Spend is pulled again every day at this hour (UTC) … */
const PASS_HOUR = 9;
/** … this many times: the last pass comes no later than 14 days after the hour. */
const PASSES = 14;
const MAX_RESTATEMENT = 0.15;

/** An integer as its network reports it: nothing before the first pass, restated both ways by the following ones. */
function spentAt(final: number, seed: number, atomHour: number, nowHour: number): number {
  const passed = Math.floor((nowHour - PASS_HOUR) / HOURS_PER_DAY) - Math.floor((atomHour - PASS_HOUR) / HOURS_PER_DAY);
  if (passed <= 0) return 0;
  const lastPass = 1 + choose(mix(seed, 17), PASSES);
  if (passed >= lastPass) return final;
  const swing = 2 * fraction(mix(seed, 19 + Math.floor(passed / 2))) - 1;
  return Math.max(0, Math.round(final * (1 + MAX_RESTATEMENT * swing)));
}

/** Postbacks come in three waves (hours after the install), the last one just under 42 days later. */
const waves = [
  { share: 0.75, from: 2 * HOURS_PER_DAY, until: 4 * HOURS_PER_DAY },
  { share: 0.15, from: 10 * HOURS_PER_DAY, until: 15 * HOURS_PER_DAY },
  { share: 0.1, from: 36 * HOURS_PER_DAY, until: 42 * HOURS_PER_DAY - 1 },
] as const;

/** The age at which one postback arrives. */
function postbackHours(seed: number): number {
  let luck = fraction(seed);
  for (const wave of waves) {
    if (luck < wave.share) return wave.from + choose(mix(seed, 23), wave.until - wave.from);
    luck -= wave.share;
  }
  return waves[0].from;
}

/** The sum of other measures; exact, as each is an integer. */
export function sumOf(...measures: readonly Measure[]): Measure {
  return (atom, ageHours, at) => measures.reduce((sum, measure) => sum + measure(atom, ageHours, at), 0);
}

function settling(salt: number, finalOf: (atom: Atom, chance: number) => number): Measure {
  return (atom, ageHours, { settlingDays }) => {
    const seed = mix(atom.seed, salt);
    return settledAt(Math.floor(finalOf(atom, fraction(seed))), seed, ageHours, settlingDays);
  };
}

/** Installs of an atom that count at an age; also the members of its cohort. */
export const installs: Measure = (atom, ageHours, { settlingDays }) =>
  settledAt(atom.installs, mix(atom.seed, salts.installs), ageHours, settlingDays);

const clicksOf = (atom: Atom): number =>
  atom.lane.paid ? Math.floor(atom.installs * (4 + 20 * fraction(mix(atom.seed, salts.clicks)))) + 1 : 0;
const impressionsOf = (atom: Atom): number =>
  atom.lane.paid ? Math.floor(clicksOf(atom) * (15 + 60 * fraction(mix(atom.seed, salts.impressions)))) : 0;

export const clicks = settling(salts.clicks, clicksOf);
export const impressions = settling(salts.impressions, impressionsOf);
export const sessions = settling(salts.sessions, (atom, chance) => atom.installs * (2 + 6 * chance) + chance);
export const uninstalls = settling(salts.uninstalls, (atom, chance) => atom.installs * 0.3 * chance + chance);
export const rejectedInstalls = settling(salts.rejected, (atom, chance) => atom.installs * 0.1 * chance + 0.3);
export const activeUsers = settling(salts.users, (atom, chance) => atom.installs * (3 + 5 * chance) + 1);
export const revenueEvents = settling(salts.revenueEvents, (atom, chance) => atom.installs * 0.2 * chance + chance);
export const reattributions = settling(salts.reattributions, (atom, chance) =>
  atom.reattributed ? 1 + atom.installs * 0.5 * chance : 0,
);

const ifPaid =
  (measure: Measure): Measure =>
  (atom, ageHours, at) =>
    atom.lane.paid ? measure(atom, ageHours, at) : 0;

export const paidInstalls = ifPaid(installs);
export const paidImpressions = ifPaid(impressions);
export const organicInstalls: Measure = (atom, ageHours, at) => (atom.lane.paid ? 0 : installs(atom, ageHours, at));

const grossRevenue = settling(
  salts.revenue,
  (atom, chance) => atom.installs * atom.lane.userValueMicros * (0.5 + chance),
);
const grossAdRevenue = settling(
  salts.adRevenue,
  (atom, chance) => atom.installs * atom.lane.userValueMicros * 0.6 * chance,
);

/** Whether an atom's ad revenue comes from a source the report counts. */
export function countsAdRevenue(atom: Atom, at: Moment): boolean {
  if (at.revenueSources === null) return true;
  const sources = parameterValues.ad_revenue_sources;
  const source = sources[choose(mix(atom.seed, salts.source), sources.length)];
  return source !== undefined && at.revenueSources.includes(source);
}

export const revenue: Measure = (atom, ageHours, at) => Math.round(grossRevenue(atom, ageHours, at) * at.revenueRate);
export const adRevenue: Measure = (atom, ageHours, at) =>
  countsAdRevenue(atom, at) ? Math.round(grossAdRevenue(atom, ageHours, at) * at.revenueRate) : 0;
export const allRevenue = sumOf(revenue, adRevenue);

const attributedSpend = (atom: Atom): number => Math.floor(atom.installs * atom.lane.bidMicros);

function spend(pricing: (typeof pricings)[number]): Measure {
  const salt = salts.cost + pricings.indexOf(pricing);
  return (atom, _, at) => {
    if (!atom.lane.paid || atom.lane.pricing !== pricing) return 0;
    return Math.round(spentAt(attributedSpend(atom), mix(atom.seed, salt), atom.hour, at.nowHour) * at.rate);
  };
}

export const installCost = spend('install');
export const clickCost = spend('click');
export const impressionCost = spend('impression');
export const eventCost = spend('event');
export const attributedCost = sumOf(installCost, clickCost, impressionCost, eventCost);

function reported(salt: number, finalOf: (atom: Atom) => number): Measure {
  return (atom, _, at) => {
    if (!atom.lane.networkReports) return 0;
    const seed = mix(atom.seed, salt);
    const final = Math.floor(finalOf(atom) * (0.85 + 0.3 * fraction(seed)));
    return spentAt(final, seed, atom.hour, at.nowHour);
  };
}

export const networkInstalls = reported(salts.networkInstalls, (atom) => atom.installs);
export const networkClicks = reported(salts.networkClicks, clicksOf);
export const networkImpressions = reported(salts.networkImpressions, impressionsOf);
const networkSpend = reported(salts.networkCost, attributedSpend);
export const networkCost: Measure = (atom, ageHours, at) => Math.round(networkSpend(atom, ageHours, at) * at.rate);

/** Spend by the report's `ad_spend_mode`; mixed takes the network's word where it gives one. */
export const cost: Measure = (atom, ageHours, at) => {
  const byNetwork = at.adSpendMode === 'network' || (at.adSpendMode === 'mixed' && atom.lane.networkReports);
  return byNetwork ? networkCost(atom, ageHours, at) : attributedCost(atom, ageHours, at);
};

const SHARE_WITH_POSTBACK = 0.6;
/** Fine conversion values are six bits; one more stands for a postback without any. */
export const CONVERSION_VALUES = 64;
const NO_VALUE = CONVERSION_VALUES;

/** How many postbacks of an atom have arrived, of one conversion value or of those that `counts` accepts. */
function postbacks(counts: (conversionValue: number) => boolean): Measure {
  return (atom, ageHours) => {
    if (!atom.lane.postbacks) return 0;
    let arrived = 0;
    for (let user = 0; user < Math.ceil(atom.installs * SHARE_WITH_POSTBACK); user += 1) {
      const seed = mix(mix(atom.seed, salts.postbacks), user);
      const chance = fraction(mix(seed, 1));
      const value = chance > 0.85 ? NO_VALUE : Math.floor(chance * chance * CONVERSION_VALUES * 1.38);
      if (counts(value) && postbackHours(seed) <= ageHours) arrived += 1;
    }
    return arrived;
  };
}

export const postbackInstalls = postbacks(() => true);
export const conversionValueTotal = postbacks((value) => value !== NO_VALUE);

/** Postbacks with one conversion value, 0 to 63; they add up to `conversionValueTotal`. */
export function conversionValue(of: number): Measure {
  return postbacks((value) => value === of);
}

/** Occurrences of the nth event, and what they earned. */
export function eventMeasures(nth: number): { readonly events: Measure; readonly revenue: Measure } {
  const salt = salts.events + 2 * nth;
  const gross = settling(salt + 1, (atom, chance) => atom.installs * atom.lane.userValueMicros * 0.2 * chance);
  return {
    events: settling(salt, (atom, chance) => atom.installs * 0.6 * chance + chance),
    revenue: (atom, ageHours, at) => Math.round(gross(atom, ageHours, at) * at.revenueRate),
  };
}
