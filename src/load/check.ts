/** The checks on a batch in `typed`: rejected rows, dates, keys, sums; what they find, by window. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import type { Day, WeekStart } from '../model/calendar.ts';
import { subjectOf, type Window } from '../model/window.ts';
import { asScript, count, dayShape } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Sound } from './answers.ts';
import { type Rejects, rejectsOf } from './rejects.ts';
import { sumDistinct, sumParts, totalTyped } from './sums-sql.ts';
import type { MetricColumn, Target } from './target.ts';
import type { MetricSum, PartSums } from './totals.ts';
import { beginsInWeek, otherWeekStart, strayWeek } from './weeks.ts';
import { isBatched, type Staged, stageRows } from './staged-sql.ts';
import { additiveOf, duplicateKeys, rowsOutside } from './window-sql.ts';

/** What the checks found of one window. */
export interface Found {
  readonly weekStartsOn: WeekStart | undefined;
  readonly failure: Failure | undefined;
  readonly rejects: Rejects | undefined;
  /** Surplus copies of identical rows. */
  readonly copies: number;
  readonly sums: PartSums;
  /** Rows that are stored, by first day of the period; a period without any is left out. */
  readonly periodRows: ReadonlyMap<Day, number>;
  readonly isOrdered: boolean;
}

/** Runs every check over a staged batch at once, and fills `totals`; the target has the columns of the batch. */
export async function findingsOf(
  sound: readonly Sound[],
  target: Target,
  staged: Staged,
  warehouse: Warehouse,
): Promise<{ readonly of: (each: Sound) => Found }> {
  const windows = new Map(sound.map(({ windowNo, spooled }) => [windowNo, spooled.window]));
  const [first] = windows.values();
  if (first === undefined) throw new RangeError('There was no window to check.');
  await warehouse.run(
    asScript([stageRows(staged), totalTyped(target.columns, target.slice.grain, first.replaced.start)]),
  );
  const partsOf = (windowNo: number): Staged['parts'] => staged.parts.filter((part) => part.windowNo === windowNo);
  const withRejected = [...windows].filter(([windowNo]) => partsOf(windowNo).some(({ hasRejected }) => hasRejected));
  const rejects =
    withRejected.length === 0 ? new Map<number, Rejects>() : await rejectsOf(warehouse, new Map(withRejected));
  const { sums, periodRows } = await readSums(warehouse, target, windows);
  const badDays = await checkDays(warehouse, target, windows, periodRows);
  const repeating = [...windows].filter(
    ([windowNo, window]) => mayRepeat(partsOf(windowNo)) || (partsOf(windowNo).length > 0 && beginsInWeek(window)),
  );
  const { conflicts, copies } = await checkKeys(warehouse, target, new Map(repeating));
  const several = [...new Set([...copies.keys(), ...rejects.keys()])];
  const distinct = await readDistinct(warehouse, target, several);
  return {
    of: ({ windowNo, spooled: { window } }) => {
      const rows = periodRows.get(windowNo) ?? new Map<Day, number>();
      const parts = partsOf(windowNo);
      const weekStartsOn = otherWeekStart(
        window,
        parts.map((part) => part.weekStartsOn),
        rows,
      );
      const rejected = rejects.get(windowNo);
      return {
        weekStartsOn,
        failure:
          rejected?.failure ??
          badDays.get(windowNo) ??
          (weekStartsOn === undefined ? strayWeek(window, rows) : undefined) ??
          conflicts.get(windowNo),
        rejects: rejected,
        copies: copies.get(windowNo) ?? 0,
        sums: window.parts.map((_, partNo) =>
          (sums.get(partId(windowNo, partNo)) ?? emptySums(target))
            .map((sum, at): MetricSum => {
              const others = distinct.get(partId(windowNo, partNo));
              return Object.assign({}, sum, { distinctSum: others === undefined ? sum.sum : (others[at] ?? null) });
            })
            .filter(({ metric }) => rejected?.metrics.has(metric) !== true),
        ),
        periodRows: rows,
        isOrdered: parts.every(({ isOrdered }) => isOrdered) && !isBatched(parts),
      };
    },
  };
}

/** Whether a key may occur twice in a window: within an answer, or in several parts. */
const mayRepeat = (parts: readonly { readonly isDistinct: boolean; readonly partNo: number }[]): boolean =>
  parts.some(({ isDistinct, partNo }) => !isDistinct || partNo !== parts[0]?.partNo);

const partId = (windowNo: number, partNo: number): string => `${windowNo} ${partNo}`;

type RowSum = Omit<MetricSum, 'distinctSum'>;
type SumOf = (metric: MetricColumn, sum: string | null, magnitude: number, nonZero: number) => RowSum;

/** What a metric of a target sums up to. A count is one by its column, or by the catalog where the column was widened. */
function sumsFor({ metrics }: Pick<Target, 'metrics'>): SumOf {
  const counts = new Set(metrics.filter(({ type }) => type.kind === 'BIGINT').map(({ id }) => id));
  return ({ id, type, isAssumed }, sum, magnitude, nonZero) => {
    return { metric: id, sum, magnitude, nonZero, isCount: type.kind === 'BIGINT' || counts.has(id), isAssumed };
  };
}

const emptySums = (target: Target): RowSum[] =>
  additiveOf(target.columns).map((metric) => sumsFor(target)(metric, null, 0, 0));

const sumRow = z.object({
  window_no: z.number(),
  part_no: z.number(),
  sums: z.array(z.string().nullable()),
  magnitudes: z.array(z.number().nullable()),
  non_zero: z.array(count),
  periods: z.string(),
});
const periodsShape = z.array(z.object({ start: dayShape, rows: z.number() }));

/** The sums of each part of each window, and the rows of each window by first day of the period. */
async function readSums(
  warehouse: Warehouse,
  target: Target,
  windows: ReadonlyMap<number, Window>,
): Promise<{
  readonly sums: ReadonlyMap<string, readonly RowSum[]>;
  readonly periodRows: ReadonlyMap<number, ReadonlyMap<Day, number>>;
}> {
  const sums = new Map<string, readonly RowSum[]>();
  const periodRows = new Map<number, Map<Day, number>>();
  const [additive, sumOf] = [additiveOf(target.columns), sumsFor(target)];
  for (const found of await warehouse.rows(sumParts(target.columns), [], sumRow)) {
    const { window_no: windowNo, part_no: partNo, magnitudes, non_zero: nonZero, periods } = found;
    sums.set(
      partId(windowNo, partNo),
      additive.map((metric, at) => sumOf(metric, found.sums[at] ?? null, magnitudes[at] ?? 0, nonZero[at] ?? 0)),
    );
    const rows = periodRows.get(windowNo) ?? new Map<Day, number>();
    periodRows.set(windowNo, rows);
    for (const { start, rows: more } of periodsShape.parse(JSON.parse(periods))) {
      // A report without a date dimension has one period, which is known by whichever first day its window has.
      const period = target.slice.grain === null ? (windows.get(windowNo)?.replaced.start ?? start) : start;
      rows.set(period, (rows.get(period) ?? 0) + more);
    }
  }
  return { sums, periodRows };
}

const distinctRow = sumRow.pick({ window_no: true, part_no: true, sums: true });

/** The sums over the distinct rows of some windows, by part. */
async function readDistinct(
  warehouse: Warehouse,
  target: Target,
  windowNos: readonly number[],
): Promise<ReadonlyMap<string, readonly (string | null)[]>> {
  const rows =
    windowNos.length === 0 ? [] : await warehouse.rows(sumDistinct(target.columns, windowNos), [], distinctRow);
  return new Map(rows.map(({ window_no: windowNo, part_no: partNo, sums }) => [partId(windowNo, partNo), sums]));
}

const outsideRow = z.object({ window_no: z.number(), rows: count, example: z.string() });
const duplicateRow = z.object({
  window_no: z.number(),
  copies: count,
  versions: count,
  key: z.string(),
  found: z.string(),
});

/** Windows that hold rows of other days than were requested. */
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
    const message = `${subjectOf(window)}: ${rows} rows lay outside the window, one of them at ${example}.`;
    const hint = 'Check utc_offset and the account; nothing was loaded.';
    failures.set(window_no, new Failure('DATA_OUTSIDE_WINDOW', message, { facts: { rows, example }, hint }));
  }
  return failures;
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
): Promise<Duplicates> {
  const conflicts = new Map<number, Failure>();
  const copies = new Map<number, number>();
  const sql = duplicateKeys(target.columns, [...windows.keys()]);
  const found = windows.size === 0 ? [] : await warehouse.rows(sql, [], duplicateRow);
  for (const row of found) {
    const window = windows.get(row.window_no);
    if (window === undefined) continue;
    copies.set(row.window_no, (copies.get(row.window_no) ?? 0) + row.copies - 1);
    if (row.versions === 1 || conflicts.has(row.window_no)) continue;
    const message = `${subjectOf(window)}: one key came with ${row.versions} different values: ${row.key} was ${row.found}.`;
    const hint = 'Add the dimension that tells the rows apart, such as app_token or an id.';
    conflicts.set(
      row.window_no,
      new Failure('DATA_DUPLICATE_KEY', message, { facts: { versions: row.versions }, hint }),
    );
  }
  return { conflicts, copies };
}
