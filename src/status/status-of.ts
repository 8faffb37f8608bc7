/** The status of a configuration's warehouse, also while a run holds it. */

import { existsSync } from 'node:fs';

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { withWarehouse } from '../warehouse/opening.ts';
import { readStatus } from './status.ts';
import type { StatusReport } from './status-report.ts';

/** A run takes long; whoever has no snapshot to look at waits a little for it. */
const USUAL_WAIT_MS = 60_000;

/**
 * The status report of a configuration's warehouse; while a run holds it, after the wait (null: none where there is a
 * snapshot), that of its published snapshot. Throws `WAREHOUSE_LOCKED` where there is none.
 */
export async function statusOf(
  config: Config,
  planAt: Date,
  lockWaitMs: number | null,
  emit: Emit,
): Promise<StatusReport> {
  if (!existsSync(config.warehouse)) return readStatus(config, null, planAt);
  const snapshot = config.publish.find(({ kind, path }) => kind === 'duckdb' && existsSync(path))?.path ?? null;
  const read = async (path: string, waitMs: number, stands: string | null): Promise<StatusReport> =>
    withWarehouse(path, { mode: 'read', lockWaitMs: waitMs, emit }, async (warehouse) =>
      readStatus(config, warehouse, planAt, stands),
    );
  try {
    return await read(config.warehouse, lockWaitMs ?? (snapshot === null ? USUAL_WAIT_MS : 0), null);
  } catch (held) {
    if (!(held instanceof Failure) || held.code !== 'WAREHOUSE_LOCKED' || snapshot === null) throw held;
    return await read(snapshot, 0, snapshot).catch(() => {
      throw held;
    });
  }
}
