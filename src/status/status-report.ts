/** What `ripen status` reports, as `--json` prints it; the shape is public interface. */

export const periodStates = ['missing', 'open', 'maturing', 'final'] as const;

export type PeriodState = (typeof periodStates)[number];

export interface PeriodStatus {
  readonly first_day: string;
  readonly last_day: string;
  /** Days since its last day, in the slice's offset; 0 or less while it is not over. */
  readonly age_days: number;
  readonly state: PeriodState;
  /** Null for a missing period, as are the fields below. */
  readonly fetched_at: string | null;
  readonly rows: number | null;
  readonly rejected: number | null;
  /** Null, too, when nothing more is expected. */
  readonly next_refresh_at: string | null;
}

export interface RestatedMetric {
  readonly metric: string;
  readonly periods: number;
  readonly oldest_period: string;
  /** Of the metric's total over those periods. */
  readonly change: number;
}

export interface SliceStatus {
  readonly name: string;
  /** First day of the newest period that holds rows. */
  readonly newest_period: string | null;
  readonly newest_fetch_at: string | null;
  readonly rows: number;
  /** Of the date period: how many there are to load, and how they stand. */
  readonly periods: Readonly<Record<PeriodState, number>> & { readonly expected: number; readonly loaded: number };
  /** Periods of the table being built because the slice's meaning changed; null when none is. */
  readonly building_periods: number | null;
  /** Over the last 7 days, most often restated first. */
  readonly restated: readonly RestatedMetric[];
  /** Every period of the date period, in order. */
  readonly ages: readonly PeriodStatus[];
}

export interface RunStatus {
  readonly run_id: string;
  readonly command: string;
  readonly as_of: string;
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly status: string;
  readonly exit_code: number | null;
}

/** Of the newest run. */
export interface RunWarning {
  readonly slice: string | null;
  /** `2026-01-03:2026-01-09`, both inclusive. */
  readonly window: string | null;
  readonly code: string;
  readonly message: string;
}

/** Of the newest run. */
export interface RejectedRows {
  readonly slice: string;
  readonly window: string;
  readonly reason: string;
  readonly rows: number;
}

export interface StatusReport {
  readonly as_of: string;
  readonly warehouse: string;
  /** In configured order. */
  readonly slices: readonly SliceStatus[];
  /** Newest first. */
  readonly runs: readonly RunStatus[];
  readonly warnings: readonly RunWarning[];
  readonly rejected_rows: readonly RejectedRows[];
}
