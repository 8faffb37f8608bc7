/** Reports how a run ended: in a metrics file, and to the addresses of `notify`. */

import { readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';

import type { Config, RunEnding } from '../config/config.ts';
import { type ConfigOptions, readConfig } from '../config/read-config.ts';
import { scrub } from '../config/secret.ts';
import { asFailure, exitCodeOf, Failure, stoppedExitCode, textOf } from '../errors.ts';
import { type Emit, failedEvent, type RunEvent, warningEvent } from '../events.ts';
import { EARLIEST_DAY } from '../model/period.ts';
import { auditText, isFailedAudit } from '../publish/audits.ts';
import { writeOutput } from '../publish/places/replacement.ts';
import { assertOutput } from '../publish/places/destinations.ts';
import type { RunSteps } from '../run/execute-run.ts';
import { failuresIn, type SyncSummary } from '../run/summary.ts';
import { keepFailedStart, readFailedStart } from './status/failed-start.ts';
import { unsettledRuns } from './status/health.ts';
import type { StatusReport } from './status/status-report.ts';
import { readStatus, statusOf } from './status/status.ts';
import { explained } from './terminal/failure-text.ts';
import { countText, groupedText, minuteText, sumOf } from '../model/measure.ts';
import { metricsText, type RunEnd } from './terminal/metrics-text.ts';
import { newsText } from './terminal/news-text.ts';
import { oneLine } from './terminal/printable.ts';

const MAX_FAILURES = 5;
const MAX_LETTERS = 300;

interface ReportContext {
  readonly command: string;
  readonly config: Config;
  readonly asOf: Date | null;
  readonly emit: Emit;
  readonly signal: AbortSignal;
  readonly metricsFile: string | null;
  readonly mode: number;
}

export async function reportRunEnd(
  context: ReportContext,
  run: (onFinished: RunSteps['onFinished']) => Promise<SyncSummary>,
): Promise<SyncSummary> {
  const { config, signal, metricsFile } = context;
  const startedMs = performance.now();
  const latest: { report: StatusReport | null } = { report: null };
  const isSilent = metricsFile === null && config.notify.length === 0;
  try {
    // Read while the run still holds the warehouse: a waiting process would get it before this one could open it again.
    const summary = await run(async (warehouse, { as_of: asOf, failures }) => {
      if (isSilent && failures.length === 0) return;
      const reading = readStatus(config, warehouse, new Date(asOf));
      latest.report = await reading.catch(unreadBy(context));
    });
    const { report } = latest;
    const failures = await explained(summary.failures, config, report, summary.run_id);
    const reported = { ...summary, failures };
    await deliverReport(endOf(context, reported, startedMs), report, context);
    return reported;
  } catch (thrown) {
    throw await reportFailedStart(context, asFailure(thrown, signal), startedMs);
  }
}

function endOf(
  { command, signal }: Omit<ReportContext, 'config'>,
  of: SyncSummary | Failure,
  startedMs: number,
): RunEnd {
  const isFailure = of instanceof Failure;
  const failures = isFailure ? [of] : of.failures;
  const isStopped = isFailure ? of.code === 'INTERRUPTED' : of.status === 'interrupted';
  return {
    command,
    endedAt: new Date(),
    durationMs: Math.round(performance.now() - startedMs),
    exitCode: isStopped ? stoppedExitCode(signal) : exitCodeOf(failures),
    summary: isFailure ? null : of,
    failures,
  };
}

/** Resolves to the failure with what readers still have. */
async function reportFailedStart(context: ReportContext, failure: Failure, startedMs: number) {
  const { config, asOf: stated, emit, metricsFile } = context;
  const now = new Date();
  // At an instant in the future, or before any data, ages mean nothing.
  const isMeant = stated !== null && stated <= now && stated >= new Date(EARLIEST_DAY);
  const unread = metricsFile === null ? () => null : unreadBy(context);
  const report = await statusOf(config, isMeant ? stated : now, 0, { emit }).catch(unread);
  const { code, facts, cause } = failure;
  const failures = code === 'INTERRUPTED' ? [] : [failedEvent(failure)];
  const [{ message, hint } = failure] = await explained(failures, config, report, null);
  const reported = new Failure(code, message, { facts, cause, hint });
  await deliverReport(endOf(context, reported, startedMs), report, context);
  return reported;
}

const unreadBy =
  ({ emit }: ReportContext) =>
  (error: unknown) => {
    const message = `The status could not be read, so metrics and messages lack the slices: ${asFailure(error).message}`;
    emit(warningEvent('STATUS_UNREAD', message));
    return null;
  };

/**
 * Reports in full if only the credentials are missing, else by the metrics, unless their file contains anything else. Resolves to
 * the failure to end with.
 */
export async function reportConfigError(
  context: Omit<ReportContext, 'config'>,
  place: ConfigOptions,
  thrown: unknown,
): Promise<Failure> {
  const { signal, metricsFile, mode, emit } = context;
  const failure = asFailure(thrown, signal);
  const startedMs = performance.now();
  const config = await readConfig({ ...place, offline: true }).catch(() => null);
  try {
    if (config !== null) {
      if (metricsFile !== null) await assertOutput(config, metricsFile);
      return await reportFailedStart({ ...context, config }, failure, startedMs);
    }
    if (metricsFile === null) return failure;
    const file = await stat(metricsFile).catch(() => null);
    const text = file?.isFile() === true ? await readFile(metricsFile, 'utf8') : '';
    if (text !== '' && !text.startsWith('# HELP ripen_'))
      throw new Failure('USAGE_INVALID', 'it contains something other than metrics of ripen');
    await writeOutput(metricsFile, metricsText(endOf(context, failure, startedMs), null), mode);
  } catch (error) {
    emit(unwritten(metricsFile ?? '', error));
  }
  return failure;
}

const unwritten = (file: string, error: unknown): RunEvent =>
  warningEvent('METRICS_NOT_WRITTEN', `The metrics ${file} could not be written: ${textOf(error)}`);

async function deliverReport(end: RunEnd, report: StatusReport | null, context: ReportContext) {
  const { config, emit, metricsFile, mode } = context;
  if (metricsFile !== null) {
    const write = writeOutput(metricsFile, metricsText(end, report), mode);
    await write.catch((error: unknown) => emit(unwritten(metricsFile, error)));
  }
  const { summary, endedAt } = end;
  const [failure = null] = summary === null ? end.failures : [];
  const runs = report?.runs ?? [];
  const before = runs.slice(runs.findIndex(({ run_id: id }) => id === summary?.run_id) + 1);
  const [earlier] = before;
  const slices = report?.slices.map((slice) => ({ ...slice, ages: [] })) ?? [];
  const hasRecovered =
    report?.health.state !== 'failed' &&
    (readFailedStart(config.warehouse) !== null ||
      // One that was killed while it published has the status of what it loaded once this run has published.
      (earlier !== undefined && (earlier.status !== 'succeeded' || earlier.finished_at === null)) ||
      unsettledRuns({ runs: before, slices }).length > 0);
  // A run that did not start, was stopped or loaded only a part has failed.
  const succeeded = summary?.status === 'succeeded';
  const endings: RunEnding[] = succeeded ? ['succeeded'] : ['failed'];
  if (succeeded && hasRecovered) endings.push('recovered');
  const addresses = config.notify.filter(({ on }) => on.some((ending) => endings.includes(ending)));
  if (addresses.length > 0) {
    const text = scrub(endText(end, report));
    // Most runs notify no address and need no HTTP client.
    const { postText } = await import('../service/notify.ts');
    for (const problem of await Promise.all(addresses.map(async (to) => postText(to, text))))
      if (problem !== null)
        emit(warningEvent('NOTIFY_FAILED', `A notification of the run's end failed: ${problem}.`));
  }
  // A slip on the command line is kept only if there are addresses to notify of it.
  const isSlip =
    ['USAGE_INVALID', 'AS_OF_IN_FUTURE'].includes(failure?.code ?? '') &&
    config.notify.length === 0;
  if (isSlip || (summary !== null && !succeeded)) return;
  await keepFailedStart(config.warehouse, failure, endedAt).catch((error: unknown) => {
    const message = `Whether this run started could not be recorded, so \`ripen status\` does not show it: ${textOf(error)}`;
    emit(warningEvent('NOTIFY_FAILED', message));
  });
}

function endText({ command, exitCode, summary, failures }: RunEnd, report: StatusReport | null) {
  const who = `ripen ${command} on ${hostname()}`;
  const short = (text: string) => {
    const line = oneLine(text);
    return line.length > MAX_LETTERS ? `${line.slice(0, MAX_LETTERS)}…` : line;
  };
  const causes: string[] = [];
  for (const { code, message, hint } of failures.slice(0, MAX_FAILURES)) {
    causes.push(`${code}: ${short(message)}`);
    if (hint !== null) causes.push(`hint: ${short(hint)}`);
  }
  if (failures.length > MAX_FAILURES) causes.push(`and ${failures.length - MAX_FAILURES} more`);
  if (summary === null) return [`${who} did not start (exit ${exitCode})`, ...causes].join('\n');
  const { audits, status, as_of: asOf, run_id: runId, published } = summary;
  const rows = sumOf(summary.slices.map((slice) => slice.rows.loaded));
  const count = failuresIn(failures);
  const failed = count === 0 ? '' : `; ${countText(count, 'failure')}`;
  const end = exitCode === 0 ? '' : `${failed} (exit ${exitCode})`;
  const copies = published.map(({ kind, path }) => `${kind} ${oneLine(path)}`).join(', ');
  // Audits that hold the night are among the failures.
  const warned = audits.filter((audit) => isFailedAudit(audit) && audit.on_fail === 'warn');
  const lines = [
    `${who}, as of ${minuteText(asOf)}: ${status}, ${groupedText(rows)} rows${end}, run ${runId}`,
    ...causes,
    ...warned.map((audit) => short(auditText(audit))),
    copies === '' ? 'no copy was published' : `published: ${copies}`,
  ];
  if (report !== null) {
    const items = report.news.items.filter(({ kind }) => !kind.startsWith('audit '));
    const news = newsText({ ...report, news: { ...report.news, items } });
    lines.push(`${news.title}:`, ...news.lines.map(short));
  }
  return lines.join('\n');
}
