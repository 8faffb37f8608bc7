/** The ledger of rejected rows: what could not be stored exactly, as it came. */

import { scrub } from '../config/secret.ts';
import type { DayInterval } from '../model/calendar.ts';
import { statement } from './statements.ts';
import type { Warehouse } from './warehouse.ts';

export interface Reject {
  readonly slice: string;
  readonly days: DayInterval;
  readonly reason: string;
  /** The row as JSON. */
  readonly row: string;
}

/** Records rejected rows, at once. Inside the caller's transaction where there is one. */
export async function recordRejects(warehouse: Warehouse, rejects: readonly Reject[], runId: string): Promise<void> {
  if (rejects.length === 0) return;
  const rows = rejects.map(({ slice, days, reason, row }) => ({
    slice,
    start_day: days.start,
    end_day: days.end,
    reason: scrub(reason),
    row_text: row,
  }));
  await warehouse.run(statement('load/record_rejects'), [runId, JSON.stringify(rows)]);
}
