/**
 * Publishes every slice, dimension table and the ledger's tables as Delta tables, each by one commit, unless nothing changed. All
 * get the same version number, `ripen_finality` last: a version that it has is a complete night of every table. Only the
 * logs decide what a table has: one whose log is damaged begins anew. Files that no version needs, and tables that were emptied,
 * are deleted once old versions have been kept long enough, by the store's clock.
 */

import { createHash, randomUUID } from 'node:crypto';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import { warningEvent } from '../../events.ts';
import { inTemporaryFolder } from '../../warehouse/directories.ts';
import { identifier, literal } from '../../warehouse/sql.ts';
import { notOwn, readOrigin, withDatabase } from '../places/database.ts';
import { withStore } from '../places/disk.ts';
import { replaceFile, UNFINISHED } from '../places/replacement.ts';
import { eachAtOnce, type LakeStore } from '../places/store.ts';
import { fileText, FINALITY, lakeTables, type LakeTable } from '../tables.ts';
import type { Copy, Publisher, Publishing, TargetOf } from '../copy.ts';
import { filesOf } from '../contents.ts';
import { type EngineLake, engineText, queryWords, sliceViews } from '../words/engine-text.ts';
import {
  commitVersion,
  listTables,
  originIn,
  type PublishContext,
  readTables,
  type StoredTable,
  unwritten,
} from './delta-commit.ts';
import {
  type Action,
  type Add,
  blockIn,
  checkpointPath,
  columnsIn,
  commitPath,
  type DeltaTable,
  fileStatistics,
  formOf,
  HINT,
  isInstant,
  LOG,
  logFiles,
  tagsOf,
  unreadableNames,
} from './delta-log.ts';
import { MANIFEST, otherKind } from './parquet.ts';

export function deltaCopy(target: TargetOf<'delta'>): Copy {
  const { path: root, keepMs, store = null } = target;
  return {
    form: store === null ? 'folder' : 'bucket',
    keepMs,
    async owner(publisher, signal) {
      const origin = await withStore(target, null, signal, async (lake) => {
        const listed = await listTables(lake, FINALITY);
        if ((await lake.read(MANIFEST)) !== null)
          throw otherKind(root, 'Delta tables', 'plain files');
        return withDatabase(':memory:', 'READ_WRITE', async (database) => {
          const [finality = null] = await readTables(lake, database, listed);
          return finality && originIn(finality);
        });
      });
      // Beside tables of this warehouse it is looked at before it is replaced.
      if (store === null && origin === null) await assertOwnCatalog(root, publisher);
      return origin;
    },
    publish: async (publishing) =>
      withStore(target, publishing.warehouse, publishing.signal, async (lake) =>
        publishTables(publishing, lake, target),
      ),
    async describe(warehouse, signal) {
      const tables = await lakeTables(warehouse, { relations: true });
      const [finality = new Map()] = await withStore(target, null, signal, async (lake) => [
        ...(await listTables(lake, FINALITY)).values(),
      ]).catch(() => []);
      // Every table has the newest version of finality.
      const night = logFiles(finality.keys()).commits.at(-1) ?? null;
      const main = [...tables, ...tables.flatMap(catalogViews)];
      const database = store === null ? { path: join(root, CATALOG), schemas: { main } } : null;
      return { lake: { root, store, files: 'Delta tables', night, tables }, database };
    },
  };
}

/** Empties tables that the warehouse no longer has. Throws `WAREHOUSE_FOREIGN` if a table is not this warehouse's. */
async function publishTables(publishing: Publishing, store: LakeStore, target: TargetOf<'delta'>) {
  const { warehouse, owner, confirmedNow, emit, signal } = publishing;
  const tables = await lakeTables(warehouse, { relations: true });
  const message = target.columnMapping ? null : unreadableNames(target.path, tables);
  if (message !== null) emit(warningEvent('NAMES_UNREADABLE', message));
  const listed = await readTables(store, warehouse, await listTables(store));
  const byName = new Map(listed.map((table) => [table.name, table]));
  const current = tables.map((table) => ({
    table,
    stored: byName.get(table.name) ?? { ...unwritten, name: table.name },
  }));
  const isOwn = (table: StoredTable) => originIn(table)?.warehouse === owner;
  const names = new Set(tables.map(({ name }) => name));
  const others = listed.filter(({ name }) => !names.has(name));
  // A folder that somebody copied or renamed holds a table of another name, and stays.
  const removedTables = others.filter(
    (table) => isOwn(table) && table.table?.metaData.name === table.name,
  );
  for (const { stored: table } of current) {
    const warehouseId = originIn(table)?.warehouse ?? 'another program';
    if (table.table !== null && !isOwn(table))
      throw notOwn(`${target.path}/${table.name}`, `it was a table of ${warehouseId}`);
    // Nothing says whose log that was but the tables beside it.
    if (table.damage !== null && !current.some((other) => isOwn(other.stored))) throw table.damage;
  }
  const nowMs = confirmedNow?.getTime() ?? Date.now();
  const versions = [...current.map((table) => table.stored), ...removedTables];
  const context: PublishContext = {
    ...publishing,
    store,
    target,
    nowMs,
    keptSinceMs: confirmedNow === null && target.keepMs > 0 ? -Infinity : nowMs - target.keepMs,
    version: Math.max(...versions.map(({ version }) => version)) + 1,
  };
  const changes: ((typeof current)[number] & Awaited<ReturnType<typeof changesOf>>)[] = [];
  for (const { table, stored: before } of current) {
    signal.throwIfAborted();
    changes.push({ table, stored: before, ...(await changesOf(context, table, before)) });
  }
  let removedFiles = changes.reduce((sum, change) => sum + change.removed, 0);
  for (const table of removedTables) {
    const files = [...(table.table?.files.values() ?? [])];
    if (files.length === 0) await sweep(context, table, false);
    else await commitVersion(context, table, removalsOf(files, nowMs));
    removedFiles += files.length;
  }
  for (const { name, storedFiles } of others.filter(({ table }) => table === null)) {
    const files = await removeUnlogged(publishing, store, name, [...storedFiles.keys()]);
    removedFiles += files;
  }
  // A run of every hour would otherwise commit to every table every hour.
  const isSame =
    !publishing.isLater &&
    removedFiles === 0 &&
    changes.every(
      ({ stored: { version, hasHint }, actions }) =>
        actions.length === 0 && hasHint && version + 1 === context.version,
    );
  const isOnDisk = target.store === undefined;
  const publisher = { path: warehouse.path, id: owner, publishes: [] };
  if (isOnDisk && !isSame) await assertOwnCatalog(store.root, publisher);
  const commit = async ({ table, stored: before, actions }: (typeof changes)[number]) => {
    const now = (isSame ? before.table : null) ?? (await commitVersion(context, before, actions));
    return { table, stored: before, now };
  };
  const commits = await eachAtOnce(store, changes.slice(0, -1), commit);
  for (const finality of changes.slice(-1)) commits.push(await commit(finality));
  const hasCatalog = isOnDisk && (await replaceCatalog(publisher, target, commits));
  for (const { stored: before, now } of commits)
    await sweep(context, { ...before, table: now }, true);
  return {
    files_written: changes.reduce((sum, change) => sum + change.written, 0),
    files_removed: removedFiles,
    also_written: [
      ...(isSame ? [] : [`version ${context.version}`]),
      ...(hasCatalog ? [CATALOG] : []),
    ],
  };
}

async function changesOf(context: PublishContext, table: LakeTable, stored: StoredTable) {
  const { contents, nowMs } = context;
  const { name } = table;
  const form = formOf(table, stored.table, context);
  const storedFiles = [...(stored.table?.files.values() ?? [])];
  const blocks = storedFiles.flatMap((file) => {
    // Files of other engines, as of `OPTIMIZE`, state nothing of their rows and are written again.
    const block = blockIn(file);
    const isWhole = stored.storedFiles.get(decodeURIComponent(file.path))?.bytes === file.size;
    return block !== null && form.isAlike && isWhole ? { ...block, file } : [];
  });
  const plan = await contents.plan(table, form.unit, blocks);
  // A name is never used again.
  const pathOf = () => `${name}/ripen-${randomUUID()}.parquet`;
  const written = await contents.write(table, plan.write, { ...form, pathOf }, context);
  const namesInFiles = form.columns.map((column) => column.name);
  const added = written.map(({ block, path, copied, stored: { bytes } }) => ({
    path: path.slice(name.length + 1),
    partitionValues: {},
    size: bytes,
    modificationTime: nowMs,
    dataChange: true,
    stats: fileStatistics(table.columns, namesInFiles, copied),
    tags: tagsOf(block),
  }));
  const restamped = plan.keep.flatMap((block) => {
    const isAsStored = blockIn(block.file)?.stamp === block.stamp;
    return isAsStored ? [] : { ...block.file, dataChange: false, tags: tagsOf(block) };
  });
  const metaData = form.metaDataFor(plan.unit);
  const isSame = JSON.stringify(metaData) === JSON.stringify(stored.table?.metaData);
  const kept = new Set(plan.keep.map(({ file }) => file));
  const surplus = storedFiles.filter((file) => !kept.has(file));
  const actions: Action[] = [
    ...(form.protocol === null ? [] : [{ protocol: form.protocol }]),
    ...(isSame ? [] : [{ metaData }]),
    ...removalsOf(surplus, nowMs),
    ...[...restamped, ...added].map((add) => ({ add })),
  ];
  // Of a table divided anew, no file counts as removed.
  const replaced = new Set(plan.write.map((block) => block.name));
  const isRemoved = (add: Add) => !replaced.has(blockIn(add)?.name ?? '');
  const removed = plan.unit === form.unit ? surplus.filter(isRemoved).length : 0;
  return { actions, written: written.length, removed };
}

const removalsOf = (files: readonly Add[], nowMs: number) =>
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

/** Files of other names stay unless the log says they left. */
const OWN_FILE = new RegExp(
  `^(?:ripen-[0-9a-f-]+\\.parquet|(?:${LOG}/)?[^/]+${UNFINISHED.replace('.', '\\.')})$`,
);

/**
 * Deletes removed files, those of killed runs, and last the log before the newest checkpoint that is old enough: every version
 * since then can be read. An unpublished table's log is deleted once it is that old.
 */
async function sweep(
  { store, keptSinceMs }: PublishContext,
  { name, table, storedFiles }: StoredTable,
  isPublished: boolean,
) {
  if (table === null) return;
  const isOld = (path: string) => (storedFiles.get(path)?.modifiedMs ?? Infinity) <= keptSinceMs;
  const active = new Set([...table.files.keys()].map(decodeURIComponent));
  const removedMs = new Map(
    [...table.tombstones.values()].map((file) => [
      decodeURIComponent(file.path),
      file.deletionTimestamp ?? 0,
    ]),
  );
  const surplus = [...storedFiles.keys()].filter((path) => {
    const atMs = removedMs.get(path);
    if (active.has(path)) return false;
    return atMs === undefined ? OWN_FILE.test(path) && isOld(path) : atMs <= keptSinceMs;
  });
  const { commits, checkpoints } = logFiles(storedFiles.keys());
  const versions = [
    ...commits.map((version) => ({ version, path: commitPath(version) })),
    ...checkpoints.map((version) => ({ version, path: checkpointPath(version) })),
  ];
  // A checkpoint dated by a clock that was behind may look old and still follow versions that are kept.
  const keptVersions = versions.flatMap(({ version, path }) => (isOld(path) ? [] : [version]));
  const firstKept = Math.min(Infinity, ...keptVersions);
  const begin = checkpoints.findLast((version) => version < firstKept) ?? 0;
  const isLeaving = !isPublished && firstKept === Infinity;
  const oldLog = versions.filter(({ version }) => isLeaving || version < begin);
  const logPaths = oldLog.map(({ path }) => path).toSorted();
  // The log newest first: if this is stopped midway, the older files are still a table, which is emptied again.
  for (const path of [...surplus, ...(isLeaving ? [HINT] : []), ...logPaths.toReversed()])
    await store.remove(`${name}/${path}`);
}

/** Removes what a dropped slice left in a folder whose log is lost or damaged. Returns the number of its data files. */
async function removeUnlogged(
  { warehouse, owner }: Publishing,
  store: LakeStore,
  name: string,
  stored: readonly string[],
) {
  const named = stored.filter((path) => OWN_FILE.test(path)).map((path) => `${name}/${path}`);
  const files = await filesOf(owner, named, store, warehouse);
  const log = files.length === 0 ? [] : stored.filter((path) => path.startsWith(`${LOG}/`));
  for (const path of [...files, ...log.map((file) => `${name}/${file}`)]) await store.remove(path);
  return files.length;
}

/** Beside local tables: commented views over their files, never locked by a load. */
const CATALOG = 'catalog.duckdb';

/** Throws `WAREHOUSE_FOREIGN`, also for a warehouse or its snapshot. */
async function assertOwnCatalog(root: string, publisher: Publisher) {
  const path = join(root, CATALOG);
  const origin = await readOrigin(path, publisher);
  if (origin !== null) throw notOwn(path, `it was a copy of the warehouse ${origin.warehouse}`);
}

const catalogLake = {
  root: '',
  store: null,
  files: 'Delta tables',
  night: null,
  schema: 'main',
  tables: [],
} as const satisfies EngineLake;

const catalogViews = (table: LakeTable) => sliceViews(table, queryWords('duckdb', catalogLake));

const digestRow = z.object({ digest: z.string() });

/** Replaces the catalog if its views differ. Returns whether they did. */
async function replaceCatalog(
  publisher: Publisher,
  { path: root, mode }: TargetOf<'delta'>,
  tables: readonly { readonly table: LakeTable; readonly now: DeltaTable }[],
) {
  const path = join(root, CATALOG);
  // DuckDB binds every view to its files, so they must be in place.
  const views = [
    ...tables.map(({ table, now }) => ({ ...table, rows: rowsOf(table, now, root) })),
    ...tables.flatMap(({ table }) => catalogViews(table)),
  ];
  const statements = views
    .map((view) => engineText('duckdb', 'views', catalogLake, view))
    .join('\n');
  const digest = createHash('md5').update(statements).digest('hex');
  const [current] = await withDatabase(path, 'READ_ONLY', async (database) =>
    database.rows('select ripen_digest() as digest', [], digestRow),
  ).catch(() => []);
  if (current?.digest === digest) return false;
  await assertOwnCatalog(root, publisher);
  await replaceFile(path, mode, async (unfinished) =>
    // DuckDB looks elsewhere for the log of a database whose path has a `?` (measured).
    inTemporaryFolder(async (folder) => {
      const built = join(folder, CATALOG);
      await withDatabase(built, 'READ_WRITE', async (database) => {
        const macro = `create macro ripen_digest() as ${literal(digest)};`;
        // Each statement by itself would wait for the disk.
        await database.run(`begin;\n${statements}\n${macro}\ncommit; checkpoint;`);
      });
      await copyFile(built, unfinished);
    }),
  );
  return true;
}

function rowsOf({ name: folder, columns }: LakeTable, now: DeltaTable, root: string): string {
  const files = [...now.files.keys()].map((path) =>
    fileText(join(root, folder, decodeURIComponent(path))),
  );
  const cells = columns.map((column) => {
    const name = identifier(column.name);
    if (files.length === 0) return `cast(null as ${column.type}) as ${name}`;
    return isInstant(column) ? `timezone('UTC', ${name}) as ${name}` : name;
  });
  const selected = `select\n    ${cells.join(',\n    ')}`;
  if (files.length === 0) return `${selected}\nwhere false`;
  // With a schema, a column that a file lacks is NULL, and no file is opened to find out.
  const numbers = new Map(columnsIn(now.metaData).map(([name], index) => [name, index + 1]));
  const numbered = columns.map((column) => {
    const type = isInstant(column) ? 'TIMESTAMPTZ' : column.type;
    return `${numbers.get(column.name) ?? 0}: {name: ${literal(column.name)}, type: ${literal(type)}, default_value: null}`;
  });
  return `${selected}\nfrom read_parquet([${files.join(', ')}], schema = map {${numbered.join(', ')}})`;
}
