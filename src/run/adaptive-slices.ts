/** Slices that are asked for at adaptive ages, with the ages that their own history gives. */

import { worthwhileAges } from '../insight/adaptive-ages.ts';
import type { Known } from '../insight/maturation.ts';
import { metricsOf } from '../model/metric.ts';
import { readCatalog } from '../load/catalog-tables.ts';
import type { Slice } from '../model/slice.ts';
import { maturationRow } from '../status/ripening.ts';
import { statement } from '../warehouse/statements.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** The slices, those with a tolerance with the ages that are worth a request; every milestone before there is a history. */
export async function withAdaptiveAges(warehouse: Warehouse, slices: readonly Slice[]): Promise<Slice[]> {
  const adapted: Slice[] = [];
  for (const slice of slices) adapted.push(await withAges(warehouse, slice));
  return adapted;
}

async function withAges(warehouse: Warehouse, slice: Slice): Promise<Slice> {
  const { refresh } = slice;
  if (typeof refresh === 'string' || !('tolerance' in refresh)) return slice;
  const rows = await warehouse.rows(statement('status/maturation'), [slice.name], maturationRow);
  const known = new Map<string, Known[]>();
  for (const { metric, age_days: age, periods, share_q25: q25, share_median: median, share_q75: q75 } of rows) {
    known.set(metric, [...(known.get(metric) ?? []), { age, periods, q25, median, q75 }]);
  }
  const metrics = metricsOf(slice, await readCatalog(warehouse));
  return { ...slice, refresh: worthwhileAges(metrics, known, refresh.tolerance) };
}
