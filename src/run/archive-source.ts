/**
 * The archive as a source. Each period is loaded only from its newest complete answer, and counts as fetched when that was.
 * Nothing newer in the warehouse is replaced, and nothing that `retain` has deleted returns.
 */

import { existsSync } from 'node:fs';
import { basename } from 'node:path';

import {
  type ArchivedWindow,
  archiveRoot,
  type Damage,
  fetchedAtOf,
  readArchive,
  readArchivedCatalog,
} from '../extract/archive.ts';
import { newestWhole, type ReplayedWindow } from '../extract/archive-newest.ts';
import { storeCatalog, catalogSeenAt, readCatalog } from '../account/stored-catalog.ts';
import type { Config } from '../config/config.ts';
import { asFailure, Failure } from '../errors.ts';
import type { Catalog } from '../model/catalog.ts';
import { namesText } from '../model/measure.ts';
import { firstKeptDay } from '../model/period.ts';
import { fingerprintOf, type Slice } from '../model/slice.ts';
import type { SlicePlan } from '../plan/plan.ts';
import { noRequests } from '../service/service.ts';
import { tolerated } from '../warehouse/ledger.ts';
import { fail, type Run, warn } from './run.ts';
import { openColumns, type Source, type SourceFactory } from './source.ts';
import { planTargets } from './tables.ts';

/** Throws `USAGE_INVALID` if there is no archive. */
export function fromArchive({ warehouse }: Pick<Config, 'warehouse'>): SourceFactory {
  if (!existsSync(archiveRoot(warehouse))) {
    throw new Failure('USAGE_INVALID', `The archive ${archiveRoot(warehouse)} does not exist.`, {
      hint: 'Set `archive: 30d` and run `ripen sync` first; an archive lies beside its warehouse.',
    });
  }
  return { statistics: () => noRequests, confirmedNow: () => null, open: openSource };
}

function openSource(run: Run): Source {
  const entries = new Map<string, readonly ArchivedWindow[]>();
  const chosen = new Map<string, ReplayedWindow>();
  const columns = openColumns(run);
  let catalog: Catalog = [];
  return {
    canRequest: false,
    read: columns.pages,
    catalog: async () => catalog,
    async begin() {
      catalog = await restoreCatalog(run);
      for (const slice of run.slices)
        if (!run.signal.aborted) entries.set(slice.name, await readEntries(slice, run));
      const slices = run.slices.filter(({ name }) => (entries.get(name) ?? []).length > 0);
      return { catalog, slices };
    },
    async plan(targets) {
      const plans: SlicePlan[] = [];
      for (const plan of await planTargets(run, targets)) {
        const { slice, table } = plan;
        const archived = entries.get(slice.name) ?? [];
        const newest = archived.at(-1);
        // What `retain` had deleted by the newest fetch stays deleted, whatever the clock says now.
        const fetchedAt = newest === undefined ? run.planAt : fetchedAtOf(newest.entry);
        const first = firstKeptDay(slice, fetchedAt < run.planAt ? fetchedAt : run.planAt);
        const { windows, damages } = await newestWhole(archived, slice, table, first);
        for (const damage of damages) fail(damaged(damage), slice.name, run);
        if (windows.length + damages.length === 0) {
          const message =
            'Nothing to replay: the warehouse has the same or later data, or `retain` removed it.';
          warn('REPLAY_EMPTY', message, slice.name, run);
        }
        const lacking = windows.flatMap((window) => window.lacking);
        const days = [...new Set(lacking.map(({ start }) => start))].sort();
        if (days.length > 0) {
          const apps = namesText([...new Set(lacking.map(({ app }) => app))], 3);
          const message = `Rows of ${apps} are missing in ${days.length} periods from ${days[0]} to ${days.at(-1)}: the newest responses no longer had them. A backup of the warehouse has them.`;
          warn('REPLAY_LACKS_APPS', message, slice.name, run);
        }
        for (const window of windows) chosen.set(window.spooled.window.id, window);
        const planned = windows.map(({ spooled }) => spooled.window);
        plans.push({ ...plan, storedNewer: 0, windows: planned });
      }
      return plans;
    },
    async *answers(queue, _, signal) {
      for (let next = queue.shift(); next !== undefined && !signal.aborted; next = queue.shift()) {
        const answer = chosen.get(next.window.id);
        if (answer === undefined) continue;
        yield { spooled: [answer.spooled], missed: [], fetchedAt: answer.asOf };
      }
    },
    archive: async () => {},
    // The bodies belong to the archive and stay there.
    discard: async (answers) => columns.pages.discard(answers),
    finish: async () => {},
    close: async () => columns.close(),
  };
}

async function readEntries(slice: Slice, run: Run): Promise<readonly ArchivedWindow[]> {
  try {
    const { windows, damages } = await readArchive(run.warehouse.path, slice.name);
    const now = new Date(Math.max(Date.now(), run.planAt.getTime()));
    const isFuture = ({ entry }: ArchivedWindow) => fetchedAtOf(entry) > tolerated(now);
    const reason = `it was recorded as fetched later than this machine's clock, ${now.toISOString()}`;
    const future = windows.filter(isFuture).map(({ path }) => ({ path, because: reason }));
    for (const damage of [...damages, ...future]) fail(damaged(damage), slice.name, run);
    const past = windows.filter((window) => !isFuture(window));
    if (past.length === 0) {
      const message = 'The archive has no answer that can be loaded.';
      warn('REPLAY_EMPTY', message, slice.name, run);
    }
    const meaning = fingerprintOf(slice);
    const current = past.filter(({ entry }) => entry.fingerprint === meaning);
    const skipped = past.length - current.length;
    if (skipped > 0) {
      const message = `${skipped} archived answers belong to an older definition of the slice, and were skipped.`;
      warn('REPLAY_SKIPPED', message, slice.name, run);
    }
    return current;
  } catch (error) {
    const failure = asFailure(error);
    if (failure.kind === 'bug') throw failure;
    fail(failure, slice.name, run);
    return [];
  }
}

function damaged({ path, because }: Damage) {
  const message = `${basename(path)} in the archive was skipped: ${because}.`;
  return new Failure('DATA_MALFORMED', message, {
    hint: 'Run `ripen sync`, and backfill the days it does not request again; remove the file to stop this warning.',
  });
}

/** Returns the newer of the warehouse's and archive's catalogs. Throws `STORAGE_FAILED` if there is none. */
async function restoreCatalog(run: Run) {
  const { warehouse } = run;
  const archived = await readArchivedCatalog(warehouse.path);
  const seenAt = await catalogSeenAt(warehouse);
  if (archived !== null && 'because' in archived) fail(damaged(archived), null, run);
  else if (archived !== null && (seenAt === null || archived.seenAt > seenAt))
    return storeCatalog(archived.items, archived.seenAt, run);
  if (seenAt !== null) return readCatalog(warehouse);
  throw new Failure(
    'STORAGE_FAILED',
    'Neither the warehouse nor the archive has a catalog, which is needed to type the values.',
    {
      hint: 'Run `ripen sync` first, or `ripen replay` in the warehouse that the archive was made with.',
    },
  );
}
