/** `catalog.duckdb` beside local tables: commented views over their files, always current, never locked by a load. */

import { createHash } from 'node:crypto';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import { inTemporaryFolder } from '../../warehouse/directories.ts';
import { identifier, literal } from '../../warehouse/sql.ts';
import { withDatabase } from '../places/database.ts';
import { replaceFile } from '../places/replacement.ts';
import { fileText, type LakeTable } from '../tables.ts';
import type { DescribedTable } from '../copy.ts';
import { type EngineLake, engineText, queryWords } from '../words/engine-text.ts';
import { sliceViews } from '../words/slice-views.ts';
import { columnsIn, isInstant } from './delta-form.ts';
import type { DeltaTable } from './delta-log.ts';

export const CATALOG = 'catalog.duckdb';

const lake: EngineLake = {
  root: '',
  store: null,
  files: 'Delta tables',
  night: null,
  schema: 'main',
  tables: [],
};

export const catalogViews = (table: LakeTable): DescribedTable[] =>
  sliceViews(table, queryWords('duckdb', lake));

const digestRow = z.object({ digest: z.string() });

/** Replaces the catalog if its views differ, as they do after most nights. Returns whether they did. */
export async function replaceCatalog(
  root: string,
  tables: readonly { readonly table: LakeTable; readonly now: DeltaTable }[],
  mode: number,
): Promise<boolean> {
  const path = join(root, CATALOG);
  // DuckDB binds every view to its files, so they must be in place.
  const views = [
    ...tables.map(({ table, now }) => ({ ...table, rows: rowsOf(table, now, root) })),
    ...tables.flatMap(({ table }) => catalogViews(table)),
  ];
  const statements = views.map((view) => engineText('duckdb', 'views', lake, view)).join('\n');
  const digest = createHash('md5').update(statements).digest('hex');
  const [current] = await withDatabase(path, 'READ_ONLY', async (database) =>
    database.rows('select ripen_digest() as digest', [], digestRow),
  ).catch(() => []);
  if (current?.digest === digest) return false;
  await replaceFile(path, mode, async (unfinished) =>
    // A target's path may have a `?`, and DuckDB looks for the log of a database in such a path elsewhere (measured).
    inTemporaryFolder(async (folder) => {
      const built = join(folder, CATALOG);
      await withDatabase(built, 'READ_WRITE', async (database) => {
        const macro = `create macro ripen_digest() as ${literal(digest)};`;
        // Each statement by itself would wait for the disk.
        await database.run(`begin;\n${statements}\n${macro}\ncommit; checkpoint;`);
      });
      await copyFile(built, unfinished);
    }),
  );
  return true;
}

function rowsOf({ name: folder, columns }: LakeTable, now: DeltaTable, root: string): string {
  const files = [...now.files.keys()].map((path) =>
    fileText(join(root, folder, decodeURIComponent(path))),
  );
  const cells = columns.map((column) => {
    const name = identifier(column.name);
    if (files.length === 0) return `cast(null as ${column.type}) as ${name}`;
    return isInstant(column) ? `timezone('UTC', ${name}) as ${name}` : name;
  });
  const selected = `select\n    ${cells.join(',\n    ')}`;
  if (files.length === 0) return `${selected}\nwhere false`;
  // With a schema, a column that a file lacks is NULL, and no file is opened to find out.
  const numbers = new Map(columnsIn(now.metaData).map(([name], index) => [name, index + 1]));
  const numbered = columns.map((column) => {
    const type = isInstant(column) ? 'TIMESTAMPTZ' : column.type;
    return `${numbers.get(column.name) ?? 0}: {name: ${literal(column.name)}, type: ${literal(type)}, default_value: null}`;
  });
  return `${selected}\nfrom read_parquet([${files.join(', ')}], schema = map {${numbered.join(', ')}})`;
}
