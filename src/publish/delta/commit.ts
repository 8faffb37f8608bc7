/**
 * Tables as they stand in a store, and their next version.
 *
 * A commit is one file that is put where none is: of two publishers from one base one gets the place. A version that does
 * not follow the newest one (a table that joins later, one that missed nights) begins with a checkpoint, as a log does
 * whose older part was cleaned away; so every table can bear the number of the night, and versions between are not there.
 */

import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';

import * as z from 'zod';

import { literal } from '../../warehouse/sql.ts';
import { Failure, textOf } from '../../errors.ts';
import { version as program } from '../../version.ts';
import type { Database } from '../other-database.ts';
import { draftText, type LakeStore, type StoredFile } from '../store.ts';
import {
  actionsIn,
  checkpointPath,
  commitPath,
  garbled,
  HINT,
  logFiles,
  newestVersion,
  replay,
  tableActions,
  type Action,
  type LogFiles,
  type DeltaTable,
} from './log.ts';

/** A checkpoint each so many versions: 400 nights without cost a reader 809 requests, with it 18 (measured). */
export const CHECKPOINT_EVERY = 10;

/** A table of a store as it was found. */
export interface StoredTable {
  readonly name: string;
  /** -1 for none. */
  readonly version: number;
  /** Null for none. */
  readonly table: DeltaTable | null;
  readonly log: LogFiles;
  /** Every file there, by path relative to the table. */
  readonly lying: ReadonlyMap<string, StoredFile>;
}

/** The files below each folder of a store, or of one folder, by path relative to it. */
export async function listTables(store: LakeStore, folder = ''): Promise<ReadonlyMap<string, StoredTable['lying']>> {
  const tables = new Map<string, Map<string, StoredFile>>();
  for (const [path, file] of await store.list(folder)) {
    const [name = '', ...rest] = path.split('/');
    const files = tables.get(name) ?? new Map<string, StoredFile>();
    if (rest.length > 0) tables.set(name, files.set(rest.join('/'), file));
  }
  return tables;
}

/** Reads the newest version of a table of which these files lie there. Throws `STORAGE_FAILED` or `WAREHOUSE_FOREIGN` for one that nobody can go on with. */
export async function readTable(
  store: LakeStore,
  database: Database,
  name: string,
  lying: StoredTable['lying'] = new Map(),
): Promise<StoredTable> {
  const log = logFiles(lying.keys());
  const newest = newestVersion(name, log);
  if (newest === null) return { name, version: -1, table: null, log, lying };
  const { version, checkpoint, after } = newest;
  const actions =
    checkpoint === null ? [] : await readCheckpoint(store, database, `${name}/${checkpointPath(checkpoint)}`);
  for (const each of after) {
    const path = commitPath(each);
    const text = await readCommit(store, `${name}/${path}`, lying.get(path)?.bytes ?? null);
    actions.push(...actionsIn(`${store.root}/${name}/${path}`, text));
  }
  return { name, version, table: replay(name, null, actions), log, lying };
}

/** The version that every table of a night gets, and when that is. */
export interface NightVersion {
  readonly version: number;
  readonly nowMs: number;
  /** What left earlier is no longer kept; -Infinity: everything is. */
  readonly keptSinceMs: number;
}

/**
 * Commits the next version of a table, with a checkpoint where it is the last one. Throws `STORAGE_FAILED`, and changes nothing, where
 * another program committed meanwhile.
 */
export async function commitVersion(
  {
    store,
    warehouse,
    version,
    nowMs,
    keptSinceMs,
  }: NightVersion & { readonly store: LakeStore; readonly warehouse: Database },
  { name, version: before, table }: StoredTable,
  actions: readonly Action[],
  isLast = false,
): Promise<DeltaTable> {
  const next = replay(name, table, actions);
  const checkpointed = { name, version, actions: tableActions(next, keptSinceMs) };
  const follows = version === before + 1;
  const placeNew = async (path: string): Promise<void> => {
    if (!(await store.placeNew(path))) throw taken(`${store.root}/${name}`, version);
  };
  // A log may begin with a checkpoint, as one does whose older part was cleaned away.
  if (!follows) await placeNew(await draftCheckpoint(store, warehouse, checkpointed));
  const info = {
    timestamp: nowMs,
    operation: 'WRITE',
    operationParameters: { mode: 'Overwrite' },
    ...(before < 0 ? {} : { readVersion: before }),
    isolationLevel: 'Serializable',
    isBlindAppend: false,
    engineInfo: `ripen/${program}`,
    // Tells this commit from any other: a lost answer is read back and compared.
    txnId: randomUUID(),
  };
  const path = `${name}/${commitPath(version)}`;
  await draftText(store, path, [{ commitInfo: info }, ...actions].map((line) => `${JSON.stringify(line)}\n`).join(''));
  await placeNew(path);
  // The checkpoint of an empty table is what its removal leaves until the end.
  const isDue = (version > 0 && version % CHECKPOINT_EVERY === 0) || isLast;
  if (follows && isDue) await store.place(await draftCheckpoint(store, warehouse, checkpointed));
  if (!follows || isDue) {
    const hint = `${name}/${HINT}`;
    await draftText(store, hint, JSON.stringify({ version, size: checkpointed.actions.length }));
    await store.place(hint);
  }
  return next;
}

function taken(table: string, version: number): Failure {
  const message = `Another program committed version ${version} to ${table} while this one was at work.`;
  return new Failure('STORAGE_FAILED', message, {
    facts: { table, version },
    hint: 'Publish there from one process at a time; `ripen publish` brings the tables up to this warehouse.',
  });
}

const actionRow = z.object({ action: z.string() });

async function readCheckpoint(store: LakeStore, database: Database, path: string): Promise<Action[]> {
  const file = literal(await store.fetch(path));
  const where = `${store.root}/${path}`;
  const reading = database.rows(`select to_json(c)::varchar as action from read_parquet(${file}) as c`, [], actionRow);
  const rows = await reading.catch((error: unknown) => {
    // DuckDB told of the disk or the memory, not of what the file holds.
    throw /^(IO|FATAL|Out of Memory) Error/.test(textOf(error)) ? error : garbled(where, error);
  });
  return actionsIn(where, rows.map(({ action }) => action).join('\n'));
}

/** The columns of a checkpoint, in the types the protocol gives them. */
const CHECKPOINT_COLUMNS = `{
    add: 'STRUCT(path VARCHAR, partitionValues MAP(VARCHAR, VARCHAR), size BIGINT, modificationTime BIGINT, dataChange BOOLEAN, stats VARCHAR, tags MAP(VARCHAR, VARCHAR))',
    remove: 'STRUCT(path VARCHAR, deletionTimestamp BIGINT, dataChange BOOLEAN, extendedFileMetadata BOOLEAN, partitionValues MAP(VARCHAR, VARCHAR), size BIGINT)',
    metaData: 'STRUCT(id VARCHAR, "name" VARCHAR, description VARCHAR, format STRUCT(provider VARCHAR, options MAP(VARCHAR, VARCHAR)), schemaString VARCHAR, partitionColumns VARCHAR[], configuration MAP(VARCHAR, VARCHAR), createdTime BIGINT)',
    protocol: 'STRUCT(minReaderVersion INTEGER, minWriterVersion INTEGER, readerFeatures VARCHAR[], writerFeatures VARCHAR[])'
}`;

/** Writes a checkpoint where it can be put in place; returns where that is. */
async function draftCheckpoint(
  store: LakeStore,
  database: Database,
  { name, version, actions }: Pick<StoredTable, 'name' | 'version'> & { readonly actions: readonly Action[] },
): Promise<string> {
  const path = `${name}/${checkpointPath(version)}`;
  const lines = actions.map((action) => JSON.stringify(action));
  const longest = Math.max(...lines.map((line) => Buffer.byteLength(line)));
  const json = await store.draft(`${path}.json`);
  await writeFile(json, lines.join('\n'));
  const draft = await store.draft(path);
  await database.run(`copy (
select add, remove, metaData, protocol
from read_json(${literal(json)}, format = 'newline_delimited', maximum_object_size = ${longest + MARGIN_BYTES}, columns = ${CHECKPOINT_COLUMNS})
) to ${literal(draft)} (format parquet, compression zstd)`);
  await rm(json);
  return path;
}

const MARGIN_BYTES = 1024;

/** The text of a commit that is listed with so many bytes. Throws `STORAGE_FAILED` where it is not whole: files it removed would count as there. */
async function readCommit(store: LakeStore, path: string, bytes: number | null): Promise<string> {
  const text = await store.read(path);
  if (text !== null && (bytes === null || Buffer.byteLength(text) === bytes)) return text;
  throw new Failure('STORAGE_FAILED', `The store listed ${path} and did not have it whole.`, {
    facts: { target: store.root, path, bytes },
    hint: 'Run `ripen publish` again once the store gives what it lists.',
  });
}

/** Names the warehouse that a table is of. */
export const OWNER = 'ripen.warehouse';

/** The id of the warehouse that a table states it is of; null for none. */
export const ownerIn = (table: DeltaTable | null): string | null => table?.metaData.configuration[OWNER] ?? null;
