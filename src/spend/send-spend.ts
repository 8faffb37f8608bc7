/**
 * Ad spend: a file of lines → the service, each Cost ID at most once.
 *
 * The promise. The service has no idempotency key and cannot be asked what it accepted, so nobody has "exactly once" through a
 * crash. A Cost ID is recorded as being sent, durably, before its call, and its outcome before the next lines go out; an accepted one
 * is never sent again, from any file. Where a process or a connection dies in between, the line was accepted once or never: it is
 * reported as unknown, and only `resendUnknown` sends it again. A crash leaves at most one batch in that state.
 */

import { basename } from 'node:path';

import * as z from 'zod';

import { Failure, type FailureCode } from '../errors.ts';
import type { Emit } from '../events.ts';
import { count, statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { openSpendFile } from './spend-file.ts';
import { dropLines, rejectsPath, stageLines, writeRejects } from './staging.ts';
import { type SpendCircumstances, submitLines, type Submitted } from './submit-lines.ts';

export interface SpendRequest {
  /** Absolute path; the form follows from the extension. */
  readonly file: string;
  /** Judges and writes a rejects file of its own only: calls nothing, records nothing. */
  readonly dryRun: boolean;
  /** Sends lines of unknown outcome again; one that was accepted then counts twice. */
  readonly resendUnknown: boolean;
  /** The instant engagements are compared with. */
  readonly now: Date;
}

/** What one `spend send` did, as `--json` prints it; the shape is public interface. */
export interface SpendSummary {
  readonly lines: number;
  /** Lines that keep every rule; `lines` less `rejected`. */
  readonly valid: number;
  /** Lines that break a rule, and were not sent. */
  readonly rejected: number;
  /** Valid lines that are not accepted already and whose outcome is not left unknown: what is, or would be, sent. */
  readonly to_send: number;
  /** Lines that were sent: accepted, refused, or of unknown outcome in this run. */
  readonly sent: number;
  readonly accepted: number;
  readonly already_accepted: number;
  /** Lines the service rejected. */
  readonly refused: number;
  /** Lines of unknown outcome: of this run, and of earlier ones unless they were sent again. */
  readonly unknown: number;
  /** The file that holds every rejected and refused line with its reasons; null when there was none. */
  readonly rejects_file: string | null;
  readonly failures: readonly { readonly code: FailureCode; readonly message: string; readonly hint: string | null }[];
}

const nothingSubmitted: Submitted = { accepted: 0, refused: 0, unknown: 0, failure: null };

/**
 * Judges every line, writes the rejects file, sends the rest. Resolves also when lines were rejected or the sending was
 * stopped: the failures are in the summary. Throws, with nothing sent, for a file that cannot be read as spend
 * (`USAGE_INVALID`, `SPEND_REJECTED`) and for a disk that fails (`STORAGE_FAILED`).
 */
export async function sendSpend(
  { file, dryRun, resendUnknown, now }: SpendRequest,
  circumstances: SpendCircumstances,
): Promise<SpendSummary> {
  const { warehouse, emit, signal } = circumstances;
  const startedAt = timestamp(new Date());
  const records = await openSpendFile(file, warehouse, emit);
  if (!dryRun) await warehouse.run(statement('spend/settle_abandoned'));
  try {
    const staged = await stageLines(warehouse, records, { now, resendUnknown, emit, signal });
    if (staged.lines === 0) {
      const message = `${file} held no line of ad spend.`;
      emit({ type: 'warning', code: 'SPEND_EMPTY', slice: null, window: null, message });
    }
    if (!dryRun && staged.due > 0) await warnOfNewLedger(warehouse, emit);
    const rejects = rejectsPath(file, dryRun);
    const localRejects = await writeRejects(warehouse, rejects, startedAt);
    const submitted = dryRun ? nothingSubmitted : await submitLines(file, staged.due, circumstances);
    const rejectsFile = submitted.refused === 0 ? localRejects : await writeRejects(warehouse, rejects, startedAt);
    const counts = {
      lines: staged.lines,
      valid: staged.lines - staged.rejected,
      rejected: staged.rejected,
      to_send: staged.due,
      sent: submitted.accepted + submitted.refused + submitted.unknown,
      accepted: submitted.accepted,
      already_accepted: staged.accepted,
      refused: submitted.refused,
      unknown: staged.unknown + submitted.unknown,
      rejects_file: rejectsFile,
    };
    const name = basename(file);
    const inDoubt = submitted.failure?.code === 'SPEND_UNKNOWN' ? null : unknownFailure(name, counts);
    const failures = [submitted.failure, rejectedFailure(name, counts), inDoubt]
      .filter((failure) => failure !== null)
      .map(({ code, message, hint }) => ({ code, message, hint }));
    return { ...counts, failures };
  } finally {
    await dropLines(warehouse);
  }
}

/** What another warehouse sent, a lost one say, only that one knows; a ledger without a line may be the first, or not. */
async function warnOfNewLedger(warehouse: Warehouse, emit: Emit): Promise<void> {
  const [spend] = await warehouse.rows('select count(*) as lines from ripen.spend', [], z.object({ lines: count }));
  if (spend?.lines !== 0) return;
  const message = `${warehouse.path} has no ad spend on record yet: what was sent from another warehouse is not known, and is sent again.`;
  emit({ type: 'warning', code: 'SPEND_LEDGER_NEW', slice: null, window: null, message });
}

type Counts = Omit<SpendSummary, 'failures'>;

function rejectedFailure(file: string, counts: Counts): Failure | null {
  const { lines, rejected, refused, sent, rejects_file: rejectsFile } = counts;
  if (rejected + refused === 0) return null;
  const were = rejected === 1 ? 'was' : 'were';
  const broken = `${rejected} of ${lines} lines of ${file} broke a rule and ${were} not sent`;
  const answered = `service rejected ${refused} of the ${sent} lines of ${file} that were sent`;
  const both = rejected === 0 ? `The ${answered}.` : `${broken}; the ${answered}.`;
  return new Failure('SPEND_REJECTED', refused === 0 ? `${broken}.` : both, {
    hint: `Mend the lines in ${rejectsFile ?? 'the rejects file'}, where each stands with its reasons, and send that file.`,
  });
}

function unknownFailure(file: string, { unknown }: Counts): Failure | null {
  if (unknown === 0) return null;
  const message = `Whether ${unknown} lines of ${file} were accepted is unknown: no answer came that says so.`;
  return new Failure('SPEND_UNKNOWN', message, {
    hint: 'Ask the service operator, or send them again with --resend-unknown if counting one twice is better than not at all.',
  });
}
