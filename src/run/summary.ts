/** What a run did, as `--json` prints it; the shape is public interface. */

import type { FailureCode } from '../errors.ts';

export interface SliceSummary {
  readonly name: string;
  readonly windows: { readonly planned: number; readonly loaded: number; readonly failed: number };
  readonly requests: number;
  readonly rows: { readonly fetched: number; readonly loaded: number; readonly rejected: number };
  /** Periods by the reason they were due: `new`, `missing`, `open`, `maturing`, … */
  readonly periods: Readonly<Record<string, number>>;
  readonly restated_periods: number;
  /** Stretches of periods that were loaded without rows, `first:last`, both inclusive. */
  readonly empty_periods: readonly string[];
}

export interface FailureSummary {
  readonly code: FailureCode;
  readonly slice: string | null;
  readonly window: string | null;
  readonly message: string;
  readonly hint: string | null;
  /** How many failures of one cause it stands for; 1 by default. */
  readonly count?: number;
}

export interface SyncSummary {
  readonly run_id: string;
  readonly status: 'succeeded' | 'partial' | 'failed' | 'interrupted';
  readonly as_of: string;
  readonly started_at: string;
  readonly finished_at: string;
  readonly slices: readonly SliceSummary[];
  readonly partners: { readonly rows: number };
  readonly links: { readonly rows: number; readonly removed: number };
  readonly service: {
    readonly requests: number;
    readonly retries: number;
    readonly peak_concurrency: number;
    readonly bytes: number;
  };
  readonly published: readonly { readonly kind: string; readonly path: string; readonly files_written: number }[];
  readonly failures: readonly FailureSummary[];
}
