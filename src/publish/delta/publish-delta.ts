/**
 * Publishes every slice, dimension table and the ledger's tables as Delta tables, each by one commit. All tables get the same
 * version number, `ripen_finality` last: a version that it has is a complete night of every table, and a killed publish leaves
 * versions that it lacks. Nothing beside the logs is read or trusted. Surplus files and emptied tables are deleted after the
 * time for which older versions are kept, by the store's clock.
 */

import { randomUUID } from 'node:crypto';

import type { Emit } from '../../events.ts';
import { deltaTables, type LakeTable } from '../lake-table.ts';
import { notOwn, publisherOf } from '../other-database.ts';
import { planTable, type CopyReport, type PeriodContent } from '../plan.ts';
import { UNFINISHED } from '../replacement.ts';
import { writeFiles } from '../store.ts';
import { CATALOG, replaceCatalog } from './catalog.ts';
import { commitVersion, listTables, ownerIn, readTable } from './commit.ts';
import type { PublishContext, StoredTable } from './commit.ts';
import { checkpointPath, commitPath, HINT, LOG } from './log.ts';
import type { Action, Add, DeltaTable } from './log.ts';
import { contentIn, fileStatistics, formOf, tagsOf, unreadableNames } from './table.ts';
import type { DeltaForm } from './table.ts';

/**
 * Commits a night to every table. Empties tables that the warehouse no longer has. Throws `WAREHOUSE_FOREIGN` if a table is not
 * this warehouse's, and `STORAGE_FAILED`.
 */
export async function publishDelta(
  place: Pick<PublishContext, 'warehouse' | 'store' | 'target' | 'signal'>,
  confirmedNow: Date | null,
  emit: Emit,
): Promise<CopyReport> {
  const { warehouse, store, target, signal } = place;
  const { keepMs } = target;
  const tables = await deltaTables(warehouse);
  const message = target.columnMapping ? null : unreadableNames(target.path, tables);
  if (message !== null)
    emit({ type: 'warning', slice: null, window: null, code: 'NAMES_UNREADABLE', message });
  const own = await publisherOf(warehouse);
  const unseen = new Map(await listTables(store));
  const current: { readonly table: LakeTable; readonly stored: StoredTable }[] = [];
  for (const table of tables) {
    const { name } = table;
    const stored = await readTable(store, warehouse, name, unseen.get(name) ?? new Map());
    unseen.delete(name);
    const owner = ownerIn(stored);
    if (stored.table !== null && owner !== own.id)
      throw notOwn(`${target.path}/${name}`, `it was a table of ${owner ?? 'another program'}`);
    current.push({ table, stored });
  }
  const removedTables: StoredTable[] = [];
  for (const [name, storedFiles] of unseen) {
    const stored = await readTable(store, warehouse, name, storedFiles);
    if (own.id !== null && ownerIn(stored) === own.id) removedTables.push(stored);
  }
  const nowMs = confirmedNow?.getTime() ?? Date.now();
  const storedTables = [...current.map(({ stored }) => stored), ...removedTables];
  const context: PublishContext = {
    ...place,
    owner: own.id ?? own.path,
    nowMs,
    keptSinceMs: confirmedNow === null && keepMs > 0 ? -Infinity : nowMs - keepMs,
    version: Math.max(...storedTables.map(({ version }) => version)) + 1,
  };
  const counts = { files_written: 0, files_removed: 0 };
  for (const stored of removedTables) {
    const files = [...(stored.table?.files.values() ?? [])];
    if (files.length === 0) await sweep(context, stored, false);
    else await commitVersion(context, stored, removalsOf(files, nowMs));
    counts.files_removed += files.length;
  }
  const done: { table: LakeTable; stored: StoredTable; now: DeltaTable }[] = [];
  for (const { table, stored } of current) {
    signal.throwIfAborted();
    const { now, written, removed } = await commitTable(context, table, stored);
    counts.files_written += written;
    counts.files_removed += removed;
    done.push({ table, stored, now });
  }
  if (store.isOnDisk) await replaceCatalog(store.root, done, target.mode);
  for (const { stored, now } of done) await sweep(context, { ...stored, table: now }, true);
  const version = `version ${context.version}`;
  return { ...counts, also_written: store.isOnDisk ? [version, CATALOG] : [version] };
}

/** Commits a table's changes, even if there are none. */
async function commitTable(
  context: PublishContext,
  table: LakeTable,
  stored: StoredTable,
): Promise<{ readonly now: DeltaTable; readonly written: number; readonly removed: number }> {
  const { warehouse, nowMs } = context;
  const { key, name } = table;
  const form = formOf(table, stored.table, context);
  const { metaData, protocol, inFiles, options } = form;
  const filesOf = filesByPeriod(form, key, stored);
  const contents = new Map([...filesOf].map(([period, { content }]) => [period, content]));
  const plan = await planTable(warehouse, table, contents);
  const folderOf = (period: string): string => (key === null ? '' : `${key}=${period}/`);
  const written = await writeFiles(context, inFiles, plan.write, {
    options,
    // A name is never used again.
    pathOf: (period) => `${name}/${folderOf(period)}ripen-${randomUUID()}.parquet`,
  });
  const added = written.map((file) => ({
    path: file.path.slice(name.length + 1),
    partitionValues: key === null ? {} : { [key]: file.period },
    size: file.copied.file_size_bytes,
    modificationTime: nowMs,
    dataChange: true,
    stats: fileStatistics(inFiles, file.copied),
    tags: tagsOf(file),
  }));
  const restamped = plan.keep.flatMap(({ period, stamp }): Add[] => {
    const { files: [add] = [], content = null } = filesOf.get(period) ?? {};
    if (add === undefined || content === null || content.stamp === stamp) return [];
    return [{ ...add, dataChange: false, tags: tagsOf({ ...content, stamp }) }];
  });
  const replaced = [...plan.write.map(({ period }) => period), ...plan.removed];
  const surplus = replaced.flatMap((period) => filesOf.get(period)?.files ?? []);
  const isSame = JSON.stringify(metaData) === JSON.stringify(stored.table?.metaData);
  const actions: Action[] = [
    ...(protocol === null ? [] : [{ protocol }]),
    ...(isSame ? [] : [{ metaData }]),
    ...removalsOf(surplus, nowMs),
    ...[...restamped, ...added].map((add) => ({ add })),
  ];
  const now = await commitVersion(context, stored, actions);
  return { now, written: plan.write.length, removed: plan.removed.length };
}

interface PeriodFiles {
  readonly files: Add[];
  /** Null if the files cannot stay. */
  readonly content: PeriodContent | null;
}

/**
 * Returns the files by first day of the period, or each under its own key if the table is now divided differently. A file that
 * another engine wrote, as `OPTIMIZE` does, states nothing of its rows and is written again.
 */
function filesByPeriod(
  { isAlike }: DeltaForm,
  key: string | null,
  { table: before, storedFiles }: StoredTable,
): ReadonlyMap<string, PeriodFiles> {
  const byPeriod = new Map<string, PeriodFiles>();
  if (before === null) return byPeriod;
  const isDividedAlike = before.metaData.partitionColumns.join() === (key ?? '');
  for (const add of before.files.values()) {
    const period = isDividedAlike ? (add.partitionValues[key ?? ''] ?? '') : `other ${add.path}`;
    const others = byPeriod.get(period)?.files ?? [];
    const isWhole = storedFiles.get(decodeURIComponent(add.path))?.bytes === add.size;
    const isRetained = isDividedAlike && isAlike && isWhole && others.length === 0;
    byPeriod.set(period, { files: [...others, add], content: isRetained ? contentIn(add) : null });
  }
  return byPeriod;
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
  `^(?:[^/]+=[^/]*/|${LOG}/)?(?:ripen-[0-9a-f-]+\\.parquet|[^/]+${UNFINISHED.replace('.', '\\.')})$`,
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
