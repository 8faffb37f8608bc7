/** dbt's `sources.yml` for a copy: tables and columns with their descriptions. */

import { basename } from 'node:path';

import { Document } from 'yaml';

import type { Config } from '../../config/config.ts';
import { Failure } from '../../errors.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { copyAt } from '../copies.ts';
import type { DescribedTable } from '../target.ts';
import { schemaName } from './ddl.ts';

/** Describes the first snapshot, else the first local Delta tables. Throws `USAGE_INVALID` if neither is configured. */
export async function dbtSourcesYaml(
  { publish }: Pick<Config, 'publish'>,
  warehouse: Warehouse,
  signal: AbortSignal,
): Promise<string> {
  const described = [];
  for (const target of publish) described.push(await copyAt(target).describe(warehouse, signal));
  const databases = described
    .toSorted((one, other) => Number(one.lake !== null) - Number(other.lake !== null))
    .flatMap(({ database }) => database ?? []);
  const [database] = databases;
  if (database !== undefined) return sourcesYaml(database.path, database.schemas);
  const message =
    'No copy that dbt could read was configured: neither a snapshot nor local Delta tables.';
  throw new Failure('USAGE_INVALID', message, { hint: 'Add a duckdb target to publish.' });
}

function sourcesYaml(
  path: string,
  schemas: Readonly<Record<string, readonly DescribedTable[]>>,
): string {
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
