/** Brings the stored catalog up to the service's, when it is old or lacks a configured metric. */

import type { Config } from '../config/config.ts';
import { asFailure, Failure, type FailureCode, type WarningCode } from '../errors.ts';
import { catalogSeenAt, type Listing, readCatalogOf, replaceCatalog } from '../load/catalog.ts';
import { catalogFilters, type Catalog } from '../model/catalog.ts';
import { isMetricItem, metricItems } from '../model/metric.ts';
import type { Slice } from '../model/slice.ts';
import type { Service } from '../service/service.ts';
import { type Run, warn } from './run.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** A nightly run refreshes it; a second run of the same night does not. */
const FRESH_MS = 20 * 3_600_000;

/** What stops a run whatever is stored. */
const decisive: ReadonlySet<FailureCode> = new Set(['CREDENTIALS_REFUSED', 'CLOCK_UNTRUSTED']);

/**
 * The catalog to plan with, or what it says of the slices. When filters-data cannot be had, or lists no metric at all, an older catalog serves with a
 * warning; without one the failure is thrown, as types and horizons would be guesses.
 */
export async function refreshCatalog(
  run: Omit<Run, 'config' | 'request' | 'record'> & { readonly config: Pick<Config, 'slices'> },
  service: Pick<Service, 'filtersData'>,
): Promise<Catalog> {
  const { warehouse, slices, planAt, signal } = run;
  const seenAt = await catalogSeenAt(warehouse);
  const fresh = await freshCatalog(warehouse, slices, seenAt === null ? Infinity : Math.abs(+planAt - +seenAt));
  if (fresh !== null) return fresh;
  try {
    const listing = await service.filtersData({ filters: catalogFilters }, signal);
    if (!listing.items.some(isMetricItem)) throw nothingListed();
    return await adoptCatalog(listing, planAt, run);
  } catch (error) {
    const failure = asFailure(error);
    const isOptional = seenAt !== null && failure.kind !== 'storage' && !decisive.has(failure.code) && !signal.aborted;
    if (!isOptional) throw failure;
    const message = `The catalog could not be refreshed; the one of ${seenAt.toISOString()} was used: ${failure.message}`;
    await warn({ code: 'CATALOG_STALE', message }, null, run);
    return readCatalogOf(warehouse, slices);
  }
}

/** The stored catalog while it need not be asked for again; null when it is old or lacks a metric of the slices. */
async function freshCatalog(warehouse: Warehouse, slices: readonly Slice[], ageMs: number): Promise<Catalog | null> {
  if (ageMs >= FRESH_MS) return null;
  const stored = await readCatalogOf(warehouse, slices);
  // A metric the service itself does not list would otherwise be looked for at every run of the same instant.
  if (ageMs === 0) return stored;
  const known = metricItems(stored);
  return slices.every(({ metrics }) => metrics.every((id) => known.has(id))) ? stored : null;
}

/**
 * Puts a listing in the place of the stored catalog and returns what is then stored. What it lacks of configured metrics,
 * of all slices, and lists that it does not answer, answers with something else or has nothing in, stay as they were, with a warning each.
 */
export async function adoptCatalog(
  listing: Listing,
  seenAt: Date,
  run: Pick<Run, 'warehouse' | 'runId' | 'emit'> & { readonly config: Pick<Config, 'slices'> },
): Promise<Catalog> {
  const { warehouse, config, runId, emit } = run;
  const configured = new Set(config.slices.flatMap(({ metrics }) => metrics));
  const { catalog, emptied, held } = await replaceCatalog(warehouse, listing, configured, { runId, seenAt });
  const { absent, malformed = new Map<string, string>(), lacking = new Map<string, string>() } = listing;
  const silent = absent.filter((filter) => !malformed.has(filter));
  const warnings: readonly (readonly [code: WarningCode, names: readonly string[], said: string, kept: string])[] = [
    ['CATALOG_LIST_ABSENT', silent, 'filters-data did not answer for', 'what it listed there before was kept'],
    [
      'CATALOG_LIST_MALFORMED',
      [...malformed.values()],
      'filters-data answered with no list of items for',
      'what it listed there before was kept',
    ],
    [
      'CATALOG_ITEM_MALFORMED',
      [...lacking.values()],
      'filters-data listed something that is no item in',
      'the other items were taken, and what it listed there before was kept',
    ],
    ['CATALOG_LIST_EMPTY', emptied, 'filters-data listed nothing in', 'what it listed there before was kept'],
    [
      'CATALOG_METRIC_GONE',
      held,
      'filters-data left out what it said before of',
      'configured metrics stayed as they were last seen',
    ],
  ];
  for (const [code, names, said, kept] of warnings) {
    if (names.length > 0) await warn({ code, message: `${said} ${names.join(', ')}; ${kept}.` }, null, run);
  }
  emit({ type: 'catalog_loaded', items: catalog.length });
  return catalog;
}

/** No slice could be typed by lists that are all empty. */
function nothingListed(): Failure {
  return new Failure('SOURCE_GARBLED', 'GET /reports-service/filters_data was answered without a single metric.', {
    hint: 'Run again later; the stored catalog is kept.',
  });
}
