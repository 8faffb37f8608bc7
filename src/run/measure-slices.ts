/** What a run leaves behind of how its slices ripen, and whether final was final: measured before it is published. */

import * as z from 'zod';

import { measureTables } from '../insight/insight.ts';
import type { Target } from '../tables/target.ts';
import { type Run, warn } from './run.ts';
import { count, statement } from '../warehouse/sql.ts';

/** Measures the live tables that have changed; the targets as they stand at the end of the run. */
export async function measureSlices(
  { warehouse, runId }: Pick<Run, 'warehouse' | 'runId'>,
  targets: readonly Target[],
): Promise<void> {
  const live = targets.filter(({ state }) => state === 'live');
  await measureTables(warehouse, live, runId);
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
