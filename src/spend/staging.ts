/**
 * The lines of a spend file beside each other and beside the ledger, in a temporary table.
 *
 * Memory does not grow with the file: lines go in and come out by pages. What a line alone can break is judged before
 * it is staged; here the same Cost ID meets itself, in the file and in `ripen.spend`. The statements stand here and not in
 * `sql/`, as their table lives no longer than the connection.
 */

import * as z from 'zod';

import type { Emit } from '../events.ts';
import { count } from '../warehouse/shapes.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { isFamiliarCostType, judgeLine } from './rules.ts';
import type { SpendRecords } from './spend-record.ts';

/** Some hundred kilobytes of JSON a statement. */
const LINES_PER_PAGE = 1000;
/** A column of free text in place of the cost type would warn for ever. */
const MAX_COST_TYPES_TOLD = 20;

const makeTable = `create or replace temp table spend_lines (
    line bigint, cost_id varchar, cost_type varchar, cost_currency varchar, cost_amount varchar, tag varchar,
    engaged_at varchar, content varchar, reasons varchar[], untimely varchar, given json,
    state varchar, outcome_before varchar
)`;

const insertPage = `insert into spend_lines
select l.line, l.cost_id, l.cost_type, l.cost_currency, l.cost_amount, l.tag, nullif(l.engaged_at, ''), l.content,
    l.reasons, l.untimely, l.given, null, null
from (select unnest(from_json($1::json, '[{"line":"BIGINT","cost_id":"VARCHAR","cost_type":"VARCHAR",
"cost_currency":"VARCHAR","cost_amount":"VARCHAR","tag":"VARCHAR","engaged_at":"VARCHAR","content":"VARCHAR",
"reasons":["VARCHAR"],"untimely":"VARCHAR","given":"JSON"}]'), recursive := true)) as l`;

/** Of equal copies the first counts; of different ones nobody can say which is meant. */
const rejectCopies = `update spend_lines as l
set reasons = list_append(l.reasons, case
    when c.contents > 1
        then 'cost_id stood on ' || c.copies || ' lines with different content, the first being line ' || c.first_line
    else 'cost_id stood on line ' || c.first_line || ' already, with the same content'
end)
from (
    select cost_id, count(*) as copies, count(distinct content) as contents, min(line) as first_line
    from spend_lines
    where cost_id <> ''
    group by cost_id
    having count(*) > 1
) as c
where l.cost_id = c.cost_id and (c.contents > 1 or l.line > c.first_line)`;

/**
 * What was once accepted, or may have been, must not be sent with another content; what was accepted as it stands needs
 * no more be timely.
 */
const compareWithLedger = `update spend_lines as l
set
    outcome_before = case s.outcome when 'sending' then 'unknown' else s.outcome end,
    untimely = case when s.outcome = 'accepted' then null else l.untimely end,
    reasons = case
        when s.outcome = 'rejected' or s.content = l.content then l.reasons
        else list_append(l.reasons, 'cost_id was sent before with other content: cost_type ' || s.cost_type
            || ', cost_amount ' || s.cost_amount || ' ' || s.cost_currency || ', tag ' || s.tag || ', and '
            || case s.outcome when 'accepted' then 'accepted' else 'may have been accepted' end)
    end
from ripen.spend as s
where s.cost_id = l.cost_id`;

/** $1: whether unknown outcomes are to be sent again. */
const judgeStates = `update spend_lines
set
    reasons = case when untimely is null then reasons else list_append(reasons, untimely) end,
    state = case
        when len(reasons) > 0 or untimely is not null then 'rejected'
        when outcome_before = 'accepted' then 'accepted'
        when outcome_before = 'unknown' and not $1 then 'unknown'
        else 'due'
    end`;

const countLines = `select
    count(*) as lines,
    count(*) filter (where state = 'rejected') as rejected,
    count(*) filter (where state = 'accepted') as accepted,
    count(*) filter (where state = 'unknown') as unknown,
    count(*) filter (where state = 'due') as due
from spend_lines`;

const dueLines = `select line, cost_id, cost_type, cost_currency, cost_amount, tag, engaged_at, content, outcome_before
from spend_lines
where state = 'due' and line > $1
order by line
limit ${LINES_PER_PAGE}`;

/** A line the service refused counts as rejected when it was settled in this run, from $2 on. */
const rejectedLines = `select l.line, given::varchar as given,
    to_json(case when l.state = 'rejected' then l.reasons else ['the service: ' || s.status || ' ' || s.reason] end)::varchar
        as reasons
from spend_lines as l
left join ripen.spend as s
    on s.cost_id = l.cost_id and l.state = 'due' and s.outcome = 'rejected' and s.settled_at >= $2::timestamp
where l.line > $1 and (l.state = 'rejected' or s.cost_id is not null)
order by l.line
limit ${LINES_PER_PAGE}`;

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

const jsonText = z.string().transform((text): unknown => JSON.parse(text));
const rejectedRow = z.object({
  line: count,
  given: jsonText.pipe(z.record(z.string(), z.unknown())),
  reasons: jsonText.pipe(z.array(z.string())),
});

export type RejectedLine = z.infer<typeof rejectedRow>;

/** Judges and stages every line of a file; `resendUnknown` makes those of unknown outcome due again. */
export async function stageLines(
  warehouse: Warehouse,
  records: SpendRecords,
  {
    now,
    resendUnknown,
    emit,
    signal,
  }: {
    readonly now: Date;
    readonly resendUnknown: boolean;
    readonly emit: Emit;
    readonly signal: AbortSignal;
  },
): Promise<StagedCounts> {
  await warehouse.run(makeTable);
  const costTypes = new Set<string>();
  let page: object[] = [];
  for await (const record of records) {
    const { values, ...judged } = judgeLine(record, now);
    if (judged.reasons.length === 0) noteCostType(values.cost_type, costTypes, emit);
    page.push({ ...judged, ...values, given: record.given });
    if (page.length === LINES_PER_PAGE) {
      signal.throwIfAborted();
      await warehouse.run(insertPage, [JSON.stringify(page)]);
      page = [];
    }
  }
  if (page.length > 0) await warehouse.run(insertPage, [JSON.stringify(page)]);
  await warehouse.run(rejectCopies);
  await warehouse.run(compareWithLedger);
  await warehouse.run(judgeStates, [resendUnknown]);
  const [counts] = await warehouse.rows(countLines, [], countsRow);
  if (counts === undefined) throw new RangeError('Counting the staged lines gave nothing.');
  return counts;
}

/** The next lines to send after a line, in order; none when all were given out. */
export async function nextDueLines(warehouse: Warehouse, afterLine: number): Promise<DueLine[]> {
  return warehouse.rows(dueLines, [afterLine], dueRow);
}

/** Pages of the lines that were rejected, here or (since an instant, as a TIMESTAMP) by the service. */
export async function* rejectedPages(warehouse: Warehouse, since: string): AsyncGenerator<RejectedLine[], void> {
  for (let after = 0; ;) {
    const page = await warehouse.rows(rejectedLines, [after, since], rejectedRow);
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

function noteCostType(costType: string, told: Set<string>, emit: Emit): void {
  if (isFamiliarCostType(costType) || told.has(costType) || told.size >= MAX_COST_TYPES_TOLD) return;
  told.add(costType);
  const message = `A cost_type was ${JSON.stringify(costType.slice(0, 100))}; the service's interface names cpc, cpi, cpe and cpm.`;
  emit({ type: 'warning', code: 'SPEND_TYPE_UNKNOWN', slice: null, window: null, message });
}
