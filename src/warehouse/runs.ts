/** The ledger of runs: what was started, how it ended, what was odd on the way. */

import { hostname } from 'node:os';

import * as z from 'zod';

import { scrub } from '../config/secret.ts';
import type { WarningCode } from '../errors.ts';
import type { DayInterval } from '../model/calendar.ts';
import { version } from '../version.ts';
import { count, timestamp } from './sql.ts';
import type { Warehouse } from './warehouse.ts';

export interface RunStart {
  readonly runId: string;
  readonly command: string;
  readonly planAt: Date;
  readonly startedAt: Date;
}

export interface RunEnd {
  readonly runId: string;
  readonly finishedAt: Date;
  readonly status: string;
  /** Null for a run that a signal stopped: the process returns the signal's. */
  readonly exitCode: number | null;
  /** The printed summary, as JSON. */
  readonly summary: string;
}

export interface Warning {
  readonly runId: string;
  readonly slice: string | null;
  readonly days: DayInterval | null;
  readonly code: WarningCode;
  readonly message: string;
}

/** Records that a run began; it stays `running` until `finishRun`, also after a kill. */
export async function startRun(warehouse: Warehouse, run: RunStart): Promise<void> {
  await warehouse.run(
    `insert into ripen.runs by name
     select $1 as run_id, $2 as command, $3::timestamp as as_of, $4::timestamp as started_at, 'running' as status,
         $5 as version, $6 as host, $7 as pid, coalesce(max(run_number), 0) + 1 as run_number
     from ripen.runs`,
    [run.runId, run.command, timestamp(run.planAt), timestamp(run.startedAt), version, hostname(), process.pid],
  );
}

/** Whether a sync for exactly this instant has succeeded before. */
export async function hasSucceededAt(warehouse: Warehouse, planAt: Date): Promise<boolean> {
  const [found] = await warehouse.rows(
    `select count(*) as runs from ripen.runs where command = 'sync' and status = 'succeeded' and as_of = $1::timestamp`,
    [timestamp(planAt)],
    z.object({ runs: count }),
  );
  return found !== undefined && found.runs > 0;
}

export async function finishRun(warehouse: Warehouse, run: RunEnd): Promise<void> {
  await warehouse.run(
    `update ripen.runs set finished_at = $2::timestamp, status = $3, exit_code = $4, summary = $5::json where run_id = $1`,
    [run.runId, timestamp(run.finishedAt), run.status, run.exitCode, run.summary],
  );
}

/** Keeps what a run has done before it publishes: a copy that holds the ledger then says so, though the run goes on. */
export async function recordSummary(
  warehouse: Warehouse,
  { runId, summary }: Pick<RunEnd, 'runId' | 'summary'>,
): Promise<void> {
  await warehouse.run('update ripen.runs set summary = $2::json where run_id = $1', [runId, summary]);
}

export async function recordWarning(warehouse: Warehouse, warning: Warning): Promise<void> {
  await warehouse.run(
    `insert into ripen.warnings values ($1, $2, $3::date, $4::date, $5, $6, now() at time zone 'UTC')`,
    [
      warning.runId,
      warning.slice,
      warning.days?.start ?? null,
      warning.days?.end ?? null,
      warning.code,
      scrub(warning.message),
    ],
  );
}

export interface SchemaChange {
  readonly runId: string;
  readonly object: string;
  readonly name: string | null;
  readonly change: string;
  readonly before: string | null;
  readonly after: string | null;
}

export async function recordSchemaChange(warehouse: Warehouse, change: SchemaChange): Promise<void> {
  await warehouse.run(`insert into ripen.schema_changes values ($1, $2, $3, $4, $5, $6, now() at time zone 'UTC')`, [
    change.runId,
    change.object,
    change.name,
    change.change,
    change.before,
    change.after,
  ]);
}
