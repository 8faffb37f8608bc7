/** Partners, links, and the views that lead from a row to both: brought up before and completed after the windows. */

import { asFailure, type FailureCode } from '../errors.ts';
import { refreshJoins } from '../links/joins.ts';
import { refreshLinks, refreshNamedLinks } from '../links/refresh-links.ts';
import { completePartners, refreshPartners } from '../links/refresh-partners.ts';
import { storedRows } from '../links/replace.ts';
import type { MachineClock } from '../service/machine-clock.ts';
import type { Service } from '../service/service.ts';
import { hasSucceededAt } from '../warehouse/runs.ts';
import type { Run } from './run.ts';

/**
 * Asks for partners and links as configured, unless an earlier run of the same instant brought them. What fails is
 * recorded and leaves the stored ones as they were; throws refused credentials, `CLOCK_UNTRUSTED` and `STORAGE_FAILED`, which
 * end the run.
 */
export async function refreshDimensions(run: Run, service: Service, clock: MachineClock): Promise<void> {
  const { config, warehouse, record, runId, planAt, emit, signal } = run;
  const crawl = { warehouse, service, clock, runId, planAt, emit, signal };
  if (run.request.command !== 'sync' || (await hasSucceededAt(warehouse, planAt))) return;
  if (config.partners) await orRecord(run, async () => refreshPartners(crawl));
  const { links } = config;
  if (links === null) return;
  await orRecord(run, async () => {
    const { rows, removed, failures } = await refreshLinks(crawl, links);
    record.links = { rows, removed };
    for (const failure of failures) record.fail(failure);
  });
}

/** Crawls the apps whose loaded rows name links that are not known, where `every` lets apps wait. Fails as `refreshDimensions` does. */
export async function refreshNamed(run: Run, service: Service, clock: MachineClock): Promise<void> {
  const { config, warehouse, record, runId, planAt, emit, signal } = run;
  const { links } = config;
  if (run.request.command !== 'sync' || links?.everyMs === undefined || signal.aborted) return;
  await orRecord(run, async () => {
    const failed = new Set(record.failures.map(({ facts }) => facts['app_token']));
    const crawl = { warehouse, service, clock, runId, planAt, emit, signal };
    const { rows, removed, failures } = await refreshNamedLinks(crawl, links, failed);
    record.links = { rows, removed: record.links.removed + removed };
    for (const failure of failures) record.fail(failure);
  });
}

/** Adds the partners that only loaded rows carry, if partners are configured, and rebuilds the views that join; asks the service nothing. */
export async function completeDimensions({ config, warehouse, record, planAt }: Run): Promise<void> {
  if (config.partners) await completePartners(warehouse, planAt);
  record.partnerRows = await storedRows(warehouse, 'partners');
  if (config.links !== null) {
    // Also of a run that had no links to ask for.
    const rows = await storedRows(warehouse, 'links');
    record.links = { ...record.links, rows };
  }
  await refreshJoins(warehouse);
}

const endsRun: ReadonlySet<FailureCode> = new Set(['CREDENTIALS_REFUSED', 'CLOCK_UNTRUSTED']);

async function orRecord(run: Run, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    const failure = asFailure(error);
    if (endsRun.has(failure.code) || failure.kind === 'storage' || run.signal.aborted) throw failure;
    run.record.fail(failure);
  }
}
