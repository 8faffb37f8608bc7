/** The service as a source of answers. A disk error in the archive is a warning, `ARCHIVE_FAILED`. */

import { isDeepStrictEqual } from 'node:util';

import { archiveCatalog, archiveWindow, removeEntries } from '../extract/archive.ts';
import {
  catalogSeenAt,
  readCatalog,
  refreshCatalog,
  sufficientCatalog,
} from '../account/stored-catalog.ts';
import { asFailure, endsRun } from '../errors.ts';
import { extract } from '../extract/extract.ts';
import type { Outcome } from '../load/answered.ts';
import { withMetrics } from '../warehouse/tables/target.ts';
import type { Catalog } from '../model/catalog.ts';
import type { DuePeriod, Window } from '../model/window.ts';
import { refreshLinks, refreshNamedLinks } from '../account/refresh-links.ts';
import { refreshPartners } from '../account/refresh-partners.ts';
import type { Refreshing } from '../account/replace-rows.ts';
import { confirmedNow, machineClock } from '../service/machine-clock.ts';
import type { Service } from '../service/service.ts';
import type { Spool, Spooled } from '../extract/spool.ts';
import { hasPartnersOf } from '../warehouse/runs.ts';
import { fail, type Run, warn } from './run.ts';
import { openColumns, type Source, type SourceFactory } from './source.ts';
import { planTargets } from './tables.ts';

export function fromService(service: Service): SourceFactory {
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
  const closing = new AbortController();
  const signal = AbortSignal.any([run.signal, closing.signal]);
  /** Does what needs no slice's table, in a session of its own. */
  const beside = async <T>(work: (crawl: Crawl) => Promise<T>): Promise<T> =>
    run.warehouse.withSession(
      async (warehouse) => work({ ...run, warehouse, service, clock, signal }),
      'apart',
    );
  let catalog: Promise<Catalog> = Promise.resolve([]);
  let crawled: Promise<void> = Promise.resolve();
  const failedApps = new Set<string>();
  const discard: Spool['discard'] = async (answers) => {
    await columns.pages.discard(answers);
    await spool.discard(answers);
  };
  return {
    canRequest: true,
    read: columns.pages,
    catalog: async () => catalog,
    async begin() {
      const stored = await sufficientCatalog(run);
      catalog = beside(async (crawl) => nightCatalog(crawl, stored));
      crawled = catalog.then(async () =>
        beside(async (crawl) => refreshDimensions(crawl, failedApps)),
      );
      // If the run ends early, nobody waits for them.
      crawled.catch(() => null);
      return { catalog: stored ?? (await catalog), slices: run.slices };
    },
    plan: async (targets) => planTargets(run, targets),
    async *answers(queue, targets, signal, onAnswer) {
      const batches = extract(queue, {
        service,
        spool: { ...spool, discard },
        maxConcurrency: config.service.maxConcurrency,
        // Windows of control totals are not counted as windows of a slice.
        emit: queue[0]?.window.slice.control === undefined ? emit : () => {},
        signal,
        onAnswer,
        // Reads into the columns that the slice has now.
        readPage: async ({ slice }, box, page) => {
          const target = targets.get(slice.name);
          if (target === undefined) throw new RangeError(`The slice ${slice.name} has no table.`);
          return columns.pages.readSaved(page, box, withMetrics(target, slice.metrics).columns);
        },
      });
      for await (const batch of batches) {
        clock.check();
        yield { ...batch, fetchedAt: request.asOf };
      }
    },
    archive: async (batch, outcomes) => archiveLoaded(batch, outcomes, run),
    discard,
    async finish() {
      await crawled;
      const { links } = config;
      if (request.command === 'sync' && links !== null && !run.signal.aborted) {
        await orReport(run, async () => {
          const crawl = { ...run, service, clock };
          for (const failure of await refreshNamedLinks(crawl, links, failedApps))
            fail(failure, null, run);
        });
      }
      // With a wrong clock, answers that must be kept would be removed.
      const isTimeKnown = request.asOf !== null || confirmedNow(service) !== null;
      if (config.archiveMs === null || !isTimeKnown) return;
      const cutoff = new Date(run.planAt.getTime() - config.archiveMs);
      await orWarn('Old answers could not be removed from the archive', null, run, async () =>
        removeEntries(run.warehouse.path, cutoff),
      );
    },
    async close() {
      closing.abort();
      await crawled.catch(() => null);
      await columns.close();
    },
  };
}

type Crawl = Run & Refreshing;

/** Refreshes the catalog. Returns the stored one if it says the same of the run's slices. */
async function nightCatalog(crawl: Crawl, stored: Catalog | null) {
  const { service, clock, warehouse, slices } = crawl;
  const refreshed = await refreshCatalog(crawl, {
    async filtersData(...requested) {
      const listing = await service.filtersData(...requested);
      // Before the listing is stored as seen at an instant that may be years away.
      clock.check();
      return listing;
    },
  });
  clock.check();
  // The catalog that gives the run's answers their types.
  const seenAt = crawl.config.archiveMs === null ? null : await catalogSeenAt(warehouse);
  if (seenAt !== null) {
    const catalog = { seenAt, items: await readCatalog(warehouse) };
    await orWarn('The catalog was not archived', null, crawl, async () =>
      archiveCatalog(warehouse.path, catalog),
    );
  }
  if (stored === null) return refreshed;
  const current = await readCatalog(warehouse, slices);
  return isDeepStrictEqual(stored, current) ? stored : current;
}

/** An answer that was held back or failed must not be loaded again. */
async function archiveLoaded(batch: readonly Spooled[], outcomes: readonly Outcome[], run: Run) {
  const { config, warehouse, request } = run;
  if (config.archiveMs === null) return;
  const provenByPeriod = new Map<DuePeriod, boolean>();
  for (const outcome of outcomes) {
    // What is kept beside an answer without rows is in the archive as it was loaded.
    if (outcome.kind !== 'loaded' || outcome.isUnserved) continue;
    const isProven = outcome.warnings.every(({ code }) => code !== 'UNPROVEN');
    for (const due of outcome.window.periods) provenByPeriod.set(due, isProven);
  }
  for (const answered of batch) {
    // Of an answer that was accepted in part, only those periods are loaded again.
    const periods = answered.window.periods.filter((due) => provenByPeriod.has(due));
    // Control totals are of the night they were stated in, and no replay reads them.
    if (periods.length === 0 || answered.window.slice.control !== undefined) continue;
    const isUnproven = periods.some((due) => provenByPeriod.get(due) === false);
    const starts = new Set(periods.map(({ period }) => period.bucket.start));
    const kept = outcomes.flatMap((outcome) =>
      outcome.kind === 'loaded' && outcome.window.slice.name === answered.window.slice.name
        ? (outcome.kept ?? []).filter(({ start }) => starts.has(start))
        : [],
    );
    const spooled = { ...answered, window: { ...answered.window, periods }, isUnproven, kept };
    const what = 'The answer was loaded, but not archived';
    await orWarn(what, spooled.window, run, async () =>
      archiveWindow(warehouse.path, spooled, request.asOf),
    );
  }
}

async function orWarn(what: string, window: Window | null, run: Run, act: () => Promise<void>) {
  try {
    await act();
  } catch (error) {
    const failure = asFailure(error);
    if (failure.code !== 'STORAGE_FAILED') throw failure;
    const message = `${what}: ${failure.message}`;
    warn('ARCHIVE_FAILED', message, window, run);
  }
}

/** Unless a run of the same instant did. Refused credentials, `CLOCK_UNTRUSTED` and storage failures end the run. */
async function refreshDimensions(crawl: Crawl, failedApps: Set<string>) {
  const { partners, links } = crawl.config;
  if (crawl.request.command !== 'sync') return;
  const isStored = await hasPartnersOf(crawl.warehouse, crawl.planAt);
  if (partners && !isStored) await orReport(crawl, async () => refreshPartners(crawl));
  if (links === null) return;
  await orReport(crawl, async () => {
    for (const failure of await refreshLinks(crawl, links, failedApps)) fail(failure, null, crawl);
  });
}

async function orReport(run: Run, act: () => Promise<unknown>) {
  try {
    await act();
  } catch (error) {
    const failure = asFailure(error, run.signal);
    if (endsRun(failure) || run.signal.aborted) throw failure;
    fail(failure, null, run);
  }
}
