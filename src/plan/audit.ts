/** Audits: draws periods with final cells to request again, to measure that final is final. Pure; a draw can be repeated. */

import { createHash } from 'node:crypto';

import {
  batchesOf,
  bytesForMetrics,
  replacesSame,
  type Window,
  windowOf,
} from '../model/window.ts';
import { dayAt, startOfDayAt, UTC, type Day } from '../model/calendar.ts';
import { metricsByAge, ofSameAges } from '../model/cube.ts';
import { storedAt, knownSize } from '../model/ledger.ts';
import { finalMetrics } from '../model/maturity.ts';
import { isWhole, type Period } from '../model/period.ts';
import type { SlicePlan } from './plan.ts';

export interface Draw {
  readonly plan: SlicePlan;
  readonly period: Period;
  /** The text that the period was drawn with. */
  readonly seed: string;
  /** The metrics whose totals are compared: those that add up and are final in the period, at least one. */
  readonly metrics: readonly string[];
}

type Candidate = Omit<Draw, 'seed'>;

/** The night of a draw: the day in UTC, so that a plan, or a run after a killed one, draws the same as the sync. */
export const nightOf = (planAt: Date): Day => dayAt(planAt, UTC);

/** How many periods a night may draw, and how many of them its earlier runs already loaded. */
export interface Draws {
  readonly periods: number;
  readonly done: number;
}

/**
 * Draws at most so many periods from all slices together, each with a chance in proportion to its final cells. Also draws
 * periods that the night requests anyway: what is left out would never be found wrong. Each period has a number of its own
 * (Efraimidis and Spirakis 2006, "Weighted random sampling with a reservoir"), so that a run after a killed one draws the same.
 */
export function drawAudits(
  plans: readonly SlicePlan[],
  { periods, done }: Draws,
  planAt: Date,
): Draw[] {
  return plans
    .flatMap((plan) => candidatesOf(plan, planAt))
    .map((candidate) => {
      const { plan, period, metrics } = candidate;
      const seed = `ripen audit ${nightOf(planAt)} ${plan.slice.name} ${period.bucket.start} ${metrics[0] ?? ''}`;
      return {
        draw: { ...candidate, seed },
        rank: -Math.log(1 - fractionOf(seed)) / metrics.length,
      };
    })
    .toSorted((one, other) => one.rank - other.rank)
    .slice(0, Math.max(0, periods - done))
    .map(({ draw }) => draw);
}

/** The window that loads a drawn period again; in a cube only the drawn ages. */
function auditWindow({ plan, period, metrics }: Draw): Window {
  const { slice, fingerprint, table, planAt } = plan;
  const parts = knownSize(table, planAt)?.parts ?? undefined;
  return windowOf(ofSameAges(slice, metrics), fingerprint, [{ period, reason: 'audit' }], parts);
}

/** The plans with a window added for each drawn period that no other window of the night loads again. */
export function withAudits(plans: readonly SlicePlan[], drawn: readonly Draw[]): SlicePlan[] {
  return plans.map((plan) => {
    const added = drawn
      .filter((draw) => draw.plan === plan)
      .map(auditWindow)
      .filter((window) => !plan.windows.some((other) => replacesSame(other, window)));
    const windows = [...plan.windows, ...added].toSorted((a, b) =>
      a.requested.start < b.requested.start ? -1 : 1,
    );
    return added.length === 0 ? plan : { ...plan, windows };
  });
}

/** The covered periods of a live table with their final metrics; in a cube, as many ages together as an address holds. */
function candidatesOf(plan: SlicePlan, planAt: Date): Candidate[] {
  const { slice, table } = plan;
  if (slice.grain === null || table?.state !== 'live') return [];
  const adding = plan.metrics.filter(({ additive }) => additive);
  const ages = metricsByAge(slice, adding);
  const today = startOfDayAt(dayAt(planAt, slice.utcOffset), slice.utcOffset);
  return plan.periods.flatMap((period): Candidate[] => {
    const final = [...ages].flatMap(([age, metrics]) => {
      // A period that was fetched today says nothing new.
      const stored = storedAt(table, age, period.bucket.start);
      const isOld =
        stored !== undefined &&
        stored.rows > 0 &&
        stored.fetchedAt < today &&
        isWhole(period) &&
        isWhole(stored);
      const found = isOld ? finalMetrics(period, metrics, slice, stored) : [];
      return found.length === 0 ? [] : [found.map(({ id }) => id)];
    });
    const maxBytes = slice.cube === undefined ? Infinity : bytesForMetrics(slice);
    return batchesOf(final, maxBytes).map((metrics) => ({ plan, period, metrics }));
  });
}

/** A number from 0 to below 1, the same on every machine. */
function fractionOf(seed: string): number {
  return createHash('sha256').update(seed).digest().readUInt32BE(0) / 2 ** 32;
}
