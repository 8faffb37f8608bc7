/** Failures as text, gravest first, and as JSON: what each means, what to set or delete, and which data readers still have. */

import { readFile, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

import type { Config } from '../../config/config.ts';
import {
  exitCodes,
  type Failure,
  failureCodes,
  type FailureCode,
  FULL_DISK,
  isOfToken,
} from '../../errors.ts';
import { failedEvent } from '../../events.ts';
import type { FailureSummary } from '../../run/summary.ts';
import { groupedFailures } from '../status/failure-groups.ts';
import type { RunStatus, StatusReport } from '../status/status-report.ts';
import { sizeText } from './measure.ts';
import { JsonLine, oneLine, printable } from './printable.ts';

export interface PrintedFailure {
  readonly code: FailureCode;
  readonly message: string;
  readonly hint: string | null;
  readonly cause?: unknown;
}

/** 0 for the gravest kind. */
const gravity = ({ code }: PrintedFailure): number =>
  Object.keys(exitCodes).indexOf(failureCodes[code]);

/** Returns `CODE: message` and hint of each failure, gravest first; with `verbose` its causes. */
export function failuresText(failures: readonly PrintedFailure[], verbose = false): string {
  return failures
    .toSorted((one, other) => gravity(one) - gravity(other))
    .map(({ code, message, hint, cause }) => {
      // Further lines of a message are indented, so that outside text cannot pass for a line of ripen.
      const lines = [`${code}: ${printable(message).trim().split('\n').join('\n  ')}`];
      if (hint !== null) lines.push(`  hint: ${oneLine(hint)}`);
      let inner = verbose ? cause : null;
      for (let depth = 0; inner instanceof Error && depth < MAX_CAUSES; depth += 1) {
        const stack = (inner.stack ?? inner.message).trim().split('\n').join('\n    ');
        lines.push(`  caused by ${stack}`);
        inner = inner.cause;
      }
      return lines.join('\n');
    })
    .join('\n');
}

/** Far deeper than errors are nested in practice. */
const MAX_CAUSES = 10;

/** What `--json` prints without a result; null stands for a signal. */
export function failedResult(failure: Failure | null): JsonLine {
  if (failure === null) return new JsonLine({ status: 'interrupted', failures: [] });
  const { code, message, hint } = failure;
  return new JsonLine({
    status: 'failed',
    failures: [{ code, slice: null, window: null, message, hint }],
  });
}

/** Writes a failure in the form of events. As JSON a bug has its stack; as text `verbose` adds the causes. */
export function failureLines(
  failure: Failure,
  {
    log,
    verbose = false,
  }: { readonly log: 'text' | 'json'; readonly verbose?: boolean | undefined },
  at: Date,
): string | JsonLine {
  if (log === 'text') return failuresText([failure], verbose);
  const { code, facts, cause } = failure;
  const stack = code === 'BUG' && cause instanceof Error ? { stack: cause.stack ?? null } : {};
  return new JsonLine({
    at: at.toISOString(),
    level: 'error',
    run_id: null,
    ...failedEvent(failure),
    facts,
    ...stack,
  });
}

/** With less free space a run may end in the middle of a copy. */
export const MIN_FREE_BYTES = 1e9;

interface Known {
  readonly config: Config;
  /** Null if it could not be read. */
  readonly report: StatusReport | null;
  readonly runId: string | null;
}

/** Merges failures of one cause, and adds its remedy and what readers still have. */
export async function explained(
  failures: readonly FailureSummary[],
  known: Known,
): Promise<FailureSummary[]> {
  const worded = await Promise.all(
    failures.map(async (failure) => withRemedy(failure, known.config)),
  );
  return groupedFailures(worded).map((failure) => {
    const { message } = failure;
    const readers = message.includes('Readers ') ? '' : readersText(failure.slice, known);
    return readers === ''
      ? failure
      : Object.assign(failure, { message: `${message.replace(/\.$/, '')}. ${readers}` });
  });
}

/** Adds the remedy: the setting of a refused token, or what to delete from a full disk. */
export async function withRemedy<F extends PrintedFailure>(failure: F, config: Config): Promise<F> {
  const { code, message } = failure;
  if (isOfToken(failure)) return { ...failure, hint: await tokenHint(config) };
  return code === 'STORAGE_FAILED' && message.includes(FULL_DISK)
    ? fullDisk(failure, config)
    : failure;
}

/** Names the setting of the token, with its line and its variable. */
async function tokenHint({ file }: Config): Promise<string> {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n');
  const at = lines.findIndex((line) =>
    /^\s*["']?token(?:_file)?["']?\s*:|[{,]\s*token(?:_file)?\s*:/.test(line),
  );
  const line = lines[at] ?? '';
  const isFile = /token_file/.test(line);
  const place = `service.token${isFile ? '_file' : ''}${at === -1 ? '' : ` (${file}:${at + 1})`}`;
  const [, variable] = /token(?:_file)?["']?\s*:\s*["']?\$\{(\w+)/.exec(line) ?? [];
  const what = variable === undefined ? place : `the variable ${variable}, which ${place} reads,`;
  return `Set ${what} to ${isFile ? 'a file with a valid token' : 'a valid token'}; a token becomes invalid as soon as it is reset.`;
}

/** Drops slice and window, as the disk was full for all of them. */
async function fullDisk<F extends PrintedFailure>(failure: F, { warehouse }: Config): Promise<F> {
  const folder = dirname(warehouse);
  const disk = await statfs(folder).catch(() => null);
  const free = disk === null ? '' : ` ${sizeText(disk.bavail * disk.bsize)} of it is free`;
  return {
    ...failure,
    slice: null,
    window: null,
    message: `The disk was full when a run wrote below ${folder} or a copy:${free}, and a run needs ${sizeText(MIN_FREE_BYTES)}`,
    hint: `Delete what is not needed on that disk, such as ${warehouse}.archive (raw answers) or copies that no longer are targets, and run it again.`,
  };
}

/** Says whether readers still have good data, and of which night. */
function readersText(slice: string | null, { report, runId }: Known): string {
  if (report === null) return '';
  if (slice !== null) {
    const fetched = report.slices.find(({ name }) => name === slice)?.newest_fetch_at ?? null;
    return fetched === null
      ? `Readers have no data of ${slice} yet.`
      : `Readers keep the good data of ${slice} fetched on ${fetched.slice(0, 10)}.`;
  }
  const isHeld = ({ failures }: RunStatus): boolean =>
    failures.some(({ code }) => code === 'AUDIT_HELD');
  const good = report.runs
    .filter((run) => !isHeld(run))
    .find(
      ({ run_id: id, status, rows_loaded: rows }) =>
        status === 'succeeded' || (status === 'partial' && (id !== runId || (rows ?? 0) > 0)),
    );
  // The night that readers have may be older than the runs that are read.
  if (good === undefined) return report.runs.some(isHeld) ? '' : 'Readers have no data yet.';
  return `Readers keep the good data of the night of ${good.as_of.slice(0, 10)}.`;
}
