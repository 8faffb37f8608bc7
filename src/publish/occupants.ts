/**
 * What lies where a copy is to be published, and the refusal to replace anything that is not this warehouse's.
 *
 * Reads the copy itself rather than a note about it, so that it stays right when files are moved by hand.
 */

import { copyFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import type { PublishTarget } from '../config/config.ts';
import { Failure, textOf } from '../errors.ts';
import { inTemporaryFolder } from '../warehouse/directories.ts';
import { statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { CATALOG } from './delta/catalog.ts';
import { listTables, ownerIn, readTable } from './delta/commit.ts';
import { FINALITY } from './lake-table.ts';
import { type LakeTarget, withStore } from './open-store.ts';
import { publisherOf, refuseOthers, statedIdOf, tablesOf, withDatabase } from './other-database.ts';
import type { Database, Publisher } from './other-database.ts';
import { MANIFEST, plainOwner } from './plain.ts';
import { asPublishFailure } from './report.ts';
import { ifThere } from './replacement.ts';

/** A warehouse that is to be published. */
export interface Visitor {
  readonly own: Publisher;
  /** Its tables, as `schema.table`. */
  readonly tables: readonly string[];
  readonly signal: AbortSignal;
}

/** What an open warehouse is to the places it is published to. */
export async function visitorOf(warehouse: Warehouse, signal: AbortSignal): Promise<Visitor> {
  return { own: await publisherOf(warehouse), tables: await tableNames(warehouse), signal };
}

/**
 * Throws unless a target is free or this warehouse's: `WAREHOUSE_FOREIGN` for another warehouse or its copy, another program's tables,
 * a file that is no DuckDB database, or a write-ahead log beside it, which DuckDB would replay into what takes its place;
 * `USAGE_INVALID` for a lake of the other kind; `STORAGE_FAILED` where nobody could look.
 */
export async function refuseOccupant(target: PublishTarget, { own, tables, signal }: Visitor): Promise<void> {
  const { kind, path } = target;
  try {
    refuseOthers(path, await ownerOf(target, own, signal), own);
    if (kind === 'duckdb') await refuseForeign(path, own, async (database) => foreignInSnapshot(database, tables));
    // All tables of a catalog are foreign, as ripen's holds views alone.
    if (kind === 'delta' && target.store === undefined) await refuseForeign(join(path, CATALOG), own, tableNames);
  } catch (error) {
    signal.throwIfAborted();
    throw asPublishFailure(target, error);
  }
}

/** Throws where a target is another warehouse's, or a lake of the other kind; what else is wrong with it is for publishing to say. */
export async function refuseOthersCopy(target: PublishTarget, own: Publisher, signal: AbortSignal): Promise<void> {
  const stated = await ownerOf(target, own, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof Failure && error.code === 'USAGE_INVALID') throw error;
    return null;
  });
  refuseOthers(target.path, stated, own);
}

/** The id of the warehouse whose copy a target is; null for none. Throws `USAGE_INVALID` for a lake of the other kind: whoever reads it would read both. */
async function ownerOf(target: PublishTarget, own: Publisher, signal: AbortSignal): Promise<string | null> {
  return target.kind === 'duckdb' ? readOccupant(target.path, own, statedIdOf) : ownerOfLake(target, signal);
}

async function ownerOfLake(target: LakeTarget, signal: AbortSignal): Promise<string | null> {
  return withStore(target, null, signal, async (store) => {
    const lying = (await listTables(store, FINALITY)).get(FINALITY);
    if (target.kind === 'parquet') {
      if ([...(lying?.keys() ?? [])].some((path) => path.startsWith('_delta_log/'))) throw otherKind(target);
      return plainOwner(store);
    }
    if ((await store.read(MANIFEST)) !== null) throw otherKind(target);
    const read = async (database: Database) => readTable(store, database, FINALITY, lying);
    return ownerIn((await withDatabase(':memory:', 'READ_WRITE', read)).table);
  });
}

function otherKind({ kind, path }: LakeTarget): Failure {
  const [wanted, found] = kind === 'parquet' ? ['plain files', 'Delta tables'] : ['Delta tables', 'plain files'];
  const message = `The folder ${path}, meant for ${wanted}, held ${found} of an earlier configuration.`;
  return new Failure('USAGE_INVALID', message, {
    facts: { path },
    hint: 'Publish to a folder of its own, or remove this one.',
  });
}

/** The tables of a snapshot that are neither the ledger nor its slices nor in the warehouse; all, without a ledger. */
async function foreignInSnapshot(database: Database, known: readonly string[]): Promise<string[]> {
  const names = await tableNames(database);
  if (!names.includes('ripen_internal.migrations')) return names;
  const slices = await database.rows(statement('publish/slices'), [], z.object({ slice: z.string() }));
  const own = new Set([...known, ...slices.map(({ slice }) => `main.${slice}`)]);
  return names.filter((name) => !/^ripen(_internal)?\./.test(name) && !own.has(name));
}

async function tableNames(database: Database): Promise<string[]> {
  return (await tablesOf(database)).map((table) => `${table.schema_name}.${table.table_name}`);
}

async function refuseForeign(
  target: string,
  own: Publisher,
  foreignTables: (database: Database) => Promise<string[]>,
): Promise<void> {
  if ((await ifThere(stat(`${target}.wal`))) !== null) {
    throw new Failure('WAREHOUSE_FOREIGN', `A write-ahead log lay at ${target}.wal; nothing was published there.`, {
      hint: 'Close the session that writes to the published file, or move the .wal file away.',
    });
  }
  const names = (await readOccupant(target, own, foreignTables)) ?? [];
  if (names.length === 0) return;
  throw foreign(target, `it held ${names.length} tables that are not ripen's, such as ${names[0] ?? ''}`);
}

/** How DuckDB begins when the system would not give it the file, whatever is in it: permissions, too many open files. */
const KEPT_OUT = 'IO Error: Cannot open file';

/**
 * Reads a database, or, where a session that holds it for writing keeps others out, a copy of it; null where none is. Throws
 * `WAREHOUSE_FOREIGN` for a file that is no database, and `USAGE_INVALID` for the warehouse itself, which would lose its lock.
 */
async function readOccupant<T>(
  target: string,
  own: Publisher,
  read: (database: Database) => Promise<T>,
): Promise<T | null> {
  const [found, warehouse] = [await ifThere(stat(target)), await ifThere(stat(own.path))];
  // What is no file was found to be no place to write to.
  if (found?.isFile() !== true || found.size === 0) return null;
  if (found.ino === warehouse?.ino && found.dev === warehouse.dev) {
    throw new Failure('USAGE_INVALID', `The publish target ${target} was the warehouse itself.`, {
      hint: 'Publish to a path of its own.',
    });
  }
  try {
    return await withDatabase(target, 'READ_ONLY', read).catch(async (error: unknown) => {
      if (!textOf(error).includes('Could not set lock')) throw error;
      return inTemporaryFolder(async (folder) => {
        const copy = join(folder, 'occupant.duckdb');
        await copyFile(target, copy);
        return withDatabase(copy, 'READ_ONLY', read);
      });
    });
  } catch (error) {
    const isForeign = !(error instanceof Failure) && !textOf(error).startsWith(KEPT_OUT);
    throw isForeign ? foreign(target, textOf(error), error) : error;
  }
}

function foreign(target: string, because: string, cause?: unknown): Failure {
  return new Failure('WAREHOUSE_FOREIGN', `The publish target ${target} was not replaced: ${because}.`, {
    facts: { target },
    hint: 'Publish to a path of its own, or move the file away.',
    cause,
  });
}
