/** The report of `ripen status`, as `--json` prints it: a public interface. `sql/status` says what its rows hold. */

import * as z from 'zod';

import type { MoneyFlow } from '../../model/metric-forms.ts';
import { count, jsonOf } from '../../warehouse/sql.ts';

/** `cut`: the date period begins or ends inside the period; `empty`: one answer had no rows, a later run must confirm it. */
export const periodStates = ['missing', 'open', 'maturing', 'final', 'cut', 'empty'] as const;

type ShownPeriodState = (typeof periodStates)[number];

/**
 * States of a cell (period × metric). `rejected`: rows of the period could not be stored; `not loaded`: the slice has got the
 * metric since the period was last fetched.
 */
export const cellStates = [
  'final',
  'maturing',
  'open',
  'cut',
  'empty',
  'rejected',
  'not loaded',
  'missing',
] as const;

export type CellState = (typeof cellStates)[number];

export interface PeriodStatus {
  readonly first_day: string;
  readonly last_day: string;
  /** Days since its last day; 0 or less if it is not over. */
  readonly age_days: number;
  readonly state: ShownPeriodState;
  /** Null for a missing period, as are the fields below. */
  readonly fetched_at: string | null;
  readonly rows: number | null;
  readonly rejected: number | null;
  /** Also null if nothing more is expected. */
  readonly next_refresh_at: string | null;
}

export interface MetricStatus {
  readonly metric: string;
  /** The rule of its horizon; null before the first load. */
  readonly kind: string | null;
  /** Days after the end of a period; null if it never becomes final, or that is not known yet. */
  readonly horizon_days: number | null;
  readonly horizon_from: string | null;
  /** The comment of its column. */
  readonly meaning: string | null;
  readonly cells: Readonly<Record<CellState, number>>;
  /** Consecutive periods in one state; both days included. */
  readonly spans: readonly {
    readonly state: CellState;
    readonly first_day: string;
    readonly last_day: string;
    readonly periods: number;
  }[];
}

export const restatedMetric = z.object({
  metric: z.string(),
  periods: count,
  /** Periods that had no value before; `change` includes their new ones. */
  first_values: count,
  oldest_period: z.string(),
  before: z.number().nullable(),
  after: z.number().nullable(),
  change: z.number(),
});

export const maturationAge = z.object({
  metric: z.string(),
  age_days: count,
  periods: count,
  share_q25: z.number(),
  share_median: z.number(),
  share_q75: z.number(),
});

export const backtestAge = z.object({
  metric: z.string(),
  age_days: count,
  cohorts: count,
  median_abs_error: z.number().nullable(),
  median_abs_error_as_is: z.number().nullable(),
  /** Null with fewer than eight final totals. */
  coverage: z.number().nullable(),
  basis: z.string(),
});

export const metricHorizon = z.object({
  metric: z.string(),
  horizon_days: z.number().nullable(),
  is_restless: z.boolean(),
  final_periods: count,
  final_moved: count,
  last_moved_day: z.string().nullable(),
  last_change_age: count.nullable(),
  supported_days: count.nullable(),
  supported_periods: count,
  supported_moved: count,
});

export const movedPeriod = z.object({
  period: z.string(),
  moved_at: z.string(),
  metrics: count,
});

export const curvePoint = z.object({
  month: z.string(),
  age_days: z.number(),
  value: z.number(),
  is_final: z.boolean(),
});

export const moneyPeriod = z.object({
  first_day: z.string(),
  value: z.number(),
  is_final: z.boolean(),
  /** With its 80 % interval; null if it is final or nothing is projected. */
  projected: z.number().nullable(),
  low: z.number().nullable(),
  high: z.number().nullable(),
});

export type MoneyPeriod = z.infer<typeof moneyPeriod>;

/** The first metric of a slice that is spend, or revenue, in the newest periods. */
export interface MoneySeries {
  readonly flow: MoneyFlow;
  readonly metric: string;
  /** Null for that of the account. */
  readonly currency: string | null;
  readonly periods: readonly MoneyPeriod[];
}

export interface SliceStatus {
  readonly name: string;
  /** First day of the newest period with rows. */
  readonly newest_period: string | null;
  readonly newest_fetch_at: string | null;
  /** Null if nothing more is expected. */
  readonly next_refresh_at: string | null;
  readonly rows: number;
  /** Periods of the coverage, in total and in each state. */
  readonly periods: Readonly<Record<ShownPeriodState, number>> & {
    readonly expected: number;
    readonly loaded: number;
  };
  /** Cells of the coverage (periods times metrics), in total and in each state. */
  readonly cells: Readonly<Record<CellState, number>> & { readonly expected: number };
  readonly unproven_periods: number;
  /** Periods in the new table, if one is being built because the slice's meaning changed. */
  readonly building_periods: number | null;
  /** Over the last 7 days, most often restated first. */
  readonly restated: readonly z.infer<typeof restatedMetric>[];
  /** By metric, then by age; empty with too little history. */
  readonly maturation: readonly z.infer<typeof maturationAge>[];
  readonly backtest: readonly z.infer<typeof backtestAge>[];
  readonly horizons: readonly z.infer<typeof metricHorizon>[];
  /** Why a loaded slice has no control totals, and so no maturation; null if it has some. */
  readonly no_control: string | null;
  /** Null without control totals. */
  readonly control: {
    readonly read_at: string;
    readonly totals: number;
    /** Those that differ from what is loaded. */
    readonly moved: number;
    readonly moved_final: number;
  } | null;
  /** Over the last 7 days, newest first; at most five. */
  readonly moved: readonly z.infer<typeof movedPeriod>[];
  /** Of a cube: how the values of the first keys that add up grow with age, in the newest months. */
  readonly curves: readonly {
    readonly cohort: string;
    readonly points: readonly z.infer<typeof curvePoint>[];
  }[];
  /** Empty without spend and revenue, and for a cube. */
  readonly money: readonly MoneySeries[];
  readonly metrics: readonly MetricStatus[];
  readonly ages: readonly PeriodStatus[];
}

/** Rows of `ripen.news`, the most important first. Of `became final` and `restless total moved`, one for each slice and run. */
export const newsKinds = [
  'audit held',
  'audit warned',
  'app gone',
  'app new',
  'final total moved',
  'horizon contradicted',
  'metric kept',
  'metric gone',
  'partner gone',
  'gap filled',
  'total moved',
  'metric new',
  'partner new',
  'became final',
  'restless total moved',
] as const;

export const newsItem = z.object({
  found_at: z.string(),
  kind: z.enum(newsKinds),
  slice: z.string().nullable(),
  name: z.string().nullable(),
  label: z.string().nullable(),
  periods: count.nullable(),
  first_period: z.string().nullable(),
  last_period: z.string().nullable(),
  before: z.number().nullable(),
  after: z.number().nullable(),
  share: z.number().nullable(),
});

export type NewsItem = Readonly<z.infer<typeof newsItem>>;

/** Worst first: `failed` needs attention now, `watch` can wait until morning. */
export const healthStates = ['failed', 'watch', 'well'] as const;

export type HealthState = (typeof healthStates)[number];

export interface Health {
  readonly state: HealthState;
  readonly headline: string;
  /** What is wrong and what to do; only information if all is well. */
  readonly findings: readonly { readonly message: string; readonly hint: string | null }[];
}

const runFailure = z.object({
  code: z.string(),
  slice: z.string().nullable(),
  /** Such as `2026-01-03:2026-01-09`, both inclusive, as in all windows below. */
  window: z.string().nullable(),
  message: z.string(),
  hint: z.string().nullable(),
  /** The path of the copy that could not be written. */
  target: z.string().optional(),
  resolved: z.boolean().optional(),
  /** How many failures with one cause it represents (default: 1). */
  count: z.number().optional(),
});

export type RunFailure = Readonly<z.infer<typeof runFailure>>;

const auditResult = z.object({
  name: z.string(),
  on_fail: z.string(),
  /** How many it returned; null if it could not be answered. */
  rows: z.number().nullable(),
  first: z.array(z.record(z.string(), z.string().nullable())),
  reason: z.string().nullable(),
});

export const runStatus = z.object({
  run_id: z.string(),
  command: z.string(),
  as_of: z.string(),
  started_at: z.string(),
  finished_at: z.string().nullable(),
  status: z.string(),
  /** Its status before it published. */
  refreshed: z.string().nullable(),
  /** Also null for a run that a signal stopped. */
  exit_code: z.number().nullable(),
  rows_loaded: count.nullable(),
  slices: jsonOf(z.array(z.string())),
  requests: count.nullable(),
  retries: count.nullable(),
  failures: jsonOf(z.array(runFailure)),
  audits: jsonOf(z.array(auditResult)),
});

export type RunStatus = Readonly<z.infer<typeof runStatus>>;

/** The code is one of `warningCodes`. */
export const runWarning = z.object({
  slice: z.string().nullable(),
  window: z.string().nullable(),
  code: z.string(),
  message: z.string(),
});

export const rejectedRows = z.object({
  slice: z.string(),
  window: z.string(),
  reason: z.string(),
  rows: count,
});

export interface StatusReport {
  readonly as_of: string;
  readonly warehouse: string;
  /** The published copy that was read in place of a locked warehouse. */
  readonly snapshot: string | null;
  readonly health: Health;
  readonly news: {
    /** Null if there was no run before. */
    readonly since: string | null;
    readonly items: readonly NewsItem[];
  };
  readonly slices: readonly SliceStatus[];
  /** Stored slices that are no longer configured. */
  readonly unconfigured: readonly string[];
  /** Last complete crawl of each app, oldest first; empty if links are not configured. */
  readonly crawls: readonly { readonly app_token: string; readonly crawled_at: string }[];
  /** The newest 14, newest first. */
  readonly runs: readonly RunStatus[];
  readonly warnings: readonly z.infer<typeof runWarning>[];
  readonly rejected_rows: readonly z.infer<typeof rejectedRows>[];
}
