/** `catalog.duckdb` beside local tables: commented views over their files, always current, never locked by a load. */

import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { asScript, identifier, literal } from '../../warehouse/sql.ts';
import { fileColumns, fileText, inDuckdb, sliceViews, view } from '../lake-sql.ts';
import type { LakeColumn, LakeTable } from '../lake-table.ts';
import { withDatabase } from '../other-database.ts';
import { putInPlace, removeUnfinished, unfinishedPath } from '../replacement.ts';
import type { DeltaTable } from './log.ts';
import { fieldIdsIn, isInstant } from './table.ts';

export const CATALOG = 'catalog.duckdb';

/** A table of the warehouse and the Delta table it is. */
export interface PublishedTable {
  readonly table: LakeTable;
  readonly now: DeltaTable;
}

/**
 * Replaces the catalog of the tables below a root by a new one. It is made in `drafts`, a folder beside the warehouse that is
 * cleared: DuckDB looks for the log of a database below a folder with a `?`, which a target may have and a warehouse may not,
 * elsewhere (measured).
 */
export async function replaceCatalog(
  root: string,
  tables: readonly PublishedTable[],
  { mode, drafts }: { readonly mode: number; readonly drafts: string },
): Promise<void> {
  const path = join(root, CATALOG);
  const clear = async (): Promise<void> => {
    await removeUnfinished(path);
    await rm(drafts, { recursive: true, force: true });
  };
  await clear();
  try {
    await mkdir(drafts, { mode: 0o700 });
    const made = join(drafts, CATALOG);
    await withDatabase(made, 'READ_WRITE', async (database) => {
      await database.run(asScript(catalogViews(root, tables)));
      await database.run('checkpoint');
    });
    await copyFile(made, unfinishedPath(path));
    await putInPlace(path, mode);
  } finally {
    await clear();
  }
}

/** Every view is bound to the files, so they must be in place. */
function catalogViews(root: string, tables: readonly PublishedTable[]): string[] {
  const plain = tables.flatMap(({ table, now }) => {
    const files = [...now.files.keys()].map((path) => join(root, table.name, decodeURIComponent(path)));
    return view(table, 'main', files.length === 0 ? noRows(table) : rowsOf(table, now, files));
  });
  const views = tables.flatMap(({ table }) => sliceViews(table, inDuckdb));
  return [...plain, ...views.flatMap((each) => view(each, 'main', each.rows))];
}

function noRows({ columns }: LakeTable): string {
  const nulls = columns.map(({ name, type }) => `cast(null as ${type}) as ${identifier(name)}`);
  return `select\n    ${nulls.join(',\n    ')}\nwhere false`;
}

/** The rows of files, with the date that only their folders state. A query of one day opens one file. */
function rowsOf(table: LakeTable, now: DeltaTable, files: readonly string[]): string {
  const path = identifier(pathColumn(table));
  const cell = (column: LakeColumn): string => {
    const name = identifier(column.name);
    if (column.name === table.key) {
      const date = `regexp_extract(${path}, ${literal(`/${table.key}=([^/]*)/[^/]*$`)}, 1)`;
      return `cast(${date} as ${column.type}) as ${name}`;
    }
    return isInstant(column) ? `timezone('UTC', ${name}) as ${name}` : name;
  };
  return `select\n    ${table.columns.map(cell).join(',\n    ')}\nfrom ${readFiles(table, now, files)}`;
}

/** The column a view takes a file's path from. A file is passed over by its path under the first name alone (measured). */
function pathColumn({ columns }: LakeTable): string {
  // No column has a comma in its name, as the service's lists have no escape for one.
  return columns.some(({ name }) => name.toLowerCase() === 'filename') ? 'file,path' : 'filename';
}

/** The reading of files with and without each column: a missing one is NULL, and none is opened to find out. */
function readFiles(table: LakeTable, { metaData }: DeltaTable, files: readonly string[]): string {
  const numberOf = fieldIdsIn(metaData);
  const numbered = fileColumns(table).map((column) => {
    const type = isInstant(column) ? 'TIMESTAMPTZ' : column.type;
    return `${numberOf.get(column.name) ?? 0}: {name: ${literal(column.name)}, type: ${literal(type)}, default_value: null}`;
  });
  const listed = files.map(fileText).join(', ');
  return `read_parquet([${listed}], schema = map {${numbered.join(', ')}}, filename = ${literal(pathColumn(table))})`;
}
