/**
 * What lies where a database is to be published, and the refusal to replace anything that is not ripen's.
 *
 * Reads the file itself rather than a note about it, so that it stays right when files are moved by hand. A session
 * that holds the file for writing keeps others out: then a copy made by a child process is read instead.
 */

import { stat } from 'node:fs/promises';

import * as z from 'zod';

import { Failure, textOf } from '../errors.ts';
import { statement } from '../warehouse/sql.ts';
import { tablesOf } from './contents.ts';
import { copyDatabase } from './copy.ts';
import { withDatabase, type Database } from './other-database.ts';
import { ifThere, removeUnfinished, unfinishedPath } from './replacement.ts';

/** Names, as `schema.table`, of tables ripen did not make. */
export type ForeignTables = (database: Database) => Promise<string[]>;

/** How hard to look: a copy of a file that is held open may be made beside it, or nothing may be written at all. */
export interface Looking {
  readonly mayCopy: boolean;
  readonly signal: AbortSignal;
}

/** A copy taken while another process writes a checkpoint can be torn; the next one is whole. */
const MOST_PROBES = 3;

/** How DuckDB begins when the system would not give it the file, whatever is in it: permissions, too many open files. */
const KEPT_OUT = 'IO Error: Cannot open file';

/** The tables of a snapshot that are neither the ledger nor its slices nor in the warehouse; all, without a ledger. */
export function foreignInSnapshot(known: ReadonlySet<string>): ForeignTables {
  return async (database) => {
    const names = (await tablesOf(database)).map((table) => `${table.schema_name}.${table.table_name}`);
    if (!names.includes('ripen.migrations')) return names;
    const slices = await database.rows(statement('publish/slices'), [], z.object({ slice: z.string() }));
    const own = new Set([...known, ...slices.map(({ slice }) => `main.${slice}`)]);
    return names.filter((name) => !name.startsWith('ripen.') && !own.has(name));
  };
}

/** Every table of a catalog: ripen's holds views alone. */
export const foreignInCatalog: ForeignTables = async (database) => {
  const tables = await tablesOf(database);
  return tables.map((table) => `${table.schema_name}.${table.table_name}`);
};

/**
 * Throws unless the target is free or ripen's own: `WAREHOUSE_FOREIGN` for another's tables, a file that is no DuckDB
 * database, or a write-ahead log beside it, which DuckDB would replay into what takes its place; `USAGE_INVALID` for
 * the warehouse itself; the error of the file system, or DuckDB's about it, when nobody could look.
 */
export async function refuseForeign(
  target: string,
  warehouse: string,
  foreignTables: ForeignTables,
  looking: Looking,
): Promise<void> {
  const found = await ifThere(stat(target));
  const own = await ifThere(stat(warehouse));
  if (found !== null && found.ino === own?.ino && found.dev === own.dev) {
    throw new Failure('USAGE_INVALID', `The publish target ${target} was the warehouse itself.`, {
      hint: 'Publish to a path of its own.',
    });
  }
  if ((await ifThere(stat(`${target}.wal`))) !== null) {
    throw new Failure('WAREHOUSE_FOREIGN', `A write-ahead log lay at ${target}.wal; nothing was published there.`, {
      hint: 'Close the session that writes to the published file, or move the .wal file away.',
    });
  }
  if (found === null || (found.isFile() && found.size === 0)) return;
  if (!found.isFile()) throw foreign(target, 'it was not a file');
  const foreignNames = (await askOccupant(target, foreignTables, looking)) ?? [];
  if (foreignNames.length > 0) {
    throw foreign(
      target,
      `it held ${foreignNames.length} tables that are not ripen's, such as ${foreignNames[0] ?? ''}`,
    );
  }
}

/**
 * Asks a database that others may hold open; null for one that is, where no copy may be made. Throws `WAREHOUSE_FOREIGN`
 * for a file that is none.
 */
export async function askOccupant<T>(
  target: string,
  question: (database: Database) => Promise<T>,
  { mayCopy, signal }: Looking,
): Promise<T | null> {
  try {
    return await withDatabase(target, 'READ_ONLY', question);
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (textOf(error).startsWith(KEPT_OUT)) throw error;
    if (!textOf(error).includes('Could not set lock')) throw foreign(target, textOf(error), error);
  }
  if (!mayCopy) return null;
  for (let probe = 1; ; probe += 1) {
    try {
      await copyDatabase(target, unfinishedPath(target), signal);
      return await withDatabase(unfinishedPath(target), 'READ_ONLY', question);
    } catch (error) {
      if (error instanceof Failure || signal.aborted) throw error;
      if (probe === MOST_PROBES) throw foreign(target, textOf(error), error);
    } finally {
      await removeUnfinished(target);
    }
  }
}

function foreign(target: string, because: string, cause?: unknown): Failure {
  return new Failure('WAREHOUSE_FOREIGN', `The publish target ${target} was not replaced: ${because}.`, {
    facts: { target },
    hint: 'Publish to a path of its own, or move the file away.',
    cause,
  });
}
