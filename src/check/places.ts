/** The places a run would write to, on disk and in object stores, looked at without writing. */

import { randomUUID } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import type { Config, PublishTarget } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { sharedText, SHARED_HINT } from '../publish/delta/publish-delta.ts';
import { unreadableNames, UNREADABLE_HINT } from '../publish/delta/table.ts';
import { FINALITY } from '../publish/lake-table.ts';
import { obstacleInDirectory, unwritablePlaces } from '../publish/places.ts';
import { openStore } from '../publish/open-store.ts';
import { countText } from '../terminal/measure.ts';
import { warehouseFindings, type Checking } from './warehouse.ts';
import { findingOf, placed, type Finding, type Remark } from './finding.ts';

/** A store that is there answers a list within this; a dead address keeps nobody longer. */
const BUCKET_PATIENCE_MS = 10_000;

/** Destinations that could not be written, are another warehouse's or do not answer, and a warehouse that could not be used. */
export async function placeFindings(config: Config, checking: Checking): Promise<Finding[]> {
  const { stated, signal } = checking;
  // A path that is wrong by itself, which was told, says nothing of the disk.
  const isWarehouseSound = stated.isSound(['warehouse']);
  const [unwritable, warehouse, hidden, folders, ...buckets] = await Promise.all([
    isWarehouseSound ? unwritablePlaces(config) : [],
    isWarehouseSound ? warehouseFindings(config, checking) : [],
    Promise.all(config.publish.map(hiddenRemarks)),
    Promise.all(config.publish.map(async (target) => folderFindings(target, config))),
    ...config.publish.map(async (target) => bucketFindings(target, signal)),
  ]);
  return [
    ...unwritable.map(findingOf),
    ...warehouse,
    ...placed(hidden.flat(), null, stated),
    ...folders.flat(),
    ...config.publish.flatMap((target) => nameFindings(target, config)),
    ...buckets.flat(),
  ];
}

/** Of a file's rights those of its group and of all others to read it. */
const READ_BY_GROUP = 0o040;
const READ_BY_ALL = 0o004;

/** A copy for others below a folder they may not enter. */
async function hiddenRemarks({ kind, path, mode }: PublishTarget, index: number): Promise<Remark[]> {
  const reading = mode & READ_BY_ALL || mode & READ_BY_GROUP;
  if (path.includes('://') || reading === 0) return [];
  const entering = reading >> 2;
  for (let folder = dirname(path), above = ''; folder !== above; folder = dirname(folder)) {
    above = dirname(folder);
    const rights = await stat(folder).then(
      (found) => found.mode,
      () => null,
    );
    if (rights === null || (rights & entering) !== 0) continue;
    return [
      {
        severity: 'warning',
        path: ['publish', index, kind],
        message: `others may read ${path}, but not enter the folder ${folder}`,
        hint: `Publish into another folder, or let others enter it: chmod ${reading === READ_BY_ALL ? 'o' : 'g'}+x ${folder}; or state mode: "0600".`,
      },
    ];
  }
  return [];
}

/** Folders of tables in a lake on disk, and those inside them, in which publishing could put no file: the first by its name. */
async function folderFindings({ kind, path }: PublishTarget, { slices }: Config): Promise<Finding[]> {
  if (kind === 'duckdb' || path.includes('://') || (await obstacleInDirectory(path)) !== null) return [];
  const tables = [...slices.map(({ name }) => name), FINALITY].map((name) => join(path, name));
  const inner = tables.map(async (table) => (await foldersIn(table)).map((name) => join(table, name)));
  const folders = [...tables, ...(await Promise.all(inner)).flat()];
  const obstacles = await Promise.all(
    folders.map(async (folder) => ({ folder, reason: await obstacleInDirectory(folder) })),
  );
  const [first, ...others] = obstacles.filter(({ reason }) => reason !== null && reason !== 'ENOENT');
  if (first === undefined) return [];
  const more = others.length === 0 ? '' : `, as in ${countText(others.length, 'folder')} more`;
  const message = `The ${kind} ${path} could not be written whole: ${first.folder} (${first.reason})${more}`;
  const hint = 'Give this user the right to write there, or move away what is not a folder.';
  return [findingOf(new Failure('STORAGE_FAILED', message, { hint }))];
}

const foldersIn = async (path: string): Promise<string[]> =>
  readdir(path, { withFileTypes: true }).then(
    (entries) => entries.filter((entry) => entry.isDirectory()).map(({ name }) => name),
    () => [],
  );

async function bucketFindings(target: PublishTarget, signal: AbortSignal): Promise<Finding[]> {
  if (target.kind === 'duckdb' || target.store === undefined) return [];
  const patience = AbortSignal.timeout(BUCKET_PATIENCE_MS);
  try {
    const both = AbortSignal.any([signal, patience]);
    const store = await openStore(target, join(tmpdir(), `ripen-reading-${randomUUID()}`), both);
    try {
      await store.list(FINALITY);
      // Whether two publishers at one moment would both be noticed; puts one small object, twice, and removes it.
      if (target.kind === 'parquet' || (await store.isExclusive())) return [];
      return [warningOf(sharedText(target.path), SHARED_HINT)];
    } finally {
      await store.close();
    }
  } catch (thrown) {
    signal.throwIfAborted();
    return [findingOf(patience.aborted ? silentBucket(target.path) : thrown)];
  }
}

/** Delta tables that some engines cannot read for the names of columns. */
function nameFindings({ kind, path }: PublishTarget, { slices }: Config): Finding[] {
  if (kind !== 'delta') return [];
  const columns = slices.map(({ name, dimensions, metrics }) => ({ name, columns: [...dimensions, ...metrics] }));
  const unreadable = unreadableNames(path, columns);
  return unreadable === null ? [] : [warningOf(unreadable, UNREADABLE_HINT)];
}

function warningOf(message: string, hint: string): Finding {
  return { severity: 'warning', code: null, slice: null, setting: null, place: null, message, hint };
}

function silentBucket(path: string): Failure {
  const seconds = BUCKET_PATIENCE_MS / 1000;
  return new Failure('STORAGE_FAILED', `The object store of ${path} did not answer within ${seconds}s`, {
    hint: 'Check the endpoint and the network.',
  });
}
