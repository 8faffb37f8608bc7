/** What a run leaves behind of how its slices ripen, and whether final was final: measured before it is published. */

import * as z from 'zod';

import { refreshInsight } from '../insight/insight.ts';
import { prepareTable } from '../load/slice-table.ts';
import type { Target } from '../load/target.ts';
import { seedOf, withAudits } from '../plan/audit.ts';
import type { SlicePlan } from '../plan/plan.ts';
import type { Run, SyncRequest } from './run.ts';
import { count } from '../warehouse/shapes.ts';
import { statement } from '../warehouse/statements.ts';
import { warn, type Outcomes } from './outcome.ts';

/** Measures each slice's live table; a table may have been swapped, or its weeks turned, since it was prepared. */
export async function measureSlices(
  { warehouse, runId }: Pick<Run, 'warehouse' | 'runId'>,
  targets: Iterable<Pick<Target, 'slice' | 'catalog'>>,
): Promise<void> {
  for (const { slice, catalog } of targets) {
    const target = await prepareTable(warehouse, slice, catalog, runId);
    if (target.state === 'live') await refreshInsight(warehouse, target);
  }
}

/** The plans of a nightly sync with its audits; those of a backfill as they are. */
export function withNightlyAudits(
  { config, request, asOf }: Pick<Run, 'config' | 'asOf'> & { readonly request: SyncRequest },
  targets: ReadonlyMap<string, Target>,
  plans: readonly SlicePlan[],
): readonly SlicePlan[] {
  if (request.forced !== null) return plans;
  const audited = plans.map((plan) => ({ plan, metrics: targets.get(plan.slice.name)?.metrics ?? [] }));
  return withAudits(audited, config.audit, asOf);
}

const changedRow = z.object({
  slice: z.string(),
  metric: z.string(),
  periods: count,
  horizon_days: z.number(),
  settled_days: count,
});

/** Records what the run's audits found, and warns of final totals that changed, whatever request found them. */
export async function recordFinality(run: Pick<Run, 'asOf'> & Outcomes): Promise<void> {
  await run.warehouse.run(statement('insight/record_audits'), [run.runId, seedOf(run.asOf)]);
  const changed = await run.warehouse.rows(statement('insight/changed_after_final'), [run.runId], changedRow);
  for (const { slice, metric, periods, horizon_days: horizon, settled_days: settled } of changed) {
    const of = periods === 1 ? '1 final total' : `${periods} final totals`;
    const message = `${of} of ${metric} changed after the horizon of ${horizon}d; a horizon of ${settled}d would have been right.`;
    await warn({ code: 'FINAL_CHANGED', message }, slice, run);
  }
}
