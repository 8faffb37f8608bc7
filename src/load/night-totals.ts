/** What the control totals of a night state of the periods of a window. */

import * as z from 'zod';

import { type Day, type DayInterval, spanOf } from '../model/calendar.ts';
import { dayShape, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** The control totals of a slice that were read in this run. */
export interface NightControl {
  readonly name: string;
  /** Only windows whose answers had rows: an answer without any shows nothing. */
  readonly days: readonly DayInterval[];
  /** What was read for several slices, the same object for all of them. */
  readonly shared: {
    readonly metrics: readonly string[];
    readonly days: readonly DayInterval[];
  } | null;
}

/** By first day of a period that was read, its totals by metric; empty if the service states none. */
export type NightTotals = ReadonlyMap<Day, ReadonlyMap<string, number>>;

const totalRow = z.object({ start_day: dayShape, metric: z.string(), value: z.number() });

/** Of shared ones: to read them again for each slice took a tenth of the time of a night (measured). */
const readTotals = new WeakMap<object, readonly z.infer<typeof totalRow>[]>();

/** Reads tonight's totals of the metrics for the periods that begin on these days. */
export async function readNightTotals(
  warehouse: Warehouse,
  control: NightControl | null,
  starts: readonly Day[],
  metrics: readonly string[],
): Promise<NightTotals> {
  const wanted = control?.shared ?? { metrics, days: control?.days ?? [] };
  const [first, ...others] = wanted.days;
  const totals = new Map<Day, Map<string, number>>();
  if (control === null || first === undefined) return totals;
  const { start, end } = spanOf(first, ...others);
  for (const day of starts) {
    if (control.days.some((days) => days.start <= day && day < days.end))
      totals.set(day, new Map());
  }
  const request = [control.name, start, end, JSON.stringify(wanted.metrics)];
  const rows =
    readTotals.get(wanted) ??
    (await warehouse.rows(statement('control/night_totals'), request, totalRow));
  if (control.shared !== null) readTotals.set(control.shared, rows);
  const own = new Set(metrics);
  for (const { start_day: day, metric, value } of rows)
    if (own.has(metric)) totals.get(day)?.set(metric, value);
  return totals;
}

/** Returns whether control totals state values of a period; null if it was not read, or by an answer without any row. */
export function isStated(totals: NightTotals, start: Day): boolean | null {
  const values = totals.get(start);
  return values === undefined ? null : [...values.values()].some((value) => value !== 0);
}
