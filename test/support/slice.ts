/** Slices, metrics and periods for tests of pure code; apart from the installation, whose imports cost seconds. */

import {
  addDays,
  day,
  MS_PER_DAY,
  startOfDayAt,
  UTC,
  type UtcOffset,
} from '../../src/model/calendar.ts';
import { daysIn } from './plain-values.ts';
import { BIGINT } from '../../src/model/column-type.ts';
import { dateDimensions } from '../../src/model/dimension.ts';
import { periodColumns, type PeriodRecord } from '../../src/model/ledger.ts';
import type { Metric } from '../../src/model/metric.ts';
import type { Slice } from '../../src/model/slice.ts';
import { type Part, type Window, windowOf } from '../../src/model/window.ts';

/** A slice with everything a test does not care about filled in. */
export function slice(
  given: Partial<Slice> & Pick<Slice, 'name' | 'dimensions' | 'metrics'>,
): Slice {
  const utcOffset: UtcOffset = given.utcOffset ?? UTC;
  return {
    grain: dateDimensions.find((name) => given.dimensions.includes(name)) ?? null,
    datePeriod: { first: { daysAgo: 30 }, last: { daysAgo: 1 } },
    utcOffset,
    weekStartsOn: 1,
    refresh: 'milestones',
    horizons: [],
    settleMs: 3_600_000,
    lifetimeMs: 120 * 86_400_000,
    types: {},
    maxRejects: 0,
    headers: {},
    additive: {},
    completeness: 'require',
    retainDays: null,
    ...given,
    parameters: { attribution_type: 'all', utc_offset: utcOffset, ...given.parameters },
  };
}

/** Installs by day and app, for tests that are about something else than what a slice asks for. */
export function dailyInstalls(datePeriod: Slice['datePeriod']): Slice {
  return slice({
    name: 'daily',
    dimensions: ['day', 'app_token'],
    metrics: ['installs'],
    datePeriod,
  });
}

/** A count that is documented to add up, final so many days after its period ends; null: never. */
export function countMetric(id: string, days: number | null): Metric {
  return {
    id,
    kind: 'plain',
    horizonFrom: 'documented',
    horizonMs: days === null ? null : days * MS_PER_DAY,
    comparableMs: days === null ? null : 0,
    cohort: null,
    additive: true,
    additivity: 'documented',
    isCount: true,
    type: BIGINT,
  };
}

/** A whole period with 100 rows of proven completeness; what a test cares about is given. */
export function loadedPeriod(
  given: Partial<PeriodRecord> & Pick<PeriodRecord, 'bucket' | 'fetchedAt'>,
): PeriodRecord {
  const { bucket, fetchedAt, requestedAt = fetchedAt, metrics = [] } = given;
  const columns = periodColumns.parse({
    requested: bucket,
    age: '',
    loadId: 1,
    rows: 100,
    rejected: 0,
    emptyRuns: 0,
    verdict: 'proven',
    computedAt: null,
    immature: null,
    differing: null,
    endsAt: startOfDayAt(bucket.end, UTC),
    whole: true,
    state: 'final',
    trustedAt: fetchedAt,
    nextRefreshAt: null,
    ...given,
  });
  return { ...columns, requestedAt, metrics };
}

/** A window of so many new days of a slice, from the first on. */
export function windowOfDays(of: Slice, first: string, days = 1, parts?: readonly Part[]): Window {
  const periods = daysIn({ start: day(first), end: addDays(day(first), days) }).map((start) => {
    const bucket = { start, end: addDays(start, 1) };
    return { period: { bucket, requested: bucket }, reason: 'new' as const };
  });
  return windowOf(of, 'f', periods, parts);
}
