/**
 * What lies where a copy is to be published, and the refusal to replace anything that is not this warehouse's.
 *
 * Reads the copy itself rather than a note about it, so that it stays right when files are moved by hand. A session
 * that holds a database for writing keeps others out: then a copy made by a child process is read instead.
 */

import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import * as z from 'zod';

import type { Config, PublishTarget } from '../config/config.ts';
import { Failure, textOf } from '../errors.ts';
import { statement } from '../warehouse/sql.ts';
import { tablesOf } from './contents.ts';
import { copyDatabase } from './copy.ts';
import { CATALOG } from './delta/catalog.ts';
import { committedBy } from './delta/commit.ts';
import { refuseOthers, statedIdOf, type Identity } from './identity.ts';
import { FINALITY } from './lake-table.ts';
import { withDatabase, type Database } from './other-database.ts';
import { MANIFEST, plainOwner } from './plain.ts';
import { ifThere, removeUnfinished, unfinishedPath } from './replacement.ts';
import { asPublishFailure } from './report.ts';
import { openStore, type LakeTarget } from './open-store.ts';
import type { Store } from './store.ts';

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
    const names = await tableNames(database);
    if (!names.includes('ripen.migrations')) return names;
    const slices = await database.rows(statement('publish/slices'), [], z.object({ slice: z.string() }));
    const own = new Set([...known, ...slices.map(({ slice }) => `main.${slice}`)]);
    return names.filter((name) => !name.startsWith('ripen.') && !own.has(name));
  };
}

/** The tables of a database, as `schema.table`; all of a catalog's are foreign, as ripen's holds views alone. */
export async function tableNames(database: Database): Promise<string[]> {
  return (await tablesOf(database)).map((table) => `${table.schema_name}.${table.table_name}`);
}

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
  const names = (await readOccupant(target, foreignTables, looking)) ?? [];
  if (names.length === 0) return;
  throw foreign(target, `it held ${names.length} tables that are not ripen's, such as ${names[0] ?? ''}`);
}

/**
 * Reads a database that others may hold open; null for one that is, where no copy may be made. Throws `WAREHOUSE_FOREIGN`
 * for a file that is none.
 */
export async function readOccupant<T>(
  target: string,
  read: (database: Database) => Promise<T>,
  { mayCopy, signal }: Looking,
): Promise<T | null> {
  try {
    return await withDatabase(target, 'READ_ONLY', read);
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (textOf(error).startsWith(KEPT_OUT)) throw error;
    if (!textOf(error).includes('Could not set lock')) throw foreign(target, textOf(error), error);
  }
  if (!mayCopy) return null;
  for (let probe = 1; ; probe += 1) {
    try {
      await copyDatabase(target, unfinishedPath(target), signal);
      return await withDatabase(unfinishedPath(target), 'READ_ONLY', read);
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

/** What tells, below a target of a kind, that the other kind lies there: whoever reads the place would read both. */
export function signOfOtherKind(what: string): string | null {
  if (what === 'delta') return MANIFEST;
  return what === 'parquet' ? `${FINALITY}/_delta_log` : null;
}

export function ofOtherKind(what: string, path: string): Failure {
  const [wanted, found] = what === 'parquet' ? ['plain files', 'Delta tables'] : ['Delta tables', 'plain files'];
  const message = `The folder ${path}, meant for ${wanted}, held ${found} of an earlier configuration.`;
  return new Failure('USAGE_INVALID', message, {
    facts: { path },
    hint: 'Publish to a folder of its own, or remove this one.',
  });
}

/** Throws `USAGE_INVALID` where tables of the other kind lie in a store. */
export async function refuseOtherKind(store: Store, { kind, path }: LakeTarget): Promise<void> {
  const sign = signOfOtherKind(kind) ?? '';
  const isOther = kind === 'delta' ? (await store.read(sign)) !== null : (await store.list(sign)).size > 0;
  if (isOther) throw ofOtherKind(kind, path);
}

/** Throws `WAREHOUSE_FOREIGN` for a target that is another warehouse or a copy of one, `USAGE_INVALID` for a prefix that holds the other kind. */
async function refuseForeignCopy(target: PublishTarget, own: Identity, looking: Looking): Promise<void> {
  const { kind, path } = target;
  if (kind === 'duckdb') {
    const found = await ifThere(stat(path));
    const isDatabase = found?.isFile() === true && found.size > 0;
    // What is no database, or cannot be read, is for publishing to report.
    const stated = isDatabase ? await readOccupant(path, statedIdOf, looking).catch(() => null) : null;
    return refuseOthers(path, stated, own);
  }
  // Nothing is drafted here.
  const store = await openStore(target, join(tmpdir(), `ripen-reading-${randomUUID()}`), looking.signal);
  try {
    // Of a folder its path was judged before.
    if (!store.isOnDisk) await refuseOtherKind(store, target);
    refuseOthers(path, await (kind === 'delta' ? committedBy(store, FINALITY) : plainOwner(store)), own);
  } finally {
    await store.close();
  }
}

/** A failure for each target that is another warehouse's or holds the other kind; of what cannot be read publishing says so. */
export async function foreignCopies(
  targets: readonly PublishTarget[],
  own: Identity,
  looking: Looking,
): Promise<Failure[]> {
  const failures: Failure[] = [];
  for (const target of targets) {
    const refused = await refuseForeignCopy(target, own, looking).then(
      () => null,
      (error: unknown) => error,
    );
    looking.signal.throwIfAborted();
    const isRefusal = refused instanceof Failure && ['WAREHOUSE_FOREIGN', 'USAGE_INVALID'].includes(refused.code);
    if (isRefusal) failures.push(refused);
  }
  return failures;
}

/** The failure that publishing to each target would end with, for those that hold what is not this warehouse's; tables as `schema.table`. */
export async function foreignOccupants(
  { publish }: Pick<Config, 'publish'>,
  { own, tables }: { readonly own: Identity; readonly tables: ReadonlySet<string> },
  signal: AbortSignal,
): Promise<Failure[]> {
  const looking = { mayCopy: false, signal };
  const failures: Failure[] = [];
  for (const target of publish) {
    const others = await foreignCopies([target], own, looking);
    failures.push(...others);
    const { kind, path } = target;
    if (others.length > 0 || kind === 'parquet' || path.includes('://')) continue;
    const isDirectory = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    // A directory in the place of a snapshot was found to be no place to write to.
    if (kind === 'duckdb' && isDirectory) continue;
    const [database, foreign] =
      kind === 'delta' ? [join(path, CATALOG), tableNames] : [path, foreignInSnapshot(tables)];
    await refuseForeign(database, own.path, foreign, looking).catch((error: unknown) => {
      signal.throwIfAborted();
      failures.push(asPublishFailure(target, error));
    });
  }
  return failures;
}
