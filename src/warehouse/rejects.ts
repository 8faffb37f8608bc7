/** The ledger of rejected rows: what could not be stored exactly, as it came. */

import { scrub } from '../config/secret.ts';
import type { DayInterval } from '../model/calendar.ts';
import type { Warehouse } from './warehouse.ts';

export interface Reject {
  readonly slice: string;
  readonly days: DayInterval;
  readonly reason: string;
  /** The row as JSON. */
  readonly row: string;
}

/** Records rejected rows, as they came; kept also when their window is held. */
export async function recordRejects(warehouse: Warehouse, rejects: readonly Reject[], runId: string): Promise<void> {
  for (const { slice, days, reason, row } of rejects) {
    await warehouse.run(
      `insert into ripen.rejected_rows values ($1, $2, $3::date, $4::date, $5, $6::json, now() at time zone 'UTC')`,
      [runId, slice, days.start, days.end, scrub(reason), row],
    );
  }
}
