/** `catalog.duckdb` beside local tables: commented views over their files, always current, never locked by a load. */

import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';

import { inTemporaryFolder } from '../../warehouse/directories.ts';
import { identifier, literal } from '../../warehouse/sql.ts';
import { engineText, queryWords } from '../engine-text.ts';
import { fileColumns, fileText, type LakeColumn, type LakeTable } from '../lake-table.ts';
import { withDatabase } from '../other-database.ts';
import { putInPlace, removeUnfinished, unfinishedPath } from '../replacement.ts';
import { sliceViews, type LakeView } from '../slice-views.ts';
import type { DeltaTable } from './log.ts';
import { columnsIn, isInstant } from './table.ts';

export const CATALOG = 'catalog.duckdb';

const place = { root: '', store: null, isDelta: true, night: null, schema: 'main' };

export const catalogViews = (table: LakeTable): LakeView[] =>
  sliceViews(table, queryWords('duckdb', place));

export async function replaceCatalog(
  root: string,
  tables: readonly { readonly table: LakeTable; readonly now: DeltaTable }[],
  mode: number,
): Promise<void> {
  const path = join(root, CATALOG);
  // DuckDB binds every view to its files, so they must be in place.
  const views = [
    ...tables.map(({ table, now }): LakeView => ({ ...table, rows: rowsOf(table, now, root) })),
    ...tables.flatMap(({ table }) => catalogViews(table)),
  ];
  try {
    // A target's path may have a `?`, and DuckDB looks for the log of a database in such a path elsewhere (measured).
    await inTemporaryFolder(async (folder) => {
      const made = join(folder, CATALOG);
      await withDatabase(made, 'READ_WRITE', async (database) => {
        const statements = views.map((view) => engineText('duckdb', 'view', place, view));
        await database.run(statements.join('\n'));
        await database.run('checkpoint');
      });
      await copyFile(made, unfinishedPath(path));
    });
    await putInPlace(path, mode);
  } finally {
    await removeUnfinished(path);
  }
}

/** Returns the query of a table's files, with the date that only their folders state. A query of one day opens one file. */
function rowsOf(table: LakeTable, now: DeltaTable, root: string): string {
  const files = [...now.files.keys()].map((path) =>
    fileText(join(root, table.name, decodeURIComponent(path))),
  );
  // DuckDB skips files by their path only if this column is called `filename` (measured). The other name is free: no column has
  // a comma in its name, as the service's lists have no escape for one.
  const isTaken = table.columns.some(({ name }) => name.toLowerCase() === 'filename');
  const pathColumn = isTaken ? 'file,path' : 'filename';
  const cell = (column: LakeColumn): string => {
    const name = identifier(column.name);
    if (files.length === 0) return `cast(null as ${column.type}) as ${name}`;
    if (column.name === table.key) {
      const date = `regexp_extract(${identifier(pathColumn)}, ${literal(`/${table.key}=([^/]*)/[^/]*$`)}, 1)`;
      return `cast(${date} as ${column.type}) as ${name}`;
    }
    return isInstant(column) ? `timezone('UTC', ${name}) as ${name}` : name;
  };
  const cells = `select\n    ${table.columns.map(cell).join(',\n    ')}`;
  if (files.length === 0) return `${cells}\nwhere false`;
  // With a schema, a column that a file lacks is NULL, and no file is opened to find out.
  const numbers = new Map(columnsIn(now.metaData).map(([name], place) => [name, place + 1]));
  const numbered = fileColumns(table).map((column) => {
    const type = isInstant(column) ? 'TIMESTAMPTZ' : column.type;
    return `${numbers.get(column.name) ?? 0}: {name: ${literal(column.name)}, type: ${literal(type)}, default_value: null}`;
  });
  return `${cells}\nfrom read_parquet([${files.join(', ')}], schema = map {${numbered.join(', ')}}, filename = ${literal(pathColumn)})`;
}
