/** dbt's `sources.yml` for a copy: tables and columns with their descriptions. */

import { basename } from 'node:path';

import { Document } from 'yaml';

import type { Config } from '../../config/config.ts';
import { Failure } from '../../errors.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { copyAt } from '../copies.ts';
import { schemaName } from './ddl.ts';

/** Describes the first snapshot, else the first local Delta tables. Throws `USAGE_INVALID` without either. */
export async function dbtSourcesYaml(
  { publish }: Pick<Config, 'publish'>,
  warehouse: Warehouse,
  signal: AbortSignal,
): Promise<string> {
  const copies = [];
  for (const target of publish) copies.push(await copyAt(target).describe(warehouse, signal));
  const readable = copies.filter(({ database }) => database !== null);
  const { database } = readable.find(({ lake }) => lake === null) ?? readable[0] ?? {};
  if (!database) {
    const message = 'No copy that dbt can read is configured: a snapshot, or local Delta tables.';
    throw new Failure('USAGE_INVALID', message, { hint: 'Add a duckdb target to publish.' });
  }
  const { path, schemas } = database;
  const alias = schemaName(basename(path, '.duckdb'), new Set());
  const sources = Object.entries(schemas).map(([schema, tables]) => ({
    name: schema === 'main' ? 'ripen' : 'ripen_ledger',
    database: alias,
    schema,
    loader: 'ripen',
    quoting: { database: true, schema: true, identifier: true },
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
   attach: [{ path: ${JSON.stringify(path)}, alias: ${alias}, read_only: true }]`;
  return document.toString();
}

/** Escapes braces: dbt renders texts with Jinja, where they begin a command. */
const unrendered = (text: string) => text.replaceAll('{', '{{ "{" }}');

const described = (comment: string | null) =>
  comment === null ? {} : { description: unrendered(comment) };
