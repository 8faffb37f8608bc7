/** Laws of maturity: what a period waits for, and when. A failure prints the seed and the path to replay it with. */

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import {
  addDays,
  day,
  MS_PER_DAY,
  parseUtcOffset,
  type Bucket,
  bucketOf,
  type UtcOffset,
} from '../../src/model/calendar.ts';
import { verdicts, type PeriodRecord } from '../../src/model/ledger.ts';
import { dueReason, nextRefreshAt, stateOf } from '../../src/model/maturity.ts';
import { finalAt, isFinal } from '../support/finality.ts';
import { endOf, type Period } from '../../src/model/period.ts';
import type { Refresh, Slice } from '../../src/model/slice.ts';
import type { DueReason } from '../../src/model/window.ts';
import { property } from '../support/property.ts';
import { countMetric, loadedPeriod } from '../support/slice.ts';

const HOUR_MS = 3_600_000;
const runs = { numRuns: 2000 };

type Settling = Pick<Slice, 'utcOffset' | 'settleMs' | 'lifetimeMs' | 'refresh'>;

const metrics = fc
  .uniqueArray(fc.option(fc.integer({ min: 0, max: 400 }), { nil: null }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((horizons) => horizons.map((days, index) => countMetric(`metric_${index}`, days)));

const offsets = fc
  .tuple(fc.constantFrom('+', '-'), fc.integer({ min: 0, max: 28 }))
  .map(([sign, halves]): UtcOffset => {
    const text = `${sign}${String(Math.floor(halves / 2)).padStart(2, '0')}:${halves % 2 === 0 ? '00' : '30'}`;
    const parsed = parseUtcOffset(text);
    if (parsed === null) throw new RangeError(`${text} is no offset.`);
    return parsed;
  });

const ages = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 6 });

const settlings = (refresh: fc.Arbitrary<Refresh>): fc.Arbitrary<Settling> =>
  fc.record({
    utcOffset: offsets,
    settleMs: fc.constantFrom(0, HOUR_MS, 6 * HOUR_MS),
    lifetimeMs: fc.integer({ min: 1, max: 200 }).map((days) => days * MS_PER_DAY),
    refresh,
  });

const anyRefresh = fc.oneof<fc.Arbitrary<Refresh>[]>(
  fc.constant('milestones'),
  fc.constant('nightly'),
  ages,
);
const byAge = fc.oneof<fc.Arbitrary<Refresh>[]>(fc.constant('milestones'), ages);

const periods = fc
  .tuple(
    fc.nat(1500),
    fc.constantFrom<Bucket[]>('day', 'week', 'month', 'quarter', 'year'),
    fc.constantFrom(0 as const, 1 as const),
  )
  .map(([after, kind, weekStartsOn]): Period => {
    const bucket = bucketOf(addDays(day('2023-01-01'), after), kind, weekStartsOn);
    return { bucket, requested: bucket };
  });

type Answer = Pick<PeriodRecord, 'rows' | 'rejected' | 'emptyRuns' | 'verdict'>;

/** What came of a period: rows, none that so many runs have met, rows left out, rows that were not shown to be all. */
const answers: fc.Arbitrary<Answer> = fc
  .record({
    rows: fc.constantFrom(0, 1, 900),
    rejected: fc.constantFrom(0, 0, 0, 2),
    emptyRuns: fc.integer({ min: 1, max: 3 }),
    verdict: fc.constantFrom(...verdicts),
  })
  .map(({ rows, rejected, emptyRuns, verdict }) => ({
    rows,
    rejected,
    emptyRuns: rows > 0 ? 0 : emptyRuns,
    verdict,
  }));
const soundAnswers = answers.filter(isSound);

function isSound({ rows, rejected, emptyRuns, verdict }: Answer): boolean {
  return rejected === 0 && verdict !== 'unproven' && (rows > 0 || emptyRuns > 1);
}

/** An instant from a year before a period's end to a year and more after it, often right at an edge. */
const sinceEnd = fc.oneof(
  fc.integer({ min: -365 * 24 * 60, max: 500 * 24 * 60 }).map((minutes) => minutes * 60_000),
  fc
    .tuple(fc.integer({ min: -3, max: 60 }), fc.integer({ min: -1, max: 1 }))
    .map(([days, ms]) => days * MS_PER_DAY + ms),
);

/** A period, fetched at some instant with some answer. */
const situations = (refresh: fc.Arbitrary<Refresh>, answered: fc.Arbitrary<Answer>) =>
  fc
    .tuple(periods, metrics, settlings(refresh), sinceEnd, answered)
    .map(([period, having, slice, since, answer]) => {
      const fetchedAt = new Date(endOf(period, slice.utcOffset).getTime() + since);
      const metrics = having.map(({ id }) => id);
      const loaded = loadedPeriod({ ...period, ...answer, metrics, fetchedAt });
      const reasonAt = (ms: number): DueReason | null =>
        dueReason(period, loaded, having, slice, new Date(ms));
      const next = nextRefreshAt(loaded, having, slice)?.getTime() ?? null;
      return {
        having,
        slice,
        since,
        answer,
        loaded,
        fetchedMs: fetchedAt.getTime(),
        reasonAt,
        next,
      };
    });
const anySituation = situations(anyRefresh, answers);

test(
  'at its next refresh a period is due',
  property([anySituation], runs, ({ since, answer, fetchedMs, reasonAt, next }) => {
    fc.pre(next !== null);
    // What is doubted is due at any later instant.
    const isDoubted = since >= 0 && !isSound(answer);
    expect(next - fetchedMs).toBeGreaterThanOrEqual(isDoubted ? 0 : 1);
    expect(reasonAt(isDoubted ? next + 1 : next)).not.toBeNull();
  }),
);

const part = fc.double({ min: 0, max: 1, noNaN: true });

test(
  'by milestones or ages, a period that is over and not doubted is due at no instant before its next refresh',
  property(
    [situations(byAge, soundAnswers), part],
    runs,
    ({ since, fetchedMs, reasonAt, next }, share) => {
      fc.pre(since >= 0 && next !== null);
      expect(reasonAt(fetchedMs + Math.floor((next - 1 - fetchedMs) * share))).toBeNull();
      expect(reasonAt(next - 1)).toBeNull();
    },
  ),
);

test(
  'a period with nothing more to expect is due at no later instant',
  property([anySituation, fc.nat(4000)], runs, ({ fetchedMs, reasonAt, next }, days) => {
    fc.pre(next === null);
    expect(reasonAt(fetchedMs + days * MS_PER_DAY + 1)).toBeNull();
  }),
);

test(
  'a period that became due stays due until it is fetched, and is due at no instant twice',
  property(
    [anySituation, fc.nat(4000), fc.nat(4000)],
    runs,
    ({ fetchedMs, reasonAt }, first, second) => {
      const early = fetchedMs + first * HOUR_MS;
      const [before, after] = [reasonAt(early), reasonAt(early + second * HOUR_MS)];
      expect(before !== null && after === null).toBe(false);
      expect(reasonAt(fetchedMs)).toBeNull();
    },
  ),
);

const order = ['open', 'empty', 'maturing', 'final'];

test(
  'a period is final exactly when each of its cells is, never when it is doubted, and a later fetch never makes it less so',
  property(
    [anySituation, fc.nat(4000)],
    runs,
    ({ having, slice, answer, loaded, fetchedMs }, hours) => {
      const [first, ...others] = loaded.metrics;
      const lacking = { ...loaded, metrics: others };
      expect(stateOf(lacking, having, slice)).not.toBe('final');
      expect(having.some((metric) => metric.id === first && isFinal(lacking, metric, slice))).toBe(
        false,
      );
      const state = stateOf(loaded, having, slice);
      expect(state === 'final').toBe(having.every((metric) => isFinal(loaded, metric, slice)));
      expect(state === 'final' && !isSound(answer)).toBe(false);
      const later = { ...loaded, fetchedAt: new Date(fetchedMs + hours * HOUR_MS) };
      expect(order.indexOf(stateOf(later, having, slice))).toBeGreaterThanOrEqual(
        order.indexOf(state),
      );
    },
  ),
);

test(
  'a metric becomes final its horizon and the settling time after the period ends, in the offset of the slice',
  property([periods, metrics, settlings(anyRefresh)], runs, (period, having, slice) => {
    const signed = (slice.utcOffset.startsWith('-') ? -1 : 1) * Number(slice.utcOffset.slice(1, 3));
    const halves = (slice.utcOffset.startsWith('-') ? -1 : 1) * Number(slice.utcOffset.slice(4));
    const midnight =
      Date.parse(`${period.bucket.end}T00:00:00Z`) - signed * HOUR_MS - halves * 60_000;
    const expected = having.map(({ horizonMs }) =>
      horizonMs === null ? null : new Date(midnight + horizonMs + slice.settleMs),
    );
    expect(having.map((metric) => finalAt(period, metric, slice))).toEqual(expected);
  }),
);
