/** In which order windows are asked for, when a deadline may cut the rest off. */

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { addDays, day, type Day } from '../../src/model/calendar.ts';
import { fingerprintOf, type Slice } from '../../src/model/slice.ts';
import { type PeriodRecord, type SliceLedger } from '../../src/model/ledger.ts';
import { emptyLedger } from '../support/plain-values.ts';
import { labelOf, type Window } from '../../src/model/window.ts';
import { byPriority, planSlice, type SlicePlan } from '../../src/plan/plan.ts';
import { property } from '../support/property.ts';
import { live, nights, planAt, slices } from '../support/planned-nights.ts';
import { countMetric, loadedPeriod, slice } from '../support/slice.ts';

const ASOF = new Date('2026-06-30T02:30:00Z');

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app'],
  metrics: ['installs'],
  datePeriod: { first: { day: day('2026-05-01') }, last: { daysAgo: 1 } },
});
const since = (of: Slice, name: string, first: string): Slice => ({
  ...of,
  name,
  datePeriod: { first: { day: day(first) }, last: { daysAgo: 1 } },
});

function planOf(of: Slice, ledger: SliceLedger = emptyLedger): SlicePlan {
  const metrics = of.metrics.map((id) => countMetric(id, 7));
  return planSlice({ slice: of, metrics, ledger, planAt: ASOF, forced: null });
}

/** A live table in which each of these days was fetched so many days ago. */
function fetched(of: Slice, days: readonly (readonly [string, number])[]): SliceLedger {
  const periods = days.map(([start, daysAgo]): readonly [Day, PeriodRecord] => {
    const bucket = { start: day(start), end: addDays(day(start), 1) };
    const fetchedAt = new Date(ASOF.getTime() - daysAgo * 86_400_000);
    return [bucket.start, loadedPeriod({ bucket, fetchedAt, metrics: of.metrics, rows: 40_000 })];
  });
  const fingerprint = fingerprintOf(of);
  const table = {
    fingerprint,
    state: 'live',
    size: { maxDays: 1, parts: null, learnedAt: ASOF },
    periods: new Map(periods),
  } as const;
  return { live: table, building: null };
}

const reasonOf = ({ periods }: Window): string => periods[0]?.reason ?? '';
const named = (plans: readonly SlicePlan[]): string[] =>
  byPriority(plans).map((window) => `${window.slice.name} ${labelOf(window)} ${reasonOf(window)}`);

describe('the windows of a run', () => {
  test('bring yesterday first, then what ripens, then holes, each newest first', () => {
    const of = since(daily, 'daily', '2026-06-10');
    const old = ['2026-06-10', '2026-06-11', '2026-06-13', '2026-06-16', '2026-06-17'].map(
      (start) => [start, 10] as const,
    );
    const recent = ['2026-06-19', '2026-06-21', '2026-06-23', '2026-06-28'].map(
      (start) => [start, 1] as const,
    );
    const plan = planOf(of, fetched(of, [...old, ...recent]));
    expect(named([plan])).toEqual([
      'daily 2026-06-29:2026-06-29 new',
      'daily 2026-06-28:2026-06-28 maturing',
      'daily 2026-06-23:2026-06-23 maturing',
      'daily 2026-06-17:2026-06-17 became final',
      'daily 2026-06-16:2026-06-16 became final',
      'daily 2026-06-13:2026-06-13 became final',
      ...['27', '26', '25', '24', '22', '20', '18', '15', '14', '12'].map(
        (number) => `daily 2026-06-${number}:2026-06-${number} missing`,
      ),
    ]);
  });
});

test(
  'the order is the plan’s windows, each once; the newest due period of every slice comes before any history',
  property(
    [fc.array(fc.tuple(slices, nights), { minLength: 1, maxLength: 3 })],
    { numRuns: 60 },
    (given) => {
      const plans = given.map(([of, series], index) => {
        const { ledger, asOf } = live(of, series);
        return planAt({ ...of, name: `s${index}` }, ledger, new Date(asOf.getTime() + 86_400_000));
      });
      const ordered = byPriority(plans);
      expect(new Set(ordered)).toEqual(new Set(plans.flatMap(({ windows }) => windows)));
      expect(ordered).toHaveLength(plans.reduce((sum, { windows }) => sum + windows.length, 0));
      const fresh = new Set(['new', 'open']);
      const firstHistory = ordered.findIndex(({ periods }) =>
        periods.every(({ reason }) =>
          ['missing', 'metric added', 'meaning changed'].includes(reason),
        ),
      );
      const late = plans.filter(({ windows }) => {
        const newest = windows.at(-1);
        if (
          newest === undefined ||
          firstHistory < 0 ||
          !newest.periods.some(({ reason }) => fresh.has(reason))
        )
          return false;
        return ordered.indexOf(newest) > firstHistory;
      });
      expect(late).toEqual([]);
    },
  ),
);
