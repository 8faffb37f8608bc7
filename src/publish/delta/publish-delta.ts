/**
 * Publishes every slice, dimension table and the ledger's tables as Delta tables, each by one commit.
 *
 * All tables of one publish get the same version number, `ripen_finality` last: a version that it has is a complete night of
 * every table. A killed publish leaves versions that it lacks; the next publish takes the number after them. The log is the
 * only state: nothing beside the tables is read or trusted.
 */

import { randomUUID } from 'node:crypto';

import type { Emit } from '../../events.ts';
import { deltaTables, type LakeTable } from '../lake-table.ts';
import { notOwn, publisherOf } from '../other-database.ts';
import { planTable, type CopyReport, type PeriodContent, type PlannedFile } from '../plan.ts';
import { writeFiles } from '../store.ts';
import { CATALOG, replaceCatalog } from './catalog.ts';
import { commitVersion, listTables, ownerIn, readTable } from './commit.ts';
import type { DeltaPlace, PublishContext, StoredTable } from './commit.ts';
import { removalsOf, sweep } from './leaving.ts';
import { newerProtocol, type Action, type Add, type DeltaTable } from './log.ts';
import { contentIn, fileStatistics, formOf, tagsOf, unreadableNames } from './table.ts';
import type { DeltaForm } from './table.ts';

/**
 * Commits a night to every table. Empties tables that the warehouse no longer has. Without a confirmed instant nothing is
 * deleted for its age. Throws `WAREHOUSE_FOREIGN` if a table is not this warehouse's, and `STORAGE_FAILED`.
 */
export async function publishDelta(
  place: DeltaPlace,
  confirmedNow: Date | null,
  emit: Emit,
): Promise<CopyReport> {
  const { warehouse, store, target, signal } = place;
  const { keepMs } = target;
  const tables = await deltaTables(warehouse);
  const names = tables.map(({ name, columns }) => ({
    name,
    columns: columns.map((column) => column.name),
  }));
  const message = target.columnMapping ? null : unreadableNames(target.path, names);
  if (message !== null)
    emit({ type: 'warning', slice: null, window: null, code: 'NAMES_UNREADABLE', message });
  const own = await publisherOf(warehouse);
  const unseen = new Map(await listTables(store));
  const current: { readonly table: LakeTable; readonly stored: StoredTable }[] = [];
  for (const table of tables) {
    const stored = await readTable(
      store,
      warehouse,
      table.name,
      unseen.get(table.name) ?? new Map(),
    );
    unseen.delete(table.name);
    const owner = ownerIn(stored);
    if (stored.table !== null && owner !== own.id) {
      throw notOwn(
        `${target.path}/${table.name}`,
        `it was a table of ${owner ?? 'another program'}`,
      );
    }
    current.push({ table, stored });
  }
  const removedTables: StoredTable[] = [];
  for (const [name, storedFiles] of unseen) {
    const stored = await readTable(store, warehouse, name, storedFiles);
    if (own.id !== null && ownerIn(stored) === own.id) removedTables.push(stored);
  }
  const nowMs = confirmedNow?.getTime() ?? Date.now();
  const context: PublishContext = {
    ...place,
    owner: own.id ?? own.path,
    nowMs,
    keptSinceMs: confirmedNow === null && keepMs > 0 ? -Infinity : nowMs - keepMs,
    version:
      Math.max(
        ...[...current.map(({ stored }) => stored), ...removedTables].map(({ version }) => version),
      ) + 1,
  };
  const counts = { files_written: 0, files_removed: 0 };
  for (const stored of removedTables) {
    const files = [...(stored.table?.files.values() ?? [])];
    if (files.length === 0) await sweep(context, stored, false);
    else await commitVersion(context, stored, removalsOf(files, nowMs));
    counts.files_removed += files.length;
  }
  const done: {
    readonly table: LakeTable;
    readonly stored: StoredTable;
    readonly now: DeltaTable;
  }[] = [];
  for (const { table, stored } of current) {
    signal.throwIfAborted();
    const { now, written, removed } = await commitTable(context, table, stored);
    counts.files_written += written;
    counts.files_removed += removed;
    done.push({ table, stored, now });
  }
  if (store.isOnDisk) await replaceCatalog(store.root, done, target.mode);
  for (const { stored, now } of done) await sweep(context, { ...stored, table: now }, true);
  return {
    ...counts,
    also_written: [`version ${context.version}`, ...(store.isOnDisk ? [CATALOG] : [])],
  };
}

/** Commits a table's changes, even if none; returns the new table and how many files of periods were written and removed. */
async function commitTable(
  context: PublishContext,
  table: LakeTable,
  stored: StoredTable,
): Promise<{ readonly now: DeltaTable; readonly written: number; readonly removed: number }> {
  const { warehouse, nowMs } = context;
  const before = stored.table;
  const form = formOf(table, before?.metaData ?? null, context);
  const filesOf = filesByPeriod(form, stored);
  const plan = await planTable(
    warehouse,
    table,
    new Map([...filesOf].map(([key, { content }]) => [key, content])),
  );
  const added = await addFiles(context, form, plan.write);
  const restamped = plan.keep.flatMap(({ period, stamp }): Add[] => {
    const { files: [add] = [], content = null } = filesOf.get(period) ?? {};
    if (add === undefined || content === null || content.stamp === stamp) return [];
    return [{ ...add, dataChange: false, tags: tagsOf({ ...content, stamp }) }];
  });
  const replaced = [...plan.write.map(({ period }) => period), ...plan.removed];
  const { metaData } = form;
  const protocol = newerProtocol(before?.protocol ?? null, form.protocol);
  const actions: Action[] = [
    ...(protocol === null ? [] : [{ protocol }]),
    ...(JSON.stringify(metaData) === JSON.stringify(before?.metaData) ? [] : [{ metaData }]),
    ...removalsOf(
      replaced.flatMap((key) => filesOf.get(key)?.files ?? []),
      nowMs,
    ),
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
 * The files by first day of the period; under the empty text for an undivided table, each under its own key if the table is now
 * divided differently. A file that another engine wrote, as `OPTIMIZE` does, states nothing of its rows and is written again.
 */
function filesByPeriod(
  form: DeltaForm,
  { table: before, storedFiles }: StoredTable,
): ReadonlyMap<string, PeriodFiles> {
  const byPeriod = new Map<string, PeriodFiles>();
  if (before === null) return byPeriod;
  const { key } = form.table;
  const isDividedAlike = before.metaData.partitionColumns.join() === (key ?? '');
  for (const add of before.files.values()) {
    const period = isDividedAlike ? (add.partitionValues[key ?? ''] ?? '') : `other ${add.path}`;
    const others = byPeriod.get(period)?.files ?? [];
    const isWhole = storedFiles.get(decodeURIComponent(add.path))?.bytes === add.size;
    const isRetained = isDividedAlike && form.isAlike && isWhole && others.length === 0;
    byPeriod.set(period, { files: [...others, add], content: isRetained ? contentIn(add) : null });
  }
  return byPeriod;
}

/** Writes data files under names that are never used again. */
async function addFiles(
  context: PublishContext,
  form: DeltaForm,
  planned: readonly PlannedFile[],
): Promise<Add[]> {
  const { inFiles: table, options } = form;
  const { key, name } = table;
  const written = await writeFiles(context, table, planned, {
    options,
    pathOf: (period) =>
      `${name}/${key === null ? '' : `${key}=${period}/`}ripen-${randomUUID()}.parquet`,
  });
  return written.map((file) => ({
    path: file.path.slice(name.length + 1),
    partitionValues: key === null ? {} : { [key]: file.period },
    size: file.copied.file_size_bytes,
    modificationTime: context.nowMs,
    dataChange: true,
    stats: fileStatistics(table, file.copied),
    tags: tagsOf(file),
  }));
}
