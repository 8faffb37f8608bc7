/** The milestones that are worth a request, those at which something moves by more than a tolerance, and what the others cost; pure. */

import { MS_PER_DAY } from '../model/calendar.ts';
import { milestoneAges } from '../model/maturity.ts';
import type { Metric } from '../model/metric.ts';
import { FEWEST_PERIODS, quantile, valueAt, type Development } from './development.ts';

/** So many periods have to move by less; of the others `check` tells how far they did. */
const STILL_SHARE = 0.9;

/**
 * The milestones without those since whose last kept one every additive metric that still matures has moved by less than the
 * tolerance, in nine of ten periods, as a share of the final total: up or down, as moves both ways would cancel out in any
 * average. An age of which nothing is known is kept, also where only ratios still mature, or a metric never becomes final: what
 * is skipped for long is looked at again, once the periods that were read at it have left the history. When a metric becomes
 * final it is fetched whatever this says.
 */
export function worthwhileAges(
  metrics: readonly Pick<Metric, 'id' | 'additive' | 'horizonMs'>[],
  known: ReadonlyMap<string, Development>,
  tolerance: number,
): number[] {
  if (metrics.some(({ horizonMs }) => horizonMs === null)) return [...milestoneAges];
  const kept: number[] = [];
  for (const age of milestoneAges) {
    const last = kept.at(-1);
    const maturing = metrics.filter(({ additive, horizonMs }) => additive && age <= (horizonMs ?? 0) / MS_PER_DAY);
    const isStill = (since: number, id: string): boolean => {
      const moves = movesBetween(known.get(id) ?? [], since, age);
      return moves.length >= FEWEST_PERIODS && (quantile(moves, STILL_SHARE) ?? Infinity) < tolerance;
    };
    const isIdle = last !== undefined && maturing.length > 0 && maturing.every(({ id }) => isStill(last, id));
    if (!isIdle) kept.push(age);
  }
  return kept;
}

/** What a slice's fetches until now would have been without the ages that are not worth a request by what is known now. */
export interface AdaptiveCost {
  readonly tolerance: number;
  readonly agesLeftOut: readonly number[];
  /** How often a period was fetched until all of it was final. */
  readonly fetches: number;
  /** Those at an age left out with which no metric became final. */
  readonly fetchesLeftOut: number;
  readonly rows: number;
  readonly rowsLeftOut: number;
  /** Totals of periods by now final that a fetch left out had read, and those that differed from what would have been held. */
  readonly totals: number;
  readonly totalsDiffered: number;
  /** By how much at most, as a share of the final total; null where none did. */
  readonly mostDiffered: number | null;
}

/** What is known of a metric, and how many rows each period holds, by its last day. */
export interface Fetched {
  readonly development: Development;
  readonly rows: ReadonlyMap<number, number>;
}

/** The cost of a tolerance; `known` has the metrics that become final. */
export function adaptiveCost(
  metrics: readonly Pick<Metric, 'id' | 'additive' | 'horizonMs'>[],
  known: ReadonlyMap<string, Fetched>,
  tolerance: number,
): AdaptiveCost {
  const developments = new Map([...known].map(([id, { development }]) => [id, development]));
  const kept = new Set(worthwhileAges(metrics, developments, tolerance));
  const agesLeftOut = milestoneAges.filter((age) => !kept.has(age));
  const finding = fetchesFinding([...developments.values()]);
  const isLeftOut = (lastDay: number, age: number): boolean =>
    agesLeftOut.includes(age) && finding.get(lastDay)?.get(age) === false;
  const rowsOf = (day: number): number => Math.max(0, ...[...known.values()].map(({ rows }) => rows.get(day) ?? 0));
  const fetches = [...finding].flatMap(([lastDay, ages]) => {
    const rows = rowsOf(lastDay);
    return [...ages.keys()].map((age) => ({ rows, isLeft: isLeftOut(lastDay, age) }));
  });
  const left = fetches.filter(({ isLeft }) => isLeft);
  const missed = [...developments.values()].flatMap((development) => missedBy(development, isLeftOut));
  const differed = missed.filter((share) => share !== 0);
  const sumOf = (of: typeof fetches): number => of.reduce((sum, { rows }) => sum + rows, 0);
  return {
    tolerance,
    agesLeftOut,
    fetches: fetches.length,
    fetchesLeftOut: left.length,
    rows: sumOf(fetches),
    rowsLeftOut: sumOf(left),
    totals: missed.length,
    totalsDiffered: differed.length,
    mostDiffered: differed.length === 0 ? null : Math.max(...differed),
  };
}

/** The ages at which each period was fetched, by its last day, each with whether some metric was final from then on. */
function fetchesFinding(developments: readonly Development[]): Map<number, Map<number, boolean>> {
  const fetches = new Map<number, Map<number, boolean>>();
  for (const { lastDay, readings, final } of developments.flat()) {
    const ages = fetches.get(lastDay) ?? new Map<number, boolean>();
    for (const { age } of readings) ages.set(age, ages.get(age) ?? false);
    if (final !== null) ages.set(final.age, true);
    fetches.set(lastDay, ages);
  }
  return fetches;
}

/**
 * Of each total that a fetch left out had read: how far it was from the one that the fetch before would have left in its place,
 * as a share of the final total. Periods that are not final, or came to nothing, say nothing.
 */
function missedBy(development: Development, isLeftOut: (lastDay: number, age: number) => boolean): number[] {
  return development.flatMap(({ lastDay, readings, final }) => {
    const left = readings.filter(({ age }) => isLeftOut(lastDay, age));
    if (final === null || final.value <= 0) return [];
    return left.flatMap(({ age, value }) => {
      const held = readings.findLast((before) => before.age < age && !isLeftOut(lastDay, before.age));
      return held === undefined ? [] : [Math.abs(value - held.value) / final.value];
    });
  });
}

/** How far each final total that was read at both ages moved between them, as a share of what it came to. */
function movesBetween(development: Development, before: number, now: number): number[] {
  return development.flatMap((cohort) => {
    const [from, to, final] = [valueAt(cohort, before), valueAt(cohort, now), cohort.final?.value ?? 0];
    return from === null || to === null || final <= 0 ? [] : [Math.abs(to - from) / final];
  });
}
