/** `catalog.duckdb` beside a lake: commented views over its files, always current, never locked by a load. */

import { createHash } from 'node:crypto';

import { withDatabase } from './other-database.ts';
import { putInPlace, removeUnfinished, unfinishedPath } from './replacement.ts';

export const CATALOG = 'catalog.duckdb';

/** Equal for equal views. */
export function catalogContent(statements: readonly string[]): string {
  return createHash('sha256').update(statements.join(';\n')).digest('hex').slice(0, 32);
}

/** Replaces the catalog by one made of these statements; every view is bound to the files, so they must be in place. */
export async function replaceCatalog(path: string, statements: readonly string[], mode: number): Promise<void> {
  await removeUnfinished(path);
  try {
    await withDatabase(unfinishedPath(path), 'READ_WRITE', async (database) => {
      for (const sql of statements) await database.run(sql);
      await database.run('checkpoint');
    });
    await putInPlace(path, mode);
  } finally {
    await removeUnfinished(path);
  }
}
