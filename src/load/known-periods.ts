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

/** By first day of the period; of a report without a date dimension the one period, by the window's. */
export async function knownPeriods(
  warehouse: Warehouse,
  { slice, fingerprint }: Target,
  window: Window,
): Promise<Map<Day, Known>> {
  const bounds = ledgerBounds(slice.grain, window.replaced);
  const found = await warehouse.rows(statement('load/known_periods'), [slice.name, fingerprint, ...bounds], knownRow);
  return new Map(
    found.map(({ start_day: start, rows, empty_runs: emptyRuns }) => [
      slice.grain === null ? window.replaced.start : start,
      { rows, emptyRuns },
    ]),
  );
}

/** The days of the ledger's periods that a load replaces, as parameters; nulls for a report without a date dimension. */
export function ledgerBounds(grain: unknown, { start, end }: DayInterval): readonly [Day | null, Day | null] {
  return grain === null ? [null, null] : [start, end];
}
