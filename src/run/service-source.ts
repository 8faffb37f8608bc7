/**
 * The service as a source of answers: asked for what is due, its answers spooled, read into columns beside the download, and
 * kept in the archive where one is configured.
 */

import { extract } from '../extract/extract.ts';
import { ColumnAnswers } from '../load/column-answers.ts';
import { inOrder } from '../plan/order.ts';
import type { Service } from '../service/service.ts';
import { openColumnReader } from '../spool/columns/column-reader.ts';
import { openSpool } from '../spool/spool.ts';
import { archiveCatalog, archiveLoaded, expireArchive } from './archive.ts';
import { clockCheck } from './guards.ts';
import { withNightlyAudits } from './measure-slices.ts';
import { warn } from './outcome.ts';
import { refreshCatalog } from './refresh-catalog.ts';
import { refreshDimensions } from './refresh-dimensions.ts';
import type { Run } from './run.ts';
import type { Source, SourceDoor } from './source.ts';
import { planTargets } from './tables.ts';

/** A run with it asks the service. */
export function fromService(service: Service): SourceDoor {
  return { statistics: () => service.statistics(), open: (run) => openSource(run, service) };
}

function openSource(run: Run, service: Service): Source {
  const { config, request, warehouse, emit } = run;
  // Also when nothing turns out to be due: what a killed run left there takes room, and nobody else removes it.
  const spool = openSpool(warehouse.path);
  const reader = openColumnReader();
  const columns = new ColumnAnswers(reader);
  const checkClock = clockCheck(request.asOf, service, emit);
  return {
    canAsk: true,
    columns,
    async catalog() {
      const catalog = await refreshCatalog(run, service);
      await archiveCatalog(run);
      checkClock();
      return catalog;
    },
    dimensions: async () => refreshDimensions(run, service),
    slices: async () => run.slices,
    async plan(targets) {
      const plans = await withNightlyAudits(run, targets, await planTargets(run, targets));
      return { plans, windows: inOrder(plans) };
    },
    async *answers(queue, targets, signal) {
      const { maxConcurrency } = config.service;
      const isArchived = config.archiveMs !== null;
      const asking = { service, spool, maxConcurrency, emit, signal, isArchived };
      const batches = extract(queue, {
        ...asking,
        // Into the columns of its slice as they are now.
        read: async ({ slice, fingerprint }, pages) => {
          const target = targets.get(slice.name);
          return target?.fingerprint === fingerprint && columns.read(pages, target.columns);
        },
      });
      for await (const batch of batches) yield { ...batch, fetchedAt: request.asOf };
    },
    async check() {
      const trouble = columns.takeTrouble();
      if (trouble !== null) await warn(trouble, null, run);
      checkClock();
    },
    keep: async (batch, results) => archiveLoaded(batch, results, run),
    async discard(answers) {
      await columns.discard(answers);
      await spool.discard({ answers });
    },
    finish: async () => expireArchive(run.planAt, run),
    async close() {
      await reader.close();
      spool.clear();
    },
  };
}
