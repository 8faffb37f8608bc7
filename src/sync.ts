/**
 * The pipeline of every run: catalog → control totals → plan → load, with partners and links beside it → retain → measure → audit
 * → publish. Answers come from the service or the archive. A window is loaded wholly or not at all. On return all that could be
 * loaded is committed, and every failure is in the summary.
 */

import type { Config } from './config/config.ts';
import { type LostApps, readLostApps } from './warehouse/tables/lost-apps.ts';
import { measureTables } from './insight/insight.ts';
import { auditNight } from './publish/audits.ts';
import { publish } from './publish/publish.ts';
import { readControls } from './run/controls.ts';
import { fail, reportPlan, type Run, type RunOptions, saveWarnings } from './run/run.ts';
import { executeRun, type RunSteps } from './run/execute-run.ts';
import type { Source, SourceFactory, Targets } from './run/source.ts';
import type { SyncSummary } from './run/summary.ts';
import {
  adoptCatalog,
  completeDimensions,
  declareLive,
  deleteOldPeriods,
  prepareTargets,
  currentTargets,
  starredSlices,
  warnOfChangedFinals,
  warnOfLostApps,
} from './run/tables.ts';
import { loadWindows } from './run/windows.ts';

/** Throws as `executeRun` does. */
export async function sync(
  config: Config,
  options: RunOptions,
  factory: SourceFactory,
  {
    emit,
    signal,
    onFinished = async () => {},
  }: Pick<Run, 'emit' | 'signal'> & Partial<Pick<RunSteps, 'onFinished'>>,
): Promise<SyncSummary> {
  const stages: RunSteps = {
    async refresh(run) {
      const source = factory.open(run);
      const targets: Targets = new Map();
      try {
        await refresh(run, source, factory, targets);
      } finally {
        await source.close();
        await declareLive(run, targets);
        // After the last crawl, and before anything is published.
        if (!isIdleReplay(run)) await completeDimensions(run);
      }
    },
    /** Even after failures: the copies then have what could be loaded. */
    async publish(run, saveSummary) {
      // A replay that loads nothing into a new warehouse must not replace good copies.
      if (isIdleReplay(run)) return;
      const { warehouse, record } = run;
      const { audits, held } = await auditNight(config, warehouse, run);
      record.audits = audits;
      for (const failure of held) fail(failure, null, run);
      await saveSummary();
      if (held.length > 0) return;
      const publishing = { ...config, confirmedNow: factory.confirmedNow() };
      await publish(publishing, warehouse, run);
    },
    onFinished,
  };
  return executeRun({ config, emit, signal }, options, stages, () => factory.statistics());
}

async function refresh(run: Run, source: Source, factory: SourceFactory, targets: Targets) {
  const { catalog, slices } = await source.begin();
  await prepareTargets(run, await starredSlices(run, slices, catalog), catalog, targets);
  const controls = await readControls(run, source, targets, catalog);
  const plans = await source.plan([...targets.values()]);
  const prepared = new Map(targets);
  for (const plan of plans) reportPlan(plan, run);
  await saveWarnings(run);
  let lost: LostApps | null = null;
  // Requests do not wait for the night's catalog, but loads do: it may state other types, or list an app no longer.
  const readLost = async (): Promise<LostApps> => {
    if (lost !== null) return lost;
    await adoptCatalog(run, targets, await source.catalog());
    lost = await readLostApps(run.warehouse);
    return lost;
  };
  // A load deletes their rows too if that loss is accepted.
  const readKept = async (): Promise<LostApps> => {
    const apps = await readLost();
    return run.request.acceptLoss ? new Map() : apps;
  };
  await loadWindows(plans, run, source, { targets, lost: readKept, controls });
  const current = await currentTargets(run, targets, prepared, await readLost());
  // A wrong clock would delete too much. A run that publishes nothing would leave the deleted periods in the copies.
  const isTimeKnown = run.request.asOf !== null || factory.confirmedNow() !== null;
  if (isTimeKnown && !isIdleReplay(run)) await deleteOldPeriods(run, current);
  if (source.canRequest) {
    await warnOfLostApps(run, current, await readKept());
    await warnOfChangedFinals(run);
  }
  const live = current.filter(({ state }) => state === 'live');
  await measureTables(run.warehouse, live);
  await source.finish();
}

const isIdleReplay = ({ request, record }: Run) =>
  request.command === 'replay' && !record.hasLoaded;
