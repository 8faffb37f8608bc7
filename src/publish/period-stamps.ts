/**
 * Which periods of a slice's table hold other rows than at the last publish, without reading the rows.
 *
 * Only a load writes rows and gives them its id, so rows of one stamp are equal, but for a column that was removed: where it came
 * back before it was published without, it holds nothing of those loads any more. So removals count too.
 */

import * as z from 'zod';

import { day, type Day } from '../model/calendar.ts';
import { identifier, literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { LakeTable } from './lake-table.ts';

/** A period (null: the table is not divided), and what its rows are known again by; null where no one load brought them. */
export interface PeriodStamp {
  readonly period: string | null;
  readonly stamp: string | null;
}

const stampRow = z.object({ period: z.string().nullable(), stamp: z.string().nullable() });

/** The stamps of a table's periods in order; null of a table whose rows no load brought. */
export async function readStamps(warehouse: Warehouse, table: LakeTable): Promise<readonly PeriodStamp[] | null> {
  return table.isLoaded ? warehouse.rows(stampPeriods(table), [], stampRow) : null;
}

/** The periods whose rows have to be read; none stands for all, as where most are to be read one pass is shorter. */
export function daysToRead(unsure: readonly PeriodStamp[], all: number): readonly (Day | null)[] {
  if (unsure.length > all / 2) return [];
  return unsure.map(({ period }) => (period === null ? null : day(period)));
}

function stampPeriods(table: LakeTable): string {
  const period = table.grain === null ? 'null::date' : `cast(${identifier(table.grain)} as DATE)`;
  return `with held as (
    select
        ${period} as period,
        count(*) as rows,
        min(_load_id) as oldest,
        max(_load_id) as newest
    from ${table.source}
    group by 1
)
select
    held.period::varchar as period,
    case
        when held.oldest = held.newest
            then held.rows || '-' || l.load_id || '-' || l.run_id || '-' || epoch_us(l.loaded_at) || removed.suffix
    end as stamp
from held
cross join (
    select case when count(*) > 0 then '-' || count(*) else '' end as suffix
    from ripen.schema_changes
    where object = ${literal(table.name)} and change = 'column removed'
) as removed
left join ripen.loads as l on l.load_id = held.newest
order by held.period`;
}
