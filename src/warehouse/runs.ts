/** The ledger of runs, their warnings and schema changes. */

import { hostname } from 'node:os';

import * as z from 'zod';

import { scrub } from '../config/secret.ts';
import type { RunEvent } from '../events.ts';
import { addDays, day } from '../model/calendar.ts';
import { version } from '../config/version.ts';
import { insertRows, statement, timestamp } from './sql.ts';
import type { Warehouse } from './warehouse.ts';

export interface RunStart {
  readonly runId: string;
  readonly command: string;
  readonly planAt: Date;
  readonly startedAt: Date;
}

/** Records a run, which stays `running`, even if it is killed, until `recordRun` has its end. */
export async function startRun(warehouse: Warehouse, run: RunStart): Promise<void> {
  const { runId, command, planAt, startedAt } = run;
  const [asOf, begun] = [timestamp(planAt), timestamp(startedAt)];
  const row = [runId, command, asOf, begun, version, hostname(), process.pid];
  await warehouse.run(statement('ledger/record_run'), row);
}

/** Returns whether a sync for this instant has succeeded before, and listed partners are stored. */
export async function hasPartnersOf(warehouse: Warehouse, planAt: Date): Promise<boolean> {
  const at = [timestamp(planAt)];
  return (await warehouse.rows(statement('links/runs_with_partners'), at, z.unknown())).length > 0;
}

/** Records a run's summary, as JSON, and its end; before publishing without an end, so that the copies have it. */
export async function recordRun(
  warehouse: Warehouse,
  runId: string,
  summary: string,
  end?: {
    readonly finishedAt: Date;
    readonly status: string;
    /** Null if a signal stopped it: the process returns the signal's. */
    readonly exitCode: number | null;
  },
): Promise<void> {
  const { finishedAt, status = 'running', exitCode = null } = end ?? {};
  const endedAt = finishedAt === undefined ? null : timestamp(finishedAt);
  const values = [runId, endedAt, status, exitCode, summary];
  await warehouse.run(statement('ledger/record_run_end'), values);
}

export interface SeenWarning extends RunEvent<'warning'> {
  readonly seenAt: Date;
}

export async function recordWarnings(
  warehouse: Warehouse,
  runId: string,
  warnings: readonly SeenWarning[],
): Promise<void> {
  if (warnings.length === 0) return;
  const rows = warnings.map(({ slice, window, code, message, seenAt }) => {
    const [start_day = null, last = null] = window?.split(':') ?? [];
    const end_day = last === null ? null : addDays(day(last), 1);
    const words = { code, message: scrub(message) };
    return { run_id: runId, slice, start_day, end_day, ...words, seen_at: seenAt };
  });
  await insertRows(warehouse, 'ripen.warnings', rows);
}

export interface SchemaChange {
  /** The slice, whose table changed, or the column `name` of it. */
  readonly object: string;
  readonly name?: string;
  readonly change: string;
  readonly before?: string | null;
  readonly after?: string | null;
}

export async function recordSchemaChanges(
  warehouse: Warehouse,
  runId: string,
  changes: readonly SchemaChange[],
): Promise<void> {
  const common = { run_id: runId, seen_at: new Date(), name: null, before: null, after: null };
  const rows = changes.map((change) => ({ ...common, ...change }));
  await insertRows(warehouse, 'ripen.schema_changes', rows);
}
