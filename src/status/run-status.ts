/** What the status reports of runs, in the shapes of the rows that the ledger has of them. */

import * as z from 'zod';

import { count, jsonOf } from '../warehouse/sql.ts';

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
  /**
   * Null for a run that was killed, whose status is `running`, and of which nothing below is known unless it was publishing.
   * In a copy that stands for the warehouse null, too, for the run that made it.
   */
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
