/** Horizons that the slice's own history speaks against: what would be right, and what it would cost or save. */

import * as z from 'zod';

import type { Slice } from '../model/slice.ts';
import { count } from '../warehouse/shapes.ts';
import { statement } from '../warehouse/statements.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Remark } from './finding.ts';
import { countText } from '../terminal/measure.ts';

const horizonRow = z.object({
  metric: z.string(),
  horizon_days: z.number(),
  proposed_days: count,
  looks: count,
  changed_after_final: count,
  periods: count,
  rows: count,
});

/** A remark for each horizon that proved too short or needlessly long; `path` is the slice's. */
export async function horizonRemarks(warehouse: Warehouse, slice: Slice, path: Remark['path']): Promise<Remark[]> {
  const found = await warehouse.rows(statement('status/horizons'), [slice.name], horizonRow);
  return found.map((row) => horizonRemark(row, [...path, 'horizons']));
}

function horizonRemark(
  {
    metric,
    horizon_days: horizon,
    proposed_days: proposed,
    looks,
    changed_after_final: changed,
    periods,
    rows,
  }: z.output<typeof horizonRow>,
  path: Remark['path'],
): Remark {
  const hint = `State \`horizons: { ${metric}: ${proposed}d }\` in the slice.`;
  const held = `${countText(periods, 'held period')} with ${countText(rows, 'row')}`;
  if (proposed > horizon) {
    const message = `the horizon of ${metric}, ${horizon}d, proved too short: ${countText(changed, 'final total')} changed, and ${proposed}d would have held; it costs ${held} asked for again, and values that are final ${countText(proposed - horizon, 'day')} later`;
    return { severity: 'warning', path, message, hint };
  }
  const message = `the horizon of ${metric}, ${horizon}d, is longer than needed: nothing changed from ${countText(proposed, 'day')} on in ${countText(looks, 'comparison')}; ${proposed}d would save ${held} from waiting, and make values final ${countText(horizon - proposed, 'day')} earlier`;
  return { severity: 'note', path, message, hint };
}
