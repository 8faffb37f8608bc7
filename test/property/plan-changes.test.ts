/**
 * Laws of planning while the configuration changes: a date period that is moved, another meaning, another grain, a metric
 * more, days that are let go. A failure prints the seed and the path to replay it with.
 */

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { addDays, dayAt, type Day } from '../../src/model/calendar.ts';
import { daysIn } from '../support/plain-values.ts';
import { firstKeptDay, endOf, isWhole, resolveDatePeriod } from '../../src/model/period.ts';
import { fingerprintOf, type Slice } from '../../src/model/slice.ts';
import type { PeriodRecord, SliceTable } from '../../src/model/ledger.ts';
import { stateOf } from '../../src/model/maturity.ts';
import { swapBlockedBy } from '../../src/plan/swap.ts';
import { property } from '../support/property.ts';
import {
  datePeriods,
  grains,
  hours,
  later,
  live,
  metricsOf,
  nights,
  pass,
  planAt,
  slices,
  someMetrics,
  unborn,
  wholeNight,
  type Lived,
  type Night,
} from '../support/planned-nights.ts';

const runs = { numRuns: 80 };

const dated = slices.filter(({ grain }) => grain !== null);

/** What a configuration may become overnight, but for losing its dates, which no run accepts. */
const changes: fc.Arbitrary<Partial<Slice>> = fc.record(
  {
    datePeriod: datePeriods,
    metrics: someMetrics,
    parameters: fc
      .constantFrom('all', 'click')
      .map((type) => ({ attribution_type: type, utc_offset: '+00:00' })),
    grain: fc.constantFrom(...grains).filter((grain) => grain !== null),
  },
  { requiredKeys: [] },
);

const changed = (of: Slice, by: Partial<Slice>): Slice => {
  const grain = by.grain ?? of.grain;
  return { ...of, ...by, grain, dimensions: grain === null ? ['app'] : [grain, 'app'] };
};

/** Each night under one of several configurations, the first of which stands for most. */
const histories = fc.tuple(
  dated,
  fc.array(changes, { minLength: 1, maxLength: 3 }),
  nights,
  fc.array(fc.nat(3), { minLength: 1, maxLength: 6 }),
);

/** The slice of each night. */
function configured(
  of: Slice,
  by: readonly Partial<Slice>[],
  series: readonly Night[],
  picks: readonly number[],
): Slice[] {
  return series.map((_, index) => {
    const change = by[(picks[index % picks.length] ?? 0) - 1];
    return change === undefined ? of : changed(of, change);
  });
}

const daysOf = (periods: Iterable<PeriodRecord>): Day[] =>
  [...periods].flatMap(({ requested }) => daysIn(requested));
const inTable = (table: SliceTable | null): PeriodRecord[] => [...(table?.periods.values() ?? [])];

/** Days with rows, each with whether it is still held with rows, or its emptiness was confirmed. */
function holdsRows(table: SliceTable | null, each: Day): boolean {
  return inTable(table).some(
    ({ requested, rows, emptyRuns }) =>
      requested.start <= each && each < requested.end && (rows > 0 || emptyRuns >= 2),
  );
}

test(
  'through any changes of the configuration no day that was ever held is lost, and no rows but to 2 empty answers',
  property([histories], runs, ([of, by, series, picks]) => {
    let lived: Lived = unborn;
    for (const [index, declared] of configured(of, by, series, picks).entries()) {
      const before = lived.ledger.live;
      lived = pass(declared, lived, series[index] ?? wholeNight(24));
      const { live: after } = lived.ledger;
      const kept = firstKeptDay(declared, lived.asOf);
      const isKept = (each: Day): boolean => kept === null || each >= kept;
      const held = new Set(daysOf(inTable(after)));
      expect(daysOf(inTable(before)).filter((each) => isKept(each) && !held.has(each))).toEqual([]);
      if (before === null || after?.fingerprint === before.fingerprint) continue;
      const withRows = daysOf(inTable(before).filter(({ rows }) => rows > 0)).filter(isKept);
      expect(withRows.filter((each) => !holdsRows(after, each))).toEqual([]);
    }
  }),
);

test(
  'after any changes one run in full ends with one table of the newest meaning, which covers every day there ever was',
  property([histories, changes], runs, ([of, by, series, picks], last) => {
    let lived: Lived = unborn;
    const ever = new Set<Day>();
    for (const [index, declared] of configured(of, by, series, picks).entries()) {
      lived = pass(declared, lived, series[index] ?? wholeNight(24));
      for (const each of daysOf(inTable(lived.ledger.live))) ever.add(each);
    }
    const newest = changed(of, last);
    const done = pass(newest, lived, wholeNight(30));
    const plan = planAt(newest, done.ledger, done.asOf);
    fc.pre(plan.periods.length > 0);
    expect(done.ledger.building).toBeNull();
    expect(done.ledger.live?.fingerprint).toBe(fingerprintOf(newest));
    expect([plan.windows, swapBlockedBy({ ...plan, ledger: done.ledger }) === null]).toEqual([
      [],
      true,
    ]);
    const [held, kept] = [
      new Set(daysOf(inTable(done.ledger.live))),
      firstKeptDay(newest, done.asOf),
    ];
    const today = dayAt(done.asOf, newest.utcOffset);
    const stated = resolveDatePeriod(newest, done.asOf);
    // What was let go for a while, under a grain whose oldest bucket begins later, is gone.
    fc.pre(kept === null);
    const wanted = [...ever, ...(stated === null ? [] : daysIn(stated))].filter(
      (each) => each <= today,
    );
    expect(wanted.filter((each) => !held.has(each))).toEqual([]);
  }),
);

const moved = fc
  .integer({ min: 1, max: 500 })
  .map((daysAgo) => ({ first: { daysAgo }, last: { daysAgo: 1 } }));

test(
  'a date period moved anywhere, by any number of days, leaves what was loaded ripening until it is final',
  property(
    [
      dated.filter(({ retainDays }) => retainDays === null),
      nights.filter((series) => series.length > 0),
      moved,
    ],
    runs,
    (of, series, datePeriod) => {
      const old = live(of, [...series, wholeNight(24)]);
      fc.pre(old.ledger.live !== null);
      const far = live({ ...of, datePeriod }, [wholeNight(24 * 800)], old);
      const metrics = metricsOf(of);
      const loaded = [...(far.ledger.live?.periods ?? [])];
      expect(
        daysOf(inTable(old.ledger.live)).filter(
          (each) =>
            !loaded.some(([, { requested }]) => requested.start <= each && each < requested.end),
        ),
      ).toEqual([]);
      const unripe = inTable(old.ledger.live)
        .map(({ bucket }) => far.ledger.live?.periods.get(bucket.start))
        .filter(
          (held) => held !== undefined && isWhole(held) && stateOf(held, metrics, of) !== 'final',
        );
      expect(unripe).toEqual([]);
    },
  ),
);

test(
  'at an instant before some fetches nothing they brought is planned again, nothing later than the day is, and no table is swapped',
  property([dated, nights, hours], runs, (of, series, back) => {
    const lived = live(of, [...series, wholeNight(24)]);
    const asOf = later(lived.asOf, -back - 1);
    const plan = planAt(of, lived.ledger, asOf);
    const newer = inTable(lived.ledger.live).filter(({ fetchedAt }) => fetchedAt > asOf);
    const replaced = plan.windows.map((window) => window.replaced);
    expect(
      replaced.filter(({ start, end }) =>
        newer.some(({ bucket }) => bucket.start < end && start < bucket.end),
      ),
    ).toEqual([]);
    const tomorrow = addDays(dayAt(asOf, of.utcOffset), 1);
    expect(plan.windows.filter(({ requested }) => requested.end > tomorrow)).toEqual([]);
    expect([
      plan.storedNewer,
      swapBlockedBy({ ...plan, ledger: lived.ledger }) === null && newer.length > 0,
    ]).toEqual([newer.length, false]);
  }),
);

test(
  'what a slice lets go is asked for no more, whatever its state, and its oldest bucket is kept whole',
  property([dated, nights, fc.integer({ min: 1, max: 90 })], runs, (of, series, retainDays) => {
    const lived = live({ ...of, retainDays: null }, [...series, wholeNight(24)]);
    const keeping = { ...of, retainDays };
    const asOf = later(lived.asOf, 24);
    const [first] = planAt(keeping, lived.ledger, asOf).periods;
    fc.pre(first !== undefined);
    const oldest = addDays(dayAt(asOf, of.utcOffset), -retainDays);
    expect(first.bucket.end > oldest).toBe(true);
    const plan = planAt({ ...of, retainDays: null }, lived.ledger, asOf);
    const cutByRetain = plan.periods.some(({ bucket }) => bucket.start < first.bucket.start);
    expect(cutByRetain && first.requested.start !== first.bucket.start).toBe(false);
    const requested = planAt(keeping, lived.ledger, asOf).windows.flatMap(({ periods }) => periods);
    expect(requested.filter(({ period }) => period.bucket.end <= oldest)).toEqual([]);
    const whole = plan.windows
      .flatMap(({ periods }) => periods)
      .filter(({ period }) => period.bucket.start >= first.bucket.start);
    expect(requested.map(({ period, reason }) => [period, reason])).toEqual(
      whole.map(({ period, reason }) => [period, reason]),
    );
    expect(
      requested.filter(
        ({ period }) => endOf(period, of.utcOffset) < later(asOf, -24 * (retainDays + 366)),
      ),
    ).toEqual([]);
  }),
);
