/** What `ripen status` reports, as `--json` prints it; the shape is public interface. What is a row of the ledger is its shape here. */

import * as z from 'zod';

import { faultyShareBelow } from '../model/sampling.ts';
import { count, jsonOf } from '../warehouse/sql.ts';

/** How a period stands. `cut`: the date period begins or ends inside it; `empty`: no rows, by one answer that a later run has to confirm. */
export const periodStates = ['missing', 'open', 'maturing', 'final', 'cut', 'empty'] as const;

export type ShownPeriodState = (typeof periodStates)[number];

/**
 * How a cell (period × metric) stands. `rejected`: rows of the period could not be stored; `not loaded`: the metric came to the
 * slice after the period was last fetched; `missing`, `cut` and `empty` as of periods.
 */
export const cellStates = ['final', 'maturing', 'open', 'cut', 'empty', 'rejected', 'not loaded', 'missing'] as const;

export type CellState = (typeof cellStates)[number];

export interface PeriodStatus {
  readonly first_day: string;
  readonly last_day: string;
  /** Days since its last day, in the slice's offset; 0 or less while it is not over. */
  readonly age_days: number;
  readonly state: ShownPeriodState;
  /** Null for a missing period, as are the fields below. */
  readonly fetched_at: string | null;
  readonly rows: number | null;
  readonly rejected: number | null;
  /** Null, too, when nothing more is expected. */
  readonly next_refresh_at: string | null;
}

/** Neighbouring periods in which a metric stands alike; both days included. */
export interface CellSpan {
  readonly state: CellState;
  readonly first_day: string;
  readonly last_day: string;
  readonly periods: number;
}

/** The finality of one metric over every period of its coverage. */
export interface MetricStatus {
  readonly metric: string;
  /** The rule its horizon comes from; null before the metric was first loaded. */
  readonly kind: string | null;
  /** How long after a period ends the value may change; null where it never becomes final, or is not known yet. */
  readonly horizon_days: number | null;
  /** Where that is documented or stated; null before the metric was first loaded. */
  readonly horizon_from: string | null;
  /** What it measures, in which unit, and whether it adds up: the comment of its column; null where it has none. */
  readonly meaning: string | null;
  readonly cells: Readonly<Record<CellState, number>>;
  /** In order, without a gap. */
  readonly spans: readonly CellSpan[];
}

/** A row of `status/restatements`. */
export const restatedMetric = z.object({
  metric: z.string(),
  periods: count,
  /** Of those periods the ones that had no value before; with any, the change is not one of what was there. */
  first_values: count,
  oldest_period: z.string(),
  /** The metric's total over those periods before the first change; null when none had a value. */
  before: z.number().nullable(),
  after: z.number().nullable(),
  change: z.number(),
});

/** How much of the final total of a period was known at an age: quartiles of shares over final periods. */
export const maturationAge = z.object({
  metric: z.string(),
  age_days: count,
  periods: count,
  share_q25: z.number(),
  share_median: z.number(),
  share_q75: z.number(),
});

/** What would have been projected at an age, compared with what became final; errors are shares of the final total. */
export const backtestAge = z.object({
  metric: z.string(),
  age_days: count,
  cohorts: count,
  median_abs_error: z.number().nullable(),
  median_abs_error_as_is: z.number().nullable(),
  /** Share of final totals inside the 80 % interval as it was known on their day; null with fewer than eight. */
  coverage: z.number().nullable(),
  is_projected: z.boolean(),
});

/** What fetches have shown of one additive metric. */
export const metricHistory = z.object({
  metric: z.string(),
  /** Null where it never becomes final. */
  horizon_days: z.number().nullable(),
  /** Periods whose final total was fetched again in the last 90 days, and how many of these totals had changed. */
  final_cells: count,
  final_changed: count,
  /** The highest age at which a fetch found another total than the one before; null where none did. */
  last_change_age: count.nullable(),
  /** Pairs of fetches that cover the days after that age and found no change. */
  later_looks: count.nullable(),
});

export type MetricHistory = z.infer<typeof metricHistory>;

/** Final cells count that were fetched again in so many days: older ones say little of the horizon that is configured now. */
export const AUDITED_DAYS = 90;

/** Final cells that were fetched again in that time: a row of `status/audits`. A drawn period is one draw, however many cells it has. */
export const auditedCells = z
  .object({
    periods: count,
    cells: count,
    changed: count,
    /** The periods among them that audits drew, each with the chance that one of all final cells lay in it. */
    drawn_periods: count,
    /** Over the drawn periods, the sum of the shares of their final cells that had changed. */
    drawn_changed: z.number(),
  })
  .transform((cells) => {
    const { drawn_periods: drawn, drawn_changed: changed } = cells;
    // With 95 % confidence fewer than this share of the final cells drawn from were wrong; null before the first draw.
    return { ...cells, wrong_share_below: drawn === 0 ? null : faultyShareBelow(Math.ceil(changed), drawn) };
  });

export const curvePoint = z.object({
  /** `2026-01`, of the first days of the periods. */
  month: z.string(),
  age_days: z.number(),
  value: z.number(),
  /** Whether the value of every period of the month is final. */
  is_final: z.boolean(),
});

/** How the value of one key of a cube grows with age, for the newest months. */
export interface CohortCurve {
  readonly cohort: string;
  /** In order of months and ages. */
  readonly points: readonly z.infer<typeof curvePoint>[];
}

export interface SliceStatus {
  readonly name: string;
  /** First day of the newest period that holds rows. */
  readonly newest_period: string | null;
  readonly newest_fetch_at: string | null;
  /** From when on a sync finds something due; null when nothing is expected any more. */
  readonly next_refresh_at: string | null;
  readonly rows: number;
  /** Of the coverage: how many there are to load, and how they stand. */
  readonly periods: Readonly<Record<ShownPeriodState, number>> & { readonly expected: number; readonly loaded: number };
  /** Cells of the coverage: periods times metrics. */
  readonly cells: Readonly<Record<CellState, number>> & { readonly expected: number };
  /** Periods held whose rows could not be proven complete. */
  readonly unproven_periods: number;
  /** Periods of the table being built because the slice's meaning changed; null when none is. */
  readonly building_periods: number | null;
  /** Periods that `retain` deleted and Delta tables with `keep_released` hold. */
  readonly released_periods: number;
  /** Over the last 7 days, most often restated first. */
  readonly restated: readonly z.infer<typeof restatedMetric>[];
  /** By metric in configured order, then age; empty with too little history. */
  readonly maturation: readonly z.infer<typeof maturationAge>[];
  readonly backtest: readonly z.infer<typeof backtestAge>[];
  /** In configured order. */
  readonly histories: readonly MetricHistory[];
  /** Null before a final cell was fetched again. */
  readonly audited: z.infer<typeof auditedCells> | null;
  /** Of a cube, the first keys whose values add up; empty for any other slice. */
  readonly curves: readonly CohortCurve[];
  /** In configured order. */
  readonly metrics: readonly MetricStatus[];
  /** One entry for each period of the coverage, in order: how old it is, and how it stands. */
  readonly ages: readonly PeriodStatus[];
}

/** Whether all is well, worst first: `failed` wants somebody now, `watch` can wait for the day, `well` needs nobody. */
export const healthStates = ['failed', 'watch', 'well'] as const;

export type HealthState = (typeof healthStates)[number];

export interface Health {
  readonly state: HealthState;
  /** One sentence. */
  readonly headline: string;
  /** What is wrong and what to do about it; empty when all is well. */
  readonly findings: readonly { readonly message: string; readonly hint: string | null }[];
}

const runFailure = z.object({
  code: z.string(),
  slice: z.string().nullable(),
  /** `2026-01-03:2026-01-09`, both inclusive, as in all windows below. */
  window: z.string().nullable(),
  message: z.string(),
  hint: z.string().nullable(),
  /** How many failures of one cause it stands for; 1 by default. */
  count: z.number().optional(),
});

export type RunFailure = Readonly<z.infer<typeof runFailure>>;

/** A row of `status/runs`. */
export const runStatus = z.object({
  run_id: z.string(),
  command: z.string(),
  as_of: z.string(),
  started_at: z.string(),
  /** Null for a run that was killed, whose status is `running`, and in a copy for the run that made it. */
  finished_at: z.string().nullable(),
  status: z.string(),
  /** The status before anything was published; null for a run that was killed before. */
  refreshed: z.string().nullable(),
  /** Null, too, for a run that a signal stopped. */
  exit_code: z.number().nullable(),
  rows_loaded: count.nullable(),
  requests: count.nullable(),
  retries: count.nullable(),
  failures: jsonOf(z.array(runFailure)),
});

export type RunStatus = Readonly<z.infer<typeof runStatus>>;

/** Of the newest run: a row of `status/run_warnings`. The code is one of `warningCodes`. */
export const runWarning = z.object({
  slice: z.string().nullable(),
  window: z.string().nullable(),
  code: z.string(),
  message: z.string(),
});

/** Of the newest run: a row of `status/run_rejected_rows`. */
export const rejectedRows = z.object({ slice: z.string(), window: z.string(), reason: z.string(), rows: count });

export interface StatusReport {
  readonly as_of: string;
  readonly warehouse: string;
  /** The published copy that was read, as a run held the warehouse; null where the warehouse itself was. */
  readonly snapshot: string | null;
  readonly health: Health;
  /** In configured order. */
  readonly slices: readonly SliceStatus[];
  /** Names of slices the warehouse holds that are no longer configured. */
  readonly unconfigured: readonly string[];
  /** When the links of each app were last crawled whole, the oldest first; empty where links are not configured. */
  readonly crawls: readonly { readonly app_token: string; readonly crawled_at: string }[];
  /** The newest 14, newest first. */
  readonly runs: readonly RunStatus[];
  readonly warnings: readonly z.infer<typeof runWarning>[];
  readonly rejected_rows: readonly z.infer<typeof rejectedRows>[];
}
