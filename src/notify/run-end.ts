/**
 * What others learn of a run's end: a monitor from a file of metrics, people and watchdogs from the addresses of `notify`.
 *
 * None of it changes how the run ended: what cannot be delivered is a warning.
 */

import { open, stat } from 'node:fs/promises';
import { hostname } from 'node:os';

import type { Config, Notify, Outcome } from '../config/config.ts';
import { type ConfigOptions, readConfig } from '../config/read-config.ts';
import { scrub } from '../config/secret.ts';
import { asFailure, exitCodeOf, Failure, stoppedExitCode, textOf, type WarningCode } from '../errors.ts';
import type { Emit } from '../events.ts';
import { EARLIEST_DAY } from '../model/period.ts';
import { writeOutput } from '../publish/replacement.ts';
import { refuseOutput } from '../publish/places.ts';
import type { FailureSummary, SyncSummary } from '../run/summary.ts';
import { keepFailedStart, readFailedStart } from '../status/failed-start.ts';
import type { StatusReport } from '../status/status-report.ts';
import { readStatus, statusOf } from '../status/status.ts';
import { failuresOf } from '../terminal/failure-text.ts';
import { explained, summaryOf } from '../terminal/explain.ts';
import { countText, groupedText, minuteText } from '../terminal/measure.ts';
import { metricsText, type RunEnd } from '../terminal/metrics-text.ts';
import { oneLine } from '../terminal/printable.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** Enough to know what to look at; the status has the rest. */
const MOST_FAILURES = 5;
const MOST_LETTERS = 300;

/** Whom to notify, and where to write. */
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

/**
 * Carries out a run and reports how it ended, or that it did not begin. Resolves to its summary with its failures explained;
 * rejects with a `Failure`, explained too.
 */
export async function tellingEnd(
  telling: Telling,
  run: (emit: Emit, look: Look) => Promise<SyncSummary>,
): Promise<SyncSummary> {
  const { command, config, emit, signal } = telling;
  const startedMs = performance.now();
  const seen: { report: StatusReport | null } = { report: null };
  // Read while nobody else can take the warehouse: who waits for it gets it before this process opens it again.
  const look: Look = async (warehouse, { as_of: asOf, failures }) => {
    if (isSilent(telling) && failures.length === 0) return;
    seen.report = await readStatus(config, warehouse, new Date(asOf)).catch(unreadBy(telling));
  };
  try {
    const summary = await tellingFailures(emit, async (emit) => run(emit, look));
    const failures = await explained(summary.failures, { config, report: seen.report, runId: summary.run_id });
    const exitCode = summary.status === 'interrupted' ? stoppedExitCode(signal) : exitCodeOf(failuresOf(failures));
    const durationMs = Math.round(performance.now() - startedMs);
    const reported = { ...summary, failures };
    const end = { command, endedAt: new Date(), durationMs, exitCode, summary: reported, failure: null };
    await tellRunEnd(end, seen.report, telling);
    return reported;
  } catch (thrown) {
    throw await notBegun(telling, asFailure(thrown, signal), startedMs);
  }
}

/** Reports that a run did not begin; resolves to its failure with what readers still have. */
async function notBegun(telling: Telling, failure: Failure, startedMs: number): Promise<Failure> {
  const { command, config, asOf: stated, emit, signal, metricsFile } = telling;
  const endedAt = new Date();
  // At an instant that has not come, or lies before any data, no age means anything.
  const isMeant = stated !== null && stated <= endedAt && stated >= new Date(EARLIEST_DAY);
  const unread = metricsFile === null ? (): null => null : unreadBy(telling);
  const report = await statusOf(config, isMeant ? stated : endedAt, 0, { emit }).catch(unread);
  const isStopped = failure.code === 'INTERRUPTED';
  const [first] = isStopped ? [] : await explained([summaryOf(failure)], { config, report, runId: null });
  const told = first === undefined ? failure : reworded(failure, first);
  const exitCode = isStopped ? stoppedExitCode(signal) : exitCodeOf([failure]);
  const durationMs = Math.round(performance.now() - startedMs);
  await tellRunEnd({ command, endedAt, durationMs, exitCode, summary: null, failure: told }, report, telling);
  return told;
}

function reworded(failure: Failure, { message, hint }: FailureSummary): Failure {
  const { code, facts, cause } = failure;
  return new Failure(code, message, { facts, cause, ...(hint === null ? {} : { hint }) });
}

function unreadBy({ emit }: Telling): (error: unknown) => null {
  return (error) => {
    const message = `The report of the run's end says nothing of the slices, as the status could not be read: ${asFailure(error).message}`;
    emit({ ...warningOf('STATUS_UNREAD'), message });
    return null;
  };
}

const isSilent = ({ metricsFile, config }: Telling): boolean => metricsFile === null && config.notify.length === 0;

/** Carries out a run; what failed the whole of it was no window's event, and is emitted as one at its end. */
export async function tellingFailures(emit: Emit, run: (emit: Emit) => Promise<SyncSummary>): Promise<SyncSummary> {
  const emitted: FailureSummary[] = [];
  const summary = await run((event) => {
    if (event.type === 'failed') emitted.push(event);
    emit(event);
  });
  for (const failure of summary.failures) if (!emitted.some(isSame(failure))) emit({ type: 'failed', ...failure });
  return summary;
}

function isSame(one: FailureSummary): (other: FailureSummary) => boolean {
  return (other) => one.code === other.code && one.slice === other.slice && one.window === other.window;
}

/**
 * Reports a run that could not begin, as its configuration or its options could not be read: fully where all but the
 * credentials can be, otherwise by its metrics alone. Without a configuration nobody can say what their file must not be: one
 * that holds anything but metrics of ripen is left as it is. Resolves to the failure to end with.
 */
export async function tellUnread(
  telling: Omit<Telling, 'config'>,
  place: ConfigOptions,
  thrown: unknown,
): Promise<Failure> {
  const { command, signal, metricsFile, mode, emit } = telling;
  const failure = asFailure(thrown, signal);
  const startedMs = performance.now();
  const config = await readConfig({ ...place, offline: true }).catch(() => null);
  try {
    if (config !== null) {
      if (metricsFile !== null) await refuseOutput(config, metricsFile);
      return await notBegun({ ...telling, config }, failure, startedMs);
    }
    if (metricsFile === null) return failure;
    const found = await stat(metricsFile).catch(() => null);
    const isOwn = found?.isFile() !== true || found.size === 0 || (await beginning(metricsFile)) === METRICS;
    if (!isOwn) throw new Failure('USAGE_INVALID', 'it held something else than metrics of ripen');
    const exitCode = failure.code === 'INTERRUPTED' ? stoppedExitCode(signal) : exitCodeOf([failure]);
    const end: RunEnd = { command, endedAt: new Date(), durationMs: 0, exitCode, summary: null, failure };
    await writeOutput(metricsFile, metricsText(end, null), mode);
  } catch (error) {
    emit({ ...warningOf('METRICS_NOT_WRITTEN'), message: unwritten(metricsFile ?? '', error) });
  }
  return failure;
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

/** Writes the metrics, where a file is named, and notifies every address that wants to know. */
async function tellRunEnd(end: RunEnd, report: StatusReport | null, telling: Telling): Promise<void> {
  const { config, emit, metricsFile, mode } = telling;
  const warn = (code: WarningCode, message: string): void => {
    emit({ ...warningOf(code), message });
  };
  if (metricsFile !== null) {
    await writeOutput(metricsFile, metricsText(end, report), mode).catch((error: unknown) => {
      warn('METRICS_NOT_WRITTEN', unwritten(metricsFile, error));
    });
  }
  const outcomes = outcomesOf(end, report, readFailedStart(config.warehouse) !== null);
  const text = scrub(endText(end));
  const addresses = config.notify.filter(({ on }) => on.some((outcome) => outcomes.includes(outcome)));
  if (addresses.length > 0) {
    // Loaded only here: most runs notify nobody, and one with nothing due needs no wire.
    const { postText } = await import('../service/notify.ts');
    await Promise.all(
      addresses.map(async (address: Notify) => {
        const problem = await postText(address, text);
        if (problem !== null) warn('NOTIFY_FAILED', `Nobody was notified of the run's end: ${problem}.`);
      }),
    );
  }
  const { summary, failure, endedAt } = end;
  // A slip at the keyboard is no failed night, unless somebody was notified of it.
  const isSlip = ['USAGE_INVALID', 'AS_OF_IN_FUTURE'].includes(failure?.code ?? '') && config.notify.length === 0;
  if (isSlip || (summary !== null && summary.status !== 'succeeded')) return;
  await keepFailedStart(config.warehouse, failure, endedAt).catch((error: unknown) => {
    warn('NOTIFY_FAILED', `Whether a later run has recovered is not known: ${textOf(error)}`);
  });
}

/** A run that could not start, was stopped or loaded a part has failed. */
function outcomesOf({ summary }: RunEnd, report: StatusReport | null, hadFailedStart: boolean): Outcome[] {
  if (summary?.status !== 'succeeded') return ['failed'];
  const runs = report?.runs ?? [];
  const earlier = runs.at(runs.findIndex(({ run_id: id }) => id === summary.run_id) + 1);
  const hasRecovered = hadFailedStart || (earlier !== undefined && earlier.status !== 'succeeded');
  return hasRecovered ? ['succeeded', 'recovered'] : ['succeeded'];
}

/** `ripen sync on host, as of …: partial, 1,204 rows; 2 failures (exit 75), run …`, then the gravest, each with its remedy, and the copies. */
export function endText(end: RunEnd): string {
  const { command, exitCode, summary, failure } = end;
  const host = hostname();
  if (summary === null)
    return `ripen ${command} on ${host} did not start (exit ${exitCode})\n${linesOf(summaryOf(failure)).join('\n')}`;
  const rows = summary.slices.reduce((sum, slice) => sum + slice.rows.loaded, 0);
  const { failures, status, as_of: asOf, run_id: runId, published } = summary;
  const count = failures.reduce((sum, each) => sum + (each.count ?? 1), 0);
  const failed = exitCode === 0 ? '' : `${count === 0 ? '' : `; ${countText(count, 'failure')}`} (exit ${exitCode})`;
  return [
    `ripen ${command} on ${host}, as of ${minuteText(asOf)}: ${status}, ${groupedText(rows)} rows${failed}, run ${runId}`,
    ...failures.slice(0, MOST_FAILURES).flatMap(linesOf),
    ...(failures.length > MOST_FAILURES ? [`and ${failures.length - MOST_FAILURES} more`] : []),
    published.length === 0
      ? 'no copy was published'
      : `published: ${published.map(({ kind, path }) => `${kind} ${oneLine(path)}`).join(', ')}`,
  ].join('\n');
}

function linesOf({ code, message, hint }: FailureSummary): string[] {
  const short = (text: string): string => (text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS)}…` : text);
  return [`${code}: ${short(oneLine(message))}`, ...(hint === null ? [] : [`hint: ${short(oneLine(hint))}`])];
}
