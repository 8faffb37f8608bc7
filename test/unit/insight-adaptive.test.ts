/** Adaptive ages: which milestones a history calls idle, and what leaving them out saves and costs in the simulated world. */

import { describe, expect, test } from 'vitest';

import { adaptiveCost, worthwhileAges } from '../../src/insight/adaptive-ages.ts';
import type { Development } from '../../src/insight/development.ts';
import { addDays, day, startOfDayAt, UTC } from '../../src/model/calendar.ts';
import { milestoneAges } from '../../src/model/maturity.ts';
import { passNights } from '../bench/nights/pass-nights.ts';
import { ripen } from '../bench/nights/policy.ts';
import { askWorld } from '../bench/nights/reported-rows.ts';
import { nightsFromStart } from '../bench/nights/setting.ts';
import { countMetric } from '../support/slice.ts';

/** Periods whose total at each milestone was such a share of the final one, 1000; `stray` moves every second one up and down. */
const curve = (shares: readonly number[], stray = 0, periods = 30): Development =>
  Array.from({ length: periods }, (_, at) => ({
    lastDay: at,
    readings: shares.map((share, nth) => ({
      age: milestoneAges[nth] ?? 0,
      value: 1000 * share * (1 + (((at + nth) % 2) - 0.5) * stray),
    })),
    final: { age: 15, value: 1000 },
  }));

describe('worthwhile ages', () => {
  const installs = countMetric('installs', 14);

  test('are all 8 milestones without a history', () => {
    expect(worthwhileAges([installs], new Map(), 0.01)).toEqual(milestoneAges);
  });

  test('leave out 3, 5 and 14 of a metric that moved by less than 1 % since the milestone kept before', () => {
    const known = new Map([['installs', curve([0.8, 0.9, 0.905, 0.92, 0.925, 0.94, 0.96, 0.965])]]);
    expect(worthwhileAges([installs], known, 0.01)).toEqual([1, 2, 4, 7, 10]);
  });

  test('add up small steps: 4 of 0.4 % each are not all skipped under a tolerance of 1 %', () => {
    const known = new Map([['installs', curve([0.98, 0.984, 0.988, 0.992, 0.996, 1, 1, 1])]]);
    expect(worthwhileAges([installs], known, 0.01)).toEqual([1, 4]);
  });

  test('keep an age for the one metric of two that still moves, or of which nothing is known', () => {
    const still = curve([1, 1, 1, 1, 1, 1, 1, 1]);
    const moving = curve([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]);
    const two = [installs, countMetric('clicks', 14)];
    expect(
      worthwhileAges(
        two,
        new Map([
          ['installs', still],
          ['clicks', moving],
        ]),
        0.01,
      ),
    ).toEqual(milestoneAges);
    expect(worthwhileAges(two, new Map([['installs', still]]), 0.01)).toEqual(milestoneAges);
    expect(worthwhileAges([installs], new Map([['installs', still]]), 0.01)).toEqual([1]);
  });
});

test('an age is kept where a metric never becomes final or only ratios still mature, and where nothing does none is told as left out', () => {
  const still = new Map([['installs', curve([1, 1, 1, 1, 1, 1, 1, 1])]]);
  const installs = countMetric('installs', 7);
  expect(worthwhileAges([installs, { ...countMetric('lifetime', 7), horizonMs: null }], still, 0.01)).toEqual(
    milestoneAges,
  );
  expect(worthwhileAges([installs, { ...countMetric('ratio', 14), additive: false }], still, 0.01)).toEqual([
    1, 10, 14,
  ]);
  const rows = new Map<number, number>();
  const known = new Map([['installs', { development: curve([1, 1, 1, 1, 1, 1]), rows }]]);
  expect(adaptiveCost([installs], known, 0.01).agesLeftOut).toEqual([2, 3, 4, 5, 7]);
});

test('moves both ways do not cancel out: an age at which every period strays by 4 % and the middle by none is kept under 1 %', () => {
  const metric = countMetric('installs', 14);
  const strayed = new Map([['installs', curve([1, 1, 1, 1, 1, 1, 1, 1], 0.04)]]);
  expect(worthwhileAges([metric], strayed, 0.01)).toEqual(milestoneAges);
  expect(worthwhileAges([metric], strayed, 0.05)).toEqual([1]);
  expect(worthwhileAges([metric], new Map([['installs', curve([1, 1, 1], 0, 7)]]), 0.01)).toEqual(milestoneAges);
});

describe('the cost of a tolerance', () => {
  const installs = countMetric('installs', 14);
  const known = (development: Development, rows = 7) =>
    new Map([['installs', { development, rows: new Map(development.map(({ lastDay }) => [lastDay, rows])) }]]);
  const slow = [0.8, 0.9, 0.905, 0.92, 0.925, 0.94, 0.96, 0.965];

  test('of 1 % is 90 of 270 fetches saved in 30 periods, and 90 totals off by 0.5 % at most, as those of ages 3, 5 and 14 were', () => {
    const cost = adaptiveCost([installs], known(curve(slow)), 0.01);
    expect(cost).toMatchObject({ agesLeftOut: [3, 5, 14], fetches: 270, fetchesLeftOut: 90 });
    expect(cost).toMatchObject({ rows: 1890, rowsLeftOut: 630, totals: 90, totalsDiffered: 90 });
    expect(cost.mostDiffered).toBeCloseTo(0.005, 9);
  });

  test('counts a total against the fetch before it that would still have been made', () => {
    const cost = adaptiveCost([installs], known(curve(slow)), 0.03);
    expect(cost.agesLeftOut).toEqual([3, 4, 5, 10, 14]);
    // 0.925 at age 5 against 0.9 at age 2, where ages 3 and 4 are left out too; 0.965 at 14 against 0.94 at 7.
    expect(cost.mostDiffered).toBeCloseTo(0.025, 9);
    const still = adaptiveCost([installs], known(curve([1, 1, 1, 1, 1, 1, 1, 1])), 0.01);
    expect(still).toMatchObject({ fetchesLeftOut: 210, totals: 210, totalsDiffered: 0, mostDiffered: null });
  });

  test('saves no fetch with which another metric becomes final, and says nothing of periods that are not final', () => {
    const clicks = countMetric('clicks', 6);
    const until = (of: Development, final: Development[number]['final']): Development =>
      of.map(({ lastDay, readings }) => ({ lastDay, readings, final }));
    const short = until(curve([1, 1, 1, 1, 1]), { age: 7, value: 1000 });
    const both = new Map([
      ...known(curve([1, 1, 1, 1, 1, 1, 1, 1])),
      ['clicks', { development: short, rows: new Map() }],
    ]);
    const cost = adaptiveCost([installs, clicks], both, 0.01);
    expect(cost).toMatchObject({ agesLeftOut: [2, 3, 4, 5, 7, 10, 14], fetches: 270, fetchesLeftOut: 180 });
    const open = until(curve([1, 1]), null);
    expect(adaptiveCost([installs], known([...curve([1, 1, 1, 1, 1, 1, 1, 1]), ...open]), 0.01).totals).toBe(210);
    expect(adaptiveCost([installs], new Map(), 0.01)).toMatchObject({ agesLeftOut: [], fetches: 0, totals: 0 });
  });
});

const NIGHTS = Number(process.env['RIPEN_NIGHTS'] ?? 40);
const COHORTS = 24;

test(`${NIGHTS} nights of adaptive ages ask for fewer rows than milestones, those for fewer than nightly, and no final cell is wrong`, () => {
  const whole = nightsFromStart(NIGHTS, 10);
  const wanted = new Set(['installs', 'clicks', 'network_cost']);
  const setting = {
    ...whole,
    slice: { ...whole.slice, metrics: [...wanted] },
    metrics: whole.metrics.filter(({ id }) => wanted.has(id)),
  };
  const first = day('2025-01-01');
  const totalOf = (metric: string, at: number, age: number): number => {
    const of = addDays(first, at);
    const now = new Date(startOfDayAt(addDays(of, age), UTC).getTime() + 3 * 3_600_000);
    const rows =
      askWorld(setting.world, setting.slice, { start: of, end: addDays(of, 1) }, now)
        .get(of)
        ?.values() ?? [];
    return [...rows].reduce((sum, row) => sum + Number(row[metric]), 0);
  };
  const known = new Map(
    setting.metrics.map(({ id, horizonMs }) => {
      const horizonDays = (horizonMs ?? 0) / 86_400_000;
      const development = Array.from({ length: COHORTS }, (_, at) => ({
        lastDay: at,
        readings: milestoneAges
          .filter((age) => age <= horizonDays)
          .map((age) => ({ age, value: totalOf(id, at, age) })),
        final: { age: horizonDays + 1, value: totalOf(id, at, horizonDays + 1) },
      }));
      return [id, development];
    }),
  );
  const ages = worthwhileAges(setting.metrics, known, 0.02);
  expect(ages.length).toBeLessThan(milestoneAges.length);
  const [adaptive, milestones, nightly] = passNights(
    [ripen('adaptive', ages), ripen('milestones', 'milestones'), ripen('nightly', 'nightly')],
    setting,
  );
  expect(adaptive?.rows).toBeLessThan(milestones?.rows ?? 0);
  expect(milestones?.rows).toBeLessThan(nightly?.rows ?? 0);
  expect([adaptive, milestones, nightly].map((outcome) => outcome?.wrongFinalCells)).toEqual([0, 0, 0]);
});
