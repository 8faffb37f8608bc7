/**
 * The service as a source of answers: asked for what is due, its answers spooled, read into columns, and
 * kept in the archive where one is configured.
 *
 * No fault of the disk in the archive can fail a load: what could not be kept or removed is a warning, `ARCHIVE_FAILED`.
 */

import * as z from 'zod';

import { asFailure } from '../errors.ts';
import { extract } from '../extract/extract.ts';
import { addingAmong } from '../extract/whole.ts';
import { catalogSeenAt, readCatalog } from '../load/catalog.ts';
import { readHorizons } from '../load/load-ledger.ts';
import type { LoadResult } from '../load/load-result.ts';
import { type DuePeriod, labelOf, type Window } from '../model/window.ts';
import { inOrder } from '../plan/plan.ts';
import { confirmedNow, machineClock } from '../service/machine-clock.ts';
import type { Service } from '../service/service.ts';
import { archivedInstants, keepCatalog, keepWindow, redateEntries, removeEntriesBefore } from '../spool/archive.ts';
import type { Spool, Spooled } from '../spool/spool.ts';
import { dayShape, instant, statement } from '../warehouse/sql.ts';
import { unconfirmedAges } from './ageing.ts';
import { openColumns } from './columns.ts';
import { leftAnswers } from './left-answers.ts';
import { withNightlyAudits } from './measure-slices.ts';
import { refreshCatalog } from './refresh-catalog.ts';
import { refreshDimensions } from './refresh-dimensions.ts';
import { type Run, warn } from './run.ts';
import type { Source, SourceDoor } from './source.ts';
import { planTargets } from './tables.ts';

/** A run with it asks the service. */
export function fromService(service: Service): SourceDoor {
  return {
    statistics: () => service.statistics(),
    confirmedNow: () => confirmedNow(service),
    open: (run) => openSource(run, service),
  };
}

function openSource(run: Run, service: Service): Source {
  const { config, request, emit } = run;
  const columns = openColumns(run);
  const { spool } = columns;
  const clock = machineClock(service, request.asOf, emit);
  /** With what was read of them. */
  const discard: Spool['discard'] = async ({ answers }) => {
    await columns.answers.discard(answers);
    await spool.discard({ answers });
  };
  const mayRemoveOld = (): boolean => request.asOf !== null || clock.confirmedNow() !== null;
  return {
    canAsk: true,
    read: columns.answers,
    async catalog() {
      const catalog = await refreshCatalog(run, {
        async filtersData(...asked) {
          const listing = await service.filtersData(...asked);
          // Before it is stored as seen at an instant that may be years away.
          clock.check();
          return listing;
        },
      });
      clock.check();
      await archiveCatalog(run);
      return catalog;
    },
    dimensions: async () => refreshDimensions(run, service, clock),
    slices: async () => run.slices,
    async plan(targets) {
      const plans = await withNightlyAudits(run, targets, await planTargets(run, targets, clock.undeniedNow()));
      return { plans, windows: inOrder(plans) };
    },
    async *answers(queue, targets, signal, came) {
      const { maxConcurrency } = config.service;
      const asking = { service, spool: { ...spool, discard }, maxConcurrency, emit, signal, came };
      const batches = extract(queue, {
        ...asking,
        // Into the columns of its slice as they are now.
        read: async (window, pages) => {
          const target = targets.get(window.slice.name);
          if (target?.fingerprint === window.fingerprint) await columns.read(window, pages, target.columns);
        },
        adding: ({ slice }) => addingAmong(targets.get(slice.name)?.columns.metrics ?? []),
      });
      for await (const batch of batches) yield { ...batch, fetchedAt: request.asOf };
    },
    async check() {
      clock.check();
    },
    keep: async (batch, results) => archiveLoaded(batch, results, run),
    discard: async (answers) => discard({ answers }),
    undeniedNow: () => clock.undeniedNow(),
    mayRemoveOld,
    async finish() {
      const now = clock.undeniedNow();
      if (now !== null && run.record.hasLoaded) await redateArchive(now, run);
      await tellUnarchived(run);
      const grown = mayRemoveOld() || now === null || !run.record.hasLoaded ? null : unconfirmedAges(config);
      if (grown !== null)
        await warn({ code: 'CLOCK_UNCONFIRMED', message: `${grown.message} ${grown.hint}` }, null, run);
      await expireArchive(mayRemoveOld() ? run.planAt : null, run);
    },
    close: async () => columns.close(),
  };
}

/** Keeps the catalog that the run's answers are typed by. */
async function archiveCatalog(run: Run): Promise<void> {
  const { config, warehouse } = run;
  if (config.archiveMs === null) return;
  const seenAt = await catalogSeenAt(warehouse);
  if (seenAt === null) return;
  const catalog = { seenAt, items: await readCatalog(warehouse), horizons: await readHorizons(warehouse) };
  await orWarn('The catalog was not archived', null, run, async () => keepCatalog(warehouse.path, catalog));
}

/** Keeps the answers of a batch that were loaded; one that was held or failed is no answer to load again. */
async function archiveLoaded(batch: readonly Spooled[], results: readonly LoadResult[], run: Run): Promise<void> {
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

/** Dates back what a clock that was ahead has dated in the archive, where there is one. */
async function redateArchive(now: Date, run: Run): Promise<void> {
  const { config, warehouse } = run;
  if (config.archiveMs === null) return;
  const what = 'Answers of a clock that was ahead were not dated back in the archive';
  await orWarn(what, null, run, async () => redateEntries(warehouse.path, now));
}

const killedRow = z.object({ slice: z.string(), start_day: dayShape, end_day: dayShape, requested_at: instant });

/** Tells what runs that were killed between a load and its archiving left out, and nobody has asked for again since. */
async function tellUnarchived(run: Run): Promise<void> {
  const { config, warehouse, runId } = run;
  if (config.archiveMs === null) return;
  const killed = await warehouse.rows(statement('ledger/killed_loads'), [runId], killedRow);
  await orWarn('What killed runs left out of the archive was not looked for', null, run, async () => {
    for (const name of new Set(killed.map(({ slice }) => slice))) {
      const archived = await archivedInstants(warehouse.path, name);
      const left = killed.filter(({ slice, requested_at: at }) => slice === name && !archived.has(at.getTime()));
      if (left.length === 0) continue;
      const days = left.map(({ start_day: start, end_day: end }) => labelOf({ asked: { start, end } })).join(', ');
      const message = `The answers to ${days} were loaded by a run that was killed before it archived them; \`ripen backfill\` brings them into the archive.`;
      await warn({ code: 'ARCHIVE_LACKS', message }, name, run);
    }
  });
}

/** Removes what was asked for longer before an instant, if any, than the archive reaches back; where it is off, tells what lies there. */
async function expireArchive(at: Date | null, run: Run): Promise<void> {
  const { config, warehouse } = run;
  if (config.archiveMs === null) {
    await orWarn('What the archive holds was not counted', null, run, async () => tellLeft(run));
    return;
  }
  if (at === null) return;
  const before = new Date(at.getTime() - config.archiveMs);
  await orWarn('Old answers were not removed from the archive', null, run, async () =>
    removeEntriesBefore(warehouse.path, before),
  );
}

async function tellLeft(run: Run): Promise<void> {
  const left = await leftAnswers(run.config);
  if (left !== null) await warn({ code: 'ARCHIVE_LEFT', message: `${left.message} ${left.hint}` }, null, run);
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
