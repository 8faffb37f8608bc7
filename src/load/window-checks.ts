/** Checks the rows of windows, whatever their totals. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { type Day, isWithin, weekdayNames, weekdayOf } from '../model/calendar.ts';
import { sumOf } from '../model/measure.ts';
import { subjectOf, type Window } from '../model/window.ts';
import { count, dayShape, jsonOf } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Rejects } from './answered.ts';
import { duplicateKeys, otherWeeks, rejectedRows } from './facts-sql.ts';
import { beginsInWeek, type Staged } from './staged-sql.ts';

const weekRow = z.object({ window_no: z.number(), week: dayShape });

/** Returns by window a week that its rows name beside their day, and that begins on another day than `week_starts_on`. */
export async function strayWeeks(
  warehouse: Warehouse,
  staged: Staged,
): Promise<ReadonlyMap<number, Day>> {
  const { grain, dimensions } = staged.slice;
  if (grain === 'week' || !dimensions.includes('week')) return new Map();
  const rows = await warehouse.rows(otherWeeks(staged), [], weekRow);
  return new Map(rows.map(({ window_no, week }) => [window_no, week]));
}

export function misplaced(
  window: Window,
  rows: ReadonlyMap<Day, number>,
  strayWeek: Day | undefined,
): Failure | null {
  const { slice, replaced } = window;
  const { grain, weekStartsOn } = slice;
  // Of an archived window, even without rows: it would replace days of two weeks.
  const starts = grain === 'week' ? [replaced.start, ...rows.keys()] : [];
  const stray = starts.find((start) => weekdayOf(start) !== weekStartsOn) ?? strayWeek;
  if (stray !== undefined) {
    const weekday = weekdayNames[weekdayOf(stray)];
    const message = `${subjectOf(window)}: week_starts_on is ${weekdayNames[weekStartsOn]}, but the service's week of ${stray} begins on ${weekday}.`;
    const hint = `Set \`week_starts_on: ${weekday}\`. If weeks are loaded, \`ripen plan\` then names the \`ripen drop\` and \`ripen backfill\` to begin anew.`;
    return new Failure('DATA_MALFORMED', message, { hint });
  }
  const outside = [...rows.keys()].filter((start) => !isWithin(start, replaced)).toSorted();
  const [example] = outside;
  if (grain === null || example === undefined) return null;
  const strayRows = sumOf(outside.map((start) => rows.get(start) ?? 0));
  const message = `${subjectOf(window)}: ${strayRows} rows lay outside the window, one of them at ${example}.`;
  const hint = 'Check utc_offset and the account; nothing was loaded.';
  return new Failure('DATA_OUTSIDE_WINDOW', message, { hint });
}

interface RepeatedKeys {
  readonly copies: number[];
  readonly spread: Set<number>;
  readonly conflicts: Day[];
  failure: Failure | null;
}

const repeatedRow = z.object({
  window_no: z.number(),
  batch_no: z.number(),
  start_day: dayShape,
  copies: count,
  is_spread: z.boolean(),
  versions: count,
  key: z.string(),
  found: z.string(),
});

export async function repeatedKeys(
  warehouse: Warehouse,
  staged: Staged,
): Promise<ReadonlyMap<number, RepeatedKeys>> {
  const repeated = new Map<number, RepeatedKeys>();
  // A key may occur twice in one file, in several pages or parts, or under two names of the first week.
  const suspects = staged.windows.filter(
    ({ answers, spooled: { window } }) =>
      answers.some(({ pages }) => pages.length > 1 || pages.some((page) => !page.isDistinct)) ||
      answers.some(({ box }) => box.partNo !== answers[0]?.box.partNo) ||
      beginsInWeek(window),
  );
  if (suspects.length === 0) return repeated;
  const windowNos = suspects.map(({ windowNo }) => windowNo);
  for (const row of await warehouse.rows(duplicateKeys(staged, windowNos), [], repeatedRow)) {
    const { window_no: windowNo, batch_no: batchNo, versions } = row;
    const window = staged.windows[windowNo];
    if (window === undefined) continue;
    const batches = Math.max(...window.answers.map(({ box }) => box.batchNo)) + 1;
    const keys: RepeatedKeys = repeated.get(windowNo) ?? {
      copies: Array.from({ length: batches }, () => 0),
      spread: new Set(),
      conflicts: [],
      failure: null,
    };
    repeated.set(windowNo, keys);
    keys.copies[batchNo] = (keys.copies[batchNo] ?? 0) + row.copies - 1;
    if (row.is_spread) keys.spread.add(batchNo);
    if (versions === 1) continue;
    const message = `${subjectOf(window.spooled.window)}: one key came with ${versions} different values: ${row.key} was ${row.found}.`;
    const hint = 'Add the dimension that distinguishes the rows, such as app_token or an id.';
    keys.failure ??= new Failure('DATA_DUPLICATE_KEY', message, { hint });
    keys.conflicts.push(row.start_day);
  }
  return repeated;
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

export async function readRejects(
  warehouse: Warehouse,
  staged: Staged,
): Promise<ReadonlyMap<number, Rejects>> {
  const rejecting = staged.windows.filter(({ answers }) =>
    answers.some(({ pages }) => pages.some((page) => page.hasRejected)),
  );
  if (rejecting.length === 0) return new Map();
  const windowNos = rejecting.map(({ windowNo }) => windowNo);
  const rejected = await warehouse.rows(rejectedRows(staged, windowNos), [], rejectedRow);
  const byWindow = rejecting.flatMap(({ windowNo, spooled: { window } }): [number, Rejects][] => {
    const rows = rejected.filter((row) => row.window_no === windowNo);
    if (rows.length === 0) return [];
    // Batches of metrics may share a metric, so that a row has one reason several times.
    const all = rows.flatMap((row) => {
      const reasons = row.rejected.flatMap(({ row: text, reasons: ofRow }) =>
        ofRow.map((reason) => ({ ...reason, row: text })),
      );
      return [...new Map(reasons.map((each) => [`${each.metric} ${each.reason}`, each])).values()];
    });
    const { name, maxRejects } = window.slice;
    const examples = [...new Set(all.map(({ reason }) => reason))]
      .slice(0, MAX_EXAMPLES)
      .join('; ');
    const message = `${subjectOf(window)}: ${rows.length} rows could not be stored exactly (${examples}).`;
    const hint =
      'Look at ripen.rejected_rows. Set the type that a reason names, or raise max_rejects to load the other rows.';
    const rejects: Rejects = {
      recorded: all.map(({ reason, row }) => {
        return { slice: name, days: window.requested, reason, row };
      }),
      days: rows.map(({ day }) => day),
      metrics: new Set(all.map(({ metric }) => metric)),
      failure: rows.length > maxRejects ? new Failure('DATA_REJECTED', message, { hint }) : null,
    };
    return [[windowNo, rejects]];
  });
  return new Map(byWindow);
}
