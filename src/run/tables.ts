/** The tables of a run's slices: prepared, planned for, swapped and let go of. */

import { asFailure } from '../errors.ts';
import { letGo } from '../load/let-go.ts';
import { prepareTable, swapTables } from '../load/slice-table.ts';
import type { Target } from '../load/target.ts';
import type { Catalog } from '../model/catalog.ts';
import { isComplete, planSlice, type SlicePlan } from '../plan/plan.ts';
import type { Run, SyncRequest } from './run.ts';
import { readSliceLedger } from '../warehouse/ledger.ts';
import { recordFailed } from './outcome.ts';

/** A run that decides what is due. */
export interface TableRun extends Run {
  readonly request: SyncRequest;
}

/** The table of each slice; a slice whose table cannot be prepared fails by itself. Throws `STORAGE_FAILED`. */
export async function prepareTargets(run: TableRun, catalog: Catalog): Promise<Map<string, Target>> {
  const targets = new Map<string, Target>();
  for (const slice of run.slices) {
    try {
      targets.set(slice.name, await prepareTable(run.warehouse, slice, catalog, run.runId));
    } catch (error) {
      const failure = asFailure(error);
      if (failure.kind === 'storage' || failure.kind === 'bug') throw failure;
      recordFailed(failure, slice.name, run);
    }
  }
  return targets;
}

/** What each slice is to be asked for, by what its tables hold now. */
export async function planTargets(run: TableRun, targets: readonly Target[]): Promise<SlicePlan[]> {
  const { asOf, request, warehouse } = run;
  const plans: SlicePlan[] = [];
  for (const { slice, metrics } of targets) {
    const ledger = await readSliceLedger(warehouse, slice.name);
    plans.push(planSlice({ slice, metrics, ledger, asOf, forced: request.forced }));
  }
  return plans;
}

/** Puts every table that was built and is complete in the live one's place. */
export async function swapComplete(run: TableRun, targets: ReadonlyMap<string, Target>): Promise<void> {
  for (const target of targets.values()) {
    if (target.state !== 'building') continue;
    const { live } = await readSliceLedger(run.warehouse, target.slice.name);
    const [plan] = await planTargets(run, [target]);
    if (plan !== undefined && isComplete(plan, live)) await swapTables(run.warehouse, target, run.runId);
  }
}

/**
 * Deletes what `retain` keeps no longer, also of a slice that had failures: what it keeps does not depend on them. Returns the
 * tables as they stand then, as one may have been swapped, or its weeks turned.
 */
export async function letPeriodsGo(run: TableRun, targets: ReadonlyMap<string, Target>): Promise<Target[]> {
  const standing: Target[] = [];
  for (const { slice, catalog } of targets.values()) {
    const target = await prepareTable(run.warehouse, slice, catalog, run.runId);
    standing.push(target);
    const gone = await letGo(run.warehouse, target, run.asOf);
    if (gone !== null) run.emit({ type: 'periods_let_go', slice: slice.name, ...gone });
  }
  return standing;
}
