/** What lies where copies are to be published and would not be replaced; nothing is written to find out. */

import { stat } from 'node:fs/promises';
import { join } from 'node:path';

import type { Config, PublishTarget } from '../config/config.ts';
import type { Failure } from '../errors.ts';
import { CATALOG } from '../publish/delta/catalog-file.ts';
import { copiesOfOthers, type Identity } from '../publish/identity.ts';
import { foreignInCatalog, foreignInSnapshot, refuseForeign, type ForeignTables } from '../publish/occupant.ts';
import { asPublishFailure } from '../publish/publish.ts';

/** The warehouse that is to be published, and the tables it has, as `schema.table`. */
interface Published {
  readonly own: Identity;
  readonly tables: ReadonlySet<string>;
}

/** The failure that publishing to each target would end with, for those that hold what is not this warehouse's. */
export async function occupantsOf(
  { publish }: Pick<Config, 'publish'>,
  { own, tables }: Published,
  signal: AbortSignal,
): Promise<Failure[]> {
  const looking = { mayCopy: false, signal };
  const failures: Failure[] = [];
  for (const target of publish) {
    const others = await copiesOfOthers([target], own, looking);
    failures.push(...others);
    const database = await databaseOf(target, tables);
    if (others.length > 0 || database === null) continue;
    try {
      await refuseForeign(database.path, own.path, database.foreignTables, looking);
    } catch (error) {
      signal.throwIfAborted();
      failures.push(asPublishFailure(target, error));
    }
  }
  return failures;
}

/**
 * The DuckDB file that every publish replaces, and what in it would be another's; null where there is none on this
 * machine, and for a directory in the place of a snapshot, which was told as no place to write to.
 */
async function databaseOf(
  { kind, path }: PublishTarget,
  tables: ReadonlySet<string>,
): Promise<{ readonly path: string; readonly foreignTables: ForeignTables } | null> {
  if (kind === 'parquet' || path.includes('://')) return null;
  if (kind === 'delta') return { path: join(path, CATALOG), foreignTables: foreignInCatalog };
  const isDirectory = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isDirectory ? null : { path, foreignTables: foreignInSnapshot(tables) };
}
