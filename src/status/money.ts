/** What a slice spent and earned, period by period, and which of it can still change; read from its live table. */

import * as z from 'zod';

import type { Slice } from '../model/slice.ts';
import { DOUBLE, parseColumnType } from '../model/column-type.ts';
import { columnsOf } from '../warehouse/relations.ts';
import { identifier, timestamp } from '../warehouse/sql.ts';
import { doubleSum } from '../warehouse/sums.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { MoneyMetric } from './status-report.ts';

/** Metrics that say what was spent and earned, the one that says most first. */
const kinds = [
  { kind: 'spend', forms: [/^cost$/, /^network_cost$/, /^adjust_cost$/] },
  { kind: 'revenue', forms: [/^all_revenue$/, /^revenue$/, /^all_revenue_total_d\d+$/, /^revenue_total_d\d+$/] },
] as const;

const moneyRow = z.object({ first_day: z.string(), value: z.number().nullable(), is_final: z.boolean() });

/** The totals of the slice's spend and of its revenue, each by one metric, nothing fetched later than now final; empty where it has none or no date. */
export async function readMoney(warehouse: Warehouse, slice: Slice, now: Date): Promise<MoneyMetric[]> {
  if (slice.grain === null) return [];
  const columns = new Map((await columnsOf(warehouse, slice.name)).map(({ name, type }) => [name, type]));
  const { grain } = slice;
  if (!columns.has(grain)) return [];
  const money: MoneyMetric[] = [];
  for (const { kind, forms } of kinds) {
    const metric = forms.map((form) => slice.metrics.find((id) => form.test(id) && columns.has(id))).find(Boolean);
    if (metric === undefined) continue;
    const type = parseColumnType(columns.get(metric) ?? '') ?? DOUBLE;
    const sql = moneySql(slice.name, grain, doubleSum(`s.${identifier(metric)}`, type));
    money.push({ kind, metric, periods: await warehouse.rows(sql, [slice.name, metric, timestamp(now)], moneyRow) });
  }
  return money;
}

function moneySql(slice: string, grain: string, sum: string): string {
  const period = grain === 'hour' ? `cast(s."hour" as date)` : `s.${identifier(grain)}`;
  return `with totals as (
    select ${period} as start_day, ${sum} as value
    from main.${identifier(slice)} as s
    group by 1
)

select t.start_day::varchar as first_day, t.value, coalesce(f.is_final and f.fetched_at <= $3::timestamp, false) as is_final
from totals as t
left join ripen.finality as f on f.slice = $1 and f.metric = $2 and f.period = t.start_day
order by t.start_day`;
}
