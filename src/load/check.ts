/** The checks on a batch in `typed`: dates, keys, sums. Each returns what is wrong, by window number. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import type { WeekStart } from '../model/calendar.ts';
import { isDateDimension } from '../model/dimension.ts';
import { labelOf, type Window } from '../model/window.ts';
import { count } from '../warehouse/shapes.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { MetricSum } from './proof.ts';
import { rowsOutside, sumMetrics } from './replacing-sql.ts';
import type { Target } from './target.ts';
import { badLabels, duplicateKeys } from './typing-sql.ts';

export const subjectOf = (window: Window): string => `slice ${window.slice.name}, ${labelOf(window)}`;

const labelRow = z.object({ window_no: z.number(), dimension: z.string(), label: z.string() });
const outsideRow = z.object({ window_no: z.number(), rows: count, example: z.string() });
const duplicateRow = z.object({
  window_no: z.number(),
  copies: count,
  versions: count,
  key: z.string(),
  found: z.string(),
});
const sumRow = z.object({
  metric: z.string(),
  sum: z.string().nullable(),
  distinct_sum: z.string().nullable(),
  magnitude: z.number(),
});
const weekdayRow = z.object({ weekday: z.number() });

/** Windows whose dates are not what was asked for. */
export async function checkDates(
  warehouse: Warehouse,
  target: Target,
  windows: ReadonlyMap<number, Window>,
): Promise<Map<number, Failure>> {
  const failures = new Map<number, Failure>();
  const labels = target.columns.dimensions.some(isDateDimension)
    ? await warehouse.rows(badLabels(target.columns), [], labelRow)
    : [];
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
  const grain = target.slice.grain;
  const outside = grain === null ? [] : await warehouse.rows(rowsOutside(grain), [], outsideRow);
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

/** The weekday whole weeks begin with in the staged labels; null when they do not agree or there are none. */
export async function weekStartOf(warehouse: Warehouse, windowNo: number): Promise<WeekStart | null> {
  const rows = await warehouse.rows(
    `select distinct dayofweek(cast(left(week, 10) as DATE)) as weekday
     from staged
     where window_no = $1 and cast(right(week, 10) as DATE) - cast(left(week, 10) as DATE) = 6`,
    [windowNo],
    z.object({ weekday: count }).pipe(weekdayRow),
  );
  const [only, ...others] = rows.map(({ weekday }) => weekday);
  return others.length === 0 && (only === 0 || only === 1) ? only : null;
}

export interface Duplicates {
  /** Windows in which one key came with different values. */
  readonly conflicts: ReadonlyMap<number, Failure>;
  /** Surplus copies of identical rows, by window. */
  readonly copies: ReadonlyMap<number, number>;
}

/** Keys that came more than once. */
export async function checkKeys(
  warehouse: Warehouse,
  target: Target,
  windows: ReadonlyMap<number, Window>,
): Promise<Duplicates> {
  const conflicts = new Map<number, Failure>();
  const copies = new Map<number, number>();
  for (const row of await warehouse.rows(duplicateKeys(target.columns), [], duplicateRow)) {
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

/** Exact sums of a window's additive metrics. */
export async function sumsOf(warehouse: Warehouse, target: Target, windowNo: number): Promise<MetricSum[]> {
  const sql = sumMetrics(target.columns, windowNo);
  const rows = sql === null ? [] : await warehouse.rows(sql, [], sumRow);
  return rows.map((row) => ({
    metric: row.metric,
    sum: row.sum,
    distinctSum: row.distinct_sum,
    magnitude: row.magnitude,
    isCount: target.columns.metrics.find(({ id }) => id === row.metric)?.type.kind === 'BIGINT',
  }));
}
