/**
 * Delta tables: every slice, dimension table and what the ledger says, each brought up to the warehouse by one commit.
 *
 * All tables of one publish bear one version number, what is final last; so a version that `ripen_finality` has is a whole
 * night, in every table. A killed publish leaves versions it does not have; the next one takes the number after them.
 * The log is the only state: nothing beside the tables is read or believed.
 */

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';

import { Failure } from '../../errors.ts';
import type { Emit, RunEvent } from '../../events.ts';
import { version as program } from '../../version.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { identityOf, ownerOf, refuseOthers, type Identity } from '../identity.ts';
import { deltaTables, type LakeTable, type SliceFiles } from '../lake-table.ts';
import { refuseForeign, tableNames } from '../occupants.ts';
import { planTable } from '../plan.ts';
import { countReasons, type CopyReport, type Reason } from '../report.ts';
import { draftsOf, type LakeTarget } from '../open-store.ts';
import type { Store } from '../store.ts';
import { CATALOG, replaceCatalog } from './catalog.ts';
import { commitVersion, committedBy, OWNER, readTable, type Standing } from './commit.ts';
import { addFiles, filesByPeriod, heldFiles } from './files.ts';
import { findAway, sweep, sweepAway, type Away } from './leaving.ts';
import { commitPath, protocolFor, type Action, type Add, type Table } from './log.ts';
import { contentIn, hasLocalTimes, metaDataFor, tagsOf, unreadableNames, type Publishing } from './table.ts';

export type DeltaTarget = Extract<LakeTarget, { kind: 'delta' }>;

/** Another engine may commit at the same moment; one that always does is at work for longer than a publish. */
const MOST_TRIES = 5;

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
interface Night extends Place, Publishing {
  readonly found: readonly Found[];
  readonly away: readonly Away[];
  /** What left earlier is removed; -Infinity: nothing is. */
  readonly keptSinceMs: number;
}

/** A table that is committed. */
interface Done extends Found {
  readonly now: Table;
  readonly reasons: readonly Reason[];
  readonly periodsRemoved: number;
}

/** Commits a night to every table; throws `WAREHOUSE_FOREIGN` where one is not this warehouse's, and `STORAGE_FAILED`. */
export async function publishDelta(occasion: Occasion, place: Place, emit: Emit): Promise<CopyReport> {
  const { warehouse, store, target, signal } = place;
  if (store.isOnDisk) {
    await refuseForeign(join(store.root, CATALOG), warehouse.path, tableNames, { mayCopy: true, signal });
  }
  const tables = await deltaTables(warehouse);
  const own = await identityOf(warehouse);
  const shown = tables.map(({ name, columns }) => ({ name, columns: columns.map((column) => column.name) }));
  const unreadable = unreadableNames(target.path, shown);
  if (unreadable !== null) emit(warning('NAMES_UNREADABLE', unreadable));
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    const night = await beginNight({ tables, own, occasion }, place);
    if (night.version === 0 && !(await store.isExclusive())) {
      emit(warning('STORE_NOT_EXCLUSIVE', sharedText(target.path)));
    }
    const report = await publishNight(night);
    if (report !== null) return report;
  }
  throw new Failure('STORAGE_FAILED', `Others committed to ${target.path} in each of ${MOST_TRIES} tries.`, {
    facts: { target: target.path, tries: MOST_TRIES },
    hint: 'Run `ripen publish` again when they are done.',
  });
}

async function beginNight(
  {
    tables,
    own,
    occasion,
  }: { readonly tables: readonly LakeTable[]; readonly own: Identity; readonly occasion: Occasion },
  place: Place,
): Promise<Night> {
  const { store, warehouse, target } = place;
  const { dropped: dropping, confirmedNow, asOf } = occasion;
  const { keepMs } = target;
  const found: Found[] = [];
  for (const table of tables) {
    const standing = await readTable(store, warehouse, table.name);
    refuseOtherTables(target.path, standing, own);
    found.push({ table, standing });
  }
  const standings = found.map(({ standing }) => standing);
  const nowMs = confirmedNow?.getTime() ?? Math.max(Date.now(), ...standings.map(newestMs));
  // What leaves is dated by the clock all the same, and no as-of instant is later than that.
  const agedAtMs = confirmedNow !== null || keepMs === 0 ? nowMs : (asOf?.getTime() ?? -Infinity);
  const owner = ownerOf(own);
  const away = await findAway(store, warehouse, { standings, dropping, owner });
  const emptied = away.filter(({ dropped }) => dropped.length > 0);
  const all = [...standings, ...emptied.map(({ standing }) => standing)];
  return {
    ...place,
    found,
    away,
    owner,
    nowMs,
    keepMs,
    keptSinceMs: agedAtMs - keepMs,
    version: Math.max(...all.map(({ version }) => version)) + 1,
    listed: [...standings, ...away.map(({ standing }) => standing)].map(({ name }) => name).sort(),
  };
}

/** When the newest file of a table's log was put there: by a clock that is behind, what leaves now would have left long ago. */
const newestMs = ({ log, lying }: Standing): number =>
  Math.max(0, ...log.commits.map((version) => lying.get(commitPath(version))?.modifiedMs ?? 0).filter(Number.isFinite));

function refuseOtherTables(target: string, { name, table }: Standing, { id, path }: Identity): void {
  if (table === null) return;
  const stated = table.metaData.configuration[OWNER] ?? null;
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

/** Null when another engine committed first. */
async function publishNight(night: Night): Promise<CopyReport | null> {
  const { store, warehouse, target, keptSinceMs, away, signal } = night;
  const emptied = away.filter(({ dropped }) => dropped.length > 0);
  for (const { standing, dropped } of emptied) {
    if ((await commit(night, standing, removalsOf(dropped, night.nowMs))) === null) return null;
  }
  const done: Done[] = [];
  for (const found of night.found) {
    signal.throwIfAborted();
    const committed = await commitTable(night, found);
    if (committed === null) return null;
    done.push(committed);
  }
  if (store.isOnDisk) await replaceCatalog(store.root, done, { mode: target.mode, drafts: draftsOf(warehouse) });
  for (const { standing, now } of done) await sweep(store, standing, now, keptSinceMs);
  await sweepAway(store, warehouse, away, keptSinceMs);
  const reasons = done.flatMap((each) => each.reasons);
  const removed = [
    ...done.map(({ periodsRemoved }) => periodsRemoved),
    ...emptied.map(({ dropped }) => dropped.length),
  ];
  return {
    files_written: reasons.length,
    files_removed: removed.reduce((sum, each) => sum + each, 0),
    because: countReasons(reasons),
    also_written: [`version ${night.version}`, ...(store.isOnDisk ? [CATALOG] : [])],
  };
}

const removalsOf = (files: readonly Add[], nowMs: number): Action[] =>
  files.map(({ path, partitionValues, size }) => ({
    remove: { path, deletionTimestamp: nowMs, dataChange: true, extendedFileMetadata: true, partitionValues, size },
  }));

/** Commits the night's version of one table; null when another engine committed first. Throws where another publish did. */
async function commit(night: Night, standing: Standing, actions: readonly Action[]): Promise<Table | null> {
  const { store, warehouse, version, keptSinceMs, nowMs, owner } = night;
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
    [OWNER]: owner,
  };
  const now = await commitVersion(store, warehouse, standing, { version, actions, info, keptSinceMs });
  const committer = now === null ? await committedBy(store, standing.name, version) : null;
  if (committer === null) return now;
  throw new Failure(
    'STORAGE_FAILED',
    `Another publish committed version ${version} to ${store.root}/${standing.name} while this one was at work.`,
    {
      facts: { target: store.root, table: standing.name, version, committer },
      hint: 'Publish there from one process at a time; `ripen publish` brings the tables up to this warehouse.',
    },
  );
}

async function commitTable(night: Night, { table, standing }: Found): Promise<Done | null> {
  const { warehouse, nowMs } = night;
  const before = standing.table;
  const filesOf = filesByPeriod(table, standing);
  const plan = await planTable(warehouse, table, await heldFiles(night, table, filesOf));
  const metaData = metaDataFor(table, before?.metaData ?? null, night);
  const added = await addFiles(night, { table, metaData }, plan.write);
  const restamped = plan.keep.flatMap((kept): Add[] => {
    const [add] = filesOf.get(kept.period ?? '') ?? [];
    const isStated = add === undefined || contentIn(add.add)?.stamp === kept.stamp;
    return isStated ? [] : [{ ...add.add, dataChange: false, tags: tagsOf(kept) }];
  });
  const replaced = [...plan.write.map(({ period }) => period ?? ''), ...plan.removed];
  const removed = replaced.flatMap((key) => filesOf.get(key) ?? []).map(({ add }) => add);
  const protocol = protocolFor(hasLocalTimes(table));
  const isNewer = before === null || protocol.minReaderVersion > before.protocol.minReaderVersion;
  const actions: Action[] = [
    ...(isNewer ? [{ protocol }] : []),
    ...(JSON.stringify(metaData) === JSON.stringify(before?.metaData) ? [] : [{ metaData }]),
    ...removalsOf(removed, nowMs),
    ...[...restamped, ...added].map((add) => ({ add })),
  ];
  const now = await commit(night, standing, actions);
  if (now === null) return null;
  const reasons = plan.write.map(({ reason }) => reason);
  return { table, standing, now, reasons, periodsRemoved: plan.removed.length };
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
