/** Brings the stored catalog up to the service's if it is old or lacks a configured metric. */

import { asFailure, Failure, type FailureCode, type WarningCode } from '../errors.ts';
import type { Emit } from '../events.ts';
import { type Catalog, catalogFilters } from '../model/catalog.ts';
import { globMatches, isMetricItem, metricItems } from '../model/metric.ts';
import type { Slice } from '../model/slice.ts';
import { isStar } from '../model/stars.ts';
import type { Service } from '../service/service.ts';
import { recordWarning } from '../warehouse/runs.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { catalogSeenAt, readCatalog, replaceCatalog } from './stored-catalog.ts';

/** A nightly run refreshes it; a second run of the same night does not. */
const FRESH_MS = 20 * 3_600_000;

/** What stops a run whatever is stored. */
const decisive: ReadonlySet<FailureCode> = new Set(['CREDENTIALS_REFUSED', 'CLOCK_UNTRUSTED']);

/** The part of a run that the catalog needs. */
export interface CatalogRun {
  readonly warehouse: Warehouse;
  readonly runId: string;
  /** The slices of this run. */
  readonly slices: readonly Slice[];
  /** With all configured slices: what filters-data leaves out of their metrics stays as it was. */
  readonly config: { readonly slices: readonly Slice[] };
  readonly planAt: Date;
  readonly emit: Emit;
  readonly signal: AbortSignal;
}

/** The catalog to plan with. If filters-data fails or lists no metric, an older one serves with a warning; without one the failure is thrown. */
export async function refreshCatalog(run: CatalogRun, service: Pick<Service, 'filtersData'>): Promise<Catalog> {
  const { warehouse, slices, planAt, signal } = run;
  const seenAt = await catalogSeenAt(warehouse);
  const ageMs = seenAt === null ? Infinity : Math.abs(+planAt - +seenAt);
  const stored = ageMs < FRESH_MS ? await readCatalog(warehouse, slices) : [];
  // A metric the service itself does not list would otherwise be looked for at every run of the same instant.
  if (ageMs === 0 || (ageMs < FRESH_MS && holdsMetricsOf(slices, stored))) return stored;
  try {
    const listing = await service.filtersData({ filters: catalogFilters }, signal);
    if (!listing.some(isMetricItem)) throw nothingListed();
    return await adoptCatalog(listing, planAt, run);
  } catch (error) {
    const failure = asFailure(error);
    const isOptional = seenAt !== null && failure.kind !== 'storage' && !decisive.has(failure.code) && !signal.aborted;
    if (!isOptional) throw failure;
    const message = `The catalog could not be refreshed; the one of ${seenAt.toISOString()} was used: ${failure.message}`;
    await warn('CATALOG_STALE', message, run);
    return readCatalog(warehouse, slices);
  }
}

function holdsMetricsOf(slices: readonly Slice[], catalog: Catalog): boolean {
  const known = metricItems(catalog);
  return slices.every(({ metrics }) => metrics.every((id) => isStar(id) || known.has(id)));
}

/** Stores a listing and returns what is then stored. What it lacks of configured metrics, and empty lists, stay as they were, with a warning each. */
export async function adoptCatalog(
  listing: Catalog,
  seenAt: Date,
  run: Pick<CatalogRun, 'warehouse' | 'runId' | 'config' | 'emit'>,
): Promise<Catalog> {
  const { warehouse, config, runId, emit } = run;
  const configured = [...new Set(config.slices.flatMap(({ metrics }) => metrics))];
  const [patterns, names] = [configured.filter(isStar), new Set(configured)];
  // What a star stood for once stays a column, and keeps its type.
  const isConfigured = (id: string): boolean => names.has(id) || patterns.some((pattern) => globMatches(pattern, id));
  const { catalog, emptied, held } = await replaceCatalog(warehouse, listing, isConfigured, { runId, seenAt });
  if (emptied.length > 0) {
    const message = `filters-data listed nothing in ${emptied.join(', ')}; what it listed there before was kept.`;
    await warn('CATALOG_LIST_EMPTY', message, run);
  }
  if (held.length > 0) {
    const message = `filters-data left out what it said before of ${held.join(', ')}; configured metrics stayed as they were last seen.`;
    await warn('CATALOG_METRIC_GONE', message, run);
  }
  emit({ type: 'catalog_loaded', items: catalog.length });
  return catalog;
}

async function warn(
  code: WarningCode,
  message: string,
  { warehouse, runId, emit }: Pick<CatalogRun, 'warehouse' | 'runId' | 'emit'>,
): Promise<void> {
  await recordWarning(warehouse, { runId, slice: null, days: null, code, message });
  emit({ type: 'warning', code, slice: null, window: null, message });
}

/** No slice could be typed by lists that are all empty. */
function nothingListed(): Failure {
  return new Failure('SOURCE_GARBLED', 'GET /reports-service/filters_data was answered without a single metric.', {
    hint: 'Run again later; the stored catalog is kept.',
  });
}
