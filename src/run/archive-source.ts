/**
 * The archive as a source of answers, without the service.
 *
 * Every period is loaded from its newest archived answer alone, and counts as fetched when that answer was; where that one
 * fails, from the one before. Nothing the warehouse holds gives way to something older. What is corrupt or foreign is set
 * aside and named; the rest is given.
 */

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { type Asking, takeOfOneSlice, unanswered } from '../extract/extract.ts';
import { catalogSeenAt, readCatalog } from '../load/catalog.ts';
import { readHorizons, rememberHorizons } from '../load/load-ledger.ts';
import type { Catalog } from '../model/catalog.ts';
import type { Slice } from '../model/slice.ts';
import type { Window } from '../model/window.ts';
import type { SlicePlan } from '../plan/plan.ts';
import { nothingAsked } from '../service/service.ts';
import { archiveExists, archiveRoot, readKeptCatalog } from '../spool/archive.ts';
import { intactWindows, spooledFrom, withoutPeriods } from '../spool/archive-contents.ts';
import type { ArchivedWindow, Damage } from '../spool/archive-entry.ts';
import type { Spooled } from '../spool/spool.ts';
import { archivedOf, refusal, usefulOf } from './archived-answers.ts';
import { openColumns } from './columns.ts';
import { adoptCatalog } from './refresh-catalog.ts';
import type { Run } from './run.ts';
import type { AnswerBatch, Source, SourceDoor } from './source.ts';
import { planTargets } from './tables.ts';

/** A run with it loads again what the archive of the warehouse holds. Throws where there is none. */
export function fromArchive({ warehouse }: Pick<Config, 'warehouse'>): SourceDoor {
  if (!archiveExists(warehouse)) {
    throw new Failure('STORAGE_FAILED', `The archive ${archiveRoot(warehouse)} did not exist.`, {
      hint: 'Set `archive: 30d` and run `ripen sync` first; an archive lies beside its warehouse.',
    });
  }
  return { statistics: () => nothingAsked, confirmedNow: () => null, open: openSource };
}

/** An archived window that is to be loaded; with what is wrong with its bodies, where they cannot be. */
interface Reading {
  readonly archived: ArchivedWindow;
  readonly spooled: Spooled;
  readonly damage: Damage | null;
}

/** By slice, the answers that were not given yet, in the order of their fetches, with the periods that were not loaded yet. */
type Left = Map<Slice, readonly ArchivedWindow[]>;

function openSource(run: Run): Source {
  const bySlice = new Map<string, readonly ArchivedWindow[]>();
  const left: Left = new Map();
  const readings = new Map<Window, Reading>();
  const columns = openColumns(run);
  const nextWindows = async (slice: Slice): Promise<Window[]> => {
    const next = await nextReadings(slice, left);
    for (const reading of next) readings.set(reading.spooled.window, reading);
    return next.map(({ spooled }) => spooled.window);
  };
  return {
    canAsk: false,
    read: columns.answers,
    catalog: async () => restoreCatalog(run),
    dimensions: async () => {},
    async slices() {
      for (const slice of run.slices) {
        if (!run.signal.aborted) bySlice.set(slice.name, await archivedOf(slice, run));
      }
      return run.slices.filter(({ name }) => (bySlice.get(name) ?? []).length > 0);
    },
    async plan(targets) {
      const plans: SlicePlan[] = [];
      for (const plan of await planTargets(run, targets, new Date())) {
        const { slice } = plan;
        left.set(slice, await usefulOf(bySlice.get(slice.name) ?? [], plan, run));
        plans.push({ ...plan, heldNewer: 0, windows: await nextWindows(slice) });
      }
      return { plans, windows: plans.flatMap(({ windows }) => windows) };
    },
    async *answers(queue, _, signal) {
      while (queue.length > 0) {
        yield* given(queue, readings, signal);
        if (signal.aborted) return;
        // What was given and did not load leaves its periods to older answers.
        for (const slice of left.keys()) {
          const older = await nextWindows(slice);
          run.record.replan(slice, 0, older.length);
          queue.push(...older.map(unanswered));
        }
      }
    },
    check: async () => {},
    async keep(_, results) {
      for (const result of results) if (result.kind === 'loaded') forget(result.window, left);
    },
    // The bodies are the archive's.
    discard: async (answers) => columns.answers.discard(answers),
    // No service is there to deny it.
    undeniedNow: () => new Date(),
    mayRemoveOld: () => run.request.asOf !== null,
    finish: async () => {},
    close: async () => columns.close(),
  };
}

/** Takes the periods of a loaded window from the answers that are left. */
function forget({ slice: { name }, periods }: Window, left: Left): void {
  for (const [slice, windows] of left) {
    if (slice.name !== name) continue;
    left.set(
      slice,
      windows.flatMap((window) => withoutPeriods(window, periods, slice)),
    );
  }
}

/**
 * The newest answer that is left of each period, each with these periods alone, in the order of their fetches; and the broken
 * ones that were newer. They are left no longer.
 */
async function nextReadings(slice: Slice, left: Left): Promise<readonly Reading[]> {
  const windows = left.get(slice) ?? [];
  const { chosen, broken } = await intactWindows(windows, slice);
  const given = new Set([...chosen, ...broken.keys()].map(({ path }) => path));
  left.set(
    slice,
    windows.filter(({ path }) => !given.has(path)),
  );
  return [...chosen, ...broken.keys()].map((archived) => ({
    archived,
    spooled: spooledFrom(archived, slice),
    damage: broken.get(archived) ?? null,
  }));
}

/** The newer one of the warehouse's catalog and the archive's, which is then taken over as a listing is; and the longer horizons. */
async function restoreCatalog(run: Run): Promise<Catalog> {
  const { warehouse } = run;
  const kept = await readKeptCatalog(warehouse.path);
  const seenAt = await catalogSeenAt(warehouse);
  if (kept !== null && 'because' in kept) {
    run.record.fail(await refusal(kept));
  } else if (kept !== null) {
    const given = [...kept.horizons].map(([id, horizonMs]) => ({ id, horizonMs }));
    const horizons = await readHorizons(warehouse);
    await warehouse.transact(async () => rememberHorizons(warehouse, given, { horizons }));
    if (seenAt === null || kept.seenAt > seenAt) {
      return adoptCatalog({ items: kept.items, absent: [] }, kept.seenAt, run);
    }
  }
  if (seenAt !== null) return readCatalog(warehouse);
  throw new Failure('STORAGE_FAILED', 'Neither the warehouse nor the archive held a catalog to type the values by.', {
    hint: 'Run `ripen sync` first, or `ripen replay` in the warehouse that the archive was made with.',
  });
}

/** What lies in the archive for the queue's windows. A batch shares the metrics it holds and the instant it was fetched. */
async function* given(
  queue: Asking[],
  readings: ReadonlyMap<Window, Reading>,
  signal: AbortSignal,
): AsyncGenerator<AnswerBatch, void> {
  while (queue.length > 0 && !signal.aborted) {
    const waiting = queue.flatMap(({ window }) => readings.get(window) ?? []);
    const [first] = waiting;
    if (first === undefined) return;
    if (first.damage !== null) {
      queue.shift();
      const missed = { window: first.spooled.window, failure: await refusal(first.damage), ...nothingAnswered };
      yield { spooled: [], missed: [missed], asked: [], fetchedAt: null };
      continue;
    }
    const end = waiting.findIndex((reading) => !isAlike(reading, first));
    const alike = waiting.slice(0, end === -1 ? waiting.length : end).map(({ spooled }) => spooled);
    const spooled = takeOfOneSlice(alike);
    queue.splice(0, spooled.length);
    yield { spooled, missed: [], asked: [], fetchedAt: first.archived.entry.asOf };
  }
}

const nothingAnswered = { heavy: [], answered: new Map<never, never>(), whole: null };

function isAlike({ archived: { entry }, damage, spooled }: Reading, first: Reading): boolean {
  const { entry: other } = first.archived;
  return (
    damage === null &&
    spooled.window.slice.name === first.spooled.window.slice.name &&
    entry.asOf?.getTime() === other.asOf?.getTime() &&
    entry.metrics.join() === other.metrics.join()
  );
}
