/** The frame of every run: lock, ledger entry, deadline, signals, summary. The caller supplies the work. */

import { randomUUID } from 'node:crypto';

import { scrubbedJson } from '../config/secret.ts';
import { asFailure, Failure } from '../errors.ts';
import { timeoutSignal } from '../model/duration.ts';
import type { ServiceStatistics } from '../service/service.ts';
import { assertNoFutureFetch } from '../warehouse/ledger.ts';
import { openWarehouse } from '../warehouse/opening.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { finishRun, recordSummary, startRun } from '../warehouse/runs.ts';
import { checkAsOf, chosenSlices } from './circumstances.ts';
import type { Run } from './run.ts';
import { RunRecord, type SyncSummary } from './summary.ts';
import { assertOwnCopies } from '../publish/copies.ts';
import { assertWritable } from '../publish/places/destinations.ts';

/** What a run does while it holds the warehouse. */
export interface RunSteps {
  readonly refresh: (run: Run) => Promise<void>;
  readonly publish: (run: Run) => Promise<void>;
  /** Inspects the warehouse once the run is over; does not throw. */
  readonly onFinished: (warehouse: Warehouse, summary: SyncSummary) => Promise<void>;
}

/**
 * Holds the warehouse while a run refreshes it, until the deadline, and publishes, until a signal. Returns the summary with
 * every failure and the final `statistics`. Throws only the error that kept the run from starting; nothing was requested then.
 */
export async function executeRun(
  from: Pick<Run, 'config' | 'request' | 'emit' | 'signal'>,
  { refresh, publish, onFinished }: RunSteps,
  statistics: () => ServiceStatistics,
): Promise<SyncSummary> {
  const { config, request, emit, signal } = from;
  checkAsOf(request.asOf, new Date());
  const slices = chosenSlices(config, request.slices);
  await assertWritable(config);
  const { command, deadlineMs, lockWaitMs } = request;
  const runId = randomUUID();
  const deadline = deadlineMs === null ? [] : [timeoutSignal(deadlineMs)];
  const stop = AbortSignal.any([signal, ...deadline]);
  const warehouse = await openWarehouse(config.warehouse, {
    mode: 'write',
    lockWaitMs,
    emit,
    signal,
  });
  // After the wait: nothing that the run before stored is newer than this run.
  const startedAt = new Date();
  const startedMs = performance.now();
  const planAt = request.asOf ?? startedAt;
  const record = new RunRecord({ runId, command, planAt, startedAt });
  const run: Run = { ...from, warehouse, slices, record, runId, planAt, signal: stop };
  try {
    await assertOwnCopies(config, warehouse, signal);
    await assertNoFutureFetch(warehouse, config.slices, planAt);
    await startRun(warehouse, record.identity);
    emit({ type: 'run_started', runId, command, asOf: planAt.toISOString() });
    const isCut = await recordingFailure(run, async () => refresh(run));
    if (!signal.aborted && stop.aborted && (isCut || record.hasUnfinished)) {
      record.fail(deadlineFailure(deadlineMs, statistics()));
    }
    const publishing = { ...run, signal };
    if (!signal.aborted) {
      await recordingFailure(publishing, async () => {
        // Stored first, so that a copy of the ledger states what the run that made it did.
        await recordSummary(
          warehouse,
          runId,
          scrubbedJson(record.summary(new Date(), statistics())),
        );
        await publish(publishing);
      });
    }
    if (signal.aborted) record.interrupt();
    const summary = await finish(run, statistics, signal.aborted);
    emit({
      type: 'run_finished',
      runId,
      status: summary.status,
      ms: Math.round(performance.now() - startedMs),
    });
    await onFinished(warehouse, summary);
    return summary;
  } finally {
    await warehouse.close();
  }
}

/** Stores the summary in the ledger too. A ledger that cannot be written is a failure of the run like any other. */
async function finish(
  { warehouse, record, runId }: Run,
  statistics: () => ServiceStatistics,
  isInterrupted: boolean,
): Promise<SyncSummary> {
  const finishedAt = new Date();
  const summary = record.summary(finishedAt, statistics());
  const end = {
    finishedAt,
    status: summary.status,
    exitCode: isInterrupted ? null : record.exitCode,
  };
  try {
    await finishRun(warehouse, runId, end, scrubbedJson(summary));
    return summary;
  } catch (error) {
    const failure = asFailure(error);
    // A disk or database that failed the run also fails its ledger entry; that failure is already reported.
    const isReported = record.failures.some(
      ({ kind }) => kind === 'storage' && failure.kind === kind,
    );
    if (!isReported) record.fail(failure);
    return record.summary(finishedAt, statistics());
  }
}

/** Records the failure of a stage. Returns whether the stage was cut by the signal, which is no failure of its own. */
async function recordingFailure(
  { record, signal }: Run,
  stage: () => Promise<void>,
): Promise<boolean> {
  try {
    await stage();
    return false;
  } catch (error) {
    const isCut = signal.aborted && asFailure(error, signal).code === 'INTERRUPTED';
    if (!isCut) record.fail(asFailure(error));
    return isCut;
  }
}

function deadlineFailure(
  deadlineMs: number | null,
  { lastSetback = null }: ServiceStatistics,
): Failure {
  const because = lastSetback === null ? '' : `; the latest request failed: ${lastSetback}`;
  const message = `The deadline of ${(deadlineMs ?? 0) / 1000} s passed before every window was loaded${because}.`;
  return new Failure('DEADLINE_PASSED', message, {
    facts: { deadline_ms: deadlineMs, because: lastSetback },
    hint: 'Run again: loaded data is kept, and only the rest is requested.',
  });
}
