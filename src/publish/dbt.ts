/** `sources.yml` of dbt for the copy it is to read: tables and columns with their descriptions. */

import { basename, join } from 'node:path';

import { Document } from 'yaml';

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import type { Slice } from '../model/slice.ts';
import { columnsNow, relationsIn } from '../warehouse/relations.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { schemaName } from './ddl.ts';
import { CATALOG, catalogViews } from './delta/catalog.ts';
import { deltaTables, dimensionTables, type LakeTable } from './lake-table.ts';

type DbtTable = Pick<LakeTable, 'name' | 'comment' | 'columns'>;

/** What the ledger states for analysts; the rest of it is bookkeeping. */
const ledgerTables = ['finality', 'loads', 'periods', 'projection_errors', 'restatements', 'runs'];

/** Describes the first snapshot, else the first local Delta tables; `USAGE_INVALID` when neither is configured. */
export async function dbtSourcesYaml(
  { publish, slices }: Pick<Config, 'publish' | 'slices'>,
  warehouse: Warehouse,
): Promise<string> {
  const snapshot = publish.find(({ kind }) => kind === 'duckdb');
  if (snapshot !== undefined) {
    const main = await relationsOf(warehouse, 'main', namesOf(slices));
    const ledger = await relationsOf(warehouse, 'ripen', ledgerTables);
    return sourcesYaml(snapshot.path, main, ledger);
  }
  const lake = publish.find((target) => target.kind === 'delta' && target.store === undefined);
  if (lake?.kind === 'delta') {
    const tables = await deltaTables(warehouse, lake.keepReleased);
    return sourcesYaml(join(lake.path, CATALOG), [...tables, ...tables.flatMap(catalogViews)], []);
  }
  const message = 'No copy that dbt could read was configured: neither a snapshot nor local Delta tables.';
  throw new Failure('USAGE_INVALID', message, { hint: 'Add a duckdb target to publish.' });
}

const namesOf = (slices: readonly Slice[]): string[] => [
  ...slices.flatMap(({ name }) =>
    ['', '_final', '_cohorts', '_links', '_maturation', '_projected'].map((ending) => `${name}${ending}`),
  ),
  ...dimensionTables,
];

/** Those of a schema that are there under these names, with every column as it is. */
async function relationsOf(warehouse: Warehouse, schema: string, names: readonly string[]): Promise<DbtTable[]> {
  const found = await relationsIn(warehouse, schema);
  const tables = names
    .flatMap((name) => found.get(name) ?? [])
    .map(async (relation): Promise<DbtTable> => {
      const { name, comment } = relation;
      return { name, comment, columns: await columnsNow(warehouse, schema, relation) };
    });
  return Promise.all(tables);
}

/** Words that some engine takes for its own among the service's names; whatever is no plain word is quoted too. */
const troubleNames = new Set('hour day week month year quarter cost index value name label level'.split(' '));
const isTrouble = (name: string): boolean => troubleNames.has(name) || !/^[a-z_][a-z0-9_]*$/.test(name);

const LINE_WIDTH = 120;

function sourcesYaml(path: string, main: readonly DbtTable[], ledger: readonly DbtTable[]): string {
  const database = schemaName(basename(path, '.duckdb'), new Set());
  const source = (name: string, schema: string, description: string, tables: readonly DbtTable[]): object => {
    const quoting = { database: true, schema: true, identifier: true };
    return { name, description, database, schema, loader: 'ripen', quoting, tables: tables.map(tableNode) };
  };
  const reports = 'Attribution reports, one table per slice, with partners, links and the catalog of metrics.';
  const bookkeeping = 'What was requested, what was loaded, what moved, and which cells are final.';
  const sources = [source('ripen', 'main', reports, main)];
  if (ledger.length > 0) sources.push(source('ripen_ledger', 'ripen', bookkeeping, ledger));
  const document = new Document({ version: 2, sources });
  document.commentBefore = [
    'Sources for dbt 1.10.5 or newer with dbt-duckdb, made by `ripen publish --dbt`: make them again after a slice',
    'or its columns changed. The file is replaced as a whole every night, so dbt attaches it and builds in one of its',
    'own. In profiles.yml:',
    `  attach: [{ path: ${JSON.stringify(path)}, alias: ${database}, read_only: true }]`,
  ]
    .map((line) => ` ${line}`)
    .join('\n');
  return document.toString({ lineWidth: LINE_WIDTH });
}

function tableNode({ name, comment, columns }: DbtTable): object {
  return {
    name,
    ...described(comment),
    columns: columns.map((column) => ({
      name: unrendered(column.name),
      ...described(column.comment),
      data_type: column.type.toLowerCase(),
      ...(isTrouble(column.name) ? { quote: true } : {}),
    })),
  };
}

/** dbt renders texts with Jinja, where braces begin a command. */
function unrendered(text: string): string {
  return text.replaceAll('{', '{{ "{" }}');
}

const described = (comment: string | null): object => (comment === null ? {} : { description: unrendered(comment) });
