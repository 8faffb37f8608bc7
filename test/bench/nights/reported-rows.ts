/** The service's rows by day and key, and how two answers about the same day differ. Pure. */

import { day, lastDay, type Day, type DayInterval } from '../../../src/model/calendar.ts';
import { canonicalJson } from '../../../src/model/canonical-json.ts';
import { formatDecimal, parseDecimal } from '../../../src/model/column-type.ts';
import type { Slice } from '../../../src/model/slice.ts';
import type { World } from '../../support/simulator/world.ts';

/** A row as the service or the warehouse has it: values by name. */
export type StoredRow = Readonly<Record<string, unknown>>;

/** Rows of one day by key: the dimensions and `attr_dependency`. */
export type DayRows = ReadonlyMap<string, StoredRow>;

export const noRows: DayRows = new Map();

/** What the service answers at an instant for a slice by day; a day without rows is missing. */
export function askWorld(
  world: World,
  slice: Slice,
  days: DayInterval,
  now: Date,
): Map<Day, Map<string, StoredRow>> {
  const query = new URLSearchParams({
    ...slice.parameters,
    dimensions: slice.dimensions.join(','),
    metrics: slice.metrics.join(','),
    date_period: `${days.start}:${lastDay(days)}`,
    format_dates: 'false',
  });
  const byDay = new Map<Day, Map<string, StoredRow>>();
  for (const row of world.report(query, now)?.rows ?? []) {
    const of = day(textOf(row['day']));
    const rows = byDay.get(of) ?? new Map<string, StoredRow>();
    byDay.set(of, rows.set(keyOf(row, slice), row));
  }
  return byDay;
}

export function keyOf(row: StoredRow, slice: Slice): string {
  return canonicalJson(
    JSON.stringify([...slice.dimensions.map((name) => row[name]), row['attr_dependency']]),
  );
}

/** Rows whose value of a metric differs between two answers; a row that only one of them has differs. */
export function differingRows(left: DayRows, right: DayRows, metric: string): number {
  let differing = 0;
  for (const [key, row] of left) {
    const other = right.get(key);
    if (other === undefined || !isSameValue(row[metric], other[metric])) differing += 1;
  }
  for (const key of right.keys()) if (!left.has(key)) differing += 1;
  return differing;
}

function isSameValue(left: unknown, right: unknown): boolean {
  return left === right || exactText(left) === exactText(right);
}

/** A value however it was written: `"10.0"` is 10, and absent, null and blank are alike. */
function exactText(value: unknown): string {
  const text = textOf(value).trim();
  const decimal = parseDecimal(text);
  return decimal === null ? text : formatDecimal(decimal);
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
