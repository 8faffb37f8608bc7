/** Partners, links, and the views that lead from a row to both: brought up before and completed after the windows. */

import { asFailure, type FailureCode } from '../errors.ts';
import { refreshJoins } from '../links/joins.ts';
import { type RefreshedLinks, refreshLinks, refreshNamedLinks, storedLinks } from '../links/refresh-links.ts';
import { completePartners, refreshPartners, storedPartners } from '../links/refresh-partners.ts';
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
  const { partners, links } = run.config;
  const crawl = { ...run, service, clock };
  if (run.request.command !== 'sync' || (await hasSucceededAt(run.warehouse, run.planAt))) return;
  if (partners) await orRecord(run, async () => refreshPartners(crawl));
  if (links !== null) await orRecord(run, async () => recordLinks(run, await refreshLinks(crawl, links)));
}

/** Crawls the apps whose loaded rows name links that are not known, where `every` lets apps wait. Fails as `refreshDimensions` does. */
export async function refreshNamed(run: Run, service: Service, clock: MachineClock): Promise<void> {
  const { links } = run.config;
  if (run.request.command !== 'sync' || links?.everyMs === undefined || run.signal.aborted) return;
  const failed = new Set(run.record.failures.map(({ facts }) => facts['app_token']));
  const crawl = { ...run, service, clock };
  await orRecord(run, async () => recordLinks(run, await refreshNamedLinks(crawl, links, failed)));
}

function recordLinks({ record }: Run, { rows, removed, failures }: RefreshedLinks): void {
  record.links = { rows, removed: record.links.removed + removed };
  for (const failure of failures) record.fail(failure);
}

/** Adds the partners that only loaded rows carry, if partners are configured, and rebuilds the views that join; asks the service nothing. */
export async function completeDimensions({ config, warehouse, record, planAt }: Run): Promise<void> {
  if (config.partners) await completePartners(warehouse, planAt);
  record.partnerRows = await storedPartners(warehouse);
  if (config.links !== null) {
    // Also of a run that had no links to ask for.
    const rows = await storedLinks(warehouse);
    record.links = { ...record.links, rows };
  }
  await refreshJoins(warehouse);
}

const endsRun: ReadonlySet<FailureCode> = new Set(['CREDENTIALS_REFUSED', 'CLOCK_UNTRUSTED']);

async function orRecord(run: Run, act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
  } catch (error) {
    const failure = asFailure(error);
    if (endsRun.has(failure.code) || failure.kind === 'storage' || run.signal.aborted) throw failure;
    run.record.fail(failure);
  }
}
