/** Records control totals in the ledger, in place of rows in a table. */

import type { DayInterval } from '../model/calendar.ts';
import type { Target } from '../warehouse/tables/target.ts';
import { identifier, insertRows, literal, timestamp } from '../warehouse/sql.ts';
import type { Replacement } from './decide.ts';
import type { Loaded } from './outcome.ts';
import type { Destination } from './replace.ts';
import { REJECTED, type Staged, typedRows, WINDOW } from './staged-sql.ts';

/** Records the totals that changed since they were last read, in place of loading rows. */
export async function recordTotals(
  replacements: readonly Replacement[],
  staged: Staged,
  { warehouse, target, runId }: Destination,
): Promise<Loaded[]> {
  const stated = replacements.filter(({ answered }) => answered.periodRows.size > 0);
  await warehouse.transact(async () => {
    for (const { window, answered } of stated) {
      const pages = staged.pages.filter(({ windowNo }) => windowNo === answered.windowNo);
      const readAt = timestamp(answered.fetchedAt);
      await warehouse.run(
        changedTotals(target, typedRows({ ...staged, pages }), {
          windowNo: answered.windowNo,
          days: window.replaced,
        }),
        [readAt],
      );
      const { start: start_day, end: end_day } = window.replaced;
      const metrics = target.columns.metrics.map(({ id }) => id);
      const reading = { control: target.slice.control, run_id: runId, read_at: readAt, metrics };
      await insertRows(warehouse, 'ripen.control_readings', [{ ...reading, start_day, end_day }]);
    }
  });
  return replacements.map(({ window, answered }): Loaded => {
    const rows = [...answered.periodRows.values()].reduce((sum, each) => sum + each, 0);
    return {
      kind: 'loaded',
      window,
      rows,
      fetched: rows,
      rejected: 0,
      restated: [],
      empty: [],
      warnings: [],
    };
  });
}

/** A statement that records the totals of a window that differ from the latest ones; $1 is when they were read. */
function changedTotals(
  { slice, columns }: Target,
  rows: string,
  { windowNo, days }: { readonly windowNo: number; readonly days: DayInterval },
): string {
  const control = literal(slice.control ?? slice.name);
  const names = columns.metrics.map(({ id }) => literal(id)).join(', ');
  const values = columns.metrics.map(({ id }) => `${identifier(id)}::double`).join(', ');
  return `insert into ripen.control_totals by name
with stated as (
    -- Batches of metrics come in rows of their own.
    select starts_at, metric, max(value) as value
    from (
        select ${identifier(slice.grain ?? 'day')}::timestamp as starts_at, unnest([${names}]) as metric, unnest([${values}]) as value
        from (${rows})
        where ${WINDOW} = ${windowNo} and ${REJECTED} is null
    )
    group by starts_at, metric
),

stored as (
    select starts_at, metric, arg_max_null(value, seen_at) as value
    from ripen.control_totals
    where
        control = ${control}
        and starts_at >= date ${literal(days.start)}
        and starts_at < date ${literal(days.end)}
        and metric in (${names})
    group by starts_at, metric
)

select ${control} as control, metric, starts_at, $1::timestamp as seen_at, s.value
from stated as s
full join stored as b using (starts_at, metric)
where
    s.value is distinct from b.value
    and not coalesce(abs(s.value - b.value) <= ${SAME} * greatest(abs(s.value), abs(b.value)), false)`;
}

/** Doubles that differ by less were added in another order. */
const SAME = 1e-12;
