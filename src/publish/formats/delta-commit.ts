/**
 * Reads Delta tables and commits their next version. Of two publishers from one base, one wins: a commit is placed only if none
 * is there. A version that does not follow the newest one begins with a checkpoint, so that every table can have the number of
 * the night.
 */

import { randomUUID } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';

import * as z from 'zod';

import { Failure, textOf } from '../../errors.ts';
import { version as program } from '../../config/version.ts';
import { jsonOf, literal } from '../../warehouse/sql.ts';
import type { Database } from '../places/database.ts';
import { draftText, eachAtOnce, type LakeStore, type StoredFile } from '../places/store.ts';
import { fileText } from '../tables.ts';
import type { CopyOrigin, Publishing, TargetOf } from '../copy.ts';
import {
  type Action,
  actionsIn,
  checkpointPath,
  commitPath,
  type DeltaTable,
  garbled,
  HINT,
  logFiles,
  OWNER,
  PROGRAM,
  replay,
} from './delta-log.ts';

/** Versions per checkpoint: 400 nights cost a reader 809 requests without checkpoints, 18 with them (measured). */
export const CHECKPOINT_EVERY = 10;

export interface StoredTable {
  readonly name: string;
  /** -1 if it has none. */
  readonly version: number;
  /** Null if there is none yet, or its log is damaged. */
  readonly table: DeltaTable | null;
  readonly damage: Failure | null;
  /** Whether the log names its newest checkpoint, or none. */
  readonly hasHint: boolean;
  /** By path relative to the table. */
  readonly storedFiles: StoredFiles;
}

type StoredFiles = ReadonlyMap<string, StoredFile>;

export const unwritten: Omit<StoredTable, 'name'> = {
  version: -1,
  table: null,
  damage: null,
  hasHint: true,
  storedFiles: new Map(),
};

export function originIn({ table }: StoredTable): CopyOrigin | null {
  const warehouse = table?.metaData.configuration[OWNER] ?? null;
  const { version: number, lastUpdated: atMs } = table?.txns.get(PROGRAM) ?? {};
  const publish = number === undefined || !atMs ? null : { number, atMs };
  return warehouse === null ? null : { warehouse, publish };
}

/** Lists files by top folder, relative to it. */
export async function listTables(
  store: LakeStore,
  folder = '',
): Promise<ReadonlyMap<string, StoredFiles>> {
  const tables = new Map<string, Map<string, StoredFile>>();
  for (const [path, file] of await store.list(folder)) {
    const [name = '', ...rest] = path.split('/');
    const files = tables.get(name) ?? new Map<string, StoredFile>();
    if (rest.length > 0) tables.set(name, files.set(rest.join('/'), file));
  }
  return tables;
}

const hintShape = jsonOf(z.object({ version: z.number() }));

/** Returns the tables in the order of the files listed. Throws `STORAGE_FAILED` or `WAREHOUSE_FOREIGN` if it cannot go on. */
export async function readTables(
  store: LakeStore,
  database: Database,
  listed: Iterable<readonly [name: string, StoredFiles]>,
): Promise<StoredTable[]> {
  const logs = [...listed].map(([name, storedFiles]) => {
    const { commits, checkpoints } = logFiles(storedFiles.keys());
    return { name, storedFiles, commits, checkpoints, checkpoint: checkpoints.at(-1) ?? -1 };
  });
  type Log = (typeof logs)[number];
  // Removed files would count as present if a commit were read in part.
  const assertWhole = ({ name, storedFiles }: Log, path: string, bytes: number) => {
    const listedBytes = storedFiles.get(path)?.bytes ?? null;
    if (bytes === listedBytes) return;
    const message = `The store listed ${name}/${path} and did not have it whole.`;
    throw new Failure('STORAGE_FAILED', message, {
      facts: { target: store.root, path: `${name}/${path}`, bytes: listedBytes },
      hint: 'Run `ripen publish` again once the store returns what it lists.',
    });
  };
  const begun = logs.filter(({ checkpoint }) => checkpoint >= 0);
  const files = await eachAtOnce(store, begun, async (log) => {
    const path = checkpointPath(log.checkpoint);
    const file = await store.fetch(`${log.name}/${path}`);
    // As it can be read whole, an error of the engine is one of its content, unless memory is short.
    assertWhole(log, path, (await readFile(file)).length);
    return file;
  });
  const texts = await checkpointTexts(database, files);
  const textOfLog = new Map(begun.map((log, index) => [log, texts.get(files[index] ?? '') ?? '']));
  return eachAtOnce(store, logs, async (log) => {
    const { name, storedFiles, commits, checkpoint } = log;
    const after = commits.filter((commit) => commit > checkpoint);
    const version = after.at(-1) ?? checkpoint;
    const stored: StoredTable = { ...unwritten, name, version, storedFiles };
    if (version < 0) return stored;
    const hint = storedFiles.has(HINT) ? await store.read(`${name}/${HINT}`) : null;
    const contents: { readonly path: string; readonly text: string }[] = [];
    const checkpointText = textOfLog.get(log);
    if (checkpointText !== undefined)
      contents.push({ path: checkpointPath(checkpoint), text: checkpointText });
    for (const commit of after) {
      const path = commitPath(commit);
      const text = (await store.read(`${name}/${path}`)) ?? '';
      assertWhole(log, path, Buffer.byteLength(text));
      contents.push({ path, text });
    }
    const place = `${store.root}/${name}`;
    try {
      const expected = version - checkpoint;
      if (after.length !== expected)
        throw garbled(`${place}/_delta_log`, `${after.length} of ${expected} commits`);
      const actions = contents.flatMap(({ path, text }) => actionsIn(`${place}/${path}`, text));
      const table = replay(name, null, actions);
      // Engines fail if the checkpoint that the hint names is missing (measured with delta-kernel). A sweep removes older ones.
      const hasHint = hint === null || hintShape.safeParse(hint).data?.version === checkpoint;
      return { ...stored, table, hasHint };
    } catch (error) {
      if (!(error instanceof Failure && error.code === 'STORAGE_FAILED')) throw error;
      return { ...stored, damage: error };
    }
  });
}

/** Ten times as fast as one statement a file, and little memory (measured). */
const CHECKPOINTS_AT_ONCE = 100;

/** In the footer of ripen's checkpoints: their actions as text, which is read six times as fast as their rows (measured). */
const ACTIONS = 'ripen.actions';

const actionRow = z.object({ filename: z.string(), action: z.string() });

/** Returns the lines of each file, or what the engine says of one that it cannot read. */
async function checkpointTexts(
  database: Database,
  files: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  const read = async (paths: readonly string[], query: (list: string) => string) => {
    const rows = await database.rows(query(`[${paths.map(fileText).join(', ')}]`), [], actionRow);
    for (const { filename, action } of rows)
      texts.set(filename, `${texts.get(filename) ?? ''}${action}\n`);
  };
  for (let start = 0; start < files.length; start += CHECKPOINTS_AT_ONCE) {
    const batch = files.slice(start, start + CHECKPOINTS_AT_ONCE);
    try {
      await read(
        batch,
        (list) =>
          `select file_name as filename, decode(value) as action from parquet_kv_metadata(${list}) where decode(key) = ${literal(ACTIONS)}`,
      );
      const others = batch.filter((file) => !texts.has(file));
      // Other engines' checkpoints may have other columns.
      if (others.length > 0)
        await read(
          others,
          (list) =>
            `select filename, to_json(c)::varchar as action from read_parquet(${list}, union_by_name = true) as c`,
        );
    } catch (error) {
      if (error instanceof Failure && error.code === 'ENGINE_MEMORY') throw error;
      for (const file of batch) {
        const isAlone = batch.length === 1;
        const found = isAlone ? [[file, textOf(error)]] : await checkpointTexts(database, [file]);
        for (const [path = '', text = ''] of found) texts.set(path, text);
      }
    }
  }
  return texts;
}

export interface PublishContext extends Publishing {
  readonly store: LakeStore;
  readonly target: TargetOf<'delta'>;
  readonly version: number;
  readonly nowMs: number;
  /** Files removed up to this instant are deleted; -Infinity: none is. */
  readonly keptSinceMs: number;
}

/** Throws `STORAGE_FAILED` if another program committed meanwhile. */
export async function commitVersion(
  context: PublishContext,
  { name, version: before, table, hasHint }: StoredTable,
  changes: readonly Action[],
): Promise<DeltaTable> {
  const { store, version, nowMs, keptSinceMs, publish } = context;
  const txn = { appId: PROGRAM, version: publish.number, lastUpdated: publish.atMs };
  const actions: Action[] = [{ txn }, ...changes];
  const next = replay(name, table, actions);
  const tombstones = [...next.tombstones.values()].filter(
    ({ deletionTimestamp }) => (deletionTimestamp ?? 0) >= keptSinceMs,
  );
  const checkpoint: Action[] = [
    { protocol: next.protocol },
    { metaData: next.metaData },
    ...[...next.txns.values()].map((transaction) => ({ txn: transaction })),
    ...tombstones.map((file) => ({ remove: { ...file, dataChange: false } })),
    ...[...next.files.values()].map((file) => ({ add: { ...file, dataChange: false } })),
  ];
  // Needs nothing of the log before it, which may be missing or damaged.
  const begins = version !== before + 1 || (table === null && version > 0) || !hasHint;
  const isDue = version > 0 && version % CHECKPOINT_EVERY === 0;
  const placeNew = async (path: string) => {
    if (await store.placeNew(path)) return;
    const taken = `${store.root}/${name}`;
    const message = `Another program committed version ${version} to ${taken} during this publish.`;
    throw new Failure('STORAGE_FAILED', message, {
      facts: { table: taken, version },
      hint: 'Publish there from one process at a time; `ripen publish` brings the tables up to this warehouse.',
    });
  };
  if (begins) await placeNew(await draftCheckpoint(context, name, checkpoint));
  const commitInfo = {
    timestamp: nowMs,
    operation: 'WRITE',
    engineInfo: `ripen/${program}`,
    // If the response is lost, the commit is read back and compared.
    txnId: randomUUID(),
  };
  const path = `${name}/${commitPath(version)}`;
  const lines = [{ commitInfo }, ...actions].map((line) => `${JSON.stringify(line)}\n`);
  await draftText(store, path, lines.join(''));
  await placeNew(path);
  if (!begins && isDue) await store.place(await draftCheckpoint(context, name, checkpoint));
  if (begins || isDue) {
    const hint = JSON.stringify({ version, size: checkpoint.length });
    await draftText(store, `${name}/${HINT}`, hint);
    await store.place(`${name}/${HINT}`);
  }
  return next;
}

const CHECKPOINT_COLUMNS = `{
    add: 'STRUCT(path VARCHAR, partitionValues MAP(VARCHAR, VARCHAR), size BIGINT, modificationTime BIGINT, dataChange BOOLEAN, stats VARCHAR, tags MAP(VARCHAR, VARCHAR))',
    remove: 'STRUCT(path VARCHAR, deletionTimestamp BIGINT, dataChange BOOLEAN, extendedFileMetadata BOOLEAN, partitionValues MAP(VARCHAR, VARCHAR), size BIGINT)',
    txn: 'STRUCT(appId VARCHAR, version BIGINT, lastUpdated BIGINT)',
    metaData: 'STRUCT(id VARCHAR, "name" VARCHAR, description VARCHAR, format STRUCT(provider VARCHAR, options MAP(VARCHAR, VARCHAR)), schemaString VARCHAR, partitionColumns VARCHAR[], configuration MAP(VARCHAR, VARCHAR), createdTime BIGINT)',
    protocol: 'STRUCT(minReaderVersion INTEGER, minWriterVersion INTEGER, readerFeatures VARCHAR[], writerFeatures VARCHAR[])'
}`;

async function draftCheckpoint(
  { store, warehouse, version }: PublishContext,
  name: string,
  actions: readonly Action[],
) {
  const path = `${name}/${checkpointPath(version)}`;
  const lines = actions.map((action) => JSON.stringify(action));
  const text = lines.join('\n');
  const maxBytes = Math.max(...lines.map((line) => Buffer.byteLength(line))) + 1024;
  const json = await store.draft(`${path}.json`);
  await writeFile(json, text);
  const draft = await store.draft(path);
  await warehouse.run(`copy (
select add, remove, txn, metaData, protocol
from read_json(${literal(json)}, format = 'newline_delimited', maximum_object_size = ${maxBytes}, columns = ${CHECKPOINT_COLUMNS})
) to ${literal(draft)} (format parquet, compression zstd, kv_metadata {${literal(ACTIONS)}: ${literal(text)}})`);
  await rm(json);
  return path;
}
