/** What the stored control totals show of slices: totals that moved since they were loaded, and metrics that move every night. */

import * as z from 'zod';

import { type ControlEvidence, movedTotal } from '../model/control.ts';
import { fingerprintOf, type Slice } from '../model/slice.ts';
import { jsonOf, statement, timestamp } from './sql.ts';
import type { Warehouse } from './warehouse.ts';

const movedRow = z.object({ slice: z.string(), moved: jsonOf(z.array(movedTotal)) });
const restlessRow = z.object({ slice: z.string(), metric: z.string() });

/** Nights running in which most final totals of a metric must move for it to count as restless. */
export const RESTLESS_NIGHTS = 3;

/** Reads what the stored control totals show of slices. `protectedLoad` returns up to which load final periods stay; null: none. */
export async function readEvidence(
  warehouse: Warehouse,
  slices: readonly Slice[],
  planAt: Date,
  protectedLoad: (slice: Slice) => number | null,
): Promise<Map<string, ControlEvidence>> {
  const evidence = new Map<string, ControlEvidence>();
  const tables = slices.map((slice) => {
    const table = { slice: slice.name, fingerprint: fingerprintOf(slice) };
    return { ...table, protected_load: protectedLoad(slice) };
  });
  const request = [timestamp(planAt), JSON.stringify(tables)];
  const moved = await warehouse.rows(statement('control/moved'), request, movedRow);
  if (moved.length === 0) return evidence;
  const restless = await warehouse.rows(
    statement('control/restless'),
    [RESTLESS_NIGHTS],
    restlessRow,
  );
  for (const { slice, moved: totals } of moved) {
    evidence.set(slice, {
      moved: totals,
      restless: new Set(
        restless.filter((each) => each.slice === slice).map(({ metric }) => metric),
      ),
    });
  }
  return evidence;
}
