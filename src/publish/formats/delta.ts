/**
 * Publishes every slice, dimension table and the ledger's tables as Delta tables, each by one commit. All tables get the same
 * version number, `ripen_finality` last: a version that it has is a complete night of every table, and a killed publish leaves
 * versions that it lacks. Nothing beside the logs is read or trusted. A table whose log is damaged begins anew. Surplus files and
 * emptied tables are deleted after the time for which older versions are kept, by the store's clock.
 */

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';

import { warningEvent } from '../../events.ts';
import type { BlockContent } from '../contents.ts';
import { notOwn, readOrigin, withDatabase } from '../places/database.ts';
import { withStore } from '../places/disk.ts';
import { UNFINISHED } from '../places/replacement.ts';
import { eachAtOnce, type LakeStore } from '../places/store.ts';
import { FINALITY, lakeTables, type LakeTable } from '../tables.ts';
import type { Copy, CopyReport, Publishing, TargetOf } from '../target.ts';
import { CATALOG, catalogViews, replaceCatalog } from './delta-catalog.ts';
import { commitVersion, listTables, originIn, readTable } from './delta-commit.ts';
import type { PublishContext, StoredTable } from './delta-commit.ts';
import { blockIn, fileStatistics, formOf } from './delta-form.ts';
import { tagsOf, unitIn, unreadableNames, withUnit } from './delta-form.ts';
import { checkpointPath, commitPath, HINT, LOG, logFiles } from './delta-log.ts';
import type { Action, Add } from './delta-log.ts';
import { MANIFEST, otherKind } from './parquet.ts';

/** Returns the copy in a folder or bucket of Delta tables. */
export function deltaCopy(target: TargetOf<'delta'>): Copy {
  const { path: root, keepMs, store = null } = target;
  const catalog = join(root, CATALOG);
  const finalityIn = async (lake: LakeStore) => (await listTables(lake, FINALITY)).get(FINALITY);
  return {
    form: store === null ? 'folder' : 'bucket',
    written: [''],
    keepMs,
    async owner(own, signal) {
      const origin = await withStore(target, null, signal, async (lake) => {
        const storedFiles = await finalityIn(lake);
        if ((await lake.read(MANIFEST)) !== null)
          throw otherKind(root, 'Delta tables', 'plain files');
        return withDatabase(':memory:', 'READ_WRITE', async (database) =>
          originIn(await readTable(lake, database, FINALITY, storedFiles)),
        );
      });
      if (store === null && (origin === null || origin.warehouse === own.id))
        await readOrigin(catalog, own);
      return origin;
    },
    publish: async (publishing) =>
      withStore(target, publishing.warehouse, publishing.signal, async (lake) =>
        publishTables(publishing, lake, target),
      ),
    async describe(warehouse, signal) {
      const tables = await lakeTables(warehouse, { relations: true });
      const storedFiles = await withStore(target, null, signal, finalityIn).catch(() => undefined);
      // Every table has the newest version of finality.
      const night = logFiles(storedFiles?.keys() ?? []).commits.at(-1) ?? null;
      const main = [...tables, ...tables.flatMap(catalogViews)];
      const database = store === null ? { path: catalog, schemas: { main } } : null;
      return { lake: { root, store, files: 'Delta tables', night, tables }, database };
    },
  };
}

interface ChangedTable {
  readonly table: LakeTable;
  readonly stored: StoredTable;
  readonly actions: readonly Action[];
  readonly files_written: number;
  readonly files_removed: number;
}

/**
 * Commits a night to every table. Empties tables that the warehouse no longer has. Throws `WAREHOUSE_FOREIGN` if a table is not
 * this warehouse's, and `STORAGE_FAILED`.
 */
async function publishTables(
  publishing: Publishing,
  store: LakeStore,
  target: TargetOf<'delta'>,
): Promise<CopyReport> {
  const { warehouse, owner, confirmedNow, emit, signal } = publishing;
  const tables = await lakeTables(warehouse, { relations: true });
  const message = target.columnMapping ? null : unreadableNames(target.path, tables);
  if (message !== null) emit(warningEvent('NAMES_UNREADABLE', message));
  const listed = await listTables(store);
  const names = new Set(tables.map(({ name }) => name));
  const current = await eachAtOnce(store, tables, async (table) => {
    const stored = await readTable(store, warehouse, table.name, listed.get(table.name));
    return { table, stored };
  });
  const others = await eachAtOnce(
    store,
    [...listed].filter(([name]) => !names.has(name)),
    async ([name, storedFiles]) => readTable(store, warehouse, name, storedFiles),
  );
  const isOwn = (stored: StoredTable): boolean => originIn(stored)?.warehouse === owner;
  const removedTables = others.filter(isOwn);
  for (const { stored } of current) {
    const warehouseId = originIn(stored)?.warehouse ?? 'another program';
    if (stored.table !== null && !isOwn(stored))
      throw notOwn(`${target.path}/${stored.name}`, `it was a table of ${warehouseId}`);
    // Nothing says whose log that was but the tables beside it.
    if (stored.damage !== null && !current.some((other) => isOwn(other.stored)))
      throw stored.damage;
  }
  const nowMs = confirmedNow?.getTime() ?? Date.now();
  const versions = [...current.map(({ stored }) => stored), ...removedTables];
  const context: PublishContext = {
    ...publishing,
    store,
    target,
    nowMs,
    keptSinceMs: confirmedNow === null && target.keepMs > 0 ? -Infinity : nowMs - target.keepMs,
    version: Math.max(...versions.map(({ version }) => version)) + 1,
  };
  const changes: ChangedTable[] = [];
  for (const { table, stored } of current) {
    signal.throwIfAborted();
    changes.push(await changeTable(context, table, stored));
  }
  let removedFiles = 0;
  for (const stored of removedTables) {
    const files = [...(stored.table?.files.values() ?? [])];
    if (files.length === 0) await sweep(context, stored, false);
    else await commitVersion(context, stored, removalsOf(files, nowMs));
    removedFiles += files.length;
  }
  const commit = async ({ table, stored, actions }: ChangedTable) => {
    return { table, stored, now: await commitVersion(context, stored, actions) };
  };
  const done = await eachAtOnce(store, changes.slice(0, -1), commit);
  for (const finality of changes.slice(-1)) done.push(await commit(finality));
  const isOnDisk = target.store === undefined;
  const hasCatalog = isOnDisk && (await replaceCatalog(store.root, done, target.mode));
  for (const { stored, now } of done) await sweep(context, { ...stored, table: now }, true);
  const version = `version ${context.version}`;
  return {
    files_written: changes.reduce((sum, change) => sum + change.files_written, 0),
    files_removed: changes.reduce((sum, change) => sum + change.files_removed, removedFiles),
    also_written: hasCatalog ? [version, CATALOG] : [version],
  };
}

/** Writes the changed files of a table. Returns the actions that bring it up to the warehouse. */
async function changeTable(
  context: PublishContext,
  table: LakeTable,
  stored: StoredTable,
): Promise<ChangedTable> {
  const { contents, nowMs } = context;
  const { name } = table;
  const form = formOf(table, stored.table, context);
  const blocks = new Map<string, BlockContent | null>();
  const files = new Map<string, Add>();
  const storedFiles = [...(stored.table?.files.values() ?? [])];
  for (const add of storedFiles) {
    // A file that another engine wrote, as `OPTIMIZE` does, states nothing of its rows and is written again.
    const block = blockIn(add);
    if (block === null) continue;
    const isWhole = stored.storedFiles.get(decodeURIComponent(add.path))?.bytes === add.size;
    const isRetained = form.isAlike && isWhole && !files.has(block.name);
    blocks.set(block.name, isRetained ? block : null);
    files.set(block.name, add);
  }
  const unit = stored.table === null ? null : unitIn(stored.table);
  const plan = await contents.plan(table, { unit, blocks });
  // A name is never used again.
  const pathOf = (): string => `${name}/ripen-${randomUUID()}.parquet`;
  const layout = { columns: form.columns, pathOf };
  const written = await contents.write(table, plan.write, layout, context);
  const namesInFiles = form.columns.map((column) => column.name);
  const added = written.map(({ block, path, copied }) => ({
    path: path.slice(name.length + 1),
    partitionValues: {},
    size: copied.file_size_bytes,
    modificationTime: nowMs,
    dataChange: true,
    stats: fileStatistics(table.columns, namesInFiles, copied),
    tags: tagsOf(block.name, block),
  }));
  const kept = new Set<Add>();
  const restamped: Add[] = [];
  for (const [block, content] of plan.keep) {
    const add = files.get(block);
    if (add === undefined) continue;
    kept.add(add);
    if (blocks.get(block)?.stamp !== content.stamp)
      restamped.push({ ...add, dataChange: false, tags: tagsOf(block, content) });
  }
  const metaData = withUnit(form.metaData, plan.unit);
  const isSame = JSON.stringify(metaData) === JSON.stringify(stored.table?.metaData);
  const replaced = new Set(plan.write.map((block) => block.name));
  const surplus = storedFiles.filter((add) => !kept.has(add));
  const removed = surplus.filter((add) => !replaced.has(blockIn(add)?.name ?? ''));
  return {
    table,
    stored,
    actions: [
      ...(form.protocol === null ? [] : [{ protocol: form.protocol }]),
      ...(isSame ? [] : [{ metaData }]),
      ...removalsOf(surplus, nowMs),
      ...[...restamped, ...added].map((add) => ({ add })),
    ],
    files_written: written.length,
    files_removed: plan.unit === unit ? removed.length : 0,
  };
}

const removalsOf = (files: readonly Add[], nowMs: number): Action[] =>
  files.map(({ path, partitionValues, size }) => ({
    remove: {
      path,
      deletionTimestamp: nowMs,
      dataChange: true,
      extendedFileMetadata: true,
      partitionValues,
      size,
    },
  }));

/** Names that publishing gives to files in a table's folders. Files of other names stay unless the log says they left. */
const OWN_FILE = new RegExp(
  `^(?:ripen-[0-9a-f-]+\\.parquet|(?:${LOG}/)?[^/]+${UNFINISHED.replace('.', '\\.')})$`,
);

/**
 * Deletes files that were removed up to an instant, files of killed runs, and last the log before the newest checkpoint that is
 * older: every version since then can be read. An unpublished table's log is deleted once it is that old.
 */
async function sweep(
  { store, keptSinceMs }: PublishContext,
  { name, table, storedFiles, log }: StoredTable,
  isPublished: boolean,
): Promise<void> {
  if (table === null) return;
  const isOld = (path: string): boolean =>
    (storedFiles.get(path)?.modifiedMs ?? Infinity) <= keptSinceMs;
  const active = new Set([...table.files.keys()].map(decodeURIComponent));
  const removedMs = new Map(
    [...table.tombstones].map(([path, { deletionTimestamp }]) => [
      decodeURIComponent(path),
      deletionTimestamp ?? 0,
    ]),
  );
  const surplus = [...storedFiles.keys()].filter((path) => {
    const atMs = removedMs.get(path);
    if (active.has(path)) return false;
    return atMs === undefined ? OWN_FILE.test(path) && isOld(path) : atMs <= keptSinceMs;
  });
  const versions = [
    ...log.commits.map((each) => ({ version: each, path: commitPath(each) })),
    ...log.checkpoints.map((each) => ({ version: each, path: checkpointPath(each) })),
  ];
  // A checkpoint dated by a clock that was behind may look old and still follow versions that are kept.
  const kept = Math.min(
    Infinity,
    ...versions.flatMap((each) => (isOld(each.path) ? [] : [each.version])),
  );
  const begin = log.checkpoints.findLast((each) => each < kept) ?? 0;
  const isLeaving = !isPublished && kept === Infinity;
  const behind = versions
    .filter((each) => isLeaving || each.version < begin)
    .map(({ path }) => path);
  // Newest first: if this is stopped midway, the older files are still a table, which is emptied again.
  const oldLog = [...(isLeaving ? [HINT] : []), ...behind.toSorted().toReversed()];
  for (const path of [...surplus, ...oldLog]) await store.remove(`${name}/${path}`);
}
