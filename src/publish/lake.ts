/**
 * The lake: the slices as Parquet files, one per period, and the dimension tables beside them.
 *
 * Only files whose content changed are replaced, each whole. The order makes a kill harmless: a journal names what is
 * about to change; files that should be gone go first, so that no reader ever meets two versions of a period; then the
 * new ones, and last the manifest.
 */

import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { PublishTarget } from '../config/config.ts';
import { Failure } from '../errors.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { openLanes } from './lanes.ts';
import type { WantedFile } from './lake-files.ts';
import { copyPeriod } from './lake-sql.ts';
import { pathsOf, type LakeStore, type SliceFiles, type StoredFile } from './lake-store.ts';
import { FINALITY } from './lake-table.ts';
import { findWork, type Work } from './lake-work.ts';
import { openLocalLake } from './local-lake.ts';
import {
  beginReplacing,
  claimLake,
  finishReplacing,
  MANIFEST,
  readManifest,
  type KnownLake,
  type Manifest,
} from './manifest.ts';
import { identityOf, refuseOthers, type Identity } from './identity.ts';
import { countReasons, type CopyReport } from './report.ts';
import { openS3Lake } from './s3-lake.ts';

type Lake = Extract<PublishTarget, { kind: 'parquet' }>;

/** Brings a lake up to the warehouse and says what that took; a lake that is up to date is not written to at all. */
export async function publishLake(
  dropped: SliceFiles | undefined,
  warehouse: Warehouse,
  lake: Lake,
  signal: AbortSignal,
): Promise<CopyReport> {
  const store = await openLake(lake, warehouse, signal);
  try {
    const known = await readManifest(store);
    const own = await identityOf(warehouse);
    refuseOthers(lake.path, known.warehouse, own);
    if (known.text === null && own.id !== null) refuseOthers(lake.path, await claimLake(store, own.id), own);
    const work = await findWork(dropped, warehouse, store, known);
    return await writeWork(work, { warehouse, own, store, known, signal });
  } finally {
    await store.close();
  }
}

/** The files a lake has of a slice, as paths. */
export async function filesOfSlice(
  lake: Lake,
  warehouse: Warehouse,
  files: SliceFiles,
  signal: AbortSignal,
): Promise<string[]> {
  // Opening one on disk makes its folder.
  if (lake.store === undefined && !existsSync(lake.path)) return [];
  const store = await openLake(lake, warehouse, signal);
  try {
    return await pathsOf(store, files);
  } finally {
    await store.close();
  }
}

async function openLake({ path, mode, store }: Lake, warehouse: Warehouse, signal: AbortSignal): Promise<LakeStore> {
  if (store !== undefined) return openS3Lake(path, store, warehouse.path, signal);
  return openLocalLake(path, mode);
}

/** What carrying out works on. */
interface Place {
  readonly warehouse: Warehouse;
  readonly own: Identity;
  readonly store: LakeStore;
  readonly known: KnownLake;
  readonly signal: AbortSignal;
}

async function writeWork(work: Work, place: Place): Promise<CopyReport> {
  const { store, known, own, signal } = place;
  const stale = [...work.stale.keys()];
  if (stale.length > 0) {
    await beginReplacing(
      store,
      stale.map(({ path }) => path),
    );
  }
  if (known.hasCatalog) await removeFormerCatalog(store.root);
  for (const { name } of work.tables) await store.prepare(name);
  await inLanes(store, work.gone, signal, async (path) => store.remove(path));
  const changed = new Set([
    ...work.tables.map(({ name }) => name),
    ...work.gone.map((path) => path.split('/')[0] ?? ''),
  ]);
  for (const folder of changed) await store.settle(folder);
  const isFinality = ({ table }: WantedFile): boolean => table.name === FINALITY;
  const cells = await writeFiles(
    stale.filter((file) => !isFinality(file)),
    place,
  );
  // After the cells it speaks of: what is called final was stored as such before.
  const finality = await writeFiles(stale.filter(isFinality), place);
  for (const { name } of work.tables) await store.settle(name);
  const placed = new Map([...cells, ...finality]);
  await store.settle('');
  const stated = {
    files: work.files.map((file) => asStated(file, placed.get(file.path) ?? work.stored.get(file.path))),
    ...(own.id === null ? {} : { warehouse: own.id }),
  };
  const hasStated = await finishReplacing(store, known, stated, stale.length > 0);
  return {
    files_written: work.stale.size,
    files_removed: work.gone.length,
    because: countReasons(work.stale.values()),
    also_written: hasStated ? [MANIFEST] : [],
  };
}

function asStated(
  { path, rows, sums, content, stamp }: WantedFile,
  file: StoredFile | undefined,
): Manifest['files'][number] {
  const { bytes, etag } = file ?? { bytes: 0, etag: null };
  return {
    path,
    rows,
    sums,
    bytes,
    content,
    ...(etag === null ? {} : { etag }),
    ...(stamp === undefined ? {} : { stamp }),
  };
}

/** The views and the links they read, of a lake from before Delta tables: nothing would bring them up to date any more. */
async function removeFormerCatalog(root: string): Promise<void> {
  await rm(join(root, 'catalog.duckdb'), { force: true });
  await rm(join(root, '_versions'), { recursive: true, force: true });
}

/** One query at a time; files are put in place while the next is being written. Returns them as they lie there. */
async function writeFiles(files: readonly WantedFile[], place: Place): Promise<ReadonlyMap<string, StoredFile>> {
  const { store, signal } = place;
  const placed = new Map<string, StoredFile>();
  const put = async ({ path }: WantedFile): Promise<void> => {
    placed.set(path, await store.place(path));
  };
  try {
    await inLanes(store, files, signal, put, async (file) => writeDraft(file, place));
    return placed;
  } catch (error) {
    for (const { path } of files) if (!placed.has(path)) await store.discard(path);
    throw error;
  }
}

async function writeDraft(file: WantedFile, { warehouse, store }: Place): Promise<void> {
  const rows = await warehouse.run(copyPeriod(file.table, file.period, await store.draft(file.path)));
  if (rows === file.rows) return;
  throw new Failure('STORAGE_FAILED', `The file ${file.path} got ${rows} rows where the period had ${file.rows}.`, {
    facts: { written: rows, expected: file.rows },
    hint: 'Run `ripen publish` again; the old file is still served.',
  });
}

/**
 * Acts on every item, as many at once as the store takes; what has to be done alone `before` each is done in order.
 * After a failure nothing more is begun and what was begun is waited for.
 */
async function inLanes<T>(
  store: LakeStore,
  items: readonly T[],
  signal: AbortSignal,
  act: (item: T) => Promise<void>,
  before: (item: T) => Promise<void> = async () => {},
): Promise<void> {
  const lanes = openLanes(store.atOnce);
  try {
    for (const item of items) {
      signal.throwIfAborted();
      await before(item);
      await lanes.begin(async () => act(item));
    }
    await lanes.finish();
  } finally {
    await lanes.settle();
  }
}
