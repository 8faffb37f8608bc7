/**
 * The lines of a spend file beside each other and beside the ledger, in a temporary table; and those that were rejected, in a file.
 *
 * Memory does not grow with the file: lines go in and come out by pages. What a line alone can break is judged before
 * it is staged; here the same Cost ID meets itself, in the file and in `ripen.spend`.
 */

import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

import * as z from 'zod';

import { Failure, storageFailed } from '../errors.ts';
import type { Emit } from '../events.ts';
import { makeDurable } from '../warehouse/directories.ts';
import { count, jsonOf, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { judgeLine, rejectColumns } from './rules.ts';
import type { SpendRecords } from './spend-file.ts';

/** Some hundred kilobytes of JSON a statement. */
const LINES_PER_PAGE = 1000;
/** Amounts and ids are nobody else's business. */
const PRIVATE = 0o600;

const countsRow = z.object({ lines: count, rejected: count, accepted: count, unknown: count, due: count });

export type StagedCounts = z.infer<typeof countsRow>;

const dueRow = z.object({
  line: count,
  cost_id: z.string(),
  cost_type: z.string(),
  cost_currency: z.string(),
  cost_amount: z.string(),
  tag: z.string(),
  engaged_at: z.string().nullable(),
  content: z.string(),
  outcome_before: z.enum(['rejected', 'unknown']).nullable(),
});

/** A line that is to be sent, its columns under their own names. */
export type DueLine = z.infer<typeof dueRow>;

const rejectedRow = z.object({
  line: count,
  given: jsonOf(z.record(z.string(), z.unknown())),
  reasons: jsonOf(z.array(z.string())),
});

/** The service's rule is not documented; zeros at the end say nothing. */
const TOO_FINE = /\.\d{5}\d*[1-9]/;

interface Staging {
  readonly now: Date;
  readonly resendUnknown: boolean;
  readonly emit: Emit;
  readonly signal: AbortSignal;
}

/** Judges and stages every line of a file; `resendUnknown` makes those of unknown outcome due again. */
export async function stageLines(
  warehouse: Warehouse,
  records: SpendRecords,
  { now, resendUnknown, emit, signal }: Staging,
): Promise<StagedCounts> {
  await warehouse.run(statement('spend/make_lines'));
  let page: object[] = [];
  let tooFine = 0;
  const stagePage = async (): Promise<void> => {
    await warehouse.run(statement('spend/stage_lines'), [JSON.stringify(page)]);
    page = [];
  };
  for await (const record of records) {
    const { values, ...judged } = judgeLine(record, now);
    if (judged.reasons.length === 0 && TOO_FINE.test(values.cost_amount)) tooFine += 1;
    page.push({ ...judged, ...values, given: record.raw === undefined ? record.given : { raw: record.raw } });
    if (page.length < LINES_PER_PAGE) continue;
    signal.throwIfAborted();
    await stagePage();
  }
  await stagePage();
  if (tooFine > 0) {
    const message = `cost_amount had more than 5 decimals in ${tooFine} lines; it is sent as written, and the service may round it.`;
    emit({ type: 'warning', code: 'SPEND_AMOUNT_FINE', slice: null, window: null, message });
  }
  await warehouse.run(statement('spend/reject_copies'));
  await warehouse.run(statement('spend/compare_lines'));
  await warehouse.run(statement('spend/judge_lines'), [resendUnknown]);
  const [counts] = await warehouse.rows(statement('spend/count_lines'), [], countsRow);
  if (counts === undefined) throw new RangeError('Counting the staged lines gave nothing.');
  return counts;
}

/** The lines to send, in order, so many at once. */
export async function* dueLines(warehouse: Warehouse, atOnce: number): AsyncGenerator<DueLine[], void> {
  for await (const page of pagesOf(warehouse, 'spend/due_lines', [], dueRow)) {
    while (page.length > 0) yield page.splice(0, atOnce);
  }
}

/** Pages of staged lines in order, by a statement that takes the line to go on behind and how many at most. */
async function* pagesOf<T extends { readonly line: number }>(
  warehouse: Warehouse,
  name: string,
  parameters: readonly string[],
  shape: z.ZodType<T>,
): AsyncGenerator<T[], void> {
  for (let after: number | undefined = 0; after !== undefined;) {
    const page: T[] = await warehouse.rows(statement(name), [after, LINES_PER_PAGE, ...parameters], shape);
    after = page.at(-1)?.line;
    if (page.length > 0) yield page;
  }
}

/** Where the rejects of a spend file are written; those of a dry run apart, as the others are what is left to correct and send. */
export function rejectsPath(file: string, dryRun: boolean): string {
  return dryRun ? `${file}.dry-run.rejects.ndjson` : `${file}.rejects.ndjson`;
}

/**
 * Writes the lines that were rejected, here or (since an instant, as a TIMESTAMP) by the service, to a path: one JSON object a
 * line, its number and reasons before its columns, so that it can be corrected and sent as it is. Without any it removes what is
 * there, which would belong to an earlier run. Returns the path, or null. Throws `STORAGE_FAILED`.
 */
export async function writeRejects(warehouse: Warehouse, target: string, since: string): Promise<string | null> {
  const unfinished = `${target}.ripen-unfinished`;
  try {
    // Removed, not overwritten: it may be somebody's link to another place.
    await rm(unfinished, { force: true });
    const handle = await open(unfinished, 'wx', PRIVATE);
    let isEmpty = true;
    try {
      for await (const page of pagesOf(warehouse, 'spend/rejected_lines', [since], rejectedRow)) {
        isEmpty = false;
        await handle.writeFile(page.map(lineOf).join(''));
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (isEmpty) await Promise.all([rm(unfinished), rm(target, { force: true })]);
    else await rename(unfinished, target);
    await makeDurable(dirname(target));
    return isEmpty ? null : target;
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    throw storageFailed(`The rejects file ${target} could not be written`, cause, {
      facts: { file: target },
      hint: 'Check free space and permissions of the directory the spend file lies in.',
    });
  }
}

function lineOf({ line, reasons, given }: z.infer<typeof rejectedRow>): string {
  // A corrected rejects file has line and reasons of its own.
  const own = Object.entries(given).filter(([name]) => !rejectColumns.includes(name));
  return `${JSON.stringify({ line, reasons, ...Object.fromEntries(own) })}\n`;
}

/** Frees what was staged. */
export async function dropLines(warehouse: Warehouse): Promise<void> {
  await warehouse.run('drop table if exists spend_lines');
}
