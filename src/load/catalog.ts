/**
 * The catalog in the warehouse: what filters-data listed, with ripen's own reading of each metric beside it; what of it a
 * listing may take away, and what changed.
 */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { MS_PER_DAY } from '../model/calendar.ts';
import { type Catalog, type CatalogItem, catalogTables } from '../model/catalog.ts';
import { formatColumnType } from '../model/column-type.ts';
import { isMetricItem, metricItems, metricOf } from '../model/metric.ts';
import type { Slice } from '../model/slice.ts';
import { asScript, count, identifier, instant, statement, storable, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { CATALOG_ENDING, catalogComments, catalogWords, createCatalogTable } from './catalog-schema.ts';

const catalogItem = z.object({
  filter: z.string(),
  id: z.string(),
  name: z.string(),
  shortName: z.string(),
  section: z.string(),
  formatting: z.string(),
  description: z.string(),
});

/** The catalog as last seen; empty before the first run. */
export async function readCatalog(warehouse: Warehouse): Promise<Catalog> {
  return readItems(warehouse, 'catalog/items', catalogItem, [null]);
}

/** What it says of the metrics and dimensions of slices: a small part of the thousands of items it may have. */
export async function readCatalogOf(
  warehouse: Warehouse,
  slices: readonly Pick<Slice, 'dimensions' | 'metrics'>[],
): Promise<Catalog> {
  const ids = new Set(slices.flatMap(({ dimensions, metrics }) => [...dimensions, ...metrics]));
  return readItems(warehouse, 'catalog/items', catalogItem, [JSON.stringify([...ids])]);
}

async function readItems<T>(
  warehouse: Warehouse,
  name: string,
  shape: z.ZodType<T>,
  parameters: readonly (string | null)[] = [],
): Promise<T[]> {
  const pieces = await warehouse.rows(statement(name), parameters, z.object({ items: z.string().nullable() }));
  const list = z.array(shape);
  return pieces.flatMap(({ items }) => list.parse(JSON.parse(items ?? '[]')));
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

const foreignRow = z.object({ name: z.string(), kind: z.string() });

/** Some megabytes of JSON a statement, however long a list is. */
const ROWS_PER_PIECE = 5000;

/**
 * Takes a listing over into the catalog and the tables made of it, as `nextCatalog` decides, in one transaction; what came,
 * went or changed is recorded as schema changes. Of a catalog that changed in nothing only the instant is stored. Throws
 * `WAREHOUSE_FOREIGN`, with nothing changed, when a table or view that is not the catalog's has a name it needs.
 */
export async function replaceCatalog(
  warehouse: Warehouse,
  listing: Listing,
  configured: ReadonlySet<string>,
  { runId, seenAt }: { readonly runId: string; readonly seenAt: Date },
): Promise<NextCatalog> {
  await refuseForeign(warehouse);
  const before = await readCatalog(warehouse);
  const items = listing.items.map((item) => storableItem(item));
  const next = nextCatalog(before, { ...listing, items }, configured);
  const metrics = metricRows(next.catalog);
  const changes = catalogChanges(before, next.catalog);
  const isSame = changes.length === 0 && before.length === next.catalog.length;
  if (isSame && (await areTablesCurrent(warehouse, metrics))) {
    await warehouse.run(statement('catalog/record_seen'), [timestamp(seenAt)]);
    return next;
  }
  await warehouse.transact(async () => {
    await warehouse.run(statement('catalog/forget_items'));
    await insertPieces(warehouse, 'catalog/insert_items', next.catalog, [timestamp(seenAt)]);
    await warehouse.run(
      asScript(catalogTables.flatMap((name) => [createCatalogTable(name), ...catalogComments(name)])),
    );
    await insertPieces(warehouse, 'catalog/insert_metrics', metrics, []);
    if (before.length > 0) await insertPieces(warehouse, 'catalog/record_changes', changes, [runId]);
  });
  return next;
}

/** Runs a statement of `sql/` on rows as its first parameter, piece by piece: memory holds the JSON of one piece. */
async function insertPieces(
  warehouse: Warehouse,
  name: string,
  rows: readonly object[],
  parameters: readonly string[],
): Promise<void> {
  for (let from = 0; from < rows.length; from += ROWS_PER_PIECE) {
    await warehouse.run(statement(name), [JSON.stringify(rows.slice(from, from + ROWS_PER_PIECE)), ...parameters]);
  }
}

/** Whether the tables are there, say what they are to say, and read each metric as this version of the program does. */
async function areTablesCurrent(warehouse: Warehouse, metrics: readonly MetricRow[]): Promise<boolean> {
  const wanted = catalogTables.flatMap((name) => catalogWords(name));
  const shape = z.object({ differences: count });
  const [found] = await warehouse.rows(statement('catalog/table_differences'), [JSON.stringify(wanted)], shape);
  if (found?.differences !== 0) return false;
  const stored = await readItems(warehouse, 'catalog/metrics', metricRow);
  return JSON.stringify(stored.sort(byId)) === JSON.stringify(metrics);
}

/** A slice may have had the name before it was reserved, and its rows are not the catalog's to throw away. */
async function refuseForeign(warehouse: Warehouse): Promise<void> {
  const parameters = [JSON.stringify(catalogTables), CATALOG_ENDING];
  const foreign = await warehouse.rows(statement('catalog/foreign_objects'), parameters, foreignRow);
  const [first] = foreign;
  if (first === undefined) return;
  const names = foreign.map(({ name, kind }) => `main.${name} (${kind})`).join(', ');
  const kind = first.kind === 'a view' ? 'view' : 'table';
  throw new Failure('WAREHOUSE_FOREIGN', `The warehouse held what the catalog's tables need the names of: ${names}.`, {
    facts: { warehouse: warehouse.path, names },
    hint: `Rename it in DuckDB, as in: alter ${kind} main.${identifier(first.name)} rename to ${identifier(`${first.name}_before`)}`,
  });
}

function storableItem(item: CatalogItem): CatalogItem {
  return {
    filter: item.filter,
    id: storable(item.id),
    name: storable(item.name),
    shortName: storable(item.shortName),
    section: storable(item.section),
    formatting: storable(item.formatting),
    description: storable(item.description),
  };
}

const metricRow = z.object({
  id: z.string(),
  name: z.string(),
  short_name: z.string(),
  section: z.string(),
  formatting: z.string(),
  description: z.string(),
  kind: z.string(),
  horizon_from: z.string(),
  horizon_days: z.number().nullable(),
  additive: z.boolean(),
  type: z.string(),
});

type MetricRow = z.infer<typeof metricRow>;

/** The rows of `main.metrics` by id: what the list says that knows a metric best, and how ripen reads it. */
function metricRows(catalog: Catalog): MetricRow[] {
  const rows = [...metricItems(catalog).values()].map((item): MetricRow => {
    // The item alone decides, so that thousands of metrics do not each search the whole catalog.
    const { id, kind, horizonFrom, horizonMs, additive, type } = metricOf(item.id, [item]);
    return {
      id,
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
  return rows.sort(byId);
}

function byId(one: MetricRow, other: MetricRow): number {
  return one.id < other.id ? -1 : 1;
}

export interface Listing {
  readonly items: Catalog;
  /** Lists that were asked for and not answered, or with something else. */
  readonly absent: readonly string[];
  /** Of these, what was answered instead. */
  readonly malformed?: ReadonlyMap<string, string>;
  /** Lists without some of their items, and what stood in place of these. */
  readonly lacking?: ReadonlyMap<string, string>;
}

interface NextCatalog {
  readonly catalog: Catalog;
  /** Lists that held items and came back empty; kept as they were. */
  readonly emptied: readonly string[];
  /** Configured metrics that left one of their lists, or came without formatting or section; kept as last seen. */
  readonly held: readonly string[];
}

/**
 * The catalog after a listing, in which each id stands once a list. A list that was not answered or came back empty stays
 * as it was, and of one that lacks items those that may be meant; an item of a configured metric stays in every list it stood in, and keeps a formatting or section that the
 * listing leaves blank. All else is as listed.
 */
function nextCatalog(before: Catalog, listing: Listing, configured: ReadonlySet<string>): NextCatalog {
  const { items, absent, lacking } = listing;
  const listed = byKey(items);
  const answered = new Set(items.map(({ filter }) => filter));
  const emptied = new Set<string>();
  const held = new Set<string>();
  for (const [key, old] of byKey(before)) {
    if (!answered.has(old.filter)) {
      if (!absent.includes(old.filter)) emptied.add(old.filter);
      listed.set(key, old);
    } else if (configured.has(old.id) && isMetricItem(old)) {
      const now = listed.get(key);
      const formatting = now?.formatting || old.formatting;
      const section = now?.section || old.section;
      if (now?.formatting === formatting && now.section === section) continue;
      held.add(old.id);
      listed.set(key, { ...(now ?? old), formatting, section });
    } else if (lacking?.has(old.filter) === true && !listed.has(key)) {
      listed.set(key, old);
    }
  }
  return { catalog: [...listed.values()], emptied: [...emptied], held: [...held].toSorted() };
}

/** Of an id that a list holds several times the first by name counts, so that the order of an answer changes nothing. */
function byKey(items: Catalog): Map<string, CatalogItem> {
  const found = new Map<string, CatalogItem>();
  for (const item of items) {
    const key = `${item.filter} ${item.id}`;
    const other = found.get(key);
    if (other === undefined || standing(item) < standing(other)) found.set(key, item);
  }
  return found;
}

function standing({ name, shortName, section, formatting, description }: CatalogItem): string {
  return [name, shortName, section, formatting, description].join('\u0000');
}

interface CatalogChange {
  /** Filter name and id of the item. */
  readonly name: string;
  readonly change: string;
  readonly before: string | null;
  readonly after: string | null;
}

const fields = [
  ['name', 'name'],
  ['shortName', 'short name'],
  ['section', 'section'],
  ['formatting', 'formatting'],
  ['description', 'description'],
] as const satisfies readonly (readonly [keyof CatalogItem, string])[];

/**
 * Items that appeared, then those of the older catalog that vanished or say something else, a change per field. An id that
 * a list holds twice counts as it stands first.
 */
export function catalogChanges(before: Catalog, after: Catalog): CatalogChange[] {
  const [had, has] = [firstByKey(before), firstByKey(after)];
  const appeared = [...has.keys()]
    .filter((name) => !had.has(name))
    .map((name) => ({ name, change: 'item appeared', before: null, after: null }));
  const others = [...had].flatMap(([name, item]): CatalogChange[] => {
    const now = has.get(name);
    return now === undefined
      ? [{ name, change: 'item vanished', before: null, after: null }]
      : fieldChanges(name, item, now);
  });
  return [...appeared, ...others];
}

function firstByKey(catalog: Catalog): Map<string, CatalogItem> {
  const items = new Map<string, CatalogItem>();
  for (const item of catalog) {
    const key = `${item.filter} ${item.id}`;
    if (!items.has(key)) items.set(key, item);
  }
  return items;
}

function fieldChanges(name: string, before: CatalogItem, after: CatalogItem): CatalogChange[] {
  return fields
    .filter(([field]) => before[field] !== after[field])
    .map(([field, word]) => ({ name, change: `${word} changed`, before: before[field], after: after[field] }));
}
