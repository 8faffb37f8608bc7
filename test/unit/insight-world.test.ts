/** The statistics on the simulated world, whose final values are known: maturation, projections beside two baselines. */

import { beforeAll, describe, expect, test } from 'vitest';

import {
  type Cohort,
  type Development,
  finalOf,
  maturationOf,
  scoresOf,
  type Score,
  standings,
} from '../../src/insight/ripening.ts';
import { addDays, day } from '../../src/model/calendar.ts';
import { createWorld, type WorldOptions } from '../support/simulator/world.ts';
import { askWorld } from '../bench/nights/reported-rows.ts';
import { slice } from '../support/slice.ts';

const DAYS = Number(process.env['RIPEN_DAYS'] ?? 120);
/** Worlds that have nothing in common but their rules. */
const SEEDS = (process.env['RIPEN_SEEDS'] ?? '1,12,14').split(',').map(Number);
const FIRST = day('2025-01-01');
const START_HOUR = 'T03:00:00Z';

/** The age in days at which a night first finds each metric final. */
const finalAges = { installs: 8, cost: 15, all_revenue_total_d7: 9, all_revenue_total_d30: 32 } as const;
type MetricName = keyof typeof finalAges;
const metrics: readonly MetricName[] = ['installs', 'cost', 'all_revenue_total_d7', 'all_revenue_total_d30'];
/** As `refresh: milestones` asks, and whenever some metric becomes final. */
const fetchAges = [1, 2, 3, 4, 5, 7, 8, 9, 10, 14, 15, 32];
const judgedAges = new Set([1, 3, 7, 14]);

const daily = slice({
  name: 'daily',
  dimensions: ['day'],
  metrics: [...metrics],
});

function developmentsOf(options: Partial<WorldOptions>): Map<MetricName, Development> {
  const world = createWorld(options);
  const totals = new Map<string, number>();
  for (let night = 1; night < DAYS + 32; night += 1) {
    const now = new Date(`${addDays(FIRST, night)}${START_HOUR}`);
    for (const age of fetchAges.filter((each) => each <= night && night - each < DAYS)) {
      const of = addDays(FIRST, night - age);
      const [row] =
        askWorld(world, daily, { start: of, end: addDays(of, 1) }, now)
          .get(of)
          ?.values() ?? [];
      for (const metric of metrics) totals.set(`${metric} ${night - age} ${age}`, Number(row?.[metric] ?? 0));
    }
  }
  return new Map(
    metrics.map((metric) => {
      const valueOf = (at: number, age: number): number => totals.get(`${metric} ${at} ${age}`) ?? 0;
      const cohorts = Array.from({ length: DAYS }, (_, at): Cohort => {
        const ages = fetchAges.filter((age) => age < finalAges[metric]);
        const readings = new Map(ages.map((age) => [age, valueOf(at, age)]));
        return { lastDay: at, readings, finals: [{ age: finalAges[metric], value: valueOf(at, finalAges[metric]) }] };
      });
      return [metric, cohorts];
    }),
  );
}

function scores(developments: ReadonlyMap<MetricName, Development>, metric: MetricName): Score[] {
  const own = developments.get(metric) ?? [];
  return scoresOf(own, standings(own)).filter(({ age_days: age }) => judgedAges.has(age));
}

describe.each(SEEDS)(`in a world of ${DAYS} days drawn from seed %i`, (seed) => {
  let developments: Map<MetricName, Development>;
  let rows: { readonly metric: MetricName; readonly score: Score }[];

  beforeAll(() => {
    developments = developmentsOf({ seed, apps: 2, partners: 6, links: 24, rowsPerDay: 60 });
    rows = metrics.flatMap((metric) => scores(developments, metric).map((score) => ({ metric, score })));
  });

  const of = (pick: (score: Score) => number | null, from = rows): number =>
    from.reduce((sum, { score }) => sum + (pick(score) ?? 0), 0);

  test('maturation is the curve of the world: half of the true shares lie between its quartiles', () => {
    for (const [metric, development] of developments) {
      for (const { age_days: age, share_q25: q25, share_median: median, share_q75: q75 } of maturationOf(
        development,
        standings(development)(Infinity).ages,
      )) {
        const shares = development.map((cohort) => (cohort.readings.get(age) ?? 0) / (finalOf(cohort) ?? 1));
        const inside = shares.filter((share) => q25 <= share && share <= q75).length / shares.length;
        expect(inside, `${metric} at ${age}`).toBeGreaterThanOrEqual(0.45);
        expect(q25 <= median && median <= q75).toBe(true);
      }
    }
    const d7 = maturationOf(developments.get('all_revenue_total_d7') ?? [], [1]);
    expect(d7.find(({ age_days: age }) => age === 1)?.share_median).toBeCloseTo(0.27, 1);
  });

  test('every row that is projected comes nearer than the values as they are, 3 times where less than half is known', () => {
    const told = rows.filter(({ score }) => score.reach !== null);
    expect(told.length).toBeGreaterThanOrEqual(8);
    for (const { metric, score } of told) {
      const [projected, asIs] = [score.median_abs_error ?? 1, score.median_abs_error_as_is ?? 0];
      expect(projected, `${metric} at ${score.age_days}`).toBeLessThanOrEqual(asIs);
      expect(projected * (asIs > 0.5 ? 3 : 1), `${metric} at ${score.age_days}`).toBeLessThanOrEqual(asIs);
    }
    const young = told.filter(({ score }) => (score.median_abs_error_as_is ?? 0) > 0.5);
    expect(young.length).toBeGreaterThanOrEqual(4);
  });

  test('the 80 % interval covers 70 to 90 % over all rows, and a row in which it covers less than 60 % is not projected', () => {
    const judged = of(({ cohorts }) => cohorts);
    const covered = of(({ cohorts, coverage }) => cohorts * (coverage ?? 0)) / judged;
    expect(covered).toBeGreaterThanOrEqual(0.7);
    expect(covered).toBeLessThanOrEqual(0.9);
    const uncovered = rows.filter(({ score }) => (score.coverage ?? 0) < 0.6);
    expect(uncovered.length).toBeLessThanOrEqual(1);
    for (const { score } of uncovered) expect(score.reason).toMatch(/^the 80 % interval held only \d+ % of/);
  });
});
