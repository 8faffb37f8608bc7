/** Brings the stored catalog up to the service's, when it is old or lacks a configured metric. */

import { asFailure, Failure } from './errors.ts';
import type { Emit } from './events.ts';
import { catalogSeenAt, readCatalog, replaceCatalog } from './load/catalog-tables.ts';
import { catalogFilters, type Catalog } from './model/catalog.ts';
import { catalogItemOf, isMetricItem } from './model/metric.ts';
import type { Slice } from './model/slice.ts';
import type { Service } from './service/service.ts';
import { recordWarning } from './warehouse/runs.ts';
import type { Warehouse } from './warehouse/warehouse.ts';

/** A nightly run refreshes it; a second run of the same night does not. */
const FRESH_MS = 20 * 3_600_000;

export interface CatalogRun {
  readonly warehouse: Warehouse;
  readonly service: Pick<Service, 'filtersData'>;
  readonly slices: readonly Slice[];
  readonly asOf: Date;
  readonly runId: string;
  readonly emit: Emit;
  readonly signal: AbortSignal;
}

/**
 * The catalog to plan with. A list that filters-data does not answer stays as it was, with a warning. When filters-data
 * cannot be had, an older catalog serves with a warning; without one the failure is thrown, as types and horizons would
 * be guesses.
 */
export async function refreshCatalog({
  warehouse,
  service,
  slices,
  asOf,
  runId,
  emit,
  signal,
}: CatalogRun): Promise<Catalog> {
  const stored = await readCatalog(warehouse);
  const seenAt = await catalogSeenAt(warehouse);
  const ageMs = seenAt === null ? Infinity : Math.abs(asOf.getTime() - seenAt.getTime());
  const isMissing = slices.some(({ metrics }) => metrics.some((id) => catalogItemOf(id, stored) === null));
  // A metric the service itself does not list would otherwise be looked for at every run.
  if (ageMs === 0 || (ageMs < FRESH_MS && !isMissing)) return stored;
  try {
    const { items, absent } = await service.filtersData({ filters: catalogFilters }, signal);
    // A list that was not answered is no empty list: what it held is kept.
    const catalog = [...items, ...stored.filter(({ filter }) => absent.some((name) => name === filter))];
    if (!catalog.some(isMetricItem)) throw nothingListed();
    await replaceCatalog(warehouse, catalog, runId, asOf);
    if (absent.length > 0) await warnOf('CATALOG_LIST_ABSENT', absentLists(absent), { warehouse, runId, emit });
    emit({ type: 'catalog_loaded', items: catalog.length });
    return catalog;
  } catch (error) {
    const failure = asFailure(error);
    const isOptional =
      stored.length > 0 && failure.kind !== 'storage' && failure.code !== 'CREDENTIALS_REFUSED' && !signal.aborted;
    if (!isOptional) throw failure;
    const message = `The catalog could not be refreshed; the one of ${seenAt?.toISOString()} was used: ${failure.message}`;
    await warnOf('CATALOG_STALE', message, { warehouse, runId, emit });
    return stored;
  }
}

async function warnOf(
  code: string,
  message: string,
  { warehouse, runId, emit }: Pick<CatalogRun, 'warehouse' | 'runId' | 'emit'>,
): Promise<void> {
  await recordWarning(warehouse, { runId, slice: null, days: null, code, message });
  emit({ type: 'warning', code, slice: null, window: null, message });
}

function absentLists(absent: readonly string[]): string {
  return `filters-data did not answer for ${absent.join(', ')}; what it listed there before was kept.`;
}

/** Lists that are all empty would wipe the stored catalog, and no slice could be typed by them. */
function nothingListed(): Failure {
  return new Failure('SOURCE_GARBLED', 'GET /reports-service/filters_data was answered without a single metric.', {
    hint: 'Run again later; the stored catalog is kept.',
  });
}
