/**
 * What a run keeps in the archive, and for how long.
 *
 * No fault of the disk here can fail a load: what could not be kept or removed is a warning, `ARCHIVE_FAILED`. Without
 * a configured archive everything here does nothing.
 */

import { asFailure } from '../errors.ts';
import { catalogSeenAt, readCatalog } from '../load/catalog-tables.ts';
import type { LoadResult } from '../load/load-result.ts';
import type { DuePeriod, Window } from '../model/window.ts';
import { keepWindow, removeEntriesBefore } from '../spool/archive.ts';
import { keepCatalog } from '../spool/archive-catalog.ts';
import type { Spooled } from '../spool/spool.ts';
import { warn } from './outcome.ts';
import type { Run } from './run.ts';

/** Keeps the catalog that the run's answers are typed by. */
export async function archiveCatalog(run: Run): Promise<void> {
  const { config, warehouse } = run;
  if (config.archiveMs === null) return;
  const seenAt = await catalogSeenAt(warehouse);
  if (seenAt === null) return;
  const items = await readCatalog(warehouse);
  await orWarn('The catalog was not archived', null, run, async () => keepCatalog(warehouse.path, { seenAt, items }));
}

/** Keeps the answers of a batch that were loaded; one that was held or failed is no answer to load again. */
export async function archiveLoaded(
  batch: readonly Spooled[],
  results: readonly LoadResult[],
  run: Run,
): Promise<void> {
  const { config, warehouse, request } = run;
  if (config.archiveMs === null) return;
  const loaded = new Set(results.flatMap((result) => (result.kind === 'loaded' ? periodsIn(result.window) : [])));
  for (const whole of batch) {
    // Of an answer that was believed in part, the periods that were: its bodies hold more than is loaded again.
    const periods = whole.window.periods.filter((due) => loaded.has(due));
    if (periods.length === 0) continue;
    const spooled = { ...whole, window: { ...whole.window, periods } };
    const what = 'The answer was loaded, but not archived';
    await orWarn(what, spooled.window, run, async () => keepWindow(warehouse.path, spooled, request.asOf));
  }
}

/** Removes what was asked for longer before an instant than the archive reaches back. */
export async function expireArchive(at: Date, run: Run): Promise<void> {
  const { config, warehouse } = run;
  if (config.archiveMs === null) return;
  const before = new Date(at.getTime() - config.archiveMs);
  await orWarn('Old answers were not removed from the archive', null, run, async () =>
    removeEntriesBefore(warehouse.path, before),
  );
}

const periodsIn = ({ periods }: Window): readonly DuePeriod[] => periods;

async function orWarn(what: string, window: Window | null, run: Run, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    const failure = asFailure(error);
    if (failure.code !== 'STORAGE_FAILED') throw failure;
    const message = `${what}: ${failure.message}`;
    await warn({ code: 'ARCHIVE_FAILED', message }, window, run);
  }
}
