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
import { replaceCatalog } from './catalog-file.ts';
import { deltaTables, type LakeTable } from '../lake-table.ts';
import type { SliceFiles } from '../lake-store.ts';
import { refuseForeign, foreignInCatalog } from '../occupant.ts';
import { countReasons, type CopyReport, type Reason } from '../report.ts';
import { committerOf, deltaCatalog, hasLocalTimes, metaDataFor, OWNER, type Publishing } from './delta-table.ts';
import { writeFiles } from './new-files.ts';
import { commitVersion, readTable, type Standing } from './commit.ts';
import { findLeft, sweepAway, type Left } from './leaving.ts';
import { commitPath, LOG, protocolFor, type Action, type Add, type Table } from './log.ts';
import { planTable } from './plan.ts';
import type { DeltaStore } from './delta-store.ts';
import { openTables, type DeltaTarget } from './store.ts';
import { surplusOf, sweep } from './sweep.ts';

/** Another engine may commit at the same moment; one that always does is at work for longer than a publish. */
const MOST_TRIES = 5;

/** What one publish works on. */
interface Night extends Publishing, Left {
  readonly warehouse: Warehouse;
  readonly store: DeltaStore;
  readonly mode: number;
  /** What left earlier is removed; -Infinity: nothing is. */
  readonly keptSinceMs: number;
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

/** What a publish is about beside the warehouse. */
interface Occasion {
  readonly dropped: SliceFiles | undefined;
  /** Null where nothing is known of this machine's clock. */
  readonly confirmedNow: Date | null;
  /** The instant that was stated to count ages from then; null: none. */
  readonly asOf: Date | null;
}

/** Commits a night to every table; throws `WAREHOUSE_FOREIGN` where one is not this warehouse's, and `STORAGE_FAILED`. */
export async function publishDelta(
  occasion: Occasion,
  warehouse: Warehouse,
  target: DeltaTarget,
  { emit, signal }: { readonly emit: Emit; readonly signal: AbortSignal },
): Promise<CopyReport> {
  const store = await openTables(target, draftsOf(warehouse), signal);
  try {
    if (store.catalog !== null)
      await refuseForeign(store.catalog, warehouse.path, foreignInCatalog, { mayCopy: true, signal });
    const tables = await deltaTables(warehouse);
    const own = await identityOf(warehouse);
    const place = { warehouse, store, own, target, signal };
    for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
      const standings = await standingsOf(tables, place);
      const night = await beginNight(standings, occasion, place);
      if (night.version === 0 && !(await store.isExclusive())) emit(sharedWarning(target.path));
      const report = await publishNight(night, standings);
      if (report !== null) return report;
    }
    throw new Failure('STORAGE_FAILED', `Others committed to ${target.path} in each of ${MOST_TRIES} tries.`, {
      facts: { target: target.path, tries: MOST_TRIES },
      hint: 'Run `ripen publish` again when they are done.',
    });
  } finally {
    await store.close();
  }
}

/** A folder of this machine for what is made on the way; it is cleared. */
const draftsOf = ({ path }: Warehouse): string => `${path}.drafts`;

interface Place {
  readonly warehouse: Warehouse;
  readonly store: DeltaStore;
  readonly own: Identity;
  readonly target: DeltaTarget;
  readonly signal: AbortSignal;
}

type Standings = ReadonlyMap<LakeTable, Standing>;

async function standingsOf(tables: readonly LakeTable[], { warehouse, store, own, target }: Place): Promise<Standings> {
  const standings = new Map<LakeTable, Standing>();
  for (const table of tables) {
    const standing = await readTable(store, warehouse, table.name);
    refuseOtherTables(target.path, standing, ownerOf(own), own.path);
    standings.set(table, standing);
  }
  return standings;
}

async function beginNight(
  standings: Standings,
  { dropped: dropping, confirmedNow, asOf }: Occasion,
  { store, warehouse, own, target, signal }: Place,
): Promise<Night> {
  const { keepMs } = target;
  const nowMs = confirmedNow?.getTime() ?? Math.max(Date.now(), ...[...standings.values()].map(newestMs));
  // What leaves is dated by the clock all the same, and no as-of instant is later than that.
  const agedAtMs = confirmedNow !== null || keepMs === 0 ? nowMs : (asOf?.getTime() ?? -Infinity);
  const base = { owner: ownerOf(own), nowMs, keepMs, keptSinceMs: agedAtMs - keepMs };
  const left = await findLeft(store, warehouse, { ...base, standings: [...standings.values()], dropping });
  const all = [...standings.values(), ...left.dropped.map(({ standing }) => standing)];
  const version = Math.max(...all.map((standing) => standing.version)) + 1;
  return { ...base, store, warehouse, signal, version, mode: target.mode, ...left };
}

/** When the newest file of a table's log was put there: by a clock that is behind, what leaves now would have left long ago. */
const newestMs = ({ log, lying }: Standing): number =>
  Math.max(0, ...log.commits.map((version) => lying.get(commitPath(version))?.modifiedMs ?? 0).filter(Number.isFinite));

/** Null when another engine committed first. */
async function publishNight(night: Night, standings: Standings): Promise<CopyReport | null> {
  const { store, warehouse, mode, keptSinceMs } = night;
  if (!(await commitDropped(night))) return null;
  const done = await commitNight(night, standings);
  if (done === null) return null;
  const { root, catalog } = store;
  if (catalog !== null)
    await replaceCatalog({ path: catalog, statements: deltaCatalog(root, done), mode }, draftsOf(warehouse));
  for (const { standing, now } of done) await sweep(store, standing.name, surplusOf(standing, now, keptSinceMs));
  await sweepAway(store, warehouse, night.away, keptSinceMs);
  return reportOf(night, done);
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

/** Commits what is dropped of tables the night no longer has; false when another committed first. */
async function commitDropped(night: Night): Promise<boolean> {
  for (const { standing, gone } of night.dropped) {
    if (gone.length === 0) continue;
    const actions = removalsOf(gone, night.nowMs);
    if ((await commit(night, standing, actions)) === null) return false;
  }
  return true;
}

const removalsOf = (files: readonly Add[], nowMs: number): Action[] =>
  files.map(({ path, partitionValues, size }) => ({
    remove: { path, deletionTimestamp: nowMs, dataChange: true, extendedFileMetadata: true, partitionValues, size },
  }));

/** Commits the night's version of one table; null when another engine committed first. */
async function commit(night: Night, standing: Standing, actions: readonly Action[]): Promise<Table | null> {
  const { store, warehouse, version, keptSinceMs } = night;
  const now = await commitVersion(store, warehouse, standing, {
    version,
    actions,
    info: infoOf(night, standing),
    keptSinceMs,
  });
  if (now === null) await refuseOtherPublisher(night, standing.name);
  return now;
}

/** Another engine's commit is taken note of; that of another publish means that two are at work on one target. */
async function refuseOtherPublisher({ store, version }: Night, name: string): Promise<void> {
  const listed = await store.list(`${name}/${LOG}`);
  const committer = await committerOf(
    store,
    name,
    version,
    listed.get(`${name}/${commitPath(version)}`)?.bytes ?? null,
  );
  if (committer === null) return;
  throw new Failure(
    'STORAGE_FAILED',
    `Another publish committed version ${version} to ${store.root}/${name} while this one was at work.`,
    {
      facts: { target: store.root, table: name, version, committer },
      hint: 'Publish there from one process at a time; `ripen publish` brings the tables up to this warehouse.',
    },
  );
}

/** Commits to the tables in order; null when another committed first. */
async function commitNight(night: Night, standings: Standings): Promise<Done[] | null> {
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
  const { nowMs } = night;
  const plan = await planTable(night, table, standing);
  const added = await writeFiles(night, table, plan.write);
  const before = standing.table;
  const metaData = metaDataFor(table, before?.metaData ?? null, night);
  const protocol = protocolFor(hasLocalTimes(table));
  const isNewer = before === null || protocol.minReaderVersion > before.protocol.minReaderVersion;
  const actions: Action[] = [
    ...(isNewer ? [{ protocol }] : []),
    ...(JSON.stringify(metaData) === JSON.stringify(before?.metaData) ? [] : [{ metaData }]),
    ...removalsOf(plan.gone, nowMs),
    ...[...plan.restamp, ...added].map((add) => ({ add })),
  ];
  const now = await commit(night, standing, actions);
  if (now === null) return null;
  return { table, standing, now, reasons: plan.write.map(({ reason }) => reason), periodsGone: plan.periodsGone };
}

function infoOf({ nowMs, owner }: Night, { version }: Standing) {
  return {
    timestamp: nowMs,
    operation: 'WRITE',
    operationParameters: { mode: 'Overwrite' },
    ...(version < 0 ? {} : { readVersion: version }),
    isolationLevel: 'Serializable',
    isBlindAppend: false,
    engineInfo: `ripen/${program}`,
    // Tells this commit from any other: a lost answer is read back and compared.
    txnId: randomUUID(),
    [OWNER]: owner,
  };
}

function reportOf({ version, store, dropped }: Night, done: readonly Done[]): CopyReport {
  const reasons = done.flatMap((each) => each.reasons);
  const counts = [...done.map(({ periodsGone }) => periodsGone), ...dropped.map(({ gone }) => gone.length)];
  return {
    files_written: reasons.length,
    files_removed: counts.reduce((sum, count) => sum + count, 0),
    because: countReasons(reasons),
    also_written: [`version ${version}`, ...(store.catalog === null ? [] : ['catalog.duckdb'])],
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
