/**
 * Delta tables: every slice, dimension table and what the ledger says, each brought up to the warehouse by one commit.
 *
 * All tables of one publish bear one version number, what is final last; so a version that `ripen_finality` has is a whole
 * night, in every table. A killed publish leaves versions it does not have; the next one takes the number after them.
 * The log is the only state: nothing beside the tables is read or believed.
 */

import { randomUUID } from 'node:crypto';

import * as z from 'zod';

import { Failure } from '../../errors.ts';
import type { Emit } from '../../events.ts';
import { count } from '../../warehouse/sql.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { deltaTables, FINALITY, finalityTable, type LakeTable, type SliceFiles } from '../lake-table.ts';
import { draftsOf, type LakeTarget } from '../open-store.ts';
import { foreignCopy, publisherOf } from '../other-database.ts';
import { planTable, type CopyReport, type PeriodContent, type PlannedFile } from '../plan.ts';
import { writeFiles, type LakeStore } from '../store.ts';
import { CATALOG, replaceCatalog } from './catalog.ts';
import { commitVersion, listTables, ownerIn, ownTables, readTable } from './commit.ts';
import type { NightVersion, StoredTable } from './commit.ts';
import { droppedFiles, heldCondition, releasedFiles, releasedPeriods, releasedSource } from './leaving.ts';
import { removalsOf, sweep, type Released } from './leaving.ts';
import { needsNewer, type Action, type Add, type DeltaTable } from './log.ts';
import { contentIn, fileStatistics, formOf, holdsColumns, tagsOf, unreadableNames } from './table.ts';
import type { DeltaForm } from './table.ts';

interface DeltaPlace {
  readonly warehouse: Warehouse;
  readonly store: LakeStore;
  readonly target: Extract<LakeTarget, { kind: 'delta' }>;
  readonly signal: AbortSignal;
}

/** What one publish works on. */
interface Night extends NightVersion, DeltaPlace {
  readonly warehouse: Warehouse;
  /** Per slice the periods whose files stay though the warehouse let them go. */
  readonly released: Released;
}

/**
 * Commits a night to every table; throws `WAREHOUSE_FOREIGN` where one is not this warehouse's, and `STORAGE_FAILED`. Without a
 * confirmed instant nothing is removed for its age.
 */
export async function publishDelta(
  place: DeltaPlace,
  { dropped, confirmedNow }: { readonly dropped: SliceFiles | undefined; readonly confirmedNow: Date | null },
  emit: Emit,
): Promise<CopyReport> {
  const { warehouse, store, target, signal } = place;
  const { keepMs, columnMapping: maps = false } = target;
  const released = target.keepReleased === true ? await releasedPeriods(warehouse) : null;
  const tables = await deltaTables(warehouse, released === null ? null : 'false');
  const names = tables.map(({ name, columns }) => ({ name, columns: columns.map((column) => column.name) }));
  const message = maps ? null : unreadableNames(target.path, names);
  if (message !== null) emit({ type: 'warning', slice: null, window: null, code: 'NAMES_UNREADABLE', message });
  const own = await publisherOf(warehouse);
  const listed = new Map(await listTables(store));
  const found: { readonly table: LakeTable; readonly stored: StoredTable }[] = [];
  for (const table of tables) {
    const stored = await readTable(store, warehouse, table.name, listed.get(table.name));
    listed.delete(table.name);
    const owner = ownerIn(stored);
    if (stored.table !== null && owner === null) {
      const words = `The table ${table.name} in ${target.path} was not ripen's; nothing was committed to it.`;
      throw new Failure('WAREHOUSE_FOREIGN', words, {
        facts: { target: target.path, table: table.name },
        hint: 'Publish to a path of its own, or move the table away.',
      });
    }
    const foreign = foreignCopy(`${target.path}/${table.name}`, owner, own);
    if (foreign !== null) throw foreign;
    found.push({ table, stored });
  }
  const away = await ownTables(store, warehouse, listed, own.id);
  const leaving = away.filter((stored) => droppedFiles(stored, dropped).length > 0 || isUnended(stored));
  const nowMs = confirmedNow?.getTime() ?? Date.now();
  const night: Night = {
    ...place,
    owner: own.id ?? own.path,
    maps,
    nowMs,
    keepMs,
    keptSinceMs: confirmedNow === null && keepMs > 0 ? -Infinity : nowMs - keepMs,
    released: released ?? new Map(),
    version: Math.max(...[...found.map(({ stored }) => stored), ...leaving].map(({ version }) => version)) + 1,
  };
  const counts = { files_written: 0, files_removed: 0 };
  for (const stored of leaving) {
    const files = droppedFiles(stored, dropped);
    await commitVersion(night, stored, removalsOf(files, nowMs), true);
    counts.files_removed += files.length;
  }
  const inLake = found.map(({ stored }) => stored);
  const held = released === null ? null : heldCondition(inLake, released);
  const done: { readonly table: LakeTable; readonly stored: StoredTable; readonly now: DeltaTable }[] = [];
  for (const { table: each, stored } of found) {
    signal.throwIfAborted();
    const table = each.name === FINALITY ? await finalityTable(warehouse, held) : each;
    const { now, written, removed } = await commitTable(night, table, stored);
    counts.files_written += written;
    counts.files_removed += removed;
    done.push({ table, stored, now });
  }
  if (store.isOnDisk) await replaceCatalog(store.root, done, { mode: target.mode, drafts: draftsOf(warehouse) });
  for (const { stored, now } of done) await sweep(store, { ...stored, table: now }, night.keptSinceMs, true);
  for (const stored of away) if (!leaving.includes(stored)) await sweep(store, stored, night.keptSinceMs, false);
  return { ...counts, also_written: [`version ${night.version}`, ...(store.isOnDisk ? [CATALOG] : [])] };
}

/** Whether a table is empty and has no checkpoint that says so, behind which it can be removed. */
const isUnended = ({ table, version, log }: StoredTable): boolean =>
  table?.files.size === 0 && !log.checkpoints.includes(version);

const rowCount = z.object({ rows: count });

/** Commits what changed of a table, nothing too; returns how it is then, and how many files of periods were written and removed. */
async function commitTable(
  night: Night,
  table: LakeTable,
  stored: StoredTable,
): Promise<{ readonly now: DeltaTable; readonly written: number; readonly removed: number }> {
  const { warehouse, store, nowMs } = night;
  const before = stored.table;
  const form = formOf(table, before?.metaData ?? null, night);
  const filesOf = filesByPeriod(form, stored);
  const plan = await planTable(warehouse, table, new Map([...filesOf].map(([key, { content }]) => [key, content])));
  const staying = new Set(releasedFiles(stored, night.released));
  const stays = (key: string): boolean => filesOf.get(key)?.files.every((add) => staying.has(add)) === true;
  const leaving = plan.removed.filter((key) => !stays(key));
  // Released periods in columns of other types are written again from themselves.
  const outdated = plan.removed.filter((key) => stays(key) && filesOf.get(key)?.content === null);
  const added = await addFiles(night, form, plan.write);
  for (const period of outdated) {
    const files = filesOf.get(period)?.files ?? [];
    const source = await releasedSource(store, form, stored, { period, files });
    const [found] = await warehouse.rows(`select count(*) as rows from ${source}`, [], rowCount);
    const file = { period, rows: found?.rows ?? 0, content: 'released', stamp: '', sums: {} };
    added.push(...(await addFiles(night, formOf({ ...table, rows: () => source }, form.metaData, night), [file])));
  }
  const restamped = plan.keep.flatMap((kept): Add[] => {
    const found = filesOf.get(kept.period);
    const [add] = found?.files ?? [];
    if (add === undefined || found?.content?.stamp === kept.stamp) return [];
    return [{ ...add, dataChange: false, tags: tagsOf(kept) }];
  });
  const replaced = [...plan.write.map(({ period }) => period), ...leaving, ...outdated];
  const { metaData, protocol } = form;
  const actions: Action[] = [
    ...(before === null || needsNewer(before.protocol, protocol) ? [{ protocol }] : []),
    ...(JSON.stringify(metaData) === JSON.stringify(before?.metaData) ? [] : [{ metaData }]),
    ...removalsOf(
      replaced.flatMap((key) => filesOf.get(key)?.files ?? []),
      nowMs,
    ),
    ...[...restamped, ...added].map((add) => ({ add })),
  ];
  const now = await commitVersion(night, stored, actions);
  return { now, written: plan.write.length, removed: leaving.length };
}

interface PeriodFiles {
  readonly files: Add[];
  /** Null where they cannot stay. */
  readonly content: PeriodContent | null;
}

/**
 * The files by first day; under the empty text for a table that is not divided, each under a key of its own where the table is divided
 * otherwise now. A file that another engine wrote, as `OPTIMIZE` does, says nothing of its rows and is written anew.
 */
function filesByPeriod(form: DeltaForm, { table: before, lying }: StoredTable): ReadonlyMap<string, PeriodFiles> {
  const found = new Map<string, PeriodFiles>();
  if (before === null) return found;
  const { key } = form.table;
  const isAlike = before.metaData.partitionColumns.join() === (key ?? '');
  const holds = holdsColumns(form, before.metaData);
  for (const add of before.files.values()) {
    const period = isAlike ? (add.partitionValues[key ?? ''] ?? '') : `other ${add.path}`;
    const others = found.get(period)?.files ?? [];
    const isWhole = lying.get(decodeURIComponent(add.path))?.bytes === add.size;
    const stays = isAlike && isWhole && others.length === 0 && holds(add);
    found.set(period, { files: [...others, add], content: stays ? contentIn(add) : null });
  }
  return found;
}

/** Writes data files, under names that are never used again. */
async function addFiles(night: Night, form: DeltaForm, planned: readonly PlannedFile[]): Promise<Add[]> {
  const { inFiles: table, fileForm } = form;
  const { key, name } = table;
  const written = await writeFiles(night, table, planned, {
    ...fileForm,
    pathOf: (period) => `${name}/${key === null ? '' : `${key}=${period}/`}ripen-${randomUUID()}.parquet`,
  });
  return written.map((file) => ({
    path: file.path.slice(name.length + 1),
    partitionValues: key === null ? {} : { [key]: file.period },
    size: file.copied.file_size_bytes,
    modificationTime: night.nowMs,
    dataChange: true,
    stats: fileStatistics(table, file.copied),
    tags: tagsOf(file),
  }));
}
