/** What a run leaves behind of how its slices ripen: measured after the loads, whatever was loaded, before it is published. */

import { refreshInsight } from './insight/insight.ts';
import { prepareTable } from './load/slice-table.ts';
import type { Target } from './load/target.ts';
import type { Run } from './run.ts';

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
