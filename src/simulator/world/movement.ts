/**
 * How values settle (observed: How numbers move).
 *
 * Each rule takes what a value will be in the end and says what of it shows at an age, in whole hours since the hour it
 * belongs to. Each has an age after which nothing moves any more, and that age is always reached before the end of the
 * value's day plus the horizon: a cohort, a restatement and a postback are counted from their own hour.
 */

import { choose, fraction, mix } from './hash.ts';

const HOURS_PER_DAY = 24;

/** Counts: late arrivals and rejections end just under so many days after the hour. */
export const SETTLING_DAYS = 7;
const MAX_SHARE_LATE = 0.16;
const MAX_SHARE_REJECTED = 0.12;

/** An integer that settles within some days: some of it arrives late, and some is counted at first and rejected later. */
export function settledAt(final: number, seed: number, ageHours: number, days: number): number {
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
export function spentAt(final: number, seed: number, atomHour: number, nowHour: number): number {
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
export function postbackHours(seed: number): number {
  let luck = fraction(seed);
  for (const wave of waves) {
    if (luck < wave.share) return wave.from + choose(mix(seed, 23), wave.until - wave.from);
    luck -= wave.share;
  }
  return waves[0].from;
}

/** How much of an age span has been lived at an age: 0 before it, 1 after it, growing hourly in between. */
export function livedShare(ageHours: number, fromHour: number, untilHour: number): number {
  if (ageHours <= fromHour) return 0;
  return ageHours >= untilHour ? 1 : (ageHours - fromHour) / (untilHour - fromHour);
}
