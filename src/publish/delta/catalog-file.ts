/** `catalog.duckdb` beside tables: commented views over their files, always current, never locked by a load. */

import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { asScript } from '../../warehouse/sql.ts';
import { withDatabase } from '../other-database.ts';
import { putInPlace, removeUnfinished, unfinishedPath } from '../replacement.ts';

export const CATALOG = 'catalog.duckdb';

/** A catalog that is to be put at a path, with these rights. */
interface NewCatalog {
  readonly path: string;
  /** Every view is bound to the files, so they must be in place. */
  readonly statements: readonly string[];
  readonly mode: number;
}

/**
 * Replaces the catalog by a new one. It is made in `drafts`, a folder beside the warehouse that is cleared: DuckDB looks for the
 * log of a database below a folder with a `?`, which a target may have and a warehouse may not, elsewhere (measured).
 */
export async function replaceCatalog({ path, statements, mode }: NewCatalog, drafts: string): Promise<void> {
  const clear = async (): Promise<void> => {
    await removeUnfinished(path);
    await rm(drafts, { recursive: true, force: true });
  };
  await clear();
  try {
    await mkdir(drafts, { mode: 0o700 });
    const made = join(drafts, CATALOG);
    await withDatabase(made, 'READ_WRITE', async (database) => {
      await database.run(asScript(statements));
      await database.run('checkpoint');
    });
    await copyFile(made, unfinishedPath(path));
    await putInPlace(path, mode);
  } finally {
    await clear();
  }
}
