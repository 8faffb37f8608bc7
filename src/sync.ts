/**
 * The nightly pipeline: catalog → partners and links → plan → extract and load → swap → publish.
 *
 * What enters: a configuration, a service, an instant. What leaves: a summary. A window is loaded wholly or not at all;
 * whatever could be loaded is committed when this returns, and every failure is in the summary.
 */

import { withAdaptiveAges } from './run/adaptive-slices.ts';
import type { Config } from './config/config.ts';
import type { Emit } from './events.ts';
import { ColumnAnswers } from './load/column-answers.ts';
import { prepareTable, turnWeeks } from './load/slice-table.ts';
import type { Target } from './load/target.ts';
import type { WeekStart } from './model/calendar.ts';
import { measureSlices, recordFinality, withNightlyAudits } from './run/measure-slices.ts';
import type { Slice } from './model/slice.ts';
import type { Window } from './model/window.ts';
import { inOrder } from './plan/order.ts';
import type { SlicePlan } from './plan/plan.ts';
import { publish } from './publish/publish.ts';
import { refreshCatalog } from './run/refresh-catalog.ts';
import { completeDimensions, refreshDimensions } from './run/refresh-dimensions.ts';
import { archiveCatalog, expireArchive } from './run/archive.ts';
import { clockCheck } from './run/guards.ts';
import { letPeriodsGo, planTargets, prepareTargets, swapComplete, type TableRun } from './run/tables.ts';
import { runStages, type Run, type SyncRequest } from './run/run.ts';
import { runWindows } from './run/windows.ts';
import type { Service } from './service/service.ts';
import { openColumnReader } from './spool/columns/column-reader.ts';
import { openSpool, type Spool } from './spool/spool.ts';
import type { SyncSummary } from './run/summary.ts';
import { recordPlan } from './run/outcome.ts';

/** Refreshes what is due (or, for a backfill, what is asked for) and publishes. Throws as `runStages` does. */
export async function sync(
  config: Config,
  service: Service,
  request: SyncRequest,
  emit: Emit,
  signal: AbortSignal,
): Promise<SyncSummary> {
  const refreshAll = async (run: Run): Promise<void> => {
    // Also when nothing turns out to be due: what a killed run left there takes room, and nobody else removes it.
    const spool = openSpool(run.warehouse.path);
    const columnReader = openColumnReader();
    try {
      const slices = await withAdaptiveAges(run.warehouse, run.slices);
      const columns = new ColumnAnswers(columnReader);
      await refresh({ ...run, slices, request, service, spool, columns });
    } finally {
      await columnReader.close();
      spool.clear();
    }
  };
  const stages = { refresh: refreshAll, publish: publishAll };
  return runStages(stages, { config, request, emit, signal }, () => service.statistics());
}

/** A run that asks the service. */
interface SyncRun extends TableRun {
  readonly service: Service;
  readonly spool: Spool;
  readonly columns: ColumnAnswers;
}

async function refresh(run: SyncRun): Promise<void> {
  const catalog = await refreshCatalog(run);
  await archiveCatalog(run);
  const checkClock = clockCheck(run.request.asOf, run.service, run.emit);
  checkClock();

  await refreshDimensions(run);

  const targets = await prepareTargets(run, catalog);
  const plans = await withNightlyAudits(run, targets, await planTargets(run, [...targets.values()]));
  for (const plan of plans) await recordPlan(plan, run);

  await loadWindows(run, plans, targets, checkClock);

  await swapComplete(run, targets);
  const standing = await letPeriodsGo(run, targets);
  await recordFinality(run);
  await measureSlices(run, standing);
  await completeDimensions(run);
  await expireArchive(run.asOf, run);
}

async function loadWindows(
  run: SyncRun,
  plans: readonly SlicePlan[],
  targets: Map<string, Target>,
  checkClock: () => void,
): Promise<void> {
  const turn = async (slice: Slice, weekStartsOn: WeekStart): Promise<Window[]> => {
    const target = targets.get(slice.name);
    if (target === undefined) return [];
    await turnWeeks(run.warehouse, target, weekStartsOn, run.runId);
    const turned = await prepareTable(run.warehouse, slice, target.catalog, run.runId);
    targets.set(slice.name, turned);
    return inOrder(await planTargets(run, [turned]));
  };
  const { asOf, acceptLoss } = run.request;
  const { maxConcurrency } = run.config.service;
  await runWindows(inOrder(plans), { ...run, targets, checkClock, asOf, acceptLoss, maxConcurrency, turnWeeks: turn });
}

/** Publishes what is committed, also after failures: the copies then hold what could be loaded. */
async function publishAll({ config, warehouse, record, emit, signal }: Run): Promise<void> {
  record.publish(await publish(config, warehouse, emit, signal));
}
