/** The frame of every run: lock, ledger entry, deadline, signals, summary. */

import { randomUUID } from 'node:crypto';

import { scrubbedJson } from '../config/secret.ts';
import { asFailure, exitCodeOf, Failure, failureCodes } from '../errors.ts';
import type { Emit } from '../events.ts';
import { LOCK_WAIT_MS, timeoutSignal } from '../model/duration.ts';
import type { ServiceStatistics } from '../service/service.ts';
import { assertNoFutureFetch } from '../warehouse/ledger.ts';
import { openWarehouse } from '../warehouse/opening.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { recordRun, startRun } from '../warehouse/runs.ts';
import { checkAsOf, checkForced, chosenSlices } from './circumstances.ts';
import { fail, type Run, type RunOptions, type RunRequest, saveWarnings } from './run.ts';
import { RunRecord, type SyncSummary } from './summary.ts';
import { assertOwnCopies } from '../publish/copies.ts';
import { assertWritable } from '../publish/places/destinations.ts';

export interface RunSteps {
  readonly refresh: (run: Run) => Promise<void>;
  /** `saveSummary` stores what the run did so far, for the copies of the ledger. */
  readonly publish: (run: Run, saveSummary: () => Promise<void>) => Promise<void>;
  /** Inspects the warehouse once the run is over. Does not throw. */
  readonly onFinished: (warehouse: Warehouse, summary: SyncSummary) => Promise<void>;
}

/**
 * Holds the warehouse until the deadline while it refreshes, until a signal while it publishes. Throws only what kept the run
 * from starting, before any request.
 */
export async function executeRun(
  { config, emit: listen, signal }: Pick<Run, 'config' | 'emit' | 'signal'>,
  options: RunOptions,
  { refresh, publish, onFinished }: RunSteps,
  statistics: () => ServiceStatistics,
): Promise<SyncSummary> {
  const request: RunRequest = {
    command: options.command,
    asOf: options.asOf ?? null,
    slices: options.slices ?? null,
    lockWaitMs: options.lockWaitMs ?? LOCK_WAIT_MS,
    deadlineMs: options.deadlineMs ?? null,
    forced: options.forced ?? null,
    acceptLoss: options.acceptLoss ?? false,
  };
  const { command, deadlineMs, lockWaitMs, forced, asOf } = request;
  checkAsOf(asOf, new Date());
  if (forced !== null) checkForced(forced);
  const slices = chosenSlices(config, request.slices);
  await assertWritable(config);
  const runId = randomUUID();
  const deadline = deadlineMs === null ? [] : [timeoutSignal(deadlineMs)];
  const stop = AbortSignal.any([signal, ...deadline]);
  const opening = { mode: 'write', lockWaitMs, emit: listen, signal } as const;
  const warehouse = await openWarehouse(config.warehouse, opening);
  // After the wait: nothing that the run before stored is newer than this run.
  const startedAt = new Date();
  const startedMs = performance.now();
  const planAt = asOf ?? startedAt;
  const start = { runId, command, planAt, startedAt };
  const record = new RunRecord();
  const emit: Emit = (event) => {
    record.add(event);
    listen(event);
  };
  const summarize = (at: Date, isInterrupted = false): SyncSummary =>
    record.summary(start, at, isInterrupted, statistics());
  const run = { config, request, warehouse, slices, record, runId, planAt, emit, signal: stop };
  try {
    await assertOwnCopies(config, warehouse, signal);
    await assertNoFutureFetch(warehouse, config.slices, planAt);
    await startRun(warehouse, start);
    emit({ type: 'run_started', runId, command, asOf: planAt.toISOString() });
    const isCut = await reportingFailure(run, async () => refresh(run));
    if (!signal.aborted && stop.aborted && (isCut || record.hasUnfinished)) {
      const { lastSetback = null } = statistics();
      const because = lastSetback === null ? '' : ` The last request failed: ${lastSetback}.`;
      const message = `The deadline of ${(deadlineMs ?? 0) / 1000} s passed before all windows were loaded.${because}`;
      const hint = 'Run again: loaded data is kept, and only the rest is requested.';
      fail(new Failure('DEADLINE_PASSED', message, { hint }), null, run);
    }
    const publishing = { ...run, signal };
    if (!signal.aborted) {
      await reportingFailure(publishing, async () => {
        const saveSummary = async (): Promise<void> => {
          await saveWarnings(run);
          await recordRun(warehouse, runId, scrubbedJson(summarize(new Date())));
        };
        await saveSummary();
        await publish(publishing, saveSummary);
      });
    }
    const finishedAt = new Date();
    const isInterrupted = signal.aborted;
    try {
      await saveWarnings(run);
      const summary = summarize(finishedAt, isInterrupted);
      const exitCode = isInterrupted ? null : exitCodeOf(record.failures);
      const end = { finishedAt, status: summary.status, exitCode };
      await recordRun(warehouse, runId, scrubbedJson(summary), end);
    } catch (error) {
      const failure = asFailure(error);
      // A disk or database that failed the run also fails its ledger entry.
      const isReported = record.failures.some(({ code }) => failureCodes[code] === 'storage');
      if (!isReported || failure.kind !== 'storage') fail(failure, null, run);
    }
    const summary = summarize(finishedAt, isInterrupted);
    const ms = Math.round(performance.now() - startedMs);
    emit({ type: 'run_finished', runId, status: summary.status, ms });
    await onFinished(warehouse, summary);
    return summary;
  } finally {
    await warehouse.close();
  }
}

/** Returns whether the stage was cut by the signal, which is no failure of its own. */
async function reportingFailure(run: Run, stage: () => Promise<void>): Promise<boolean> {
  try {
    await stage();
    return false;
  } catch (error) {
    const isCut = run.signal.aborted && asFailure(error, run.signal).code === 'INTERRUPTED';
    if (!isCut) fail(asFailure(error), null, run);
    return isCut;
  }
}
