/**
 * Delta tables: every slice, dimension table and what the ledger says, each brought up to the warehouse by one commit.
 *
 * All tables of one publish bear one version number, what is final last; so a version that `ripen_finality` has is a whole
 * night, in every table. A killed publish leaves versions it does not have; the next one takes the number after them.
 * The log is the only state: nothing beside the tables is read or believed.
 */

import { randomUUID } from 'node:crypto';

import { Failure } from '../../errors.ts';
import type { Emit, RunEvent } from '../../events.ts';
import { version as program } from '../../version.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { identityOf, ownerOf, refuseOthers, type Identity } from '../identity.ts';
import { deltaTables, type LakeTable, type SliceFiles } from '../lake-table.ts';
import { planTable } from '../plan.ts';
import type { CopyReport } from '../report.ts';
import { draftsOf, type LakeTarget } from '../open-store.ts';
import type { Store } from '../store.ts';
import { CATALOG, replaceCatalog } from './catalog.ts';
import { commitVersion, listTables, ownerIn, readTable, type Standing } from './commit.ts';
import { addFiles, filesByPeriod, heldFiles } from './files.ts';
import { findAway, sweep, sweepAway, type Away } from './leaving.ts';
import { commitPath, protocolFor, type Action, type Add, type Table } from './log.ts';
import { contentIn, hasLocalTimes, metaDataFor, tagsOf, unreadableNames, type NightStamp } from './table.ts';

export type DeltaTarget = Extract<LakeTarget, { kind: 'delta' }>;

/** What a publish is about beside the warehouse. */
interface Occasion {
  readonly dropped: SliceFiles | undefined;
  /** Null where nothing is known of this machine's clock. */
  readonly confirmedNow: Date | null;
  /** The instant that was stated to count ages from then; null: none. */
  readonly asOf: Date | null;
}

interface Place {
  readonly warehouse: Warehouse;
  readonly store: Store;
  readonly target: DeltaTarget;
  readonly signal: AbortSignal;
}

/** A table of the warehouse, and the Delta table as it was found. */
interface Found {
  readonly table: LakeTable;
  readonly standing: Standing;
}

/** What one publish works on. */
interface Night extends Place, NightStamp {
  readonly found: readonly Found[];
  readonly away: readonly Away[];
  /** What left earlier is removed; -Infinity: nothing is. */
  readonly keptSinceMs: number;
}

/** A table that is committed. */
interface Done extends Found {
  readonly now: Table;
  readonly written: number;
  readonly removed: number;
}

/** Commits a night to every table; throws `WAREHOUSE_FOREIGN` where one is not this warehouse's, and `STORAGE_FAILED`. */
export async function publishDelta(occasion: Occasion, place: Place, emit: Emit): Promise<CopyReport> {
  const { warehouse, store, target } = place;
  const tables = await deltaTables(warehouse);
  const shown = tables.map(({ name, columns }) => ({ name, columns: columns.map((column) => column.name) }));
  const unreadable = unreadableNames(target.path, shown);
  if (unreadable !== null) emit(warning('NAMES_UNREADABLE', unreadable));
  const night = await beginNight(tables, occasion, place);
  if (night.version === 0 && !(await store.isExclusive())) {
    emit(warning('STORE_NOT_EXCLUSIVE', sharedText(target.path)));
  }
  return publishNight(night);
}

async function beginNight(tables: readonly LakeTable[], occasion: Occasion, place: Place): Promise<Night> {
  const { store, warehouse, target } = place;
  const { dropped: dropping, confirmedNow, asOf } = occasion;
  const { keepMs } = target;
  const own = await identityOf(warehouse);
  const listed = new Map(await listTables(store));
  const found: Found[] = [];
  for (const table of tables) {
    const standing = await readTable(store, warehouse, table.name, listed.get(table.name));
    refuseOtherTables(target.path, standing, own);
    found.push({ table, standing });
    listed.delete(table.name);
  }
  const standings = found.map(({ standing }) => standing);
  const nowMs = confirmedNow?.getTime() ?? Math.max(Date.now(), ...standings.map(newestMs));
  // What leaves is dated by the clock all the same, and no as-of instant is later than that.
  const agedAtMs = confirmedNow !== null || keepMs === 0 ? nowMs : (asOf?.getTime() ?? -Infinity);
  const owner = ownerOf(own);
  const away = await findAway(store, warehouse, { listed, owner, dropping });
  const committed = away.filter(({ isCommitted }) => isCommitted);
  const all = [...standings, ...committed.map(({ standing }) => standing)];
  const version = Math.max(...all.map((standing) => standing.version)) + 1;
  return { ...place, found, away, owner, nowMs, keepMs, keptSinceMs: agedAtMs - keepMs, version };
}

/** When the newest file of a table's log was put there: by a clock that is behind, what leaves now would have left long ago. */
const newestMs = ({ log, lying }: Standing): number =>
  Math.max(0, ...log.commits.map((version) => lying.get(commitPath(version))?.modifiedMs ?? 0).filter(Number.isFinite));

function refuseOtherTables(target: string, { name, table }: Standing, { id, path }: Identity): void {
  if (table === null) return;
  const stated = ownerIn(table);
  if (stated !== null) return refuseOthers(`${target}/${name}`, stated, { id: id ?? path, path });
  throw new Failure(
    'WAREHOUSE_FOREIGN',
    `The table ${name} in ${target} was not ripen's; nothing was committed to it.`,
    {
      facts: { target, table: name },
      hint: 'Publish to a path of its own, or move the table away.',
    },
  );
}

async function publishNight(night: Night): Promise<CopyReport> {
  const { store, warehouse, target, keptSinceMs, away, signal } = night;
  const committed = away.filter(({ isCommitted }) => isCommitted);
  for (const { standing, dropped } of committed) await commit(night, standing, removalsOf(dropped, night.nowMs));
  const done: Done[] = [];
  for (const found of night.found) {
    signal.throwIfAborted();
    done.push(await commitTable(night, found));
  }
  if (store.isOnDisk) await replaceCatalog(store.root, done, { mode: target.mode, drafts: draftsOf(warehouse) });
  for (const { standing, now } of done) await sweep(store, standing, now, keptSinceMs);
  await sweepAway(store, away, keptSinceMs);
  const sumOf = (counts: readonly number[]): number => counts.reduce((sum, each) => sum + each, 0);
  return {
    files_written: sumOf(done.map(({ written }) => written)),
    files_removed: sumOf([...done.map(({ removed }) => removed), ...committed.map(({ dropped }) => dropped.length)]),
    also_written: [`version ${night.version}`, ...(store.isOnDisk ? [CATALOG] : [])],
  };
}

const removalsOf = (files: readonly Add[], nowMs: number): Action[] =>
  files.map(({ path, partitionValues, size }) => ({
    remove: { path, deletionTimestamp: nowMs, dataChange: true, extendedFileMetadata: true, partitionValues, size },
  }));

/** Commits the night's version of one table. */
async function commit(night: Night, standing: Standing, actions: readonly Action[]): Promise<Table> {
  const { store, warehouse, version, keptSinceMs, nowMs } = night;
  const info = {
    timestamp: nowMs,
    operation: 'WRITE',
    operationParameters: { mode: 'Overwrite' },
    ...(standing.version < 0 ? {} : { readVersion: standing.version }),
    isolationLevel: 'Serializable',
    isBlindAppend: false,
    engineInfo: `ripen/${program}`,
    // Tells this commit from any other: a lost answer is read back and compared.
    txnId: randomUUID(),
  };
  return commitVersion(store, warehouse, standing, { version, actions, info, keptSinceMs });
}

async function commitTable(night: Night, { table, standing }: Found): Promise<Done> {
  const { warehouse, nowMs } = night;
  const before = standing.table;
  const filesOf = filesByPeriod(table, standing);
  const plan = await planTable(warehouse, table, heldFiles(table, standing, filesOf));
  const metaData = metaDataFor(table, before?.metaData ?? null, night);
  const added = await addFiles(night, { table, metaData }, plan.write);
  const restamped = plan.keep.flatMap((kept): Add[] => {
    const [add] = filesOf.get(kept.period ?? '') ?? [];
    const isStated = add === undefined || contentIn(add)?.stamp === kept.stamp;
    return isStated ? [] : [{ ...add, dataChange: false, tags: tagsOf(kept) }];
  });
  const replaced = [...plan.write.map(({ period }) => period ?? ''), ...plan.removed];
  const removed = replaced.flatMap((key) => filesOf.get(key) ?? []);
  const protocol = protocolFor(hasLocalTimes(table));
  const isNewer = before === null || protocol.minReaderVersion > before.protocol.minReaderVersion;
  const actions: Action[] = [
    ...(isNewer ? [{ protocol }] : []),
    ...(JSON.stringify(metaData) === JSON.stringify(before?.metaData) ? [] : [{ metaData }]),
    ...removalsOf(removed, nowMs),
    ...[...restamped, ...added].map((add) => ({ add })),
  ];
  const now = await commit(night, standing, actions);
  return { table, standing, now, written: plan.write.length, removed: plan.removed.length };
}

const warning = (code: 'STORE_NOT_EXCLUSIVE' | 'NAMES_UNREADABLE', message: string): RunEvent => ({
  type: 'warning',
  slice: null,
  window: null,
  code,
  message,
});

/** What is said of a store that takes no notice of the condition a commit is put under. */
export const sharedText = (target: string): string =>
  `The store of ${target} replaced an object that was to be put only where none is; of two publishers at one moment one would be lost.`;
export const SHARED_HINT = 'Publish there from one warehouse alone.';
