/** Stores the catalog with ripen's reading of each metric, and records what changed. */

import * as z from 'zod';

import { asFailure, endsRun, Failure } from '../errors.ts';
import { warningEvent } from '../events.ts';
import { MS_PER_DAY } from '../model/calendar.ts';
import { type Catalog, type CatalogFilter, catalogFilters } from '../model/catalog.ts';
import { catalogItem, type CatalogItem } from '../model/catalog-item.ts';
import { formatColumnType } from '../model/column-type.ts';
import { globMatches, isMetricItem, metricItems, metricOf } from '../model/metric.ts';
import { fingerprintOf, type Slice } from '../model/slice.ts';
import { hasStars, isStar } from '../model/stars.ts';
import { readSliceLedger } from '../warehouse/ledger.ts';
import { insertRows, instant, jsonOf, statement, timestamp } from '../warehouse/sql.ts';
import { readLostApps } from '../warehouse/tables/lost-apps.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Refreshing } from './replace-rows.ts';

/** A nightly run refreshes the catalog, a second run of the same night only its apps. */
const FRESH_MS = 20 * 3_600_000;

interface CatalogRun extends Omit<Refreshing, 'service' | 'clock'> {
  readonly slices: readonly Slice[];
  /** With all slices. */
  readonly config: { readonly slices: readonly Slice[] };
}

/** Returns null if filters-data must be requested: for stars, a new meaning, a missing metric, or a lost app that may return. */
export async function sufficientCatalog(
  run: Pick<CatalogRun, 'warehouse' | 'slices'>,
): Promise<Catalog | null> {
  const { warehouse, slices } = run;
  // Before the ledger is read and cached: the return of an app makes periods due.
  if (slices.some(hasStars) || (await readLostApps(warehouse)).size > 0) return null;
  const ledgers = await Promise.all(
    slices.map(async ({ name }) => readSliceLedger(warehouse, name)),
  );
  if (slices.some((slice, at) => ledgers[at]?.live?.fingerprint !== fingerprintOf(slice)))
    return null;
  const stored = await readCatalog(warehouse, slices);
  return isComplete(stored, slices) ? stored : null;
}

function isComplete(catalog: Catalog, slices: readonly Slice[]) {
  const items = metricItems(catalog);
  return slices.every(({ metrics }) => metrics.every((id) => isStar(id) || items.has(id)));
}

const namesOf = (items: Catalog) =>
  items
    .map(({ id, name }) => JSON.stringify([id.toWellFormed(), name.toWellFormed()]))
    .toSorted()
    .join();

/** Returns the stored catalog if filters-data fails in a way that need not stop the run. */
export async function refreshCatalog(
  run: CatalogRun,
  service: Pick<Refreshing['service'], 'filtersData'>,
): Promise<Catalog> {
  const { warehouse, slices, planAt, signal } = run;
  const seenAt = await catalogSeenAt(warehouse);
  const ageMs = seenAt === null ? Infinity : Math.abs(+planAt - +seenAt);
  const stored = ageMs < FRESH_MS ? await readCatalog(warehouse, slices) : [];
  // A run of the same instant need not look again for metrics that the service does not list.
  const isFresh = ageMs === 0 || (ageMs < FRESH_MS && isComplete(stored, slices));
  try {
    if (seenAt !== null && isFresh) {
      // Reports lack an app as soon as it is lost, and only this list shows that its rows must stay.
      const apps = await service.filtersData({ filters: ['apps'] }, signal);
      const catalog = await readCatalog(warehouse);
      const others = catalog.filter(({ filter }) => filter !== 'apps');
      const storedApps = catalog.filter(({ filter }) => filter === 'apps');
      return namesOf(apps) === namesOf(storedApps)
        ? stored
        : await storeCatalog([...others, ...apps], seenAt, run);
    }
    const refused: Refusals = new Map();
    const onRefused = (filter: CatalogFilter, { message }: Failure) => refused.set(filter, message);
    const listing = await service.filtersData({ filters: catalogFilters, onRefused }, signal);
    // If all lists of metrics are empty, no slice's values can be typed.
    if (!listing.some(isMetricItem)) {
      const message = 'GET /reports-service/filters_data returned no metric.';
      const hint = 'Run again later; the stored catalog is kept.';
      throw new Failure('SOURCE_GARBLED', message, { hint });
    }
    return await storeCatalog(listing, planAt, run, refused);
  } catch (error) {
    const failure = asFailure(error, signal);
    if (seenAt === null || endsRun(failure) || signal.aborted) throw failure;
    const message = `The catalog could not be refreshed; the one of ${seenAt.toISOString()} was used: ${failure.message}`;
    run.emit(warningEvent('CATALOG_STALE', message));
    return readCatalog(warehouse, slices);
  }
}

/** By list: the message of its refusal. */
type Refusals = Map<string, string>;

/**
 * Stores a listing. A list that is empty now stays as it was. A configured metric stays in every list that had it, with the
 * formatting and section that the listing lacks.
 */
export async function storeCatalog(
  listing: Catalog,
  seenAt: Date,
  run: Pick<CatalogRun, 'warehouse' | 'runId' | 'config' | 'emit'>,
  refused: Refusals = new Map(),
): Promise<Catalog> {
  const { warehouse, config, runId, emit } = run;
  const configured = new Set(config.slices.flatMap(({ metrics }) => metrics));
  const patterns = [...configured].filter(isStar);
  const keyOf = ({ filter, id }: CatalogItem) => `${filter} ${id}`;
  const items = listing.map((item) => catalogItem.parse(item));
  const next = new Map(items.map((item) => [keyOf(item), item]));
  const filters = new Set(items.map(({ filter }) => filter));
  const emptyFilters = new Set<string>();
  const goneMetrics = new Set<string>();
  for (const stored of await readCatalog(warehouse)) {
    const { id, filter } = stored;
    if (!filters.has(filter)) {
      emptyFilters.add(filter);
      next.set(keyOf(stored), stored);
      continue;
    }
    // A metric that a star once stood for stays a column and keeps its type.
    const isConfigured = configured.has(id) || patterns.some((pattern) => globMatches(pattern, id));
    if (!isMetricItem(stored) || !isConfigured) continue;
    const item = next.get(keyOf(stored));
    const formatting = item?.formatting || stored.formatting;
    const section = item?.section || stored.section;
    if (item?.formatting === formatting && item.section === section) continue;
    goneMetrics.add(id);
    next.set(keyOf(stored), { ...(item ?? stored), formatting, section });
  }
  const catalog = [...next.values()];
  const metrics = [...metricItems(catalog).values()].map((item) => {
    const { id, name, shortName, section, formatting, description } = item;
    const { kind, horizonFrom, horizonMs, additive, type } = metricOf(id, item);
    return {
      id,
      name,
      short_name: shortName,
      section,
      formatting,
      description,
      kind,
      horizon_from: horizonFrom,
      horizon_days: horizonMs === null ? null : horizonMs / MS_PER_DAY,
      additive,
      type: formatColumnType(type),
    };
  });
  const rows = catalog.map(({ shortName, attributes = null, ...item }) => {
    return { ...item, attributes, short_name: shortName, seen_at: timestamp(seenAt) };
  });
  await warehouse.transact(async () => {
    await warehouse.run(statement('catalog/keep_items'));
    await warehouse.run(statement('catalog/delete_items'));
    await insertRows(warehouse, 'ripen.catalog', rows);
    await warehouse.run(statement('catalog/record_changes'), [runId]);
    await warehouse.run(statement('catalog/mark_returned'), [runId]);
    await warehouse.run(statement('catalog/delete_metrics'));
    await insertRows(warehouse, 'main.metrics', metrics);
  });
  const listedEmpty = [...emptyFilters].filter((filter) => !refused.has(filter));
  if (listedEmpty.length > 0) {
    const message = `filters-data listed nothing in ${listedEmpty.join(', ')}; the stored lists were kept.`;
    emit(warningEvent('CATALOG_LIST_EMPTY', message));
  }
  for (const [filter, reason] of refused) {
    // The names of other lists drift. Without this one no lost app is noticed.
    if (!emptyFilters.has(filter) && filter !== 'apps') continue;
    const kept = emptyFilters.has(filter) ? 'its stored list was kept' : 'no list of it is stored';
    const message = `filters-data did not list ${filter}, and ${kept}: ${reason}`;
    emit(warningEvent('CATALOG_LIST_EMPTY', message));
  }
  if (goneMetrics.size > 0) {
    const message = `filters-data no longer lists in full: ${[...goneMetrics].toSorted().join(', ')}; configured metrics stayed as they were last seen.`;
    emit(warningEvent('CATALOG_METRIC_GONE', message));
  }
  emit({ type: 'catalog_loaded', items: catalog.length });
  return catalog;
}

/** Reads only the ids of slices without stars. */
export async function readCatalog(
  warehouse: Warehouse,
  slices: readonly Pick<Slice, 'dimensions' | 'metrics'>[] | null = null,
): Promise<Catalog> {
  const starless = slices?.some(hasStars) === true ? null : slices;
  const ids = starless?.flatMap(({ dimensions, metrics }) => dimensions.concat(metrics));
  const parameters = [ids === undefined ? null : JSON.stringify([...new Set(ids)])];
  const piece = z.object({ items: jsonOf(z.array(catalogItem)) });
  const pieces = await warehouse.rows(statement('catalog/items'), parameters, piece);
  return pieces.flatMap(({ items }) => items);
}

export async function catalogSeenAt(warehouse: Warehouse): Promise<Date | null> {
  const sql = 'select max(seen_at) as seen_at from ripen.catalog';
  const [row] = await warehouse.rows(sql, [], z.object({ seen_at: instant.nullable() }));
  return row?.seen_at ?? null;
}
