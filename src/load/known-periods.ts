/** What the ledger holds of the periods a window would replace. */

import * as z from 'zod';

import type { Day, DayInterval } from '../model/calendar.ts';
import type { Window } from '../model/window.ts';
import { count, dayShape } from '../warehouse/shapes.ts';
import { statement } from '../warehouse/statements.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Known } from './guard.ts';
import type { Target } from './target.ts';

const knownRow = z.object({ start_day: dayShape, rows: count, empty_runs: count });

/** By first day of the period, of every window; of a report without a date dimension the one period, by the window's. */
export async function knownPeriods(
  warehouse: Warehouse,
  { slice, fingerprint }: Target,
  windows: readonly Window[],
): Promise<(window: Window) => Map<Day, Known>> {
  const starts = windows.map(({ replaced }) => replaced.start).sort();
  const ends = windows.map(({ replaced }) => replaced.end).sort();
  const [start, end] = [starts.at(0), ends.at(-1)];
  if (start === undefined || end === undefined) return () => new Map();
  const bounds = ledgerBounds(slice.grain, { start, end });
  const found = await warehouse.rows(statement('load/known_periods'), [slice.name, fingerprint, ...bounds], knownRow);
  return ({ replaced }) => {
    const mine = slice.grain === null ? found : found.filter(({ start_day: day }) => isWithin(day, replaced));
    return new Map(
      mine.map(({ start_day: day, rows, empty_runs: emptyRuns }) => [
        slice.grain === null ? replaced.start : day,
        { rows, emptyRuns },
      ]),
    );
  };
}

const isWithin = (day: Day, { start, end }: DayInterval): boolean => start <= day && day < end;

/** The days of the ledger's periods that a load replaces, as parameters; nulls for a report without a date dimension. */
export function ledgerBounds(grain: unknown, { start, end }: DayInterval): readonly [Day | null, Day | null] {
  return grain === null ? [null, null] : [start, end];
}
