/** The catalog in the warehouse: what filters-data listed, with ripen's own reading of each metric beside it. */

import * as z from 'zod';

import type { Catalog, CatalogItem } from '../model/catalog.ts';
import { formatColumnType } from '../model/column-type.ts';
import { metricItems, metricOf } from '../model/metric.ts';
import { recordSchemaChange } from '../warehouse/runs.ts';
import { instant, timestamp } from '../warehouse/shapes.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

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

const itemShape =
  '[{"filter":"VARCHAR","id":"VARCHAR","name":"VARCHAR","short_name":"VARCHAR","section":"VARCHAR","formatting":"VARCHAR","description":"VARCHAR"}]';

/** Replaces the catalog and the tables made of it, in one transaction; items that came or went are schema changes. */
export async function replaceCatalog(
  warehouse: Warehouse,
  catalog: Catalog,
  runId: string,
  seenAt: Date,
): Promise<void> {
  const before = await readCatalog(warehouse);
  const rows = catalog.map(({ shortName, ...item }) => ({ ...item, short_name: shortName }));
  await warehouse.transact(async () => {
    await warehouse.run('delete from ripen.catalog');
    await warehouse.run(
      `insert into ripen.catalog
       select i.*, $2::timestamp
       from (select unnest(from_json($1::json, '${itemShape}'), recursive := true)) as i`,
      [JSON.stringify(rows), timestamp(seenAt)],
    );
    await replaceMetrics(warehouse, catalog);
    await warehouse.run(
      `create or replace table main.dimensions as
       select distinct id, name, section, description from ripen.catalog where filter = 'dimensions' order by id`,
    );
    await warehouse.run(
      `create or replace table main.apps as
       select distinct id as app_token, name as app, description from ripen.catalog where filter = 'apps' order by id`,
    );
    for (const list of ['countries', 'currencies']) {
      await warehouse.run(
        `create or replace table main.${list} as
         select distinct id, name from ripen.catalog where filter = '${list}' order by id`,
      );
    }
    for (const [object, text] of tableComments) await warehouse.run(`comment on ${object} is '${text}'`);
    if (before.length > 0) await recordChanges(warehouse, before, catalog, runId);
  });
}

async function replaceMetrics(warehouse: Warehouse, catalog: Catalog): Promise<void> {
  const items = metricItems(catalog);
  const known = [...items.values()].map((item) => {
    // The item alone decides, so that thousands of metrics do not each search the whole catalog.
    const metric = metricOf(item.id, [item]);
    return {
      id: item.id,
      family: metric.family,
      horizon_days: metric.horizonMs === null ? null : metric.horizonMs / 86_400_000,
      additive: metric.additive,
      type: formatColumnType(metric.type),
    };
  });
  await warehouse.run(
    `create or replace table main.metrics as
     with known as (
         select unnest(from_json($1::json, '[{"id":"VARCHAR","family":"VARCHAR","horizon_days":"DOUBLE","additive":"BOOLEAN","type":"VARCHAR"}]'), recursive := true)
     ),
     items as (
         select distinct on (id) id, name, short_name, section, formatting, description, filter
         from ripen.catalog
         where id in (select id from known)
         order by id, filter
     )
     select i.id, i.name, i.short_name, i.section, i.formatting, i.description, k.family, k.horizon_days, k.additive, k.type
     from items as i
     join known as k on k.id = i.id
     order by i.id`,
    [JSON.stringify(known)],
  );
}

const tableComments: readonly (readonly [string, string])[] = [
  ['table main.metrics', 'Metrics a report can request, from filters-data, with how their values settle'],
  ['column main.metrics.family', 'Which horizon rule applies'],
  ['column main.metrics.horizon_days', 'Days after a period ends until the value is final; NULL means never'],
  ['column main.metrics.additive', 'Whether values add up over rows'],
  ['column main.metrics.type', 'SQL type of its columns unless a slice says otherwise'],
  ['column main.metrics.id', 'What to use in requests'],
  ['column main.metrics.name', 'Readable name'],
  ['column main.metrics.short_name', 'Abbreviated name, may be empty'],
  ['column main.metrics.section', 'Section the service puts it in'],
  ['column main.metrics.formatting', 'integer, money, decimal, percent and others'],
  ['column main.metrics.description', 'What it means, as the service says it'],
  ['table main.dimensions', 'Dimensions a report can be grouped by, from filters-data'],
  ['column main.dimensions.id', 'What to use in requests'],
  ['column main.dimensions.name', 'Readable name'],
  ['column main.dimensions.section', 'Section the service puts it in'],
  ['column main.dimensions.description', 'What it means, as the service says it'],
  ['table main.apps', 'Apps the account can see, from filters-data'],
  ['column main.apps.app_token', 'Id of the app in the service'],
  ['column main.apps.app', 'Name of the app'],
  ['column main.apps.description', 'What the service says of it'],
  ['table main.countries', 'Countries, from filters-data'],
  ['column main.countries.id', 'What filters and the dimension country_code use'],
  ['column main.countries.name', 'Readable name'],
  ['table main.currencies', 'Currencies, from filters-data'],
  ['column main.currencies.id', 'What the parameter currency takes'],
  ['column main.currencies.name', 'Readable name'],
];

async function recordChanges(warehouse: Warehouse, before: Catalog, after: Catalog, runId: string): Promise<void> {
  const key = (item: CatalogItem): string => `${item.filter} ${item.id}`;
  const [had, has] = [new Set(before.map(key)), new Set(after.map(key))];
  const change = (name: string, what: string): Promise<void> =>
    recordSchemaChange(warehouse, { runId, object: 'catalog', name, change: what, before: null, after: null });
  for (const name of has) if (!had.has(name)) await change(name, 'item appeared');
  for (const name of had) if (!has.has(name)) await change(name, 'item vanished');
}
