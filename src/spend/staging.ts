/**
 * The lines of a spend file beside each other and beside the ledger, in a temporary table.
 *
 * Memory does not grow with the file: lines go in and come out by pages. What a line alone can break is judged before
 * it is staged; here the same Cost ID meets itself, in the file and in `ripen.spend`.
 */

import * as z from 'zod';

import type { Emit } from '../events.ts';
import { count, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { judgeLine } from './rules.ts';
import type { SpendRecords } from './spend-file.ts';

/** Some hundred kilobytes of JSON a statement. */
const LINES_PER_PAGE = 1000;

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

/** The service's rule is not documented; zeros at the end say nothing. */
const TOO_FINE = /\.\d{5}\d*[1-9]/;

const jsonText = z.string().transform((text): unknown => JSON.parse(text));
const rejectedRow = z.object({
  line: count,
  given: jsonText.pipe(z.record(z.string(), z.unknown())),
  reasons: jsonText.pipe(z.array(z.string())),
});

export type RejectedLine = z.infer<typeof rejectedRow>;

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
  for await (const record of records) {
    const { values, ...judged } = judgeLine(record, now);
    if (judged.reasons.length === 0 && TOO_FINE.test(values.cost_amount)) tooFine += 1;
    page.push({ ...judged, ...values, given: record.raw === undefined ? record.given : { raw: record.raw } });
    if (page.length === LINES_PER_PAGE) {
      signal.throwIfAborted();
      await warehouse.run(statement('spend/stage_lines'), [JSON.stringify(page)]);
      page = [];
    }
  }
  if (page.length > 0) await warehouse.run(statement('spend/stage_lines'), [JSON.stringify(page)]);
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
  for (let after = 0; ;) {
    const page = await warehouse.rows(statement('spend/due_lines'), [after, LINES_PER_PAGE], dueRow);
    after = page.at(-1)?.line ?? 0;
    if (page.length === 0) return;
    while (page.length > 0) yield page.splice(0, atOnce);
  }
}

/** Pages of the lines that were rejected, here or (since an instant, as a TIMESTAMP) by the service. */
export async function* rejectedPages(warehouse: Warehouse, since: string): AsyncGenerator<RejectedLine[], void> {
  for (let after = 0; ;) {
    const page = await warehouse.rows(statement('spend/rejected_lines'), [after, since, LINES_PER_PAGE], rejectedRow);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = last.line;
  }
}

/** Frees what was staged. */
export async function dropLines(warehouse: Warehouse): Promise<void> {
  await warehouse.run('drop table if exists spend_lines');
}
