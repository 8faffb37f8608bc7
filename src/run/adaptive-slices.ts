/** Slices that are asked for at adaptive ages, with the ages that their own history gives. */

import { adaptiveCost, worthwhileAges, type AdaptiveCost } from '../insight/adaptive-ages.ts';
import { readTriangles, type Triangle } from '../insight/read-developments.ts';
import { readCatalog } from '../catalog/stored-catalog.ts';
import { readRemembered } from '../load/load-ledger.ts';
import { liveTable } from '../load/target.ts';
import { fingerprintOf } from '../model/fingerprint.ts';
import { carries } from '../model/ledger.ts';
import { metricsOf, type Metric } from '../model/metric.ts';
import type { Slice } from '../model/slice.ts';
import { readSliceLedger } from '../warehouse/ledger.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** The slices, those with a tolerance with the ages that are worth a request; every milestone before there is a history. */
export async function withAdaptiveAges(warehouse: Warehouse, slices: readonly Slice[]): Promise<Slice[]> {
  const adapted: Slice[] = [];
  for (const slice of slices) adapted.push(await withAges(warehouse, slice));
  return adapted;
}

async function withAges(warehouse: Warehouse, slice: Slice): Promise<Slice> {
  const history = await historyOf(warehouse, slice);
  if (history === null) return slice;
  const { metrics, triangles, tolerance } = history;
  const known = new Map([...triangles].map(([metric, { development }]) => [metric, development]));
  return { ...slice, refresh: worthwhileAges(metrics, known, tolerance) };
}

/** What leaving out ages would have cost a slice with a tolerance; null of another one, and before there is a history. */
export async function adaptiveCostOf(warehouse: Warehouse, slice: Slice): Promise<AdaptiveCost | null> {
  const history = await historyOf(warehouse, slice);
  return history === null ? null : adaptiveCost(history.metrics, history.triangles, history.tolerance);
}

interface History {
  readonly metrics: readonly Metric[];
  readonly triangles: ReadonlyMap<string, Triangle>;
  readonly tolerance: number;
}

async function historyOf(warehouse: Warehouse, slice: Slice): Promise<History | null> {
  const { refresh } = slice;
  if (typeof refresh === 'string' || !('tolerance' in refresh)) return null;
  const { live } = await readSliceLedger(warehouse, slice.name);
  // A table of another meaning says nothing of this one, and may have other columns.
  if (live === null || !carries(live.fingerprint, fingerprintOf(slice))) return null;
  const configured = metricsOf(
    slice,
    await readCatalog(warehouse, [slice]),
    await readRemembered(warehouse, slice.name),
  );
  // A metric that was added has no column yet, and no history.
  const metrics = configured.filter(({ id }) => [...live.periods.values()].some((held) => held.metrics.includes(id)));
  const table = { slice, fingerprint: live.fingerprint, metrics, table: liveTable(slice.name) };
  return {
    metrics: configured,
    triangles: await readTriangles(warehouse, table),
    tolerance: refresh.tolerance,
  };
}
