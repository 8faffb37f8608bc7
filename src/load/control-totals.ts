/** Control totals: recorded in the ledger, in place of a table, and read for a load. */

import * as z from 'zod';

import { addDays, type Day, type DayInterval, isWithin, spanOf } from '../model/calendar.ts';
import { computedAt } from '../model/maturity.ts';
import { sumOf } from '../model/measure.ts';
import type { Slice } from '../model/slice.ts';
import {
  asScript,
  dayShape,
  identifier,
  insertion,
  literal,
  statement,
  timestamp,
} from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Recording } from './load-ledger.ts';
import type { Loaded, NightTotals, Replacement } from './answered.ts';
import { REJECTED, type Staged, typedRows, WINDOW } from './staged-sql.ts';

export async function recordTotals(
  tables: readonly { readonly staged: Staged; readonly replacements: readonly Replacement[] }[],
  { warehouse, runId }: Recording,
): Promise<readonly (readonly Loaded[])[]> {
  const statements: string[] = [];
  const readings: object[] = [];
  for (const { staged, replacements } of tables) {
    const { slice, columns } = staged;
    for (const { window, answered } of replacements) {
      // An answer without rows shows nothing.
      if (answered.periodRows.size === 0) continue;
      // From a cache, the service states what it stated when the answer was computed.
      const readAt = timestamp(computedAt(answered.fetchedAt, answered.maturity.computedAt));
      statements.push(changedTotals(staged, answered.windowNo, window.replaced, readAt));
      readings.push({
        control: slice.control,
        run_id: runId,
        read_at: readAt,
        start_day: window.replaced.start,
        end_day: window.replaced.end,
        metrics: columns.metrics.map(({ id }) => id),
      });
    }
  }
  if (readings.length > 0) {
    statements.push(await insertion(warehouse, 'ripen.control_readings', readings));
    await warehouse.transact(() => warehouse.run(asScript(statements)));
  }
  return tables.map(({ replacements }) =>
    replacements.map(({ window, answered }): Loaded => {
      const rows = sumOf(answered.periodRows.values());
      const none = { rejected: 0, restated: [], empty: [], warnings: [], isUnserved: false };
      return { kind: 'loaded', window, rows, fetched: rows, ...none };
    }),
  );
}

/** Doubles that differ by less were added in another order. */
const SAME = 1e-12;

function changedTotals(staged: Staged, windowNo: number, days: DayInterval, readAt: string) {
  const { slice, columns } = staged;
  const pages = staged.pages.filter((page) => page.windowNo === windowNo);
  const control = literal(slice.control ?? slice.name);
  const names = columns.metrics.map(({ id }) => literal(id)).join(', ');
  const values = columns.metrics.map(({ id }) => `${identifier(id)}::double`).join(', ');
  return `insert into ripen.control_totals by name
with stated as (
    -- Batches of metrics come in rows of their own.
    select starts_at, metric, max(value) as value
    from (
        select ${identifier(slice.grain ?? 'day')}::timestamp as starts_at, unnest([${names}]) as metric, unnest([${values}]) as value
        from (${typedRows({ ...staged, pages })})
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

select ${control} as control, metric, starts_at, timestamp ${literal(readAt)} as seen_at, s.value
from stated as s
full join stored as b using (starts_at, metric)
where
    s.value is distinct from b.value
    and not coalesce(abs(s.value - b.value) <= ${SAME} * greatest(abs(s.value), abs(b.value)), false)
    -- Older totals never replace newer ones.
    and not exists (
        from ripen.control_readings
        where
            control = ${control}
            and read_at > timestamp ${literal(readAt)}
            and start_day < date ${literal(days.end)}
            and end_day > date ${literal(days.start)}
            and list_has_any(metrics, [${names}])
    )`;
}

export interface NightControl {
  readonly name: string;
  /** Only windows whose answers had rows. */
  readonly days: readonly DayInterval[];
  /** Whether rows of the slice were found to differ. */
  readonly isDoubted: boolean;
}

const totalRow = z.object({
  control: z.string(),
  start_day: dayShape,
  metric: z.string(),
  value: z.number(),
});

export async function readNightTotals(
  warehouse: Warehouse,
  periods: readonly {
    readonly slice: Slice;
    readonly control: NightControl | null;
    readonly starts: readonly Day[];
  }[],
): Promise<ReadonlyMap<string, NightTotals>> {
  const totals = new Map<string, Map<Day, Map<string, number>>>();
  const requests = new Map<string, { days: DayInterval; metrics: string[] }>();
  for (const { slice, control, starts } of periods) {
    const read = starts.filter((start) => control?.days.some((days) => isWithin(start, days)));
    totals.set(slice.name, new Map(read.map((start) => [start, new Map<string, number>()])));
    const [first, ...others] = read.map((start) => ({ start, end: addDays(start, 1) }));
    if (control === null || first === undefined) continue;
    const { days = first, metrics = [] } = requests.get(control.name) ?? {};
    requests.set(control.name, {
      days: spanOf(days, first, ...others),
      metrics: [...new Set([...metrics, ...slice.metrics])],
    });
  }
  if (requests.size === 0) return totals;
  const wanted = [...requests].map(([control, { days, metrics }]) => {
    return { control, start_day: days.start, end_day: days.end, metrics };
  });
  const sql = statement('control/night_totals');
  const rows = await warehouse.rows(sql, [JSON.stringify(wanted)], totalRow);
  for (const { slice, control } of periods) {
    const own = new Set(slice.metrics);
    for (const { control: name, start_day: start, metric, value } of rows)
      if (name === control?.name && own.has(metric))
        totals.get(slice.name)?.get(start)?.set(metric, value);
  }
  return totals;
}
