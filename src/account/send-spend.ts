/**
 * Sends the lines of a file, each Cost ID at most once: the service has no idempotency key and cannot report what it accepted.
 * An accepted one is never sent again, from any file.
 * A Cost ID is durably recorded before its call, and its outcome before the next lines are sent. At most one batch of lines is
 * unknown after a crash or a lost connection.
 */

import { rm, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';

import * as z from 'zod';

import { asFailure, Failure, storageFailed, textOf } from '../errors.ts';
import { type Emit, warningEvent } from '../events.ts';
import { alike } from '../model/alike.ts';
import { replaceFile, UNFINISHED } from '../publish/places/replacement.ts';
import type { Service } from '../service/service.ts';
import { insertRows, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import {
  judgeLine,
  type JudgedLine,
  readSpendFile,
  spendColumns,
  type SpendRecord,
} from './spend-rules.ts';

export interface SpendRequest {
  /** An absolute path. */
  readonly file: string;
  readonly dryRun: boolean;
  /** Of lines of unknown outcome, one that was accepted then counts twice. */
  readonly resendUnknown: boolean;
  readonly now: Date;
}

/** The result as `--json` prints it: public interface. */
export interface SpendSummary {
  readonly lines: number;
  /** `lines` less `rejected`. */
  readonly valid: number;
  /** Lines that break a rule and were not sent. */
  readonly rejected: number;
  /** Valid lines that were neither accepted before nor left with an unknown outcome. */
  readonly to_send: number;
  /** Lines that were accepted, refused, or left with an unknown outcome. */
  readonly sent: number;
  readonly accepted: number;
  readonly already_accepted: number;
  /** Lines that the service rejected, as `ripen.spend` has them. */
  readonly refused: number;
  /** Of earlier runs too, unless they were sent again. */
  readonly unknown: number;
  /** The file with all rejected and refused lines and their reasons. */
  readonly rejects_file: string | null;
  readonly failures: readonly Pick<Failure, 'code' | 'message' | 'hint'>[];
}

/** Only the owner may read amounts and ids. */
const PRIVATE = 0o600;
/** More names would fill the screen. */
const MAX_UNSENT_COLUMNS = 20;

/**
 * Resolves even if lines are rejected or the sending is stopped. Throws `USAGE_INVALID` and `SPEND_REJECTED` before anything is
 * sent, and `STORAGE_FAILED`.
 */
export async function sendSpend(
  request: SpendRequest,
  context: SpendContext,
): Promise<SpendSummary> {
  const { file, dryRun } = request;
  const { warehouse, emit } = context;
  const records = await readSpendFile(file);
  const columns = new Set<string>();
  for (const { given, defects } of records)
    if (defects.length === 0) for (const name of Object.keys(given)) columns.add(name);
  // A rejects file has `line` and `reasons`.
  for (const name of [...spendColumns, 'line', 'reasons']) columns.delete(name);
  if (columns.size > 0) {
    const names = [...columns].slice(0, MAX_UNSENT_COLUMNS);
    const listed = names.map((name) => JSON.stringify(name.slice(0, 100))).join(', ');
    const message = `${file} has columns that are not sent: ${listed}.`;
    emit(warningEvent('SPEND_COLUMN_UNKNOWN', message));
  }
  if (!dryRun) await warehouse.run(statement('spend/settle_abandoned'));
  const staged = await judgeLines(records, warehouse, request);
  // A dry run has its own file, as the other one holds what is left to correct and send.
  const target = dryRun ? `${file}.dry-run.rejects.ndjson` : `${file}.rejects.ndjson`;
  await writeRejects(target, staged.invalid);
  const submitted = await submitLines(file, dryRun ? [] : staged.due, context);
  const { accepted, rejected } = submitted;
  const rejects = [...staged.invalid, ...rejected].toSorted((one, other) => one.line - other.line);
  if (rejected.length > 0) await writeRejects(target, rejects);
  const counts = {
    lines: records.length,
    valid: records.length - staged.invalid.length,
    rejected: staged.invalid.length,
    to_send: staged.due.length,
    sent: accepted + rejected.length + submitted.unknown,
    accepted,
    already_accepted: staged.accepted,
    refused: rejected.length,
    unknown: staged.unknown + submitted.unknown,
    rejects_file: rejects.length === 0 ? null : target,
  };
  const name = basename(file);
  const failures = submitted.failure === null ? [] : [submitted.failure];
  if (rejects.length > 0) {
    const message = `${counts.rejected} of ${counts.lines} lines of ${name} broke a rule and were not sent; the service rejected ${counts.refused} of ${counts.sent} that were.`;
    // Of fewer lines than a batch, nothing stopped the sending.
    const isForbidden = counts.sent > 0 && submitted.forbidden === counts.sent;
    const hint =
      isForbidden && submitted.failure === null
        ? SET_CREDENTIAL
        : `Correct the lines in ${target}, which has the reasons, and send that file.`;
    failures.push(new Failure('SPEND_REJECTED', message, { hint }));
  }
  if (counts.unknown > 0 && submitted.failure?.code !== 'SPEND_UNKNOWN') {
    const message = `Whether ${counts.unknown} lines of ${name} were accepted is unknown: no answer confirmed it.`;
    const hint =
      'Ask the service operator, or send them again with --resend-unknown if counting one twice is better than not at all.';
    failures.push(new Failure('SPEND_UNKNOWN', message, { hint }));
  }
  return {
    ...counts,
    failures: failures.map(({ code, message, hint }) => ({ code, message, hint })),
  };
}

const recordedRow = z.object({
  cost_id: z.string(),
  content: z.string(),
  words: z.string(),
  outcome: z.enum(['accepted', 'rejected', 'unknown']),
});

/** A line that was accepted, or may have been, must not be sent with other content. */
async function judgeLines(
  records: readonly SpendRecord[],
  warehouse: Warehouse,
  { now, resendUnknown }: SpendRequest,
) {
  const invalid: RejectedLine[] = [];
  const due: DueLine[] = [];
  const counts = { accepted: 0, unknown: 0 };
  const lines = records.map((record) => judgeLine(record, now));
  const copies = copyReasons(lines);
  const ids = lines
    .filter(({ reasons }) => reasons.length === 0)
    .map(({ values }) => values.cost_id);
  const sql = statement('spend/recorded_lines');
  const recorded = await warehouse.rows(sql, [JSON.stringify(ids)], recordedRow);
  const ledger = new Map(recorded.map((row) => [row.cost_id, row]));
  for (const judged of lines) {
    const { line, given, content, values, untimely } = judged;
    const stored = ledger.get(values.cost_id);
    const outcome = stored?.outcome ?? null;
    const reasons = [...judged.reasons, ...(copies.get(line) ?? [])];
    if (stored !== undefined && outcome !== 'rejected' && stored.content !== content) {
      const end = outcome === 'accepted' ? 'accepted' : 'may have been accepted';
      reasons.push(`cost_id was sent before with different content: ${stored.words}, and ${end}`);
    }
    // A line that was sent in time need not be timely now.
    const isDue = outcome !== 'accepted' && (outcome !== 'unknown' || resendUnknown);
    if (untimely !== null && isDue) reasons.push(untimely);
    if (reasons.length > 0) invalid.push({ line, given, reasons });
    else if (outcome === 'accepted') counts.accepted += 1;
    else if (outcome === 'unknown' && !resendUnknown) counts.unknown += 1;
    else due.push({ ...judged, outcome_before: outcome });
  }
  return { ...counts, invalid, due };
}

/** Returns by line why a repeated Cost ID is rejected: all different lines, and all but the first of equal ones. */
function copyReasons(lines: readonly JudgedLine[]) {
  const identified = lines.filter(({ values }) => values.cost_id !== '');
  const reasons = new Map<number, string[]>();
  for (const [first, ...others] of alike(identified, ({ values }) => values.cost_id)) {
    if (others.length === 0) continue;
    const isSame = others.every(({ content }) => content === first.content);
    const reason = isSame
      ? `cost_id repeats line ${first.line}, with the same content`
      : `cost_id is on ${others.length + 1} lines with different content, first on line ${first.line}`;
    for (const { line } of isSame ? others : [first, ...others]) reasons.set(line, [reason]);
  }
  return reasons;
}

/** Writes rejects as JSON lines, or without any removes an earlier file. Throws `STORAGE_FAILED`. Overwrites nothing: it may be a link. */
async function writeRejects(target: string, rejects: readonly RejectedLine[]) {
  const lines = rejects.map(({ line, reasons, given }) => {
    // A corrected rejects file has its own line and reasons; they are replaced.
    return `${JSON.stringify(Object.assign({ line, reasons }, given, { line, reasons }))}\n`;
  });
  try {
    if (lines.length > 0) {
      await replaceFile(target, PRIVATE, async (unfinished) =>
        writeFile(unfinished, lines.join(''), { flag: 'wx', mode: PRIVATE }),
      );
    } else for (const path of [target, target + UNFINISHED]) await rm(path, { force: true });
  } catch (cause) {
    throw storageFailed(`The rejects file ${target} could not be written`, cause, {
      facts: { file: target },
      hint: 'Check free space and permissions of the directory of the spend file.',
    });
  }
}

/** Few, as each may be left in doubt, but enough that commits take little of the time. */
const AT_ONCE = 8;
const FORBIDDEN = 403;
const SET_CREDENTIAL =
  'Set service.cost_headers to a credential that may post this spend, or remove the refused lines.';
/** How long a stop waits for the answers to lines on the wire, which are then unknown. */
const GRACE_MS = 10_000;
/** Often enough to watch, without flooding a log. */
const PROGRESS_EVENTS = 20;

interface DueLine extends JudgedLine {
  readonly outcome_before: string | null;
}

type RejectedLine = Pick<JudgedLine, 'line' | 'given' | 'reasons'>;

interface SpendContext {
  readonly warehouse: Warehouse;
  readonly service: Pick<Service, 'submitSpend'>;
  readonly emit: Emit;
  readonly signal: AbortSignal;
}

/**
 * Sends a few lines at once. Never throws: `failure` is what stopped it: a refused credential, a service that is down, the disk,
 * the caller's signal, a batch without one certain answer, or one whose lines were all forbidden before any was accepted.
 */
async function submitLines(
  file: string,
  due: readonly DueLine[],
  { warehouse, service, emit, signal }: SpendContext,
) {
  const wire = new AbortController();
  const giveUpLater = () => void setTimeout(() => wire.abort(), GRACE_MS).unref();
  signal.addEventListener('abort', giveUpLater, { once: true });
  const rejected: RejectedLine[] = [];
  const counts = { accepted: 0, unknown: 0, forbidden: 0 };
  const settled = () => counts.accepted + counts.unknown + rejected.length;
  const progress = () => Math.floor((PROGRESS_EVENTS * settled()) / due.length);
  let failure: Failure | null = null;
  try {
    for (
      let first = 0;
      first < due.length && failure === null && !signal.aborted;
      first += AT_ONCE
    ) {
      const batch = due.slice(first, first + AT_ONCE);
      const sent_at = new Date();
      const rows = batch.map(({ line, values, content, outcome_before }) => {
        const row = { ...values, engaged_at: values.engaged_at || null, content, outcome_before };
        return { ...row, outcome: 'sending', file, line, sent_at };
      });
      // A line that is sent again keeps its former status and reason until its outcome is known.
      await insertRows(warehouse, 'ripen.spend', rows, 'insert or replace');
      const done = await Promise.all(
        batch.map(async (line) => submitLine(service, line, wire.signal)),
      );
      failure = stopAfter(done, counts.accepted);
      const settledRows = done.map(({ outcome, status, reason }, at) => {
        return { ...rows[at], outcome, status, reason, settled_at: new Date() };
      });
      const unsent = settledRows.filter(({ outcome }) => outcome === 'unsent');
      const sent = settledRows.filter(({ outcome }) => outcome !== 'unsent');
      const recording = warehouse.transact(async () => {
        if (unsent.length > 0)
          await warehouse.run(statement('spend/delete_unsent'), [JSON.stringify(unsent)]);
        await insertRows(warehouse, 'ripen.spend', sent, 'insert or replace');
      });
      const notRecorded = await recording.then(() => null, asFailure);
      const progressBefore = progress();
      for (const { line, outcome, status, reason } of done) {
        if (outcome === 'unsent') continue;
        // A line that was sent without a record of its outcome is in doubt.
        if (notRecorded !== null || outcome === 'unknown') counts.unknown += 1;
        else if (outcome === 'accepted') counts.accepted += 1;
        else {
          if (status === FORBIDDEN) counts.forbidden += 1;
          rejected.push({ ...line, reasons: [`the service: ${status} ${reason}`] });
        }
      }
      failure ??= notRecorded;
      if (progress() > progressBefore)
        emit({ type: 'spend_settled', settled: settled(), due: due.length });
    }
  } catch (error) {
    failure ??= asFailure(error);
  } finally {
    signal.removeEventListener('abort', giveUpLater);
  }
  const unsent = due.length - settled();
  if (signal.aborted && unsent > 0) {
    const message = `Sending stopped before ${unsent} lines of ad spend were sent.`;
    const hint = 'Send the file again: accepted lines are not sent twice.';
    failure ??= new Failure('INTERRUPTED', message, { facts: { unsent }, hint });
  }
  return { ...counts, rejected, failure };
}

/** Returns the failure that a batch means for all later lines. */
function stopAfter(batch: readonly Submission[], accepted: number) {
  const stopping = batch.find(({ error }) => error !== null);
  if (stopping !== undefined) return asFailure(stopping.error);
  if (batch.length < AT_ONCE) return null;
  if (accepted === 0 && batch.every(({ status }) => status === FORBIDDEN)) {
    const message = `The ad spend API answered 403 to ${AT_ONCE} lines before it accepted any; no more were sent.`;
    return new Failure('ACCESS_FORBIDDEN', message, { hint: SET_CREDENTIAL });
  }
  if (batch.some(({ outcome, status }) => outcome !== 'unknown' || status !== null)) return null;
  const message = `${AT_ONCE} lines in a row had no clear answer; no more were sent.`;
  const hint = 'Check which server answers at service.cost_url; the reasons are in ripen.spend.';
  return new Failure('SPEND_UNKNOWN', message, { facts: { lines: AT_ONCE }, hint });
}

interface Submission {
  readonly line: DueLine;
  /** `unsent`: the line was certainly not received, and counts as not tried. */
  readonly outcome: 'accepted' | 'rejected' | 'unknown' | 'unsent';
  readonly status: number | null;
  readonly reason: string | null;
  /** The error that must stop all other lines. */
  readonly error: unknown;
}

/** Never throws. */
async function submitLine(
  service: Pick<Service, 'submitSpend'>,
  line: DueLine,
  signal: AbortSignal,
): Promise<Submission> {
  const nothing = { line, status: null, reason: null, error: null };
  try {
    const answer = await service.submitSpend(line.values, signal);
    const { outcome, status = null, reason = null, failure: error = null } = answer;
    if (outcome !== 'rejected' || line.outcome_before !== 'unknown')
      return { line, outcome, status, reason, error };
    const doubt = `sent again and rejected (${status} ${reason}); the outcome of the first sending stays unknown`;
    return { ...nothing, outcome: 'unknown', status, reason: doubt };
  } catch (error) {
    if (signal.aborted && error === signal.reason) return { ...nothing, outcome: 'unsent' };
    // A failure instead of an outcome means that the line was not received.
    if (error instanceof Failure) return { ...nothing, outcome: 'unsent', error };
    return { ...nothing, outcome: 'unknown', reason: textOf(error), error };
  }
}
