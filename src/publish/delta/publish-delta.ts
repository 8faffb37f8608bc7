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
import type { Slice } from '../../model/slice.ts';
import { version as program } from '../../version.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { identityOf, refuseOthers } from '../identity.ts';
import { replaceCatalog } from './catalog-file.ts';
import { openLanes } from '../lanes.ts';
import { deltaTables, type LakeTable } from '../lake-table.ts';
import { refuseForeign, strangersInCatalog } from '../occupant.ts';
import { countReasons, type CopyReport, type Reason } from '../report.ts';
import { deltaCatalog } from './catalog.ts';
import { commitVersion, readTable, type Standing } from './commit.ts';
import { copyFile, copyRow, fileStatistics, hasLocalTimes, metaDataFor, OWNER } from './delta-table.ts';
import { protocolFor, type Action, type Add, type Table } from './log.ts';
import { planTable, type NewFile } from './plan.ts';
import { openTables, type DeltaStore, type DeltaTarget } from './store.ts';
import { sweepTable } from './sweep.ts';

/** Another engine may commit at the same moment; one that always does is at work for longer than a publish. */
const MOST_TRIES = 5;

/** What one publish works on. */
interface Night {
  readonly warehouse: Warehouse;
  readonly store: DeltaStore;
  readonly owner: string;
  readonly keepMs: number;
  readonly nowMs: number;
  readonly version: number;
  readonly signal: AbortSignal;
}

/** A table that is committed. */
interface Done {
  readonly table: LakeTable;
  readonly standing: Standing;
  readonly now: Table;
  readonly reasons: readonly Reason[];
  readonly periodsGone: number;
}

/** Commits a night to every table; throws `WAREHOUSE_FOREIGN` where one is not this warehouse's, and `STORAGE_FAILED`. */
export async function publishDelta(
  slices: readonly Slice[],
  warehouse: Warehouse,
  target: DeltaTarget,
  { emit, signal }: { readonly emit: Emit; readonly signal: AbortSignal },
): Promise<CopyReport> {
  const store = await openTables(target, `${warehouse.path}.drafts`, signal);
  try {
    if (store.catalog !== null) await refuseForeign(store.catalog, warehouse.path, strangersInCatalog, signal);
    const tables = await deltaTables(
      warehouse,
      slices.map(({ name }) => name),
    );
    const own = await identityOf(warehouse);
    const base = { warehouse, store, owner: own.id ?? own.path, keepMs: target.keepMs, signal };
    for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
      const standings = new Map<LakeTable, Standing>();
      for (const table of tables) {
        const standing = await readTable(store, warehouse, table.name);
        refuseOtherTables(target.path, standing, base.owner, own.path);
        standings.set(table, standing);
      }
      const version = Math.max(...[...standings.values()].map((standing) => standing.version)) + 1;
      const night = { ...base, version, nowMs: Date.now() };
      if (version === 0 && !(await store.isExclusive())) emit(sharedWarning(target.path));
      const done = await commitNight(night, standings);
      if (done === null) continue;
      if (store.catalog !== null) await replaceCatalog(store.catalog, deltaCatalog(store.root, done), target.mode);
      await sweep(night, done);
      return reportOf(version, done, store.catalog !== null);
    }
    throw new Failure('STORAGE_FAILED', `Others committed to ${target.path} in each of ${MOST_TRIES} tries.`, {
      facts: { target: target.path, tries: MOST_TRIES },
      hint: 'Run `ripen publish` again when they are done.',
    });
  } finally {
    await store.close();
  }
}

function refuseOtherTables(target: string, { name, table }: Standing, owner: string, path: string): void {
  if (table === null) return;
  const stated = table.metaData.configuration[OWNER] ?? null;
  if (stated === null) {
    throw new Failure(
      'WAREHOUSE_FOREIGN',
      `The table ${name} in ${target} was not ripen's; nothing was committed to it.`,
      {
        facts: { target, table: name },
        hint: 'Publish to a path of its own, or move the table away.',
      },
    );
  }
  refuseOthers(`${target}/${name}`, stated, { id: owner, path });
}

/** Commits to the tables in order; null when another committed first. */
async function commitNight(night: Night, standings: ReadonlyMap<LakeTable, Standing>): Promise<Done[] | null> {
  const done: Done[] = [];
  for (const [table, standing] of standings) {
    night.signal.throwIfAborted();
    const committed = await commitTable(night, table, standing);
    if (committed === null) return null;
    done.push(committed);
  }
  return done;
}

async function commitTable(night: Night, table: LakeTable, standing: Standing): Promise<Done | null> {
  const { store, warehouse, version, nowMs } = night;
  const plan = await planTable(warehouse, table, standing);
  const added = await writeFiles(night, table, plan.write);
  const before = standing.table;
  const metaData = metaDataFor(table, before?.metaData ?? null, night);
  const protocol = protocolFor(hasLocalTimes(table));
  const isNewer = before === null || protocol.minReaderVersion > before.protocol.minReaderVersion;
  const actions: Action[] = [
    ...(isNewer ? [{ protocol }] : []),
    ...(JSON.stringify(metaData) === JSON.stringify(before?.metaData) ? [] : [{ metaData }]),
    ...plan.gone.map(({ path, partitionValues, size }) => ({
      remove: { path, deletionTimestamp: nowMs, dataChange: true, extendedFileMetadata: true, partitionValues, size },
    })),
    ...[...plan.restamp, ...added].map((add) => ({ add })),
  ];
  const next = {
    version,
    actions,
    info: infoOf(night, standing, metaData.partitionColumns),
    keptSinceMs: nowMs - night.keepMs,
  };
  const now = await commitVersion(store, warehouse, standing, next);
  if (now === null) return null;
  return { table, standing, now, reasons: plan.write.map(({ reason }) => reason), periodsGone: plan.periodsGone };
}

function infoOf({ nowMs, owner }: Night, { version }: Standing, partitionColumns: readonly string[]) {
  return {
    timestamp: nowMs,
    operation: 'WRITE',
    operationParameters: { mode: 'Overwrite', partitionBy: JSON.stringify(partitionColumns) },
    ...(version < 0 ? {} : { readVersion: version }),
    isolationLevel: 'Serializable',
    isBlindAppend: false,
    engineInfo: `ripen/${program}`,
    // Tells this commit from any other: a lost answer is read back and compared.
    txnId: randomUUID(),
    [OWNER]: owner,
  };
}

/** One query at a time; files are put in place while the next is being written. */
async function writeFiles(night: Night, table: LakeTable, files: readonly NewFile[]): Promise<readonly Add[]> {
  const lanes = openLanes(night.store.atOnce);
  const added: Add[] = [];
  try {
    for (const file of files) {
      night.signal.throwIfAborted();
      const add = await draftFile(night, table, file);
      await lanes.begin(async () => night.store.place(`${table.name}/${add.path}`));
      added.push(add);
    }
    await lanes.finish();
    return added;
  } finally {
    await lanes.settle();
  }
}

async function draftFile({ store, warehouse, nowMs }: Night, table: LakeTable, file: NewFile): Promise<Add> {
  const folder = table.key === null ? '' : `${table.key}=${file.period ?? ''}/`;
  const path = `${folder}ripen-${randomUUID()}.parquet`;
  const draft = await store.draft(`${table.name}/${path}`);
  const [written] = await warehouse.rows(copyFile(table, file.period, draft), [], copyRow);
  if (written?.count !== file.rows) {
    throw new Failure(
      'STORAGE_FAILED',
      `The file ${path} got ${written?.count ?? 0} rows where ${file.rows} were due.`,
      {
        facts: { written: written?.count ?? 0, expected: file.rows },
        hint: 'Run `ripen publish` again; the old file is still served.',
      },
    );
  }
  return {
    path,
    partitionValues: table.key === null ? {} : { [table.key]: file.period },
    size: written.file_size_bytes,
    modificationTime: nowMs,
    dataChange: true,
    stats: fileStatistics(table, written),
    tags: file.tags,
  };
}

async function sweep({ store, keepMs, nowMs }: Night, done: readonly Done[]): Promise<void> {
  for (const { standing, now } of done) await sweepTable(store, standing, now, nowMs - keepMs);
}

function reportOf(version: number, done: readonly Done[], hasCatalog: boolean): CopyReport {
  const reasons = done.flatMap((each) => each.reasons);
  return {
    files_written: reasons.length,
    files_removed: done.reduce((sum, { periodsGone }) => sum + periodsGone, 0),
    because: countReasons(reasons),
    also_written: [`version ${version}`, ...(hasCatalog ? ['catalog.duckdb'] : [])],
  };
}

const sharedWarning = (target: string): RunEvent => ({
  type: 'warning',
  slice: null,
  window: null,
  code: 'STORE_NOT_EXCLUSIVE',
  message: sharedText(target),
});

/** What is said of a store that takes no notice of the condition a commit is put under. */
export const sharedText = (target: string): string =>
  `The store of ${target} replaced an object that was to be put only where none is; of two publishers at one moment one would be lost.`;
export const SHARED_HINT = 'Publish there from one warehouse alone.';
