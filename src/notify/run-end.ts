/**
 * What others are told of a run's end: a monitor by a file of metrics, people and watchdogs by the addresses of `notify`.
 *
 * None of it changes how the run ended: what cannot be told is a warning.
 */

import type { Config, Notify } from '../config/config.ts';
import type { Outcome } from '../config/notify-settings.ts';
import { scrub } from '../config/secret.ts';
import { asFailure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { writeOutput } from '../publish/output-file.ts';
import type { FailureSummary, SyncSummary } from '../run/summary.ts';
import { groupedFailures } from '../status/failure-groups.ts';
import type { StatusReport } from '../status/status-report.ts';
import { countText, groupedText, minuteText } from '../terminal/measure.ts';
import { exitCodeAt, metricsText, type RunEnd } from '../terminal/metrics-text.ts';
import { oneLine } from '../terminal/printable.ts';
import { statusOf } from '../status/status.ts';

/** Enough to know what to look at; the status has the rest. */
const MOST_FAILURES = 5;
const MOST_LETTERS = 300;

/** No run waits longer for whoever is to read its metrics from a pipe. */
const PIPE_WAIT_MS = 5000;

/** Whom to tell, and where to write. */
export interface Telling {
  readonly command: string;
  readonly config: Config;
  readonly emit: Emit;
  /** An absolute path; null: no metrics. */
  readonly metricsFile: string | null;
  /** The rights of the file. */
  readonly mode: number;
}

/** Carries out a run, as `tellingFailures` does, and tells how it ended, or that it did not begin. */
export async function tellingEnd(telling: Telling, run: (emit: Emit) => Promise<SyncSummary>): Promise<SyncSummary> {
  const { command, emit } = telling;
  const finish = async (): Promise<SyncSummary> => {
    try {
      return await tellingFailures(emit, run);
    } catch (thrown) {
      await tellRunEnd({ command, endedAt: new Date(), summary: null, failure: asFailure(thrown) }, telling);
      throw thrown;
    }
  };
  const summary = await finish();
  await tellRunEnd({ command, endedAt: new Date(), summary, failure: null }, telling);
  return summary;
}

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

/** Writes the metrics, where a file is named, and tells every address that wants to know. */
async function tellRunEnd(end: RunEnd, { config, emit, metricsFile, mode }: Telling): Promise<void> {
  if (metricsFile === null && config.notify.length === 0) return;
  const warn = (code: string, message: string): void => {
    emit({ type: 'warning', code, slice: null, window: null, message });
  };
  const asOf = end.summary === null ? end.endedAt : new Date(end.summary.as_of);
  const report = await statusOf(config, asOf, 0, emit).catch(() => null);
  if (metricsFile !== null) {
    await writeOutput(metricsFile, metricsText(end, report), mode, PIPE_WAIT_MS).catch((error: unknown) => {
      warn('METRICS_NOT_WRITTEN', `The metrics ${metricsFile} could not be written: ${asFailure(error).message}`);
    });
  }
  const text = scrub(endText(end));
  const outcomes = outcomesOf(end, report);
  const told = config.notify.filter(({ on }) => on.some((outcome) => outcomes.includes(outcome)));
  if (told.length === 0) return;
  // Loaded only here: most runs tell nobody, and one with nothing due needs no wire.
  const { postText } = await import('../service/notify.ts');
  await Promise.all(
    told.map(async (address: Notify) => {
      const problem = await postText(address, text);
      if (problem !== null) warn('NOTIFY_FAILED', `Nobody was told of the run's end: ${problem}.`);
    }),
  );
}

/** A run that could not start, was stopped or loaded a part has failed. */
function outcomesOf({ summary }: RunEnd, report: StatusReport | null): Outcome[] {
  if (summary?.status !== 'succeeded') return ['failed'];
  const runs = report?.runs ?? [];
  const earlier = runs.at(runs.findIndex(({ run_id: id }) => id === summary.run_id) + 1);
  const hasRecovered = earlier !== undefined && earlier.status !== 'succeeded';
  return hasRecovered ? ['succeeded', 'recovered'] : ['succeeded'];
}

/** `ripen sync, as of …: partial, 1,204 rows; 2 failures`, and the gravest, a line each; pure. */
export function endText(end: RunEnd): string {
  const { command, summary, failure } = end;
  if (summary === null) return `ripen ${command} did not start (exit ${exitCodeAt(end)})\n${lineOf(failure)}`;
  const rows = summary.slices.reduce((sum, slice) => sum + slice.rows.loaded, 0);
  const { failures, status, as_of: asOf } = summary;
  const groups = groupedFailures(failures);
  const failed = failures.length === 0 ? '' : `; ${countText(failures.length, 'failure')} (exit ${exitCodeAt(end)})`;
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
