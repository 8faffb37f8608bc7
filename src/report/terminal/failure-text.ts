/** Failures as text and as JSON, with what to do, and which data readers still have. */

import { stat, statfs } from 'node:fs/promises';
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
import { groupedFailures, tokenHint } from '../status/failure-groups.ts';
import type { RunStatus, StatusReport } from '../status/status-report.ts';
import { sizeText } from '../../model/measure.ts';
import { JsonLine, oneLine, printable } from './printable.ts';
import type { Form } from './shell.ts';

export interface PrintedFailure {
  readonly code: FailureCode;
  readonly message: string;
  readonly hint: string | null;
  readonly cause?: unknown;
}

export function failuresText(failures: readonly PrintedFailure[], verbose = false): string {
  const kinds = Object.keys(exitCodes);
  const rankOf = ({ code }: PrintedFailure) => kinds.indexOf(failureCodes[code]);
  return failures
    .toSorted((one, other) => rankOf(one) - rankOf(other))
    .map(({ code, message, hint, cause }) => {
      // Further lines of a message are indented, so that outside text cannot pass for a line of ripen.
      const text = `${code}: ${printable(message).trim().split('\n').join('\n  ')}`;
      const lines = [withHint(text, hint)];
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

export const withHint = (text: string, hint: string | null): string =>
  hint === null ? text : `${text}\n  hint: ${oneLine(hint)}`;

/** What keeps a loaded night from a copy. */
const UNPUBLISHED: ReadonlySet<string> = new Set<FailureCode>([
  'AUDIT_HELD',
  'STORAGE_FAILED',
  'WAREHOUSE_FOREIGN',
]);

const MAX_CAUSES = 10;

/** What `--json` prints without a result; null stands for a signal. */
export function failedResult(failure: Failure | null): JsonLine {
  if (failure === null) return new JsonLine({ status: 'interrupted', failures: [] });
  const { type: _, ...event } = failedEvent(failure);
  return new JsonLine({ status: 'failed', failures: [event] });
}

export function failureLines(failure: Failure, form: Form, at: Date): string | JsonLine {
  if (form.log === 'text') return failuresText([failure], form.verbose);
  const { code, facts, cause } = failure;
  const stack = code === 'BUG' && cause instanceof Error ? { stack: cause.stack ?? null } : {};
  const event = { at: at.toISOString(), level: 'error', run_id: null, ...failedEvent(failure) };
  return new JsonLine({ ...event, facts, ...stack });
}

/** With less free space a run may end in the middle of a copy. */
export const MIN_FREE_BYTES = 1e9;

/** `report` is null if it could not be read. */
export async function explained(
  failures: readonly FailureSummary[],
  config: Config,
  report: StatusReport | null,
  runId: string | null,
): Promise<FailureSummary[]> {
  const remedied = await Promise.all(failures.map(async (failure) => withRemedy(failure, config)));
  const { runs = [], slices = [] } = report ?? {};
  const isUnpublished = (run: RunStatus) =>
    run.failures.some(({ code, resolved }) => resolved !== true && UNPUBLISHED.has(code));
  const good = runs.find((run) => {
    const hasPart =
      run.status === 'partial' && (run.run_id !== runId || (run.rows_loaded ?? 0) > 0);
    return (hasPart || run.status === 'succeeded') && !isUnpublished(run);
  });
  const isHeld = runs
    .slice(0, good === undefined ? undefined : runs.indexOf(good))
    .some(isUnpublished);
  // The night that readers have may be older than the runs that are read.
  let ofAll = runs.some(isUnpublished) ? '' : ' Readers have no data yet.';
  if (good !== undefined)
    ofAll = ` Readers keep the good data of the night of ${good.as_of.slice(0, 10)}.`;
  return groupedFailures(remedied).map((failure) => {
    const { message, slice } = failure;
    if (report === null || message.includes('Readers ')) return failure;
    const fetched = slices.find(({ name }) => name === slice)?.newest_fetch_at?.slice(0, 10);
    let readers = ` Readers keep the good data of ${slice} fetched on ${fetched}.`;
    if (fetched === undefined) readers = ` Readers have no data of ${slice} yet.`;
    // Copies are of an earlier night than the warehouse.
    if (slice === null || isHeld) readers = ofAll;
    if (readers === '') return failure;
    return Object.assign(failure, { message: `${message.replace(/\.$/, '')}.${readers}` });
  });
}

export async function withRemedy<F extends PrintedFailure>(failure: F, config: Config): Promise<F> {
  const { file, warehouse, publish } = config;
  if (isOfToken(failure)) return { ...failure, hint: await tokenHint(file) };
  if (failure.code !== 'STORAGE_FAILED' || !failure.message.includes(FULL_DISK)) return failure;
  // Of the places on one disk the first, so that it is reported once.
  const places = [warehouse, ...publish.flatMap((at) => ('store' in at ? [] : at.path))];
  const place = places.findLast((path) => failure.message.includes(path)) ?? warehouse;
  const deviceOf = async (path: string) => (await stat(dirname(path)).catch(() => null))?.dev;
  const devices = await Promise.all(places.map(deviceOf));
  const first = devices.indexOf(await deviceOf(place));
  const folder = dirname(places[first] ?? place);
  const disk = await statfs(folder).catch(() => null);
  const free = disk === null ? '' : ` ${sizeText(disk.bavail * disk.bsize)} are free now, and`;
  return {
    ...failure,
    // The disk was full for all of them.
    slice: null,
    window: null,
    message: `The disk of ${folder} was full:${free} a run needs ${sizeText(MIN_FREE_BYTES)}`,
    hint:
      first === 0
        ? `Free space on that disk, for example ${warehouse}.archive (raw responses) or copies that are no longer published, then run again.`
        : 'Free space on that disk, then run `ripen sync` again.',
  };
}
