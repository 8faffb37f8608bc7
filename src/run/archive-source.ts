/**
 * The archive as a source of answers, without the service.
 *
 * Each period is loaded only from its newest complete answer, and counts as fetched when that was. Nothing newer in the
 * warehouse is replaced, and nothing that `retain` has deleted returns. Damaged entries are reported and skipped.
 */

import { existsSync } from 'node:fs';
import { basename } from 'node:path';

import { archiveRoot, readArchive, readArchivedCatalog } from '../extract/archive.ts';
import {
  type ArchivedWindow,
  type Damage,
  fetchedAtOf,
  keepPeriods,
} from '../extract/archive-entry.ts';
import { newestWhole, spooledFrom } from '../extract/archive-newest.ts';
import { storeCatalog, catalogSeenAt, readCatalog } from '../account/stored-catalog.ts';
import type { Config } from '../config/config.ts';
import { asFailure, Failure } from '../errors.ts';
import { dayAt, weekdayOf } from '../model/calendar.ts';
import type { Catalog } from '../model/catalog.ts';
import { firstKeptDay } from '../model/period.ts';
import { fingerprintOf, type Slice } from '../model/slice.ts';
import type { SlicePlan } from '../plan/plan.ts';
import { noRequests } from '../service/service.ts';
import type { Spooled } from '../extract/spool.ts';
import { tolerated } from '../warehouse/ledger.ts';
import { fail, type Run, warn } from './run.ts';
import { openColumns, type Source, type SourceFactory } from './source.ts';
import { planTargets } from './tables.ts';

/** Makes a run load again what the warehouse's archive holds. Throws `USAGE_INVALID` if there is no archive. */
export function fromArchive({ warehouse }: Pick<Config, 'warehouse'>): SourceFactory {
  if (!existsSync(archiveRoot(warehouse))) {
    throw new Failure('USAGE_INVALID', `The archive ${archiveRoot(warehouse)} did not exist.`, {
      hint: 'Set `archive: 30d` and run `ripen sync` first; an archive lies beside its warehouse.',
    });
  }
  return { statistics: () => noRequests, confirmedNow: () => null, open: openSource };
}

function openSource(run: Run): Source {
  const entries = new Map<string, readonly ArchivedWindow[]>();
  /** By window id. */
  const chosen = new Map<string, { readonly spooled: Spooled; readonly asOf: Date | null }>();
  const columns = openColumns(run);
  let restored: Promise<Catalog> | null = null;
  const catalog = async (): Promise<Catalog> => (restored ??= restoreCatalog(run));
  return {
    canRequest: false,
    read: columns.pages,
    catalog,
    async begin() {
      const stored = await catalog();
      for (const slice of run.slices) {
        if (!run.signal.aborted) entries.set(slice.name, await entriesOf(slice, run));
      }
      return {
        catalog: stored,
        slices: run.slices.filter(({ name }) => (entries.get(name) ?? []).length > 0),
      };
    },
    async plan(targets) {
      const plans: SlicePlan[] = [];
      for (const plan of await planTargets(run, targets)) {
        const { slice, table } = plan;
        const own = await loadable(entries.get(slice.name) ?? [], slice, run);
        const { windows, damages } = await newestWhole(own, slice, table);
        for (const damage of damages) fail(damaged(damage), slice.name, run);
        if (windows.length === 0 && damages.length === 0) {
          const message =
            'The archive had nothing that the warehouse does not have from a later fetch.';
          warn({ code: 'REPLAY_EMPTY', message }, slice.name, run);
        }
        const all = windows.map((window) => ({
          spooled: spooledFrom(window, slice),
          asOf: window.entry.asOf,
        }));
        for (const each of all) chosen.set(each.spooled.window.id, each);
        plans.push({ ...plan, storedNewer: 0, windows: all.map(({ spooled }) => spooled.window) });
      }
      return plans;
    },
    async *answers(queue, _, signal) {
      for (let next = queue.shift(); next !== undefined && !signal.aborted; next = queue.shift()) {
        const found = chosen.get(next.window.id);
        if (found === undefined) continue;
        yield { spooled: [found.spooled], missed: [], requested: [], fetchedAt: found.asOf };
      }
    },
    archive: async () => {},
    // The bodies belong to the archive and stay there.
    discard: async (answers) => columns.pages.discard(answers),
    finish: async () => {},
    close: async () => columns.close(),
  };
}

/** The archived answers with a slice's current meaning, in the order of their fetches; none if reading fails (recorded). */
async function entriesOf(slice: Slice, run: Run): Promise<readonly ArchivedWindow[]> {
  try {
    const { windows, damages } = await readArchive(run.warehouse.path, slice.name);
    const future = futureDamages(windows, run);
    for (const damage of [...damages, ...future]) fail(damaged(damage), slice.name, run);
    const past = windows.filter(({ path }) => !future.some((damage) => damage.path === path));
    if (past.length === 0) {
      const message = 'The archive had no answer that could be loaded.';
      warn({ code: 'REPLAY_EMPTY', message }, slice.name, run);
    }
    const meaning = fingerprintOf(slice);
    return await keeping(past, 'carried another meaning than the slice has now', slice, {
      run,
      isKept: ({ entry }) => entry.fingerprint === meaning,
    });
  } catch (error) {
    const failure = asFailure(error);
    if (failure.kind === 'bug') throw failure;
    fail(failure, slice.name, run);
    return [];
  }
}

/** Reports as damaged the answers recorded as fetched later than now; the fetch times of the others are known. */
function futureDamages(windows: readonly ArchivedWindow[], { planAt }: Run): Damage[] {
  const now = new Date(Math.max(Date.now(), planAt.getTime()));
  const because = `it was recorded as fetched later than this machine's clock, ${now.toISOString()}`;
  const future = windows.filter(({ entry }) => fetchedAtOf(entry) > tolerated(now));
  return future.map(({ path }) => ({ path, because }));
}

/** The entries with the periods that may be loaded into a slice's table: those of its weeks that `retain` keeps. */
async function loadable(
  entries: readonly ArchivedWindow[],
  slice: Slice,
  run: Run,
): Promise<readonly ArchivedWindow[]> {
  const newest = entries.at(-1);
  if (newest === undefined) return [];
  const ofWeeks = await keeping(entries, 'had weeks that do not begin on week_starts_on', slice, {
    run,
    isKept: ({ entry }) =>
      slice.grain !== 'week' || weekdayOf(entry.replaced.start) === slice.weekStartsOn,
  });
  // `retain` counts from the newest fetch, whatever the clock says now: what it had deleted by then stays deleted.
  const fetchedAt = fetchedAtOf(newest.entry);
  const at = fetchedAt < run.planAt ? fetchedAt : run.planAt;
  const first = firstKeptDay(slice, at);
  if (first === null) return ofWeeks;
  const starts = new Set(
    ofWeeks.flatMap(({ entry }) => entry.periods.map(({ period }) => period.bucket.start)),
  );
  const left = [...starts].filter((start) => start < first).length;
  if (left > 0) {
    const message = `${left} archived periods before ${first} were not loaded: by ${dayAt(at, slice.utcOffset)}, \`retain\` had removed them.`;
    warn({ code: 'REPLAY_SKIPPED', message }, slice.name, run);
  }
  return ofWeeks.flatMap((window) =>
    keepPeriods(window, ({ period }) => period.bucket.start >= first),
  );
}

/** Returns the entries that are kept; warns how many are skipped, and why. */
async function keeping(
  entries: readonly ArchivedWindow[],
  because: string,
  slice: Slice,
  { run, isKept }: { readonly run: Run; readonly isKept: (entry: ArchivedWindow) => boolean },
): Promise<readonly ArchivedWindow[]> {
  const kept = entries.filter(isKept);
  const skipped = entries.length - kept.length;
  const message = `${skipped} archived answers ${because}, and were skipped.`;
  if (skipped > 0) warn({ code: 'REPLAY_SKIPPED', message }, slice.name, run);
  return kept;
}

function damaged({ path, because }: Damage): Failure {
  return new Failure(
    'DATA_MALFORMED',
    `${basename(path)} in the archive was skipped: ${because}.`,
    {
      facts: { path },
      hint: 'Run `ripen sync`, and backfill the days it does not request again; remove the file to stop this warning.',
    },
  );
}

/** The newer of the warehouse's and archive's catalogs; adopts the archive's as a listing. Throws `STORAGE_FAILED` if none. */
async function restoreCatalog(run: Run): Promise<Catalog> {
  const { warehouse } = run;
  const kept = await readArchivedCatalog(warehouse.path);
  const seenAt = await catalogSeenAt(warehouse);
  if (kept !== null && 'because' in kept) fail(damaged(kept), null, run);
  else if (kept !== null && (seenAt === null || kept.seenAt > seenAt)) {
    return storeCatalog(kept.items, kept.seenAt, run);
  }
  if (seenAt !== null) return readCatalog(warehouse);
  throw new Failure(
    'STORAGE_FAILED',
    'Neither the warehouse nor the archive had a catalog, which is needed to type the values.',
    {
      hint: 'Run `ripen sync` first, or `ripen replay` in the warehouse that the archive was made with.',
    },
  );
}
