/** dbt's `sources.yml` for a copy: tables and columns with their descriptions. */

import { basename, join } from 'node:path';

import { Document } from 'yaml';

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { columnsNow, relationsIn } from '../warehouse/relations.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { schemaName } from './ddl.ts';
import { CATALOG, catalogViews } from './delta/catalog.ts';
import { deltaTables, dimensionTables, type LakeTable } from './lake-table.ts';

type DbtTable = Pick<LakeTable, 'name' | 'comment' | 'columns'>;

/** The ledger's relations for analysts; the others are bookkeeping. */
const ledgerTables = ['finality', 'loads', 'periods', 'projection_errors', 'restatements', 'runs'];

/** Describes the first snapshot, else the first local Delta tables. Throws `USAGE_INVALID` if neither is configured. */
export async function dbtSourcesYaml(
  { publish, slices }: Pick<Config, 'publish' | 'slices'>,
  warehouse: Warehouse,
): Promise<string> {
  const snapshot = publish.find(({ kind }) => kind === 'duckdb');
  if (snapshot !== undefined) {
    const endings = ['', '_final', '_cohorts', '_links', '_maturation', '_projected'];
    const ofSlices = slices.flatMap(({ name }) => endings.map((ending) => `${name}${ending}`));
    return sourcesYaml(snapshot.path, {
      main: await relationsOf(warehouse, 'main', [...ofSlices, ...dimensionTables]),
      ripen: await relationsOf(warehouse, 'ripen', ledgerTables),
    });
  }
  const lake = publish.find((target) => target.kind === 'delta' && target.store === undefined);
  if (lake?.kind === 'delta') {
    const tables = await deltaTables(warehouse);
    return sourcesYaml(join(lake.path, CATALOG), {
      main: [...tables, ...tables.flatMap(catalogViews)],
    });
  }
  const message =
    'No copy that dbt could read was configured: neither a snapshot nor local Delta tables.';
  throw new Failure('USAGE_INVALID', message, { hint: 'Add a duckdb target to publish.' });
}

async function relationsOf(
  warehouse: Warehouse,
  schema: string,
  names: readonly string[],
): Promise<DbtTable[]> {
  const relations = await relationsIn(warehouse, schema);
  const tables: DbtTable[] = [];
  for (const name of names) {
    const relation = relations.get(name);
    if (relation === undefined) continue;
    const columns = await columnsNow(warehouse, schema, relation);
    tables.push({ name, comment: relation.comment, columns });
  }
  return tables;
}

function sourcesYaml(path: string, schemas: Readonly<Record<string, readonly DbtTable[]>>): string {
  const database = schemaName(basename(path, '.duckdb'), new Set());
  const quoting = { database: true, schema: true, identifier: true };
  const sources = Object.entries(schemas).map(([schema, tables]) => ({
    name: schema === 'main' ? 'ripen' : 'ripen_ledger',
    database,
    schema,
    loader: 'ripen',
    quoting,
    tables: tables.map(({ name, comment, columns }) => ({
      name,
      ...described(comment),
      columns: columns.map((column) => ({
        name: unrendered(column.name),
        ...described(column.comment),
        data_type: column.type.toLowerCase(),
        // Some engines reserve words such as `day`, `cost` or `index`.
        quote: true,
      })),
    })),
  }));
  const document = new Document({ version: 2, sources });
  document.commentBefore = ` Sources for dbt 1.10.5 or newer with dbt-duckdb, made by \`ripen publish --dbt\`: make them again after a slice
 or its columns changed. The file is replaced as a whole every night, so dbt attaches it and builds in one of its
 own. In profiles.yml:
   attach: [{ path: ${JSON.stringify(path)}, alias: ${database}, read_only: true }]`;
  return document.toString();
}

/** Escapes braces: dbt renders texts with Jinja, where they begin a command. */
const unrendered = (text: string): string => text.replaceAll('{', '{{ "{" }}');

const described = (comment: string | null): object =>
  comment === null ? {} : { description: unrendered(comment) };
