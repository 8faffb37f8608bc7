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
import { day } from '../../model/calendar.ts';
import { count } from '../../warehouse/sql.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { deltaTables, FINALITY, finalityTable, type LakeTable, type SliceFiles } from '../lake-table.ts';
import { draftsOf, type LakeTarget } from '../open-store.ts';
import { publisherOf, refuseOthers } from '../other-database.ts';
import { planTable, writeFiles, type PeriodContent, type TablePlan } from '../plan.ts';
import type { CopyReport } from '../report.ts';
import type { LakeStore } from '../store.ts';
import { CATALOG, replaceCatalog } from './catalog.ts';
import { commitVersion, listTables, ownerIn, readTable, type NightVersion, type StoredTable } from './commit.ts';
import { droppedFiles, ownTables, removalsOf, sweep } from './leaving.ts';
import { LOG, needsNewer, protocolFor, type Action, type Add, type DeltaTable, type MetaData } from './log.ts';
import { heldCondition, releasedFiles, releasedPeriods, releasedSource } from './released.ts';
import * as described from './table.ts';

interface DeltaPlace {
  readonly warehouse: Warehouse;
  readonly store: LakeStore;
  readonly target: Extract<LakeTarget, { kind: 'delta' }>;
  readonly signal: AbortSignal;
}

/** What one publish works on. */
interface Night extends DeltaPlace, NightVersion, described.NightStamp {
  /** Per slice the periods whose files stay though the warehouse let them go. */
  readonly released: ReadonlyMap<string, ReadonlySet<string>>;
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
  const released = target.keepReleased === true ? await releasedPeriods(warehouse) : null;
  const tables = await deltaTables(warehouse, released === null ? null : 'false');
  const shown = tables.map(({ name, columns }) => ({ name, columns: columns.map((column) => column.name) }));
  const unreadable = described.unreadableNames(target.path, shown);
  if (unreadable !== null && target.columnMapping !== true) {
    emit({ type: 'warning', slice: null, window: null, code: 'NAMES_UNREADABLE', message: unreadable });
  }
  const own = await publisherOf(warehouse);
  const listed = new Map(await listTables(store));
  const found: { readonly table: LakeTable; readonly stored: StoredTable }[] = [];
  for (const table of tables) {
    const stored = await readTable(store, warehouse, table.name, listed.get(table.name));
    listed.delete(table.name);
    const owner = ownerIn(stored.table);
    if (stored.table !== null && owner === null) throw otherProgram(target.path, table.name);
    refuseOthers(`${target.path}/${table.name}`, owner, own);
    if ([...stored.lying.keys()].some((path) => path.includes(`/${LOG}/`))) throw nested(target.path, table.name);
    if (stored.table !== null && described.isMappedByOthers(stored.table.metaData)) throw renamed(table.name);
    found.push({ table, stored });
  }
  const away = await ownTables(store, warehouse, listed);
  const leaving = away.filter((stored) => droppedFiles(stored, dropped).length > 0 || isUnended(stored));
  const nowMs = confirmedNow?.getTime() ?? Date.now();
  const { keepMs } = target;
  const night: Night = {
    ...place,
    owner: own.id ?? own.path,
    maps: target.columnMapping === true,
    nowMs,
    keepMs,
    keptSinceMs: confirmedNow === null && keepMs > 0 ? -Infinity : nowMs - keepMs,
    released: released ?? new Map(),
    version: Math.max(...[...found.map(({ stored }) => stored), ...leaving].map(({ version }) => version)) + 1,
  };

  for (const stored of leaving)
    await commitVersion(night, stored, removalsOf(droppedFiles(stored, dropped), nowMs), true);
  const done: Done[] = [];
  const held =
    released === null
      ? null
      : heldCondition(
          found.map(({ stored }) => stored),
          released,
        );
  for (const { table: each, stored } of found) {
    const table = each.name === FINALITY ? await finalityTable(warehouse, held) : each;
    signal.throwIfAborted();
    done.push(await commitTable(night, table, stored));
  }
  if (store.isOnDisk) await replaceCatalog(store.root, done, { mode: target.mode, drafts: draftsOf(warehouse) });
  for (const { stored, now } of done) await sweep(store, { ...stored, table: now }, night.keptSinceMs, true);
  for (const stored of away) if (!leaving.includes(stored)) await sweep(store, stored, night.keptSinceMs, false);
  const sumOf = (counts: readonly number[]): number => counts.reduce((sum, each) => sum + each, 0);
  const gone = leaving.map((stored) => droppedFiles(stored, dropped).length);
  return {
    files_written: sumOf(done.map(({ written }) => written)),
    files_removed: sumOf([...done.map(({ removed }) => removed), ...gone]),
    also_written: [`version ${night.version}`, ...(store.isOnDisk ? [CATALOG] : [])],
  };
}

/** Whether a table is empty and has no checkpoint that says so, behind which it can be removed. */
const isUnended = ({ table, version, log }: StoredTable): boolean =>
  table?.files.size === 0 && !log.checkpoints.includes(version);

function otherProgram(target: string, table: string): Failure {
  const message = `The table ${table} in ${target} was not ripen's; nothing was committed to it.`;
  return new Failure('WAREHOUSE_FOREIGN', message, {
    facts: { target, table },
    hint: 'Publish to a path of its own, or move the table away.',
  });
}

/** What lies below a folder that is both would be swept as what is left of the table. */
function nested(target: string, table: string): Failure {
  const message = `The table ${table} in ${target} would lie in a folder that holds other Delta tables; nothing was committed.`;
  return new Failure('WAREHOUSE_FOREIGN', message, {
    facts: { target, table },
    hint: 'Give each account a folder of its own beside the others, or the slice another name.',
  });
}

function renamed(table: string): Failure {
  const message = `The table ${table} was changed by another engine; it maps the names of its columns otherwise.`;
  return new Failure('WAREHOUSE_FOREIGN', message, {
    facts: { table },
    hint: 'Move the table away, so that the next publish makes it again; `column_mapping: true` maps names.',
  });
}

/** A table that is committed. */
interface Done {
  readonly table: LakeTable;
  readonly stored: StoredTable;
  readonly now: DeltaTable;
  readonly written: number;
  readonly removed: number;
}

async function commitTable(night: Night, table: LakeTable, stored: StoredTable): Promise<Done> {
  const { warehouse, nowMs } = night;
  const before = stored.table;
  const metaData = described.metaDataFor(table, before?.metaData ?? null, night);
  const filesOf = filesByPeriod({ table, metaData }, stored);
  const plan = await planTable(warehouse, table, new Map([...filesOf].map(([key, { content }]) => [key, content])));
  const staying = new Set(releasedFiles(stored, night.released));
  const stays = (key: string): boolean => filesOf.get(key)?.files.every((add) => staying.has(add)) === true;
  const leaving = plan.removed.filter((key) => !stays(key));
  const outdated = plan.removed.filter((key) => stays(key) && filesOf.get(key)?.content === null);
  const added = await addFiles(night, { table, metaData }, plan.write);
  for (const period of outdated) {
    const source = await releasedSource(night.store, { table, names: described.physicalNames(metaData) }, stored, {
      period,
      files: filesOf.get(period)?.files ?? [],
    });
    const [found] = await warehouse.rows(`select count(*) as rows from ${source}`, [], rowCount);
    const file = { period: day(period), rows: found?.rows ?? 0, content: 'released', stamp: '', sums: {} };
    added.push(...(await addFiles(night, { table: { ...table, source }, metaData }, [file])));
  }
  const restamped = plan.keep.flatMap((kept): Add[] => {
    const found = filesOf.get(kept.period ?? '');
    const [add] = found?.files ?? [];
    if (add === undefined || found?.content?.stamp === kept.stamp) return [];
    return [{ ...add, dataChange: false, tags: described.tagsOf(kept) }];
  });
  const replaced = [...plan.write.map(({ period }) => period ?? ''), ...leaving, ...outdated];
  const removed = replaced.flatMap((key) => filesOf.get(key)?.files ?? []);
  const needs = { hasLocalTimes: described.hasLocalTimes(table), isMapped: described.isMapped(metaData) };
  const protocol = protocolFor(needs);
  const isNewer = before === null || needsNewer(before.protocol, protocol);
  const actions: Action[] = [
    ...(isNewer ? [{ protocol }] : []),
    ...(JSON.stringify(metaData) === JSON.stringify(before?.metaData) ? [] : [{ metaData }]),
    ...removalsOf(removed, nowMs),
    ...[...restamped, ...added].map((add) => ({ add })),
  ];
  const now = await commitVersion(night, stored, actions);
  return { table, stored, now, written: plan.write.length, removed: leaving.length };
}

const rowCount = z.object({ rows: count });

interface PeriodFiles {
  readonly files: Add[];
  /** Null where they cannot stay. */
  content: PeriodContent | null;
}

/**
 * The files by first day; under the empty text for a table that is not divided, each under a key of its own where the table is divided
 * otherwise now. A file that another engine wrote, as `OPTIMIZE` does, says nothing of its rows and is written anew.
 */
function filesByPeriod(
  { table, metaData }: DescribedTable,
  { table: before, lying }: StoredTable,
): ReadonlyMap<string, PeriodFiles> {
  const found = new Map<string, PeriodFiles>();
  if (before === null) return found;
  const isAlike = before.metaData.partitionColumns.join() === (table.key ?? '');
  const typesBefore = described.typesIn(before.metaData.schemaString);
  const typesNow = described.typesIn(metaData.schemaString);
  const names = described.physicalNames(metaData);
  for (const add of before.files.values()) {
    const key = isAlike ? (add.partitionValues[table.key ?? ''] ?? '') : `other ${add.path}`;
    const others = found.get(key)?.files ?? [];
    const columns = described.heldColumns(add.stats);
    const isWhole =
      lying.get(decodeURIComponent(add.path))?.bytes === add.size &&
      [...typesNow].every(([name, type]) => {
        const stored = names.get(name) ?? name;
        if (stored !== name && columns.has(name)) return false;
        return !columns.has(stored) || typesBefore.get(name) === type;
      });
    const stays = isAlike && isWhole && others.length === 0;
    found.set(key, { files: [...others, add], content: stays ? described.contentIn(add) : null });
  }
  return found;
}

/** A table and what it is to say of itself. */
interface DescribedTable {
  readonly table: LakeTable;
  readonly metaData: MetaData;
}

/** Writes data files, under names that are never used again. */
async function addFiles(
  night: Night,
  { table: shown, metaData }: DescribedTable,
  planned: TablePlan['write'],
): Promise<Add[]> {
  const table = described.inFiles(shown, metaData);
  const files = planned.map((file) => {
    const folder = table.key === null ? '' : `${table.key}=${file.period ?? ''}/`;
    const add = `${folder}ripen-${randomUUID()}.parquet`;
    const copyTo = (draft: string): string => described.copyNumbered(table, file.period, draft, metaData);
    return { ...file, add, path: `${table.name}/${add}`, copyTo };
  });
  return (await writeFiles(night, files)).map(({ add, copied, ...file }) => ({
    path: add,
    partitionValues: table.key === null ? {} : { [table.key]: file.period },
    size: copied.file_size_bytes,
    modificationTime: night.nowMs,
    dataChange: true,
    stats: described.fileStatistics(table, copied),
    tags: described.tagsOf(file),
  }));
}
