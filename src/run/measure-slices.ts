/** What a run leaves behind of how its slices ripen, and whether final was final: measured before it is published. */

import * as z from 'zod';

import { refreshInsight } from '../insight/insight.ts';
import type { Target } from '../load/target.ts';
import { nightOf, SEED_PREFIX, withAudits, type Audited } from '../plan/audit.ts';
import type { SlicePlan } from '../plan/plan.ts';
import { type Run, warn } from './run.ts';
import { count, statement } from '../warehouse/sql.ts';

const unmeasuredRow = z.object({ unmeasured: z.boolean() });

/** Measures the live tables that have changed; the targets as they stand at the end of the run. */
export async function measureSlices(
  { config, warehouse, runId }: Pick<Run, 'config' | 'warehouse' | 'runId'>,
  targets: readonly Target[],
): Promise<void> {
  for (const target of targets) {
    const parameters = [target.slice.name, runId];
    const [found] = await warehouse.rows(statement('insight/is_unmeasured'), parameters, unmeasuredRow);
    if (target.state !== 'live' || found?.unmeasured !== true) continue;
    // The slice of a target has the ages that its tolerance gave.
    const refresh = config.slices.find(({ name }) => name === target.slice.name)?.refresh ?? 'milestones';
    const tolerance = typeof refresh === 'object' && 'tolerance' in refresh ? refresh.tolerance : null;
    await refreshInsight(warehouse, target, tolerance);
  }
}

/** The plans of a nightly sync with its audits; those of a backfill as they are. */
export async function withNightlyAudits(
  run: Run,
  targets: readonly Target[],
  plans: readonly SlicePlan[],
): Promise<readonly SlicePlan[]> {
  if (run.request.forced !== null) return plans;
  const audited = plans.map((plan) => ({
    plan,
    metrics: targets.find(({ slice }) => slice === plan.slice)?.metrics ?? [],
  }));
  return auditedPlans(run, audited);
}

const windowsRow = z.object({ windows: count });

/** The plans with the audits that the night's earlier runs, killed ones too, have left to do. */
export async function auditedPlans(
  { config, warehouse, planAt }: Pick<Run, 'config' | 'planAt' | 'warehouse'>,
  plans: readonly Audited[],
): Promise<SlicePlan[]> {
  const [done] = await warehouse.rows(statement('insight/audits_of_night'), [nightOf(planAt)], windowsRow);
  return withAudits(plans, { windows: config.audit, done: done?.windows ?? 0 }, planAt);
}

const unfinishedRow = z.object({ audited: z.boolean(), changed: z.boolean() });

const changedRow = z.object({
  slice: z.string(),
  metric: z.string(),
  periods: count,
  horizon_days: z.number(),
  settled_days: count,
});

/**
 * Records what audits found, and warns of final totals that changed, whatever request found them: of this run, and of runs
 * that were killed before they could.
 */
export async function recordFinality(run: Run): Promise<void> {
  const [found] = await run.warehouse.rows(statement('insight/unfinished_finality'), [], unfinishedRow);
  if (found?.audited === true) await run.warehouse.run(statement('insight/record_audits'), [SEED_PREFIX]);
  if (found?.changed === false) return;
  const changed = await run.warehouse.rows(statement('insight/changed_after_final'), [run.runId], changedRow);
  for (const { slice, metric, periods, horizon_days: horizon, settled_days: settled } of changed) {
    const of = periods === 1 ? '1 final total' : `${periods} final totals`;
    const message = `${of} of ${metric} changed after the horizon of ${horizon}d; a horizon of ${settled}d would have been right.`;
    await warn({ code: 'FINAL_CHANGED', message }, slice, run);
  }
}
