/** Laws of planning, over random slices, ledgers and nights. A failure prints the seed and the path to replay it with. */

import * as fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';

import { addDays, dayAt, daysBetween, type Day } from '../../src/model/calendar.ts';
import { daysIn } from '../support/plain-values.ts';
import { firstKeptDay, endOf, isWhole, resolveDatePeriod } from '../../src/model/period.ts';
import { type Slice } from '../../src/model/slice.ts';
import { type SliceLedger } from '../../src/model/ledger.ts';
import { emptyLedger } from '../support/plain-values.ts';
import { milestoneAges, stateOf } from '../../src/model/maturity.ts';
import type { DuePeriod, Window } from '../../src/model/window.ts';
import { planSlice, windowDays } from '../../src/plan/plan.ts';
import { swapBlockedBy } from '../../src/plan/swap.ts';
import { splitByPeriods } from '../../src/model/window.ts';
import { property } from '../support/property.ts';
import {
  FIRST_DAY,
  horizonDays,
  hours,
  inFull,
  later,
  live,
  metricsOf,
  nights,
  planAt,
  slices,
  startOf,
  wholeNight,
  withLoaded,
} from '../support/planned-nights.ts';
import { slice } from '../support/slice.ts';

const runs = { numRuns: 60 };

/** Some hours after some nights: what is held, and the plan. */
const moments = fc.tuple(slices, nights, hours).map(([of, series, wait]) => {
  const { ledger, asOf: last } = live(of, series);
  const asOf = later(last, wait);
  return { of, ledger, asOf, plan: planAt(of, ledger, asOf) };
});

/** Every day from the first to the last that is stated or held, but for those to come and those that are let go. */
function coveredDays(of: Slice, ledger: SliceLedger, asOf: Date): Day[] {
  const stated = resolveDatePeriod(of, asOf);
  const statedDays = stated === null ? [] : daysIn(stated);
  const held = [...(ledger.live?.periods.values() ?? [])].flatMap(({ requested }) =>
    daysIn(requested),
  );
  if (of.grain === null) return stated === null ? held : statedDays;
  // A rolling start that has passed a fixed end leaves that end standing.
  const { first: from, last } = of.datePeriod;
  const isPassed = !('day' in from) && 'day' in last && held.some((each) => each < last.day);
  const ends = isPassed ? [last.day] : [];
  const [first, ...others] = [...statedDays, ...held, ...ends].sort();
  if (first === undefined) return [];
  const [kept, today] = [firstKeptDay(of, asOf) ?? first, dayAt(asOf, of.utcOffset)];
  return daysIn({ start: first, end: addDays(others.at(-1) ?? first, 1) }).filter(
    (each) => each >= kept && each <= today,
  );
}

test(
  'what is requested and what is settled are disjoint, and together everything stated or ever loaded, holes too',
  property([moments], runs, ({ of, ledger, asOf, plan }) => {
    const requested = plan.windows.flatMap((window) => daysIn(window.requested));
    const due = new Set(
      plan.windows.flatMap((window) => window.periods.map(({ period }) => period.bucket.start)),
    );
    const settled = plan.periods
      .filter(({ bucket }) => !due.has(bucket.start))
      .flatMap(({ requested }) => daysIn(requested));
    expect([...requested, ...settled].sort()).toEqual(coveredDays(of, ledger, asOf));
  }),
);

test(
  'a window is contiguous, holds whole buckets of the grain, and is longer than the slice allows only as one period',
  property([moments], runs, ({ of, plan }) => {
    const most = windowDays(of, plan.table, plan.planAt);
    const buckets = new Map(plan.periods.map(({ bucket }) => [bucket.start, bucket.end]));
    for (const { requested, replaced, periods } of plan.windows) {
      const parts = periods.map(({ period }) => period);
      expect(parts.slice(1).map(({ bucket }) => bucket.start)).toEqual(
        parts.slice(0, -1).map(({ bucket }) => bucket.end),
      );
      expect(parts.flatMap((part) => daysIn(part.requested))).toEqual(daysIn(requested));
      expect([replaced.start, replaced.end]).toEqual([
        parts.at(0)?.bucket.start,
        parts.at(-1)?.bucket.end,
      ]);
      expect(parts.every(({ bucket }) => buckets.get(bucket.start) === bucket.end)).toBe(true);
      expect(parts.length === 1 || daysBetween(requested.start, requested.end) <= most).toBe(true);
    }
  }),
);

/** Halves of halves, down to single periods. */
function shatter(window: Window): Window[] {
  const halves = splitByPeriods(window);
  return halves === null ? [window] : halves.flatMap(shatter);
}

test(
  'splitting by periods, again and again, loses no day and repeats none, and ends in single periods',
  property([moments], runs, ({ plan }) => {
    for (const window of plan.windows) {
      const halves = splitByPeriods(window);
      const pieces = shatter(window);
      expect(halves === null).toBe(window.periods.length === 1);
      const dueOf = (some: readonly Window[]): DuePeriod[] =>
        some.flatMap(({ periods }) => periods.filter(({ reason }) => reason !== 'between'));
      expect(dueOf(halves ?? [window])).toEqual(dueOf([window]));
      expect(dueOf(pieces)).toEqual(dueOf([window]));
      expect(pieces.every(({ periods }) => periods.length === 1)).toBe(true);
      expect(
        pieces.every(
          (each) => each.slice === window.slice && each.fingerprint === window.fingerprint,
        ),
      ).toBe(true);
    }
  }),
);

test(
  'once everything is loaded, the plan for the same instant is empty and the table complete',
  property([moments], runs, ({ of, ledger, asOf, plan }) => {
    const full = withLoaded(ledger, plan, plan.windows, { ...inFull, fetchedAt: asOf });
    const after = planAt(of, full, asOf);
    expect(after.windows).toEqual([]);
    expect(swapBlockedBy({ ...after, ledger: full })).toBeNull();
  }),
);

test(
  'a run that loads half of its windows, and then the other half, ends where a whole run ends',
  property(
    [moments, fc.array(fc.boolean(), { minLength: 1, maxLength: 8 })],
    runs,
    ({ of, ledger, asOf, plan }, halves) => {
      const answered = { ...inFull, fetchedAt: asOf };
      const first = plan.windows.filter((_, index) => halves[index % halves.length]);
      const cut = first.length === 0 ? ledger : withLoaded(ledger, plan, first, answered);
      const rest = planAt(of, cut, asOf);
      const whole = withLoaded(ledger, plan, plan.windows, answered);
      const resumed = withLoaded(cut, rest, rest.windows, answered);
      const held = ({ live: table }: SliceLedger): unknown =>
        [...(table?.periods.values() ?? [])].map((each) => JSON.stringify(each)).sort();
      expect(held(resumed)).toEqual(held(whole));
    },
  ),
);

/** Long after every horizon of the last day a fixed date period can hold. */
const FAR_HOURS = 24 * 800;

test(
  'after any nights, kept or missed, one run long after leaves every whole period final that is old enough, and names the others',
  property([slices, nights], runs, (of, series) => {
    const { ledger, asOf } = live(of, [...series, wholeNight(FAR_HOURS)]);
    const metrics = metricsOf(of);
    const plan = planAt(of, ledger, asOf);
    const found = plan.periods.map((period) => {
      const loaded = plan.table?.periods.get(period.bucket.start);
      return loaded === undefined ? 'absent' : stateOf(loaded, metrics, of);
    });
    const expected = plan.periods.map((period) => {
      const sinceEnd = asOf.getTime() - endOf(period, of.utcOffset).getTime();
      if (sinceEnd < 0) return 'open';
      if (!isWhole(period)) return 'cut';
      const longest = Math.max(...metrics.map(({ horizonMs }) => horizonMs ?? Infinity));
      return sinceEnd >= longest + of.settleMs ? 'final' : 'maturing';
    });
    expect(found).toEqual(expected);
    expect(plan.windows).toEqual([]);
  }),
);

const fixed = slices.filter(
  ({ datePeriod }) => 'day' in datePeriod.first && 'day' in datePeriod.last,
);

test(
  'of a fixed date period nothing is due any more long after it, once 2 runs have met the same empty days',
  property([fixed, nights], runs, (of, series) => {
    // The service says the same each night: periods that lose their rows are kept, and stay due.
    const empty = { ...wholeNight(24), rows: [0, 60_000] };
    const before = series.map((night) => ({ ...night, rows: empty.rows }));
    const once = live(of, [...before, { ...empty, afterHours: FAR_HOURS }]);
    const plan = planAt(of, once.ledger, later(once.asOf, 24));
    const doubted = plan.windows.flatMap(({ periods }) => periods);
    expect(new Set(doubted.map(({ reason }) => reason))).toEqual(
      new Set(doubted.length === 0 ? [] : ['empty']),
    );
    const twice = live(of, [empty], once);
    expect(planAt(of, twice.ledger, later(twice.asOf, FAR_HOURS)).windows).toEqual([]);
  }),
);

const february = slice({
  name: 'any',
  dimensions: ['day'],
  metrics: horizonDays.map((days) => `metric_${days}`),
  datePeriod: { first: { day: FIRST_DAY }, last: { day: addDays(FIRST_DAY, 9) } },
});

test(
  'over 150 nights a period is asked for once at each of 8 ages and once for each of its horizons, and no more',
  property([fc.nat(23)], { numRuns: 3 }, (hour) => {
    const requested = new Map<Day, number>();
    let ledger = emptyLedger;
    for (let night = 1; night < 150; night += 1) {
      const asOf = startOf(night * 24 + hour);
      const plan = planAt(february, ledger, asOf);
      for (const { period } of plan.windows.flatMap(({ periods }) => periods)) {
        const isOver = endOf(period, february.utcOffset) <= asOf;
        if (isOver)
          requested.set(period.bucket.start, (requested.get(period.bucket.start) ?? 0) + 1);
      }
      if (plan.windows.length > 0)
        ledger = withLoaded(ledger, plan, plan.windows, { ...inFull, fetchedAt: asOf });
    }
    // A run within an hour of midnight meets no horizon on the night of a milestone: it settles the night after.
    const most = milestoneAges.length + horizonDays.length;
    expect(requested.size).toBe(10);
    expect(Math.max(...requested.values())).toBeLessThanOrEqual(most);
    expect(Math.min(...requested.values())).toBeGreaterThanOrEqual(milestoneAges.length);
  }),
);

test(
  'a backfill asks for exactly the periods that touch those of its days that have begun and are kept, whatever their state, and for no fewer days than are held',
  property(
    [
      slices.filter(({ grain }) => grain !== null),
      nights,
      fc.nat(250),
      fc.integer({ min: 1, max: 60 }),
    ],
    runs,
    (of, series, after, length) => {
      const { ledger, asOf } = live(of, series);
      const start = addDays(FIRST_DAY, after);
      const forced = { start, end: addDays(start, length) };
      const plan = planSlice({ slice: of, metrics: metricsOf(of), ledger, planAt: asOf, forced });
      const periods = plan.windows.flatMap((window) => window.periods);
      const kept = firstKeptDay(of, asOf) ?? forced.start;
      const begun = daysIn(forced).filter(
        (each) => each >= kept && each <= dayAt(asOf, of.utcOffset),
      );
      expect(new Set(periods.map(({ reason }) => reason))).toEqual(
        new Set(begun.length > 0 ? ['forced'] : []),
      );
      const requested = new Set(plan.windows.flatMap((window) => daysIn(window.requested)));
      expect(begun.filter((each) => !requested.has(each))).toEqual([]);
      expect([...requested].filter((each) => each > dayAt(asOf, of.utcOffset))).toEqual([]);
      expect(
        periods.filter(
          ({ period }) => period.bucket.end <= forced.start || period.bucket.start >= forced.end,
        ),
      ).toEqual([]);
      const lost = periods.flatMap(({ period }) => {
        const held = plan.table?.periods.get(period.bucket.start);
        return held === undefined
          ? []
          : daysIn(held.requested).filter((each) => !requested.has(each));
      });
      expect(lost).toEqual([]);
    },
  ),
);

const hostZone = process.env['TZ'];

afterEach(() => {
  if (hostZone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = hostZone;
});

const zones = ['UTC', 'Pacific/Apia', 'America/Sao_Paulo', 'Asia/Kathmandu'];

test(
  'hosts in Apia, São Paulo, Kathmandu and at UTC plan the same',
  property([slices, nights, hours], { numRuns: 20 }, (of, series, wait) => {
    const plans = zones.map((zone) => {
      process.env['TZ'] = zone;
      const { ledger, asOf } = live(of, series);
      return JSON.stringify(planAt(of, ledger, later(asOf, wait)).windows);
    });
    expect(new Set(plans).size).toBe(1);
  }),
);
