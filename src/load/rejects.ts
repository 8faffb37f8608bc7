/** Rows that hold what no column takes: which they are in each window, and whether its slice tolerates so many. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import type { Day, DayInterval } from '../model/calendar.ts';
import { subjectOf, type Window } from '../model/window.ts';
import { nearestDoubles } from '../spool/columns/number-column.ts';
import { dayShape } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { rejectedRows } from './window-sql.ts';

/** A row that could not be stored exactly. */
export interface Reject {
  readonly slice: string;
  readonly days: DayInterval;
  readonly reason: string;
  /** The row as JSON. */
  readonly row: string;
}

export interface Rejects {
  /** One per row and reason. */
  readonly recorded: readonly Reject[];
  /** The day each row belongs to; null where none is known. */
  readonly days: readonly (Day | null)[];
  /** Metrics whose texts were no numbers. */
  readonly metrics: ReadonlySet<string>;
  /** Set when the window has more of them than its slice tolerates. */
  readonly failure: Failure | null;
}

const rejectedShape = z.object({
  row: z.string(),
  reasons: z.array(z.object({ metric: z.string(), reason: z.string() })),
});
const rejectedRow = z.object({ window_no: z.number(), day: dayShape.nullable(), rejected: z.string() });

type RejectedRow = z.infer<typeof rejectedShape> & { readonly windowNo: number; readonly day: Day | null };

/** By number in the batch, the windows that have any. */
export async function rejectsOf(
  warehouse: Warehouse,
  windows: ReadonlyMap<number, Window>,
): Promise<ReadonlyMap<number, Rejects>> {
  const [first] = windows.values();
  if (first === undefined) return new Map();
  const found = await warehouse.rows(rejectedRows(first.slice.grain, [...windows.keys()]), [], rejectedRow);
  const rows = found.map(({ window_no: windowNo, day, rejected }): RejectedRow => {
    const { row, reasons } = rejectedShape.parse(JSON.parse(rejected));
    return { windowNo, day, row, reasons };
  });
  return new Map(
    [...windows].flatMap(([windowNo, window]): [number, Rejects][] => {
      const own = rows.filter((row) => row.windowNo === windowNo);
      return own.length === 0 ? [] : [[windowNo, rejectsIn(own, window)]];
    }),
  );
}

/** Reasons named in one message; the others are in `ripen.rejected_rows`. */
const EXAMPLES = 3;

function rejectsIn(rows: readonly RejectedRow[], window: Window): Rejects {
  const all = rows.flatMap(({ row, reasons }) => reasons.map((each) => ({ ...each, row })));
  const examples = [...new Set(all.map(({ reason }) => reason))].slice(0, EXAMPLES).join('; ');
  const metrics = new Set(all.map(({ metric }) => metric));
  // Some are rejected only because the column of their metric would round them.
  const remedies = [...metrics]
    .map(nearestDoubles)
    .filter((setting) => all.some(({ reason }) => reason.includes(setting)))
    .map((setting) => `state \`${setting}\` to load the nearest numbers`);
  const { name, maxRejects } = window.slice;
  const failure = new Failure(
    'DATA_REJECTED',
    `${subjectOf(window)}: ${rows.length} rows could not be stored exactly (${examples}).`,
    {
      facts: { rows: rows.length, tolerated: maxRejects },
      hint: ['Look at ripen.rejected_rows', ...remedies, 'raise max_rejects to load the rest without them.'].join('; '),
    },
  );
  return {
    recorded: all.map(({ reason, row }) => ({ slice: name, days: window.asked, reason, row })),
    days: rows.map(({ day }) => day),
    metrics,
    failure: rows.length > maxRejects ? failure : null,
  };
}
