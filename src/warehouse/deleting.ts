/** Deletes a slice or its oldest periods: its rows, its views and its ledger entries. */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import { dateDimensions } from '../model/dimension.ts';
import { columnTypes, count, dayLiteral, dayShape, identifier, statement } from './sql.ts';
import type { Warehouse } from './warehouse.ts';

const tableRow = z.object({ table_name: z.string(), periods: count, end_day: dayShape.nullable() });
const rowCount = z.object({ rows: count });

/** Returns the tables of a slice, the live one first. A null `before` means every period. */
export async function tablesOfSlice(warehouse: Warehouse, slice: string, before: Day | null) {
  const rows = await warehouse.rows(statement('drop/slice_tables'), [slice, before], tableRow);
  return Promise.all(
    rows.map(async ({ table_name: name, periods, end_day: endDay }) => {
      const columns = await columnTypes(warehouse, name);
      // It may have been removed by hand.
      const isThere = columns.size > 0;
      const grain = dateDimensions.find((dimension) => columns.has(dimension)) ?? null;
      // The bare column is compared, so that DuckDB reads only the blocks of those days.
      let condition = endDay === null ? 'true' : 'false';
      if (endDay !== null && grain !== null)
        condition = `${identifier(grain)} < ${dayLiteral(grain, endDay)}`;
      const sql = `select count(*) as rows from ${name} where ${condition}`;
      const [deleted] = isThere ? await warehouse.rows(sql, [], rowCount) : [];
      return { name, isThere, condition, grain, periods, rows: deleted?.rows ?? 0, endDay };
    }),
  );
}

const ledgerRow = z.object({
  table_name: z.string(),
  has_days: z.boolean(),
  has_period: z.boolean(),
});
const viewRow = z.object({ view_name: z.string() });

/** Removes a slice, or with `before` its periods that ended by that day. Runs inside the caller's transaction. */
export async function deleteSlice(
  warehouse: Warehouse,
  slice: string,
  before: Day | null,
  tables: Awaited<ReturnType<typeof tablesOfSlice>>,
): Promise<void> {
  if (before === null) {
    const views = await warehouse.rows(statement('drop/views'), [slice], viewRow);
    for (const { view_name: view } of views)
      await warehouse.alter(`drop view main.${identifier(view)}`);
    for (const { name } of tables) await warehouse.alter(`drop table if exists ${name}`);
  } else {
    for (const { name, condition } of tables.filter(({ isThere }) => isThere))
      await warehouse.run(`delete from ${name} where ${condition}`);
  }
  const endDay = tables[0]?.endDay ?? before;
  await warehouse.run(statement('drop/delete_control_totals'), [slice, endDay]);
  await warehouse.run(statement('drop/delete_control_readings'), [slice, endDay]);
  for (const ledger of await warehouse.rows(statement('drop/ledger_tables'), [], ledgerRow)) {
    const ofSlice = `delete from ${ledger.table_name} where slice = $1`;
    if (before === null) await warehouse.run(ofSlice, [slice]);
    else if (ledger.table_name === 'ripen.loads') continue;
    else if (ledger.has_days)
      await warehouse.run(`${ofSlice} and end_day <= $2::date`, [slice, before]);
    else if (ledger.has_period)
      await warehouse.run(`${ofSlice} and period < $2::date`, [slice, endDay]);
  }
  await warehouse.run(statement('drop/delete_unused_totals'), [endDay]);
  await warehouse.run(statement('drop/delete_unused_readings'), [endDay]);
  if (before === null) await warehouse.run(statement('drop/delete_schema_changes'), [slice]);
  else await warehouse.run(statement('drop/delete_loads'), [slice, before]);
}
