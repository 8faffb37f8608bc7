/**
 * The pipeline of every run: catalog → partners and links → plan → load → swap → retain → measure → publish.
 * Answers come from the service or the archive. Periods that a copy keeps are deleted only after that copy is published. A
 * window is loaded wholly or not at all. On return all that could be loaded is committed, and every failure is in the summary.
 */

import type { Config } from './config/config.ts';
import { Failure } from './errors.ts';
import { measureTables } from './insight/insight.ts';
import { refreshJoins } from './links/joins.ts';
import { recordPostponed } from './tables/slice-metrics.ts';
import type { Target } from './tables/target.ts';
import { publish } from './publish/publish.ts';
import { recordPlan, type Run, type RunRequest } from './run/run.ts';
import { carryOut, type Stages } from './run/carry-out.ts';
import type { Source, SourceDoor } from './run/source.ts';
import type { SyncSummary } from './run/summary.ts';
import {
  completeDimensions,
  deleteOldPeriods,
  prepareTargets,
  standingTargets,
  starredSlices,
  warnOfChangedFinals,
} from './run/tables.ts';
import { loadWindows } from './run/windows.ts';

/** Refreshes what is due (in a backfill the given days, in a replay the archive) and publishes. Throws as `carryOut` does. */
export async function sync(
  config: Config,
  request: RunRequest,
  from: SourceDoor,
  {
    emit,
    signal,
    look = async () => {},
  }: Pick<Run, 'emit' | 'signal'> & Partial<Pick<Stages, 'look'>>,
): Promise<SyncSummary> {
  let standing: readonly Target[] = [];
  const refreshAll = async (run: Run): Promise<void> => {
    const source = from.open(run);
    try {
      standing = await refresh(run, source, from);
    } finally {
      await source.close();
    }
  };
  const publishAll = async (run: Run): Promise<void> => publishLoaded(run, from, standing);
  const stages = { refresh: refreshAll, publish: publishAll, look };
  return carryOut({ config, request, emit, signal }, stages, () => from.statistics());
}

/** Refreshes the tables and returns them as they stand then. */
async function refresh(run: Run, source: Source, from: SourceDoor): Promise<readonly Target[]> {
  const { catalog, slices } = await source.begin();
  const targets = await prepareTargets(run, starredSlices(run, slices, catalog), catalog);
  const plans = await source.plan([...targets.values()]);
  const prepared = new Map(targets);
  for (const plan of plans) await recordPlan(plan, run);
  const planned = plans.flatMap(({ slice, windows }) => {
    const target = targets.get(slice.name);
    return target?.state === 'live' ? [{ target, windows }] : [];
  });
  await recordPostponed(run.warehouse, planned, run.planAt);

  await loadWindows(plans, run, source, targets);

  const standing = await standingTargets(run, targets, prepared);
  if (keepersIn(run).size === 0) await letGo(run, from, standing);
  if (source.canRequest) await warnOfChangedFinals(run);
  const live = standing.filter(({ state }) => state === 'live');
  await measureTables(run.warehouse, live, run.runId);
  if (!isIdleReplay(run)) await completeDimensions(run);
  await source.finish();
  return standing;
}

/** Deletes old periods if the instant is stated or the clock confirmed: a wrong clock would delete too much. */
async function letGo(run: Run, from: SourceDoor, standing: readonly Target[]): Promise<void> {
  if (run.request.asOf === null && from.confirmedNow() === null) return;
  await deleteOldPeriods(run, standing, keepersIn(run).size > 0);
}

/** The paths of the targets that keep periods which the warehouse deletes. */
const keepersIn = ({ config: { publish } }: Run): Set<string> =>
  new Set(
    publish.flatMap((target) =>
      target.kind === 'delta' && target.keepReleased === true ? [target.path] : [],
    ),
  );

/** Publishes what is committed, even after failures: the copies then have what could be loaded. */
async function publishLoaded(
  run: Run,
  from: SourceDoor,
  standing: readonly Target[],
): Promise<void> {
  // A replay that loads nothing into a new warehouse must not replace good copies.
  if (isIdleReplay(run)) return;
  const { config, warehouse, record, emit, signal } = run;
  // If the refresh ended early, the views may be those of an earlier run, over tables that have changed since.
  await refreshJoins(warehouse);
  const publishing = { ...config, confirmedNow: from.confirmedNow() };
  // Recorded one by one: if a signal stops this, the copies before it count as published.
  const missing = keepersIn(run);
  await publish(publishing, warehouse, { emit, signal }, (outcome) => {
    if (!(outcome instanceof Failure)) missing.delete(outcome.path);
    record.published(outcome);
  });
  // Periods that copies keep are deleted only once each of these copies has their last values.
  if (keepersIn(run).size > 0 && missing.size === 0 && !signal.aborted)
    await letGo(run, from, standing);
}

const isIdleReplay = ({ request, record }: Run): boolean =>
  request.command === 'replay' && !record.hasLoaded;
