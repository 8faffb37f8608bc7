/** The last runs, and what was odd in the newest; read from the ledger. */

import * as z from 'zod';

import { lastDay } from '../model/calendar.ts';
import { count, dayShape, instant, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { RejectedRows, RunStatus, RunWarning } from './status-report.ts';

/** Two weeks of nights: enough to see a pattern. */
const RUNS = 14;

const isoInstant = instant.transform((at) => at.toISOString());

/** What of a run's summary is shown; a summary that an earlier version wrote may lack it. */
const summaryShape = z
  .object({
    status: z.string(),
    slices: z.array(z.object({ rows: z.object({ loaded: z.number() }) })),
    service: z.object({ requests: z.number(), retries: z.number() }),
    failures: z.array(
      z.object({
        code: z.string(),
        slice: z.string().nullable(),
        window: z.string().nullable(),
        message: z.string(),
        hint: z.string().nullable(),
      }),
    ),
  })
  .nullable()
  .catch(null);

const runStatus = z
  .object({
    run_id: z.string(),
    command: z.string(),
    as_of: isoInstant,
    started_at: isoInstant,
    finished_at: isoInstant.nullable(),
    status: z.string(),
    exit_code: z.number().nullable(),
    summary: z.string().nullable(),
  })
  .transform(({ summary: text, ...run }): RunStatus => {
    const summary = summaryShape.parse(text === null ? null : JSON.parse(text));
    return {
      ...run,
      refreshed: summary?.status ?? null,
      rows_loaded: summary?.slices.reduce((sum, { rows }) => sum + rows.loaded, 0) ?? null,
      requests: summary?.service.requests ?? null,
      retries: summary?.service.retries ?? null,
      failures: summary?.failures ?? [],
    };
  });

const runWarning = z
  .object({
    slice: z.string().nullable(),
    start_day: dayShape.nullable(),
    end_day: dayShape.nullable(),
    code: z.string(),
    message: z.string(),
  })
  .transform(({ slice, start_day: start, end_day: end, code, message }): RunWarning => {
    const window = start === null || end === null ? null : `${start}:${lastDay({ start, end })}`;
    return { slice, window, code, message };
  });

const rejectedRows = z
  .object({ slice: z.string(), start_day: dayShape, end_day: dayShape, reason: z.string(), rows: count })
  .transform(({ slice, start_day: start, end_day: end, reason, rows }): RejectedRows => {
    return { slice, window: `${start}:${lastDay({ start, end })}`, reason, rows };
  });

export interface LastRuns {
  /** Newest first. */
  readonly runs: readonly RunStatus[];
  readonly warnings: readonly RunWarning[];
  readonly rejected_rows: readonly RejectedRows[];
}

/**
 * The newest runs, with the warnings and the rejected rows of the newest alone. In a copy the newest, which made it, had
 * not ended: there its status is that of what it had done until then.
 */
export async function readLastRuns(warehouse: Warehouse, isCopy: boolean): Promise<LastRuns> {
  const found = await warehouse.rows(statement('status/runs'), [RUNS], runStatus);
  const runs = isCopy ? found.map((run, at) => (at === 0 ? asItStood(run) : run)) : found;
  const newest = runs.at(0)?.run_id;
  if (newest === undefined) return noRuns;
  return {
    runs,
    warnings: await warehouse.rows(statement('status/run_warnings'), [newest], runWarning),
    rejected_rows: await warehouse.rows(statement('status/run_rejected_rows'), [newest], rejectedRows),
  };
}

const asItStood = (run: RunStatus): RunStatus => ({ ...run, status: run.refreshed ?? run.status });

export const noRuns: LastRuns = { runs: [], warnings: [], rejected_rows: [] };
