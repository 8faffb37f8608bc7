/** The catalog in the warehouse: what filters-data listed, with ripen's own reading of each metric beside it. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { MS_PER_DAY } from '../model/calendar.ts';
import { catalogTables, type Catalog, type CatalogItem } from '../model/catalog.ts';
import { formatColumnType } from '../model/column-type.ts';
import { metricItems, metricOf } from '../model/metric.ts';
import { identifier } from '../warehouse/quoting.ts';
import { instant, timestamp } from '../warehouse/shapes.ts';
import { statement } from '../warehouse/statements.ts';
import { storable } from '../warehouse/storable.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { catalogChanges } from './catalog-changes.ts';
import { CATALOG_ENDING, catalogComments, createCatalogTable } from './catalog-schema.ts';

const itemRow = z.object({
  filter: z.string(),
  id: z.string(),
  name: z.string(),
  short_name: z.string(),
  section: z.string(),
  formatting: z.string(),
  description: z.string(),
});

/** The catalog as last seen; empty before the first run. */
export async function readCatalog(warehouse: Warehouse): Promise<Catalog> {
  const rows = await warehouse.rows(
    'select filter, id, name, short_name, section, formatting, description from ripen.catalog order by filter, id',
    [],
    itemRow,
  );
  return rows.map(({ filter, id, name, short_name: shortName, section, formatting, description }): CatalogItem => ({
    filter,
    id,
    name,
    shortName,
    section,
    formatting,
    description,
  }));
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

/**
 * Replaces the catalog and the tables made of it, in one transaction; what came, went or changed is recorded as schema
 * changes. Throws `WAREHOUSE_FOREIGN`, with nothing changed, when a table or view that is not the catalog's has a name it
 * needs.
 */
export async function replaceCatalog(
  warehouse: Warehouse,
  catalog: Catalog,
  runId: string,
  seenAt: Date,
): Promise<void> {
  await refuseForeign(warehouse);
  const before = await readCatalog(warehouse);
  const items = catalog.map((item) => storableItem(item));
  const rows = items.map(({ shortName, ...item }) => ({ ...item, short_name: shortName }));
  const changes = before.length === 0 ? [] : catalogChanges(before, items);
  await warehouse.transact(async () => {
    await warehouse.run('delete from ripen.catalog');
    await warehouse.run(statement('catalog/insert_items'), [JSON.stringify(rows), timestamp(seenAt)]);
    for (const name of catalogTables) {
      const parameters = name === 'metrics' ? [JSON.stringify(knownMetrics(items))] : [];
      await warehouse.run(createCatalogTable(name), parameters);
      for (const comment of catalogComments(name)) await warehouse.run(comment);
    }
    if (changes.length > 0) {
      await warehouse.run(statement('catalog/record_changes'), [JSON.stringify(changes), runId]);
    }
  });
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

/** How ripen reads each metric of the catalog, and from which of the lists that hold it. */
function knownMetrics(catalog: Catalog): object[] {
  return [...metricItems(catalog).values()].map((item) => {
    // The item alone decides, so that thousands of metrics do not each search the whole catalog.
    const metric = metricOf(item.id, [item]);
    return {
      filter: item.filter,
      id: item.id,
      family: metric.family,
      horizon_days: metric.horizonMs === null ? null : metric.horizonMs / MS_PER_DAY,
      additive: metric.additive,
      type: formatColumnType(metric.type),
    };
  });
}
