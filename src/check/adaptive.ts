/** What `refresh: adaptive` leaves out of a slice's milestones, and what that would have cost the periods that are final. */

import * as z from 'zod';

import { milestoneAges } from '../model/maturity.ts';
import type { Slice } from '../model/slice.ts';
import { withAdaptiveAges } from '../run/adaptive-slices.ts';
import { count } from '../warehouse/shapes.ts';
import { statement } from '../warehouse/statements.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Remark } from './finding.ts';
import { countText, groupedText, percentText } from '../terminal/measure.ts';

const costRow = z.object({ totals: count, differed: count, most: z.number().nullable() });

/** A note on the ages that a slice with a tolerance leaves out; none of another slice, or where nothing is left out. */
export async function adaptiveRemarks(warehouse: Warehouse, slice: Slice, path: Remark['path']): Promise<Remark[]> {
  const [adapted] = await withAdaptiveAges(warehouse, [slice]);
  if (adapted === undefined || adapted === slice || !Array.isArray(adapted.refresh)) return [];
  const kept = new Set(adapted.refresh);
  const skipped = milestoneAges.flatMap((age) => {
    const before = milestoneAges.findLast((each) => each < age && kept.has(each));
    return kept.has(age) || before === undefined ? [] : [{ age, held_since: before }];
  });
  if (skipped.length === 0) return [];
  const parameters = [slice.name, JSON.stringify(skipped)];
  const [cost] = await warehouse.rows(statement('status/skipped_ages'), parameters, costRow);
  if (cost === undefined) return [];
  const ages = skipped.map(({ age }) => age).join(', ');
  const differing = `${groupedText(cost.differed)} of ${countText(cost.totals, 'total')} that were read at them differed from the ones held until then`;
  const most = cost.most === null ? '' : `, by ${percentText(cost.most, 1)} of the final total at most`;
  const message = `adaptive refreshes leave out the ages ${ages}: in the past ${differing}${most}; final values are fetched all the same`;
  const hint = 'Lower `tolerance`, or set `refresh: milestones`, where that is too much.';
  return [{ severity: 'note', path: [...path, 'refresh'], message, hint }];
}
