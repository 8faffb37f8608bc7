/** Checks of the rows of a window, whatever its totals: rejected rows, days outside it, weeks of another calendar, repeated keys. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { type Day, type DayInterval, weekdayNames, weekdayOf } from '../model/calendar.ts';
import { subjectOf, type Window } from '../model/window.ts';
import type { Columns } from '../warehouse/tables/target.ts';
import { count, dayShape, jsonOf } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Readable, Rejects } from './answered.ts';
import { duplicateKeys, rejectedRows } from './facts-sql.ts';
import { beginsInWeek } from './staged-sql.ts';

export function outsideDays(window: Window, rows: ReadonlyMap<Day, number>): Failure | null {
  const { slice, replaced } = window;
  const isOutside = (start: Day): boolean => start < replaced.start || start >= replaced.end;
  const outside = [...rows]
    .filter(([start]) => isOutside(start))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const [first] = outside;
  if (slice.grain === null || first === undefined) return null;
  const [example] = first;
  const facts = { rows: outside.reduce((sum, [, some]) => sum + some, 0), example };
  const message = `${subjectOf(window)}: ${facts.rows} rows lay outside the window, one of them at ${example}.`;
  const hint = 'Check utc_offset and the account; nothing was loaded.';
  return new Failure('DATA_OUTSIDE_WINDOW', message, { facts, hint });
}

/** The failure of a window with rows of a week that begins on another weekday than `week_starts_on`. */
export function strayWeek(window: Window, rows: ReadonlyMap<Day, number>): Failure | null {
  const { grain, weekStartsOn } = window.slice;
  if (grain !== 'week') return null;
  const stray = [...rows.keys()].find((start) => weekdayOf(start) !== weekStartsOn);
  if (stray === undefined) return null;
  const weekday = weekdayNames[weekdayOf(stray)];
  const message = `${subjectOf(window)}: week_starts_on is ${weekdayNames[weekStartsOn]}, but the service's week of ${stray} begins on ${weekday}.`;
  const hint = `Set \`week_starts_on: ${weekday}\`. If weeks are loaded, \`ripen plan\` then names the \`ripen drop\` and \`ripen backfill\` to begin anew.`;
  return new Failure('DATA_MALFORMED', message, { facts: { example: stray }, hint });
}

const repeatedRow = z.object({
  window_no: z.number(),
  batch_no: z.number(),
  copies: count,
  versions: count,
  key: z.string(),
  found: z.string(),
});

export const isWithin = (day: Day, { start, end }: DayInterval): boolean =>
  start <= day && day < end;

/** Finds the windows that repeat a key, by their number: surplus copies of identical rows by batch, and why a key fails one. */
export async function keyFailures(
  warehouse: Warehouse,
  columns: Columns,
  readable: readonly Readable[],
): Promise<ReadonlyMap<number, { copies: readonly number[]; failure: Failure | null }>> {
  const repeated = new Map<number, { copies: number[]; failure: Failure | null }>();
  const suspects = readable.filter(mayRepeat).map(({ windowNo }) => windowNo);
  if (suspects.length === 0) return repeated;
  const batchNos = readable.map(({ answers }) => answers.map(({ box }) => box.batchNo));
  for (const row of await warehouse.rows(
    duplicateKeys(columns, suspects, batchNos),
    [],
    repeatedRow,
  )) {
    const { window_no: windowNo, batch_no: batchNo, versions } = row;
    const window = readable[windowNo]?.spooled.window;
    if (window === undefined) continue;
    const batches = Math.max(0, ...(batchNos[windowNo] ?? [])) + 1;
    const facts = repeated.get(windowNo) ?? {
      copies: Array.from({ length: batches }, () => 0),
      failure: null,
    };
    repeated.set(windowNo, facts);
    facts.copies[batchNo] = (facts.copies[batchNo] ?? 0) + row.copies - 1;
    if (versions === 1 || facts.failure !== null) continue;
    const message = `${subjectOf(window)}: one key came with ${versions} different values: ${row.key} was ${row.found}.`;
    const hint = 'Add the dimension that distinguishes the rows, such as app_token or an id.';
    facts.failure = new Failure('DATA_DUPLICATE_KEY', message, { facts: { versions }, hint });
  }
  return repeated;
}

/** Whether a key may occur twice: in one file, in several pages or parts, or under two names of the first week. */
function mayRepeat({ answers, spooled: { window } }: Readable): boolean {
  return (
    answers.some(({ pages }) => pages.length > 1 || pages.some((page) => !page.isDistinct)) ||
    answers.some(({ box }) => box.partNo !== answers[0]?.box.partNo) ||
    beginsInWeek(window)
  );
}

const rejectedShape = z.object({
  row: z.string(),
  reasons: z.array(z.object({ metric: z.string(), reason: z.string() })),
});
const rejectedRow = z.object({
  window_no: z.number(),
  day: dayShape.nullable(),
  rejected: jsonOf(z.array(rejectedShape)),
});

/** Most reasons that one message names; `ripen.rejected_rows` has all of them. */
const MAX_EXAMPLES = 3;

/** The rejected rows by number of the window, and whether the slice tolerates so many. */
export async function readRejects(
  warehouse: Warehouse,
  windows: readonly Window[],
  windowNos: readonly number[],
): Promise<ReadonlyMap<number, Rejects>> {
  if (windowNos.length === 0) return new Map();
  const found = await warehouse.rows(
    rejectedRows(windows[0]?.slice.grain ?? null, windowNos),
    [],
    rejectedRow,
  );
  const byWindow = windows.flatMap((window, windowNo): [number, Rejects][] => {
    const rows = found.filter((row) => row.window_no === windowNo);
    // Batches of metrics may share a metric, so that a row has one reason several times.
    const all = rows.flatMap(({ rejected }) => {
      const reasons = rejected.flatMap(({ row, reasons: ofRow }) =>
        ofRow.map((reason) => ({ ...reason, row })),
      );
      return [...new Map(reasons.map((each) => [`${each.metric} ${each.reason}`, each])).values()];
    });
    const { name, maxRejects } = window.slice;
    const examples = [...new Set(all.map(({ reason }) => reason))]
      .slice(0, MAX_EXAMPLES)
      .join('; ');
    const message = `${subjectOf(window)}: ${rows.length} rows could not be stored exactly (${examples}).`;
    const facts = { rows: rows.length, tolerated: maxRejects };
    const failure = new Failure('DATA_REJECTED', message, { facts, hint: REJECTED_HINT });
    const rejects: Rejects = {
      recorded: all.map(({ reason, row }) => ({
        slice: name,
        days: window.requested,
        reason,
        row,
      })),
      days: rows.map(({ day }) => day),
      metrics: new Set(all.map(({ metric }) => metric)),
      failure: rows.length > maxRejects ? failure : null,
    };
    return rows.length === 0 ? [] : [[windowNo, rejects]];
  });
  return new Map(byWindow);
}

const REJECTED_HINT =
  'Look at ripen.rejected_rows. Set the type that a reason names, or raise max_rejects to load the other rows.';
