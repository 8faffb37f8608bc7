/** What a run leaves behind of how its slices ripen, and whether final was final: measured before it is published. */

import * as z from 'zod';

import { refreshInsight } from '../insight/insight.ts';
import type { Target } from '../load/target.ts';
import { drawAudits, nightOf, withAudits, type Audited, type Draw } from '../plan/audit.ts';
import type { SlicePlan } from '../plan/plan.ts';
import { type Run, warn } from './run.ts';
import { count, statement, timestamp } from '../warehouse/sql.ts';

const unmeasuredRow = z.object({ unmeasured: z.boolean() });

/** Measures the live tables that have changed; the targets as they stand at the end of the run. */
export async function measureSlices(
  { warehouse, runId }: Pick<Run, 'warehouse' | 'runId'>,
  targets: readonly Target[],
): Promise<void> {
  for (const target of targets) {
    const parameters = [target.slice.name, runId];
    const [found] = await warehouse.rows(statement('insight/is_unmeasured'), parameters, unmeasuredRow);
    if (target.state === 'live' && found?.unmeasured === true) await refreshInsight(warehouse, target);
  }
}

/** The plans of a nightly sync with its audits, which are recorded before anything is requested; those of a backfill as they are. */
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
  const drawn = await drawnTonight(run, audited);
  const draws = drawn.map(({ plan, period, seed, waits }) => {
    return { slice: plan.slice.name, period: period.bucket.start, seed, waits };
  });
  const parameters = [run.runId, timestamp(run.planAt), JSON.stringify(draws)];
  if (drawn.length > 0) await run.warehouse.run(statement('insight/record_draws'), parameters);
  return withAudits(plans, drawn);
}

const drawsRow = z.object({ draws: count });

/** What the night's earlier runs, killed ones too, have left to draw. */
export async function drawnTonight(
  { config, warehouse, planAt }: Pick<Run, 'config' | 'planAt' | 'warehouse'>,
  plans: readonly Audited[],
): Promise<Draw[]> {
  const [done] = await warehouse.rows(statement('insight/audits_of_night'), [nightOf(planAt)], drawsRow);
  return drawAudits(plans, { periods: config.audit, done: done?.draws ?? 0 }, planAt);
}

const changedRow = z.object({
  slice: z.string(),
  metric: z.string(),
  periods: count,
  horizon_days: z.number(),
  last_age: count,
});

/** Warns of final totals that changed, whatever request found them: of this run, and of runs that were killed before they could. */
export async function warnOfChangedFinals(run: Run): Promise<void> {
  const changed = await run.warehouse.rows(statement('insight/changed_after_final'), [run.runId], changedRow);
  for (const { slice, metric, periods, horizon_days: horizon, last_age: age } of changed) {
    const of = periods === 1 ? '1 final total' : `${periods} final totals`;
    const message = `${of} of ${metric} changed after the horizon of ${horizon}d, as late as age ${age}.`;
    await warn({ code: 'FINAL_CHANGED', message }, slice, run);
  }
}
