/**
 * What others are told of a run's end: a monitor by a file of metrics, people and watchdogs by the addresses of `notify`.
 *
 * None of it changes how the run ended: what cannot be told is a warning.
 */

import { existsSync } from 'node:fs';
import { open, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

import type { Config, Notify } from '../config/config.ts';
import type { Outcome } from '../config/notify-settings.ts';
import { scrub } from '../config/secret.ts';
import { asFailure, exitCodeOf, Failure, stoppedExitCode, textOf, type WarningCode } from '../errors.ts';
import type { Emit } from '../events.ts';
import { EARLIEST_DAY } from '../model/period.ts';
import { writeOutput } from '../publish/output-file.ts';
import type { FailureSummary, SyncSummary } from '../run/summary.ts';
import { groupedFailures } from '../status/failure-groups.ts';
import type { StatusReport } from '../status/status-report.ts';
import { failuresOf } from '../terminal/failure-text.ts';
import { countText, groupedText, minuteText } from '../terminal/measure.ts';
import { metricsText, type RunEnd } from '../terminal/metrics-text.ts';
import { oneLine } from '../terminal/printable.ts';
import { readStatus, statusOf } from '../status/status.ts';
import { makeDirectories } from '../warehouse/directories.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** Enough to know what to look at; the status has the rest. */
const MOST_FAILURES = 5;
const MOST_LETTERS = 300;

/** Whom to tell, and where to write. */
export interface Telling {
  readonly command: string;
  readonly config: Config;
  /** The instant that was stated for the run; null: none. */
  readonly asOf: Date | null;
  readonly emit: Emit;
  readonly signal: AbortSignal;
  /** An absolute path; null: no metrics. */
  readonly metricsFile: string | null;
  /** The rights of the file. */
  readonly mode: number;
}

/** Looks at what a run left in the warehouse, which it still holds. */
type Look = (warehouse: Warehouse, summary: SyncSummary) => Promise<void>;

/** Carries out a run, as `tellingFailures` does, and tells how it ended, or that it did not begin; rejects with a `Failure`. */
export async function tellingEnd(
  telling: Telling,
  run: (emit: Emit, look: Look) => Promise<SyncSummary>,
): Promise<SyncSummary> {
  const { command, config, asOf: stated, emit, signal, metricsFile } = telling;
  const startedMs = performance.now();
  const durationMs = (): number => Math.round(performance.now() - startedMs);
  const seen: { report: StatusReport | null } = { report: null };
  const unread = (error: unknown): null => {
    const message = `What is told of the run's end says nothing of the slices, as the status could not be read: ${asFailure(error).message}`;
    emit({ type: 'warning', code: 'STATUS_UNREAD', slice: null, window: null, message });
    return null;
  };
  // Read while nobody else can take the warehouse: who waits for it gets it before this process asks again.
  const look: Look = async (warehouse, { as_of: asOf }) => {
    if (isSilent(telling)) return;
    seen.report = await readStatus(config, warehouse, new Date(asOf)).catch(unread);
  };
  const finish = async (): Promise<SyncSummary> => {
    try {
      return await tellingFailures(emit, async (emit) => run(emit, look));
    } catch (thrown) {
      const failure = asFailure(thrown, signal);
      const endedAt = new Date();
      // At an instant that has not come, or lies before any data, no age means anything.
      const isMeant = stated !== null && stated <= endedAt && stated >= new Date(EARLIEST_DAY);
      const at = isMeant ? stated : endedAt;
      if (metricsFile !== null) seen.report = await statusOf(config, at, 0, { emit }).catch(unread);
      const exitCode = failure.code === 'INTERRUPTED' ? stoppedExitCode(signal) : exitCodeOf([failure]);
      const end = { command, endedAt, durationMs: durationMs(), exitCode, summary: null, failure };
      await tellRunEnd(end, seen.report, telling);
      throw failure;
    }
  };
  const summary = await finish();
  const { status, failures } = summary;
  const exitCode = status === 'interrupted' ? stoppedExitCode(signal) : exitCodeOf(failuresOf(failures));
  const end = { command, endedAt: new Date(), durationMs: durationMs(), exitCode, summary, failure: null };
  await tellRunEnd(end, seen.report, telling);
  return summary;
}

const isSilent = ({ metricsFile, config }: Telling): boolean => metricsFile === null && config.notify.length === 0;

/** Carries out a run; what failed the whole of it was no window's event, and is told as one at its end. */
export async function tellingFailures(emit: Emit, run: (emit: Emit) => Promise<SyncSummary>): Promise<SyncSummary> {
  const told: FailureSummary[] = [];
  const summary = await run((event) => {
    if (event.type === 'failed') told.push(event);
    emit(event);
  });
  for (const failure of summary.failures) if (!told.some(isSame(failure))) emit({ type: 'failed', ...failure });
  return summary;
}

function isSame(one: FailureSummary): (other: FailureSummary) => boolean {
  return (other) => one.code === other.code && one.slice === other.slice && one.window === other.window;
}

/**
 * Writes the metrics of a run that could not begin, as its configuration or its options could not be read. Without the first nobody
 * can say what the file must not be: one that holds anything but metrics of ripen is left as it is. What went wrong is a warning.
 */
export async function tellUnread(
  {
    command,
    signal,
    metricsFile,
    mode,
    emit,
  }: Pick<Telling, 'command' | 'signal' | 'mode' | 'emit'> & { readonly metricsFile: string },
  thrown: unknown,
): Promise<void> {
  const failure = asFailure(thrown, signal);
  const exitCode = failure.code === 'INTERRUPTED' ? stoppedExitCode(signal) : exitCodeOf([failure]);
  const end: RunEnd = { command, endedAt: new Date(), durationMs: 0, exitCode, summary: null, failure };
  try {
    const found = await stat(metricsFile).catch(() => null);
    const isOwn = found?.isFile() !== true || found.size === 0 || (await beginning(metricsFile)) === METRICS;
    if (!isOwn) throw new Failure('USAGE_INVALID', 'it held something else than metrics of ripen');
    await writeOutput(metricsFile, metricsText(end, null), mode);
  } catch (error) {
    emit({ ...warningOf('METRICS_NOT_WRITTEN'), message: unwritten(metricsFile, error) });
  }
}

/** What each file of metrics begins with. */
const METRICS = '# HELP ripen_';

async function beginning(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(METRICS.length), 0, METRICS.length, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await file.close();
  }
}

const warningOf = (code: WarningCode) => ({ type: 'warning', code, slice: null, window: null }) as const;

const unwritten = (file: string, error: unknown): string =>
  `The metrics ${file} could not be written: ${textOf(error)}`;

/** Writes the metrics, where a file is named, and tells every address that wants to know. */
async function tellRunEnd(end: RunEnd, report: StatusReport | null, telling: Telling): Promise<void> {
  if (isSilent(telling)) return;
  const { config, emit, metricsFile, mode } = telling;
  const warn = (code: WarningCode, message: string): void => {
    emit({ ...warningOf(code), message });
  };
  if (metricsFile !== null) {
    await writeOutput(metricsFile, metricsText(end, report), mode).catch((error: unknown) => {
      warn('METRICS_NOT_WRITTEN', unwritten(metricsFile, error));
    });
  }
  if (config.notify.length === 0) return;
  const note = failedStartAt(config.warehouse);
  const outcomes = outcomesOf(end, report, existsSync(note));
  const text = scrub(endText(end));
  const told = config.notify.filter(({ on }) => on.some((outcome) => outcomes.includes(outcome)));
  if (told.length > 0) {
    // Loaded only here: most runs tell nobody, and one with nothing due needs no wire.
    const { postText } = await import('../service/notify.ts');
    await Promise.all(
      told.map(async (address: Notify) => {
        const problem = await postText(address, text);
        if (problem !== null) warn('NOTIFY_FAILED', `Nobody was told of the run's end: ${problem}.`);
      }),
    );
  }
  await keepNote(note, end).catch((error: unknown) => {
    const message = `Whether a later run has recovered cannot be told rightly, as ${note} could not be changed`;
    warn('NOTIFY_FAILED', `${message}: ${textOf(error)}`);
  });
}

/** The note of a run that did not start: no ledger has it, as the warehouse may be somebody else's. */
const failedStartAt = (warehouse: string): string => `${warehouse}.unstarted`;

/** Private, as all that lies beside the warehouse. */
const NOTE_MODE = 0o600;

/** Writes the note of a run that did not start; a success takes it away. */
async function keepNote(note: string, { summary, failure, endedAt }: RunEnd): Promise<void> {
  if (summary === null) {
    makeDirectories(dirname(note));
    await writeFile(note, `${endedAt.toISOString()} ${failure.code}\n`, { mode: NOTE_MODE });
  } else if (summary.status === 'succeeded') {
    await rm(note, { force: true });
  }
}

/** A run that could not start, was stopped or loaded a part has failed. */
function outcomesOf({ summary }: RunEnd, report: StatusReport | null, hadFailedStart: boolean): Outcome[] {
  if (summary?.status !== 'succeeded') return ['failed'];
  const runs = report?.runs ?? [];
  const earlier = runs.at(runs.findIndex(({ run_id: id }) => id === summary.run_id) + 1);
  const hasRecovered = hadFailedStart || (earlier !== undefined && earlier.status !== 'succeeded');
  return hasRecovered ? ['succeeded', 'recovered'] : ['succeeded'];
}

/** `ripen sync, as of …: partial, 1,204 rows; 2 failures`, and the gravest, a line each; pure. */
export function endText(end: RunEnd): string {
  const { command, exitCode, summary, failure } = end;
  if (summary === null) return `ripen ${command} did not start (exit ${exitCode})\n${lineOf(failure)}`;
  const rows = summary.slices.reduce((sum, slice) => sum + slice.rows.loaded, 0);
  const { failures, status, as_of: asOf } = summary;
  const groups = groupedFailures(failures);
  const counted = failures.length === 0 ? '' : `; ${countText(failures.length, 'failure')}`;
  const failed = exitCode === 0 ? '' : `${counted} (exit ${exitCode})`;
  return [
    `ripen ${command}, as of ${minuteText(asOf)}: ${status}, ${groupedText(rows)} rows${failed}`,
    ...groups.slice(0, MOST_FAILURES).map(lineOf),
    ...(groups.length > MOST_FAILURES ? [`and ${groups.length - MOST_FAILURES} more`] : []),
  ].join('\n');
}

function lineOf({ code, message }: { readonly code: string; readonly message: string }): string {
  const line = oneLine(message);
  return `${code}: ${line.length > MOST_LETTERS ? `${line.slice(0, MOST_LETTERS)}…` : line}`;
}
