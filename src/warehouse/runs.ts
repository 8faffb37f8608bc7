/** The ledger of runs: what was started, how it ended, and its warnings and schema changes. */

import { hostname } from 'node:os';

import * as z from 'zod';

import { scrub } from '../config/secret.ts';
import type { RunEvent } from '../events.ts';
import { addDays, day } from '../model/calendar.ts';
import { version } from '../config/version.ts';
import { count, insertRows, statement, timestamp } from './sql.ts';
import type { Warehouse } from './warehouse.ts';

export interface RunStart {
  readonly runId: string;
  readonly command: string;
  readonly planAt: Date;
  readonly startedAt: Date;
}

/** Records a run, which stays `running` until `finishRun`, even if it is killed. */
export async function startRun(warehouse: Warehouse, run: RunStart): Promise<void> {
  const { runId, command, planAt, startedAt } = run;
  const [asOf, begun] = [timestamp(planAt), timestamp(startedAt)];
  const row = [runId, command, asOf, begun, version, hostname(), process.pid];
  await warehouse.run(statement('ledger/record_run'), row);
}

/** Returns whether a sync for this instant has succeeded before, and listed partners are stored. */
export async function hasPartnersOf(warehouse: Warehouse, planAt: Date): Promise<boolean> {
  const [succeeded] = await warehouse.rows(
    `select count(*) as runs from ripen.runs where command = 'sync' and status = 'succeeded' and as_of = $1::timestamp
     and exists (from main.partners where is_listed)`,
    [timestamp(planAt)],
    z.object({ runs: count }),
  );
  return succeeded !== undefined && succeeded.runs > 0;
}

/** Records how a run ended. The exit code is null if a signal stopped it: the process returns the signal's. */
export async function finishRun(
  warehouse: Warehouse,
  runId: string,
  end: { readonly finishedAt: Date; readonly status: string; readonly exitCode: number | null },
  summary: string,
): Promise<void> {
  const ended = [runId, timestamp(end.finishedAt), end.status, end.exitCode, summary];
  await warehouse.run(statement('ledger/record_run_end'), ended);
}

/** Records a run's summary, as JSON, before publishing, so that the published ledger includes it. */
export async function recordSummary(
  warehouse: Warehouse,
  runId: string,
  summary: string,
): Promise<void> {
  await warehouse.run(statement('ledger/record_summary'), [runId, summary]);
}

/** A warning of a run, and when it was found. */
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
    return {
      run_id: runId,
      slice,
      start_day,
      end_day,
      code,
      message: scrub(message),
      seen_at: seenAt,
    };
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
  const none = { name: null, before: null, after: null };
  const rows = changes.map((change) => {
    return { run_id: runId, ...none, ...change, seen_at: new Date() };
  });
  await insertRows(warehouse, 'ripen.schema_changes', rows);
}
