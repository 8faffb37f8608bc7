/**
 * Loading again from the archive, without the service: catalog → archived windows → load → swap → partners → publish.
 *
 * Every period ends up with its newest archived answer, and counts as fetched when that answer was. Nothing the
 * warehouse holds gives way to something older. What is corrupt or foreign is set aside and named; the rest is loaded.
 */

import { basename } from 'node:path';

import type { Config } from './config/config.ts';
import { Failure } from './errors.ts';
import type { Emit } from './events.ts';
import { catalogSeenAt, readCatalog } from './load/catalog-tables.ts';
import { measureSlices } from './run/measure-slices.ts';
import { prepareTable, swapTables } from './load/slice-table.ts';
import type { Target } from './load/target.ts';
import type { Catalog } from './model/catalog.ts';
import { fingerprintOf } from './model/fingerprint.ts';
import { carries } from './model/ledger.ts';
import type { Slice } from './model/slice.ts';
import { labelOf, type Window } from './model/window.ts';
import { isComplete, planSlice, type SlicePlan } from './plan/plan.ts';
import { publish } from './publish/publish.ts';
import { adoptCatalog } from './run/refresh-catalog.ts';
import { completeDimensions } from './run/refresh-dimensions.ts';
import { replayWindows } from './run/replay-windows.ts';
import { runStages, type Run, type RunRequest } from './run/run.ts';
import type { ServiceStatistics } from './service/service.ts';
import { archiveExists, archiveRoot } from './spool/archive.ts';
import { readKeptCatalog } from './spool/archive-catalog.ts';
import { isOutdated, newestWindows, type ArchivedWindow } from './spool/archive-choice.ts';
import { intactWindows, readArchive, setAside, spooledFrom } from './spool/archive-contents.ts';
import type { Damage } from './spool/archive-document.ts';
import type { SyncSummary } from './run/summary.ts';
import { readSliceLedger } from './warehouse/ledger.ts';
import { recordFailed, recordPlan, warn } from './run/outcome.ts';

export type ReplayRequest = Pick<RunRequest, 'asOf' | 'slices' | 'lockWaitMs'>;

/** Skipped windows that one warning names. */
const EXAMPLES = 5;

const NOTHING_ASKED: ServiceStatistics = { requests: 0, retries: 0, peakConcurrency: 0, bytes: 0 };

/** Loads what the archive holds of the chosen slices and publishes. Throws as `runStages` does, and without an archive. */
export async function replay(
  config: Config,
  request: ReplayRequest,
  emit: Emit,
  signal: AbortSignal,
): Promise<SyncSummary> {
  if (!archiveExists(config.warehouse)) {
    throw new Failure('STORAGE_FAILED', `The archive ${archiveRoot(config.warehouse)} did not exist.`, {
      hint: 'Set `archive: 30d` and run `ripen sync` first; an archive lies beside its warehouse.',
    });
  }
  let loaded = 0;
  const reload = async (run: Run): Promise<void> => {
    const catalog = await restoreCatalog(run);
    for (const slice of run.slices) {
      const windows = run.signal.aborted ? 0 : await reloadSlice(slice, catalog, run);
      loaded += windows;
    }
    if (loaded > 0) await completeDimensions(run);
  };
  const publishLoaded = async ({ warehouse, record }: Run): Promise<void> => {
    // A new warehouse that got nothing must not take the place of good copies.
    if (loaded > 0) record.publish(await publish(config, warehouse, emit, signal));
  };
  return runStages(
    { refresh: reload, publish: publishLoaded },
    { config, request: { ...request, command: 'replay', deadlineMs: null }, emit, signal },
    () => NOTHING_ASKED,
  );
}

/** The newer one of the warehouse's catalog and the archive's, which is then taken over as a listing is. */
async function restoreCatalog(run: Run): Promise<Catalog> {
  const { warehouse } = run;
  const kept = await readKeptCatalog(warehouse.path);
  const seenAt = await catalogSeenAt(warehouse);
  if (kept !== null && 'because' in kept) {
    await refuse(kept, null, run);
  } else if (kept !== null && (seenAt === null || kept.seenAt > seenAt)) {
    return adoptCatalog({ items: kept.items, absent: [] }, kept.seenAt, run);
  }
  if (seenAt !== null) return readCatalog(warehouse);
  throw new Failure('STORAGE_FAILED', 'Neither the warehouse nor the archive held a catalog to type the values by.', {
    hint: 'Run `ripen sync` first, or `ripen replay` in the warehouse that the archive was made with.',
  });
}

/** Loads a slice's archived windows; returns how many. */
async function reloadSlice(slice: Slice, catalog: Catalog, run: Run): Promise<number> {
  const { warehouse, runId } = run;
  const { windows, damages } = await readArchive(warehouse.path, slice.name);
  for (const damage of damages) await refuse(damage, slice.name, run);
  const meaning = fingerprintOf(slice);
  const ofSlice = windows.filter(({ entry }) => carries(entry.fingerprint, meaning));
  // Weeks that the service began on another day are of another table than the newest ones.
  const { fingerprint } = ofSlice.at(-1)?.entry ?? { fingerprint: meaning };
  const mine = ofSlice.filter(({ entry }) => entry.fingerprint === fingerprint);
  const others = windows.filter((window) => !mine.includes(window));
  await skip(others, slice, 'carried another meaning than the slice has now', run);
  if (windows.length === 0) {
    await warn({ code: 'REPLAY_EMPTY', message: 'The archive held no answer that could be loaded.' }, slice.name, run);
  }
  if (mine.length === 0) return 0;

  const target = await prepareTable(warehouse, slice, catalog, runId);
  const plan = await planTarget(target, run);
  const outdated = new Set(mine.filter(({ entry }) => isOutdated(entry, slice, plan.table)));
  const useful = newestWindows(mine, slice).filter((window) => outdated.has(window));
  await skip(useful, slice, 'held periods that the warehouse holds from a later fetch', run);
  const { chosen, broken } = await intactWindows(
    mine.filter((window) => !outdated.has(window)),
    slice,
  );
  const windowOf = (archived: ArchivedWindow): Window => spooledFrom(archived, slice).window;
  await recordPlan({ ...plan, heldNewer: 0, windows: [...chosen, ...broken.keys()].map(windowOf) }, run);
  for (const [archived, damage] of broken) await refuse(damage, windowOf(archived), run);

  const loaded = await replayWindows(chosen, target, run);
  if (target.state === 'building') {
    const { live } = await readSliceLedger(warehouse, slice.name);
    if (isComplete(await planTarget(target, run), live)) await swapTables(warehouse, target, runId);
  }
  await measureSlices(run, [await prepareTable(warehouse, slice, catalog, runId)]);
  return loaded;
}

/** What the ledger says of a target's table, and what a sync would find to be due. */
async function planTarget({ slice, metrics }: Target, { warehouse, asOf }: Run): Promise<SlicePlan> {
  return planSlice({ slice, metrics, ledger: await readSliceLedger(warehouse, slice.name), asOf, forced: null });
}

/** Sets a corrupt or foreign file aside and records the failure; `about` is its window, slice, or null for the catalog. */
async function refuse({ path, because }: Damage, about: Window | string | null, run: Run): Promise<void> {
  const aside = await setAside(path);
  const failure = new Failure(
    'DATA_MALFORMED',
    `${basename(path)} in the archive could not be loaded: ${because}. It was set aside as ${aside}.`,
    { facts: { path: aside }, hint: 'Run `ripen sync`, and backfill the days it does not ask for again.' },
  );
  if (about === null) run.record.fail(failure);
  else recordFailed(failure, about, run);
}

async function skip(windows: readonly ArchivedWindow[], slice: Slice, because: string, run: Run): Promise<void> {
  if (windows.length === 0) return;
  const named = windows.slice(0, EXAMPLES).map(({ entry }) => labelOf(entry));
  const rest = windows.length > EXAMPLES ? ` and ${windows.length - EXAMPLES} more` : '';
  const message = `${windows.length} archived answers ${because}, and were skipped: ${named.join(', ')}${rest}.`;
  await warn({ code: 'REPLAY_SKIPPED', message }, slice.name, run);
}
