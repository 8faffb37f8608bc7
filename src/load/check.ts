/** Checks the staged rows of a batch (rejected rows, dates, weeks, keys, sums) and reports what it finds per window. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import {
  type Day,
  type DayInterval,
  parseWeekStart,
  weekdayName,
  weekdayOf,
  type WeekStart,
} from '../model/calendar.ts';
import { isCertain } from '../model/metric.ts';
import { subjectOf, type Window } from '../model/window.ts';
import { additiveOf, type Columns } from '../tables/target.ts';
import { asScript, count, dayShape, jsonOf } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { LoadRequest } from './load-result.ts';
import {
  beginsInWeek,
  isBatched,
  placeOf,
  type Sound,
  type Staged,
  stageRows,
} from './staged-sql.ts';
import type { MetricSum, PartSums } from './totals.ts';
import { duplicateKeys, rejectedRows, sumDistinct, sumParts, totalTyped } from './window-sql.ts';

/** What the checks found in one window. */
export interface Found {
  readonly sound: Sound;
  /** The weekday that its weeks begin with, if it differs from the assumed one; else null. */
  readonly weekStartsOn: WeekStart | null;
  readonly failure: Failure | null;
  readonly rejects: Rejects | null;
  /** Surplus copies of identical rows. */
  readonly copies: number;
  readonly sums: PartSums;
  /** Rows that can be stored, by first day of the period; a period without any is left out. */
  readonly periodRows: ReadonlyMap<Day, number>;
  /** The same for the values of a cube other than zero; equal to `periodRows` for any other slice. */
  readonly periodValues: ReadonlyMap<Day, number>;
  readonly isOrdered: boolean;
}

type Finding = Pick<Found, 'failure' | 'copies'>;

/** Stages a batch, runs every check on it, and fills `totals`. Returns what it found in each window, in their order. */
export async function findingsOf(
  sound: readonly Sound[],
  staged: Staged,
  { warehouse }: Pick<LoadRequest, 'warehouse'>,
): Promise<Found[]> {
  const { columns } = staged;
  const windows = sound.map(({ spooled }) => spooled.window);
  const [first] = windows;
  if (first === undefined) return [];
  const numbersOf = (is: (each: Sound) => boolean): number[] =>
    sound.flatMap((each) => (is(each) ? [each.windowNo] : []));
  const totals = await readTotals(warehouse, first, windows, staged);
  const rejects = await readRejects(
    warehouse,
    windows,
    numbersOf(({ parts }) => parts.some(({ hasRejected }) => hasRejected)),
  );
  const repeated = await readRepeated(warehouse, columns, windows, numbersOf(mayRepeat));
  const distinct = await readDistinct(warehouse, columns, [...repeated.keys()]);
  return sound.map((each): Found => {
    const { windowNo, parts } = each;
    const { window } = each.spooled;
    const { rows: periodRows, values: periodValues } = totals.periodsOf(windowNo);
    const rejected = rejects.get(windowNo) ?? null;
    const { failure: conflict = null, copies = 0 } = repeated.get(windowNo) ?? {};
    const stated = parts.map((part) => part.weekStartsOn);
    const weekStartsOn = otherWeekStart(window, stated, periodRows);
    const stray = weekStartsOn === null ? strayWeek(window, periodRows) : null;
    const sumsOf = (partNo: number): MetricSum[] => {
      const answers = parts.filter((part) => part.partNo === partNo);
      const found = totals.sums.get(placeOf({ windowNo, partNo }));
      const others = distinct.get(placeOf({ windowNo, partNo }));
      return additiveOf(columns).map((metric, at) => {
        const { id, type, isCount } = metric;
        const sum = found?.sums[at] ?? null;
        return {
          metric: id,
          sum,
          distinctSum: others === undefined ? sum : (others[at] ?? null),
          magnitude: found?.magnitudes[at] ?? 0,
          nonZero: found?.non_zero[at] ?? 0,
          digits: Math.max(0, ...answers.map(({ digits }) => digits.get(id) ?? 0)),
          isCount: type.kind === 'BIGINT' || isCount,
          isAssumed: !isCertain(metric),
        };
      });
    };
    return {
      sound: each,
      weekStartsOn,
      failure: rejected?.failure ?? outsideDays(window, periodRows) ?? stray ?? conflict,
      rejects: rejected,
      copies,
      sums: window.parts.map((_, partNo) =>
        sumsOf(partNo).filter(({ metric }) => !rejected?.metrics.has(metric)),
      ),
      periodRows,
      periodValues,
      isOrdered: parts.every(({ isOrdered }) => isOrdered) && !isBatched(parts),
    };
  });
}

/** Whether a key may occur twice in a window: in one answer, in several parts, or under two names of its first week. */
const mayRepeat = ({ parts, spooled: { window } }: Sound): boolean =>
  parts.some(
    ({ isDistinct, partNo }) => !isDistinct || partNo !== parts[0]?.partNo || beginsInWeek(window),
  );

const sumRow = z.object({
  window_no: z.number(),
  part_no: z.number(),
  sums: z.array(z.string().nullable()),
  magnitudes: z.array(z.number().nullable()),
  non_zero: z.array(count),
  periods: jsonOf(z.array(z.object({ start: dayShape, rows: z.number(), values: z.number() }))),
});

/** Stages a batch. Returns the sums of each part by place, and each window's rows and values by first day of the period. */
async function readTotals(
  warehouse: Warehouse,
  { slice: { grain }, replaced }: Window,
  windows: readonly Window[],
  staged: Staged,
) {
  const { columns } = staged;
  const script = asScript([
    stageRows(staged),
    totalTyped(columns, grain, replaced.start),
    sumParts(columns),
  ]);
  const found = await warehouse.rows(script, [], sumRow);
  const periodsOf = (windowNo: number): Record<'rows' | 'values', ReadonlyMap<Day, number>> => {
    const [rows, values] = [new Map<Day, number>(), new Map<Day, number>()];
    for (const period of found.flatMap((each) =>
      each.window_no === windowNo ? each.periods : [],
    )) {
      // A report without a date dimension has one period; its key is the first day of its own window.
      const start =
        grain === null ? (windows[windowNo]?.replaced.start ?? period.start) : period.start;
      rows.set(start, (rows.get(start) ?? 0) + period.rows);
      values.set(start, (values.get(start) ?? 0) + period.values);
    }
    return { rows, values };
  };
  return {
    sums: new Map(
      found.map((each) => [placeOf({ windowNo: each.window_no, partNo: each.part_no }), each]),
    ),
    periodsOf,
  };
}

const distinctRow = sumRow.pick({ window_no: true, part_no: true, sums: true });

/** The sums over the distinct rows of some windows, by place. */
async function readDistinct(
  warehouse: Warehouse,
  columns: Columns,
  windowNos: readonly number[],
): Promise<ReadonlyMap<string, readonly (string | null)[]>> {
  if (windowNos.length === 0) return new Map();
  const rows = await warehouse.rows(sumDistinct(columns, windowNos), [], distinctRow);
  return new Map(
    rows.map((row) => [placeOf({ windowNo: row.window_no, partNo: row.part_no }), row.sums]),
  );
}

/** The failure of a window with rows outside the days it replaces; null if there are none, or without a date dimension. */
function outsideDays(window: Window, rows: ReadonlyMap<Day, number>): Failure | null {
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

const repeatedRow = z.object({
  window_no: z.number(),
  copies: count,
  versions: count,
  key: z.string(),
  found: z.string(),
});

/** By number, the windows that repeat a key: how many surplus copies, and a failure if a key has different values. */
async function readRepeated(
  warehouse: Warehouse,
  columns: Columns,
  windows: readonly Window[],
  windowNos: readonly number[],
): Promise<ReadonlyMap<number, Finding>> {
  const repeated = new Map<number, Finding>();
  if (windowNos.length === 0) return repeated;
  for (const row of await warehouse.rows(duplicateKeys(columns, windowNos), [], repeatedRow)) {
    const { window_no: windowNo, versions } = row;
    const { failure = null, copies = 0 } = repeated.get(windowNo) ?? {};
    const window = windows[windowNo];
    if (window === undefined) continue;
    const message = `${subjectOf(window)}: one key came with ${versions} different values: ${row.key} was ${row.found}.`;
    const hint = 'Add the dimension that distinguishes the rows, such as app_token or an id.';
    const conflict =
      versions === 1
        ? null
        : new Failure('DATA_DUPLICATE_KEY', message, { facts: { versions }, hint });
    repeated.set(windowNo, { failure: failure ?? conflict, copies: copies + row.copies - 1 });
  }
  return repeated;
}

/** A row that could not be stored exactly, with one reason. */
export interface Reject {
  readonly slice: string;
  readonly days: DayInterval;
  readonly reason: string;
  /** The row as JSON. */
  readonly row: string;
}

/** The rows of a window with values that no column can hold. */
export interface Rejects {
  readonly recorded: readonly Reject[];
  /** The day of each row; null if it is unknown. */
  readonly days: readonly (Day | null)[];
  /** Metrics with a value that could not be stored. */
  readonly metrics: ReadonlySet<string>;
  /** Set if the window has more of them than its slice tolerates; else null. */
  readonly failure: Failure | null;
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
const EXAMPLES = 3;

/** The rejected rows by number of the window, and whether the slice tolerates so many. */
async function readRejects(
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
    const all = rows
      .flatMap(({ rejected }) => rejected)
      .flatMap(({ row, reasons }) => reasons.map((each) => ({ ...each, row })));
    const { name, maxRejects } = window.slice;
    const examples = [...new Set(all.map(({ reason }) => reason))].slice(0, EXAMPLES).join('; ');
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
  'Look at ripen.rejected_rows; state the type that a reason names, or raise max_rejects to load the rest without them.';

/** The weekday that the weeks of a window begin with, if it differs from the assumed one; else null. */
function otherWeekStart(
  { slice, replaced }: Window,
  stated: readonly (number | null)[],
  rows: ReadonlyMap<Day, number>,
): WeekStart | null {
  if (slice.grain !== 'week') return null;
  const [named, ...otherNames] = new Set(stated);
  // Used if the whole weeks of the parts do not agree. The first day may be named after a part of its week.
  const others = [...rows.keys()].filter((start) => start !== replaced.start);
  const [weekday = null, ...more] = new Set(others.map(weekdayOf));
  const seen = rows.has(replaced.start) && more.length === 0 ? weekday : null;
  const found = (otherNames.length === 0 ? parseWeekStart(named) : null) ?? seen;
  return found === weekdayOf(replaced.start) ? null : found;
}

/** The failure of a window with rows of a week that begins on another weekday, and so belongs to no period; else null. */
function strayWeek(window: Window, rows: ReadonlyMap<Day, number>): Failure | null {
  if (window.slice.grain !== 'week') return null;
  const begins = weekdayOf(window.replaced.start);
  const stray = [...rows.keys()].find((start) => weekdayOf(start) !== begins);
  if (stray === undefined) return null;
  const names = `${weekdayName(weekdayOf(stray))}, and the others on a ${weekdayName(begins)}`;
  return new Failure(
    'DATA_MALFORMED',
    `${subjectOf(window)}: a week began on ${stray}, a ${names}.`,
    {
      facts: { example: stray },
      hint: 'Ask the operator of the service on which day its weeks begin; until they are consistent, use the dimension day.',
    },
  );
}
