/** `catalog.duckdb` beside tables: commented views over their files, always current, never locked by a load. */

import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { asScript } from '../../warehouse/sql.ts';
import { withDatabase } from '../other-database.ts';
import { putInPlace, removeUnfinished, unfinishedPath } from '../replacement.ts';

export const CATALOG = 'catalog.duckdb';

/**
 * Replaces the catalog by one made of these statements; every view is bound to the files, so they must be in place. It is
 * made in a folder of its own, as DuckDB looks for the log of a database below a folder with a `?` elsewhere (measured).
 */
export async function replaceCatalog(path: string, statements: readonly string[], mode: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ripen-catalog-'));
  await removeUnfinished(path);
  try {
    const made = join(folder, CATALOG);
    await withDatabase(made, 'READ_WRITE', async (database) => {
      await database.run(asScript(statements));
      await database.run('checkpoint');
    });
    await copyFile(made, unfinishedPath(path));
    await putInPlace(path, mode);
  } finally {
    await removeUnfinished(path);
    await rm(folder, { recursive: true, force: true });
  }
}
