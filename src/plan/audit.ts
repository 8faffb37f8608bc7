/** Audits: which final cells are asked for again, to measure that final is final. Pure; the draw can be repeated. */

import { createHash } from 'node:crypto';

import { dayAt, daysBetween, startOfDayAt, UTC, type Day } from '../model/calendar.ts';
import { finalMetrics } from '../model/maturity.ts';
import type { Metric } from '../model/metric.ts';
import { ageOf, isWhole, type Period } from '../model/period.ts';
import { type Window, windowOf } from '../model/window.ts';
import { type SlicePlan, windowDays } from './plan.ts';

/** A window of a week says of every weekday, and is a small request. */
const MOST_DAYS = 7;

export interface Audited {
  readonly plan: SlicePlan;
  readonly metrics: readonly Metric[];
}

interface Candidate {
  readonly of: Audited;
  readonly period: Period;
  readonly weight: number;
}

/** What every draw's seed begins with; the night follows. */
export const SEED_PREFIX = 'ripen audit ';

/** The night a draw belongs to: the day in UTC, so that a plan, or a run after a killed one, draws what the sync draws. */
export const nightOf = (planAt: Date): Day => dayAt(planAt, UTC);

/** How many windows a night may ask for again, and how many of them earlier runs of it did. */
export interface Draws {
  readonly windows: number;
  readonly done: number;
}

/**
 * The plans with at most so many windows of final cells more, of all slices together. A period is drawn by its weight: its
 * rows times its final metrics, over its age, as what was final yesterday is the likeliest to move still. Its window takes in
 * its older neighbours, a week at most. Nothing that is asked for anyway, or was on the same day, as that says nothing new,
 * nothing that is let go, and nothing of a table that is being built.
 */
export function withAudits(all: readonly Audited[], { windows, done }: Draws, planAt: Date): SlicePlan[] {
  const drawn: Window[] = [];
  for (let draw = done; draw < windows; draw += 1) {
    const candidates = all.flatMap((of) => candidatesOf(of, planAt, drawn));
    const found = drawnFrom(candidates, fractionOf(`${SEED_PREFIX}${nightOf(planAt)} ${draw}`));
    if (found !== null) drawn.push(windowAround(found, candidates));
  }
  return all.map(({ plan }) => {
    const mine = drawn.filter(({ slice }) => slice === plan.slice);
    const merged = [...plan.windows, ...mine].toSorted((a, b) => (a.asked.start < b.asked.start ? -1 : 1));
    return mine.length === 0 ? plan : { ...plan, windows: merged };
  });
}

function candidatesOf(of: Audited, planAt: Date, drawn: readonly Window[]): Candidate[] {
  const { plan, metrics } = of;
  const { slice, table, windows } = plan;
  if (slice.grain === null || table?.state !== 'live') return [];
  const additive = metrics.filter((metric) => metric.additive);
  const mine = [...windows, ...drawn.filter((window) => window.slice === slice)];
  const asked = new Set(mine.flatMap(({ periods }) => periods.map(({ period }) => period.bucket.start)));
  const today = startOfDayAt(dayAt(planAt, slice.utcOffset), slice.utcOffset);
  return plan.periods.flatMap((period): Candidate[] => {
    const held = table.periods.get(period.bucket.start);
    if (held === undefined || held.rows === 0 || held.fetchedAt >= today) return [];
    if (asked.has(period.bucket.start) || !isWhole(period) || !isWhole(held)) return [];
    const final = finalMetrics(period, additive, slice, held).length;
    if (final === 0) return [];
    return [{ of, period, weight: (held.rows * final) / Math.max(1, ageOf(period, planAt, slice.utcOffset)) }];
  });
}

/** The candidate at a share of all weights; null of none. */
function drawnFrom(candidates: readonly Candidate[], share: number): Candidate | null {
  let left = share * candidates.reduce((sum, { weight }) => sum + weight, 0);
  for (const candidate of candidates) {
    left -= candidate.weight;
    if (left < 0) return candidate;
  }
  return candidates.at(-1) ?? null;
}

function windowAround({ of, period }: Candidate, candidates: readonly Candidate[]): Window {
  const { slice, table, fingerprint } = of.plan;
  const days = Math.min(MOST_DAYS, windowDays(slice, table));
  const mine = new Map(
    candidates.filter((each) => each.of === of).map((each) => [each.period.bucket.end, each.period]),
  );
  const periods = [period];
  for (let [first] = periods; first !== undefined;) {
    const before = mine.get(first.bucket.start);
    if (before === undefined || daysBetween(before.bucket.start, period.bucket.end) > days) break;
    periods.unshift(before);
    first = before;
  }
  const due = periods.map((each) => ({ period: each, reason: 'audit' as const }));
  return windowOf(slice, fingerprint, due, table?.parts ?? undefined);
}

/** From 0 up to 1, alike on every machine. */
function fractionOf(seed: string): number {
  return createHash('sha256').update(seed).digest().readUInt32BE(0) / 2 ** 32;
}
