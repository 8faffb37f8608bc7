/** The checks on a batch in `typed`: dates, keys, sums; what they find, by window. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { type Day, parseWeekStart, weekdayName, weekdayOf, type WeekStart } from '../model/calendar.ts';
import { subjectOf, type Window } from '../model/window.ts';
import { asScript, count, dayShape } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Sound } from './answers.ts';
import { weekdayWithin } from './cut-weeks.ts';
import { type PartSums, sumsOf } from './part-sums.ts';
import type { Rejects, Staged } from './stage.ts';
import { totalTyped } from './sums-sql.ts';
import type { Target } from './target.ts';
import { badLabels, countUndated } from './text-sql.ts';
import { countPeriods, duplicateKeys, rowsOutside, staging, WINDOW, windowsOutOfOrder } from './window-sql.ts';

/** What the checks found of one window. */
export interface Found {
  readonly weekStartsOn: WeekStart | undefined;
  readonly failure: Failure | undefined;
  readonly rejects: Rejects | undefined;
  /** Surplus copies of identical rows. */
  readonly copies: number;
  readonly sums: PartSums;
  readonly periodRows: ReadonlyMap<Day, number>;
  readonly isOrdered: boolean;
}

/** Runs every check over a staged batch at once, and fills `totals`. */
export async function findingsOf(
  sound: readonly Sound[],
  target: Target,
  staged: Staged,
  warehouse: Warehouse,
): Promise<{ readonly of: (each: Sound) => Found }> {
  const { rejects, seen } = staged;
  const { columns, slice } = target;
  const windows = new Map(sound.map(({ windowNo, spooled }) => [windowNo, spooled.window]));
  const [first] = windows.values();
  if (first === undefined) throw new RangeError('There was no window to check.');
  const totals = totalTyped(columns, slice.grain, first.replaced.start);
  await warehouse.run(asScript([...(staged.view === null ? [] : [staged.view]), totals]));
  const periodRows = await periodRowsOf(warehouse, target, windows);
  // The column reader takes no label that is no date.
  const undated = seen === null ? await checkLabels(warehouse, target, windows) : new Map<number, Failure>();
  const badDays = await checkDays(warehouse, target, windows, periodRows);
  const { conflicts, copies } = await checkKeys(warehouse, target, windows, seen?.repeating ?? new Set(windows.keys()));
  const sums = await sumsOf(warehouse, target, windows, { rejects, repeating: new Set(copies.keys()) });
  const weekStarts = await weekStartsIn(sound, { target, staged, periodRows }, warehouse);
  const unordered = seen?.outOfOrder ?? (await outOfOrder(warehouse, target));
  return {
    of: ({ windowNo }) => ({
      weekStartsOn: weekStarts.get(windowNo),
      failure:
        rejects.get(windowNo)?.failure ??
        badDays.get(windowNo) ??
        undated.get(windowNo) ??
        (weekStarts.has(windowNo) ? undefined : cutWeek(slice, windows.get(windowNo), periodRows.get(windowNo))) ??
        conflicts.get(windowNo),
      rejects: rejects.get(windowNo),
      copies: copies.get(windowNo) ?? 0,
      sums: sums.get(windowNo) ?? [],
      periodRows: periodRows.get(windowNo) ?? new Map<Day, number>(),
      isOrdered: !unordered.has(windowNo),
    }),
  };
}

/** The windows whose labels show that the service begins weeks on another day than was assumed. */
async function weekStartsIn(
  sound: readonly Sound[],
  {
    target,
    staged: { seen },
    periodRows,
  }: {
    readonly target: Target;
    readonly staged: Staged;
    readonly periodRows: ReadonlyMap<number, ReadonlyMap<Day, number>>;
  },
  warehouse: Warehouse,
): Promise<ReadonlyMap<number, WeekStart>> {
  if (target.slice.grain !== 'week') return new Map();
  const stated = seen?.weekStarts ?? (await weekStartsOf(warehouse));
  return new Map(
    sound.flatMap(({ windowNo, spooled: { window } }): [number, WeekStart][] => {
      const found = stated.get(windowNo) ?? weekdayWithin(window, periodRows.get(windowNo) ?? new Map());
      return found === undefined || found === weekdayOf(window.replaced.start) ? [] : [[windowNo, found]];
    }),
  );
}

/** Rows of a week that begins within a window and on none of its weeks' first days, which would belong to no period. */
function cutWeek(
  { grain }: Target['slice'],
  window: Window | undefined,
  rows: ReadonlyMap<Day, number> | undefined,
): Failure | undefined {
  if (grain !== 'week' || window === undefined || rows === undefined) return undefined;
  const begins = weekdayOf(window.replaced.start);
  const stray = [...rows.keys()].find((start) => weekdayOf(start) !== begins);
  if (stray === undefined) return undefined;
  const names = `${weekdayName(weekdayOf(stray))}, and the others on a ${weekdayName(begins)}`;
  return new Failure('DATA_MALFORMED', `${subjectOf(window)}: a week began on ${stray}, a ${names}.`, {
    facts: { example: stray },
    hint: 'Ask the service what its weeks begin with; until they are steady, use the dimension day.',
  });
}

const labelRow = z.object({ window_no: z.number(), dimension: z.string(), label: z.string() });
const outsideRow = z.object({ window_no: z.number(), rows: count, example: z.string() });
const duplicateRow = z.object({
  window_no: z.number(),
  copies: count,
  versions: count,
  key: z.string(),
  found: z.string(),
});

/** Windows of texts that hold a date label which is none. */
async function checkLabels(
  warehouse: Warehouse,
  target: Target,
  windows: ReadonlyMap<number, Window>,
): Promise<Map<number, Failure>> {
  const failures = new Map<number, Failure>();
  const undated = countUndated(target.columns);
  const [found] = undated === null ? [] : await warehouse.rows(undated, [], z.object({ rows: count }));
  const isWrong = found !== undefined && found.rows > 0;
  const labels = isWrong ? await warehouse.rows(badLabels(target.columns), [], labelRow) : [];
  for (const { window_no, dimension, label } of labels) {
    const window = windows.get(window_no);
    if (window === undefined) continue;
    failures.set(
      window_no,
      new Failure(
        'DATA_MALFORMED',
        `${subjectOf(window)}: the ${dimension} ${JSON.stringify(label)} was not a date of the documented form.`,
        {
          facts: { dimension, label },
          hint: 'Check that no proxy or extra parameter turns format_dates on.',
        },
      ),
    );
  }
  return failures;
}

/** Windows that hold rows of other days than were asked for, once `totals` is filled. */
async function checkDays(
  warehouse: Warehouse,
  { slice: { grain } }: Target,
  windows: ReadonlyMap<number, Window>,
  periodRows: ReadonlyMap<number, ReadonlyMap<Day, number>>,
): Promise<Map<number, Failure>> {
  const failures = new Map<number, Failure>();
  if (grain === null) return failures;
  const strayed = [...windows].flatMap(([windowNo, { replaced }]) => {
    const starts = [...(periodRows.get(windowNo)?.keys() ?? [])];
    const isOutside = starts.some((start) => start < replaced.start || start >= replaced.end);
    return isOutside ? [[windowNo, replaced] as const] : [];
  });
  const outside = strayed.length === 0 ? [] : await warehouse.rows(rowsOutside(grain, strayed), [], outsideRow);
  for (const { window_no, rows, example } of outside) {
    const window = windows.get(window_no);
    if (window === undefined) continue;
    failures.set(
      window_no,
      new Failure(
        'DATA_OUTSIDE_WINDOW',
        `${subjectOf(window)}: ${rows} rows lay outside the window, one of them at ${example}.`,
        {
          facts: { rows, example },
          hint: 'Check utc_offset and the account; nothing was loaded.',
        },
      ),
    );
  }
  return failures;
}

/** By window, the weekday whole weeks begin with in the staged labels; left out where they do not agree or there are none. */
export async function weekStartsOf(warehouse: Warehouse): Promise<Map<number, WeekStart>> {
  const rows = await warehouse.rows(
    `select window_no, min(weekday) as weekday
     from (
         select ${WINDOW} as window_no, dayofweek(try_cast(left(week, 10) as DATE)) as weekday
         from ${staging.staged}
         where try_cast(right(week, 10) as DATE) - try_cast(left(week, 10) as DATE) = 6
     )
     group by window_no
     having min(weekday) = max(weekday)`,
    [],
    z.object({ window_no: z.number(), weekday: count }),
  );
  return new Map(
    rows.flatMap(({ window_no, weekday }): [number, WeekStart][] => {
      const known = parseWeekStart(weekday);
      return known === null ? [] : [[window_no, known]];
    }),
  );
}

interface Duplicates {
  /** Windows in which one key came with different values. */
  readonly conflicts: ReadonlyMap<number, Failure>;
  /** Surplus copies of identical rows, by window. */
  readonly copies: ReadonlyMap<number, number>;
}

/** Keys that came more than once in windows of which that is not ruled out. */
async function checkKeys(
  warehouse: Warehouse,
  target: Target,
  windows: ReadonlyMap<number, Window>,
  repeating: ReadonlySet<number>,
): Promise<Duplicates> {
  const conflicts = new Map<number, Failure>();
  const copies = new Map<number, number>();
  const found =
    repeating.size === 0 ? [] : await warehouse.rows(duplicateKeys(target.columns, [...repeating]), [], duplicateRow);
  for (const row of found) {
    const window = windows.get(row.window_no);
    if (window === undefined) continue;
    copies.set(row.window_no, (copies.get(row.window_no) ?? 0) + row.copies - 1);
    if (row.versions === 1 || conflicts.has(row.window_no)) continue;
    conflicts.set(
      row.window_no,
      new Failure(
        'DATA_DUPLICATE_KEY',
        `${subjectOf(window)}: one key came with ${row.versions} different values: ${row.key} was ${row.found}.`,
        {
          facts: { versions: row.versions },
          hint: 'Add the dimension that tells the rows apart, such as app_token or an id.',
        },
      ),
    );
  }
  return { conflicts, copies };
}

const periodRow = z.object({ window_no: z.number(), start_day: dayShape.nullable(), rows: count });

/** Rows by window and first day of the period, as they came; a period without any is left out, and rows without a date. */
async function periodRowsOf(
  warehouse: Warehouse,
  { slice }: Target,
  windows: ReadonlyMap<number, Window>,
): Promise<Map<number, Map<Day, number>>> {
  const rows = new Map<number, Map<Day, number>>();
  for (const each of await warehouse.rows(countPeriods, [], periodRow)) {
    const ofWindow = rows.get(each.window_no) ?? new Map<Day, number>();
    // A bucket is known by its first day; a report without a date dimension by whichever its window has.
    const start = slice.grain === null ? windows.get(each.window_no)?.replaced.start : each.start_day;
    if (start === undefined || start === null) continue;
    ofWindow.set(start, each.rows);
    rows.set(each.window_no, ofWindow);
  }
  return rows;
}

/** The windows whose texts did not come in the order of their dates. */
async function outOfOrder(warehouse: Warehouse, { slice }: Target): Promise<ReadonlySet<number>> {
  if (slice.grain === null) return new Set();
  const rows = await warehouse.rows(windowsOutOfOrder(slice.grain), [], z.object({ window_no: z.number() }));
  return new Set(rows.map(({ window_no: windowNo }) => windowNo));
}
