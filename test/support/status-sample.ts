/** A status report to render: what a test does not care about filled in, finality laid out as it ripens. */

import type * as z from 'zod';

import { addDays, day } from '../../src/model/calendar.ts';
import { healthOf } from '../../src/report/status/health.ts';
import {
  type storedRange,
  metricStatuses,
  periodCounts,
  summedCells,
} from '../../src/report/status/slice-status.ts';
import type {
  MoneySeries,
  PeriodStatus,
  RunStatus,
  SliceStatus,
  StatusReport,
} from '../../src/report/status/status-report.ts';

export const AS_OF = '2026-02-14T03:00:00.000Z';
const FIRST_DAY = day('2025-02-14');

/** A metric and after how many days its values are final. */
export interface SampleMetric {
  readonly metric: string;
  readonly horizonDays: number;
}

/** A slice of so many days up to yesterday, loaded this night; the days counted in `missing` from the oldest, 0, were not. */
export function sampleSlice(given: {
  readonly name?: string;
  readonly days: number;
  readonly metrics: readonly SampleMetric[];
  readonly missing?: readonly number[];
  readonly change?: Partial<SliceStatus>;
}): SliceStatus {
  const missing = new Set(given.missing);
  const ages = Array.from({ length: given.days }, (_, index): PeriodStatus => {
    const of = addDays(FIRST_DAY, 365 - given.days + index);
    const isMissing = missing.has(index);
    const age = given.days - index;
    const isFinal = given.metrics.every(({ horizonDays }) => age > horizonDays);
    return {
      first_day: of,
      last_day: of,
      age_days: age,
      state: isMissing ? 'missing' : isFinal ? 'final' : 'maturing',
      fetched_at: isMissing ? null : AS_OF,
      rows: isMissing ? null : 1000 + index,
      rejected: isMissing ? null : 0,
      next_refresh_at: isMissing || isFinal ? null : '2026-02-15T00:00:00.000Z',
    };
  });
  const starts = ages.map(({ first_day: start }) => start);
  const stored = given.metrics.flatMap((metric) => stretchesOf(metric, starts));
  const metrics = metricStatuses(
    given.metrics.map(({ metric }) => metric),
    ages.map((status) => ({ start: status.first_day, status })),
    stored,
  );
  return {
    name: given.name ?? 'daily',
    newest_period: starts.at(-1) ?? null,
    newest_fetch_at: AS_OF,
    next_refresh_at: '2026-02-15T00:00:00.000Z',
    unproven_periods: 0,
    curves: [],
    money: [],
    rows: ages.reduce((sum, { rows }) => sum + (rows ?? 0), 0),
    periods: periodCounts(ages),
    cells: summedCells(metrics),
    building_periods: null,
    restated: [],
    moved: [],
    maturation: [],
    backtest: [],
    horizons: [],
    no_control: null,
    control: null,
    metrics,
    ages,
    ...given.change,
  };
}

/** A slice in which everything happened that the page has a picture for: 40 metrics, a hole, restatements, cohorts. */
export function ripenedSlice(name: string, days: number): SliceStatus {
  const names = Array.from(
    { length: 40 },
    (_, index) => `all_revenue_total_with_a_long_name_d${index}`,
  );
  const metrics = names.map((metric, index) => ({ metric, horizonDays: 3 * (index % 7) }));
  const seen = names.slice(0, 7);
  const base = sampleSlice({ name, days, metrics, missing: [days - 9] });
  const moved = {
    periods: 4,
    first_values: 1,
    oldest_period: '2026-02-01',
    before: 4_000_000,
    after: 3_990_000,
  };
  return {
    ...base,
    restated: seen.map((metric) => ({ metric, ...moved, change: -10_000 })),
    money: moneyOf(base),
    control: { read_at: '2026-02-14T02:30:00Z', totals: 14_040, moved: 2, moved_final: 1 },
    // A browser takes no picture of a page much longer than ten of these.
    ...ripeningOf(seen.slice(0, 1)),
    maturation: ripeningOf(seen.slice(0, 5)).maturation,
  };
}

/** Spend and revenue of the newest 60 periods, of which the last 14 may still change and those after the first are projected. */
export function moneyOf({ ages }: SliceStatus): MoneySeries[] {
  return (['spend', 'revenue'] as const).map((flow, index) => ({
    flow,
    metric: ['network_cost', 'all_revenue_total_with_a_long_name_d0'][index] ?? '',
    currency: index === 0 ? 'USD' : null,
    periods: ages.slice(-60).map(({ first_day: day, age_days: age }) => {
      const value = 4000 + 1500 * Math.sin(age / 3 + index) - (age === 20 ? 6000 : 0);
      const known = age > 14 ? 1 : age / 15;
      const isProjected = age <= 14 && age > 1;
      return {
        first_day: day,
        value: value * known,
        is_final: age > 14,
        projected: isProjected ? value : null,
        low: isProjected ? value * 0.9 : null,
        high: isProjected ? value * 1.2 : null,
      };
    }),
  }));
}

/** What is measured of metrics whose values ripen over two weeks, none of them projected. */
export function ripeningOf(
  metrics: readonly string[],
): Pick<SliceStatus, 'maturation' | 'backtest'> {
  const ages = metrics.flatMap((metric) => [1, 3, 7, 14].map((age) => ({ metric, age })));
  return {
    maturation: ages.map(({ metric, age }) => ({
      metric,
      age_days: age,
      periods: 90,
      share_q25: age / 16,
      share_median: age / 15,
      share_q75: age / 14,
    })),
    backtest: ages.map(({ metric, age }) => ({
      metric,
      age_days: age,
      cohorts: 30,
      median_abs_error: 0.02,
      median_abs_error_as_is: 0.05,
      coverage: 0.8,
      basis: 'too uncertain',
    })),
  };
}

function stretchesOf(
  { metric, horizonDays }: SampleMetric,
  starts: readonly string[],
): z.output<typeof storedRange>[] {
  const settled = Math.max(0, starts.length - horizonDays);
  const common = {
    metric,
    kind: 'cohort',
    horizon_days: horizonDays,
    horizon_from: 'documented as cohort',
  };
  const range = (state: 'final' | 'maturing', days: readonly string[]) =>
    days.length === 0
      ? []
      : [{ ...common, state, first_day: days[0] ?? '', last_day: days.at(-1) ?? '' }];
  return [...range('final', starts.slice(0, settled)), ...range('maturing', starts.slice(settled))];
}

export function sampleRun(change: Partial<RunStatus> = {}): RunStatus {
  return {
    run_id: '3d1769f9-5e94-4c4a-ba11-ee25684952fb',
    command: 'sync',
    as_of: '2026-02-14T02:30:00.000Z',
    started_at: '2026-02-14T02:30:00.000Z',
    finished_at: '2026-02-14T02:31:05.000Z',
    status: 'succeeded',
    refreshed: 'succeeded',
    exit_code: 0,
    rows_loaded: 3494,
    slices: [],
    requests: 65,
    retries: 2,
    failures: [],
    audits: [],
    ...change,
  };
}

/** A report of these slices, judged as the reader of the ledger judges it. */
export function sampleReport(
  slices: readonly SliceStatus[],
  change: Partial<StatusReport> = {},
): StatusReport {
  const report = {
    as_of: AS_OF,
    warehouse: '/srv/warehouse.duckdb',
    snapshot: null,
    news: { since: '2026-02-13T02:30:00Z', items: [] },
    slices,
    runs: [sampleRun()],
    unconfigured: [],
    crawls: [],
    warnings: [],
    rejected_rows: [],
    ...change,
  };
  return { health: healthOf(report, null), ...report };
}
