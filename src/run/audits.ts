/** The audits of a night: periods with final cells, drawn at random, which are then requested and loaded like any other. */

import * as z from 'zod';

import type { Target } from '../load/target.ts';
import { type AuditedPlan, type Draw, drawAudits, nightOf, withAudits } from '../plan/audit.ts';
import type { SlicePlan } from '../plan/plan.ts';
import { count, statement, timestamp } from '../warehouse/sql.ts';
import type { Run } from './run.ts';

/** The plans of a nightly sync with its audits, which are recorded before anything is requested; a backfill has none. */
export async function withNightlyAudits(
  run: Run,
  targets: readonly Target[],
  plans: readonly SlicePlan[],
): Promise<readonly SlicePlan[]> {
  if (run.request.forced !== null) return plans;
  const metricsBy = new Map(targets.map(({ slice, metrics }) => [slice.name, metrics]));
  const drawn = await drawnTonight(
    run,
    plans.map((plan) => ({ plan, metrics: metricsBy.get(plan.slice.name) ?? [] })),
  );
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
  plans: readonly AuditedPlan[],
): Promise<Draw[]> {
  const [done] = await warehouse.rows(statement('insight/audits_of_night'), [nightOf(planAt)], drawsRow);
  return drawAudits(plans, { periods: config.audit, done: done?.draws ?? 0 }, planAt);
}
