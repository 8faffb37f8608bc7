/** The stored catalog: requests it when it is old, stores it with ripen's reading of each metric, and records what changed. */

import * as z from 'zod';

import { asFailure, Failure, type FailureCode, type WarningCode } from '../errors.ts';
import type { Emit } from '../events.ts';
import { MS_PER_DAY } from '../model/calendar.ts';
import { type Catalog, catalogFilters } from '../model/catalog.ts';
import { catalogItem, type CatalogItem } from '../model/catalog-item.ts';
import { formatColumnType } from '../model/column-type.ts';
import { globMatches, isMetricItem, metricItems, metricOf } from '../model/metric.ts';
import type { Slice } from '../model/slice.ts';
import { hasStars, isStar } from '../model/stars.ts';
import type { Service } from '../service/service.ts';
import { recordWarning } from '../warehouse/runs.ts';
import { insertRows, instant, statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** A nightly run refreshes the catalog; a second run of the same night does not. */
const FRESH_MS = 20 * 3_600_000;

/** Failures that stop a run even if a catalog is stored. */
const decisive: ReadonlySet<FailureCode> = new Set(['CREDENTIALS_REFUSED', 'CLOCK_UNTRUSTED']);

/** The part of a run that the catalog needs. */
export interface CatalogRun {
  readonly warehouse: Warehouse;
  readonly runId: string;
  /** The slices of this run. */
  readonly slices: readonly Slice[];
  /** With all configured slices: their metrics stay as they were if filters-data leaves them out. */
  readonly config: { readonly slices: readonly Slice[] };
  readonly planAt: Date;
  readonly emit: Emit;
  readonly signal: AbortSignal;
}

/**
 * The catalog to plan with. If filters-data fails or lists no metric, the stored catalog is used, with a warning. Throws the
 * failure if none is stored, the failure is decisive or of the storage, or the signal has aborted.
 */
export async function refreshCatalog(
  run: CatalogRun,
  service: Pick<Service, 'filtersData'>,
): Promise<Catalog> {
  const { warehouse, slices, planAt, signal } = run;
  const seenAt = await catalogSeenAt(warehouse);
  const ageMs = seenAt === null ? Infinity : Math.abs(+planAt - +seenAt);
  const stored = ageMs < FRESH_MS ? await readCatalog(warehouse, slices) : [];
  // At the same instant the stored catalog is used: else every run would look for metrics that the service does not list.
  if (ageMs === 0 || (ageMs < FRESH_MS && holdsMetricsOf(slices, stored))) return stored;
  try {
    const listing = await service.filtersData({ filters: catalogFilters }, signal);
    if (!listing.some(isMetricItem)) throw nothingListed();
    return await storeCatalog(listing, planAt, run);
  } catch (error) {
    const failure = asFailure(error, signal);
    const isOptional =
      seenAt !== null &&
      failure.kind !== 'storage' &&
      !decisive.has(failure.code) &&
      !signal.aborted;
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

/** Stores a listing and returns what is then stored. Configured metrics and lists that it lacks stay, each with a warning. */
export async function storeCatalog(
  listing: Catalog,
  seenAt: Date,
  run: Pick<CatalogRun, 'warehouse' | 'runId' | 'config' | 'emit'>,
): Promise<Catalog> {
  const { warehouse, config, runId, emit } = run;
  const configured = [...new Set(config.slices.flatMap(({ metrics }) => metrics))];
  const [patterns, names] = [configured.filter(isStar), new Set(configured)];
  // A metric that a star once stood for stays a column and keeps its type.
  const isConfigured = (id: string): boolean =>
    names.has(id) || patterns.some((pattern) => globMatches(pattern, id));
  const { catalog, emptied, kept } = await replaceCatalog(warehouse, listing, isConfigured, {
    runId,
    seenAt,
  });
  if (emptied.length > 0) {
    const message = `filters-data listed nothing in ${emptied.join(', ')}; the stored lists were kept.`;
    await warn('CATALOG_LIST_EMPTY', message, run);
  }
  if (kept.length > 0) {
    const message = `filters-data no longer lists in full: ${kept.join(', ')}; configured metrics stayed as they were last seen.`;
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

/** If all lists of metrics are empty, no slice's values can be typed. */
function nothingListed(): Failure {
  return new Failure(
    'SOURCE_GARBLED',
    'GET /reports-service/filters_data had not a single metric.',
    {
      hint: 'Run again later; the stored catalog is kept.',
    },
  );
}

/** The catalog as last seen; with `slices` only their metrics and dimensions, unless one of them has a pattern. */
export async function readCatalog(
  warehouse: Warehouse,
  slices: readonly Pick<Slice, 'dimensions' | 'metrics'>[] | null = null,
): Promise<Catalog> {
  const named = slices?.some(hasStars) === true ? null : slices;
  const ids = named?.flatMap(({ dimensions, metrics }) => dimensions.concat(metrics));
  const parameters = [ids === undefined ? null : JSON.stringify([...new Set(ids)])];
  const pieces = await warehouse.rows(
    statement('catalog/items'),
    parameters,
    z.object({ items: z.string() }),
  );
  return pieces.flatMap(({ items }) => z.array(catalogItem).parse(JSON.parse(items)));
}

/** When the catalog was last fetched; null before the first time. */
export async function catalogSeenAt(warehouse: Warehouse): Promise<Date | null> {
  const [row] = await warehouse.rows(
    'select max(seen_at) as seen_at from ripen.catalog',
    [],
    z.object({ seen_at: instant.nullable() }),
  );
  return row?.seen_at ?? null;
}

/** Stores a listing and ripen's reading of its metrics in one transaction, and records what changed. */
export async function replaceCatalog(
  warehouse: Warehouse,
  listing: Catalog,
  isConfigured: (metric: string) => boolean,
  { runId, seenAt }: { readonly runId: string; readonly seenAt: Date },
): Promise<NextCatalog> {
  const before = byKey(await readCatalog(warehouse));
  const listed = listing.map((item) => catalogItem.parse(item));
  const next = nextCatalog(before, listed, isConfigured);
  await warehouse.transact(async () => {
    await warehouse.run(statement('catalog/keep_items'));
    await warehouse.run(statement('catalog/delete_items'));
    const items = next.catalog.map(({ shortName, ...item }) => {
      return { ...item, short_name: shortName, seen_at: timestamp(seenAt) };
    });
    await insertRows(warehouse, 'ripen.catalog', items);
    await warehouse.run(statement('catalog/record_changes'), [runId]);
    await warehouse.run(statement('catalog/mark_returned'), [runId]);
    await warehouse.run(statement('catalog/delete_metrics'));
    await insertRows(warehouse, 'main.metrics', metricRows(next.catalog));
  });
  return next;
}

/** The rows of `main.metrics`: each metric's item from the most specific list, and ripen's reading of it. */
function metricRows(catalog: Catalog): object[] {
  return [...metricItems(catalog).values()].map((item) => {
    // Only the item is read, so that thousands of metrics do not each search the whole catalog.
    const { kind, horizonFrom, horizonMs, additive, type } = metricOf(item.id, item);
    return {
      id: item.id,
      name: item.name,
      short_name: item.shortName,
      section: item.section,
      formatting: item.formatting,
      description: item.description,
      kind,
      horizon_from: horizonFrom,
      horizon_days: horizonMs === null ? null : horizonMs / MS_PER_DAY,
      additive,
      type: formatColumnType(type),
    };
  });
}

interface NextCatalog {
  readonly catalog: Catalog;
  /** Lists that had items and are empty in the listing; kept as they were. */
  readonly emptied: readonly string[];
  /** Configured metrics that left one of their lists, or are listed without formatting or section; kept as last seen. */
  readonly kept: readonly string[];
}

/**
 * The catalog after a listing. A list that is empty now stays as it was. A configured metric stays in every list that had it,
 * and keeps a formatting or section that the listing leaves blank.
 */
function nextCatalog(
  before: ReadonlyMap<string, CatalogItem>,
  items: Catalog,
  isConfigured: (metric: string) => boolean,
): NextCatalog {
  const listed = byKey(items);
  const answered = new Set(items.map(({ filter }) => filter));
  const emptied = new Set<string>();
  const kept = new Set<string>();
  for (const [key, old] of before) {
    if (!answered.has(old.filter)) {
      emptied.add(old.filter);
      listed.set(key, old);
    } else if (isMetricItem(old) && isConfigured(old.id)) {
      const now = listed.get(key);
      const formatting = now?.formatting || old.formatting;
      const section = now?.section || old.section;
      if (now?.formatting === formatting && now.section === section) continue;
      kept.add(old.id);
      listed.set(key, { ...(now ?? old), formatting, section });
    }
  }
  return { catalog: [...listed.values()], emptied: [...emptied], kept: [...kept].toSorted() };
}

/** The items by list and id. The last one counts if a list has an id several times. */
const byKey = (items: Catalog): Map<string, CatalogItem> =>
  new Map(items.map((item) => [`${item.filter} ${item.id}`, item]));
