/** Reads what was spent and earned in the newest periods of a slice, what of it may still move, and what to expect. */

import * as z from 'zod';

import { addsUpCertainly } from '../../model/metric.ts';
import { documentedMetric } from '../../model/metric-forms.ts';
import type { Slice } from '../../model/slice.ts';
import { identifier, literal } from '../../warehouse/sql.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { moneyPeriod, type MoneySeries } from './status-report.ts';

/** As many bars as a phone has room for. */
const SHOWN_PERIODS = 60;

const moneyRow = moneyPeriod
  .extend({ metric: z.string(), currency: z.string().nullable() })
  .transform(({ metric, currency, ...period }) => ({ metric, currency, period }));

/** Reads the first metrics of spend and revenue, as `config/metrics.csv` has them, that are among the table's columns. */
export async function readMoney(
  warehouse: Warehouse,
  slice: Slice,
  columns: readonly string[],
): Promise<MoneySeries[]> {
  const { name, grain, cube } = slice;
  if (grain === null || cube !== undefined || !columns.includes(grain)) return [];
  const series = (['spend', 'revenue'] as const).flatMap((flow) => {
    const metric = slice.metrics.find(
      (id) =>
        documentedMetric(id, null)?.flow === flow &&
        addsUpCertainly(slice, id) &&
        columns.includes(id),
    );
    return metric === undefined ? [] : [{ flow, metric }];
  });
  if (series.length === 0) return [];
  const sums = series.map(
    ({ metric }) => `{metric: ${literal(metric)}, value: sum(s.${identifier(metric)})::double}`,
  );
  const period = `cast(s.${identifier(grain)} as date)`;
  const sql = `with newest as (
    select distinct start_day from ripen.periods where slice = $1 order by start_day desc limit ${SHOWN_PERIODS}
),

sums as (
    select ${period} as period, [${sums.join(', ')}] as sums
    from main.${identifier(name)} as s
    where ${period} >= (select min(start_day) from newest)
    group by all
),

totals as (select period, unnest(sums, max_depth := 2) from sums),

-- The slice may be configured for another one since.
newest_load as (
    select arg_max(l.parameters ->> '$.currency', l.load_id) as currency
    from ripen.loads as l
    join ripen.slice_tables as t on t.slice = l.slice and t.fingerprint = l.fingerprint and t.state = 'live'
    where l.slice = $1
)

select
    t.metric,
    l.currency,
    t.period::varchar as first_day,
    t.value,
    m.period is null as is_final,
    t.value * p.factor as projected,
    least(t.value * p.factor_low, t.value * p.factor_high) as low,
    greatest(t.value * p.factor_low, t.value * p.factor_high) as high
from totals as t
cross join newest_load as l
left join ripen_internal.maturing as m on m.slice = $1 and m.period = t.period and m.metric = t.metric
left join ripen_internal.projections as p
    on p.slice = $1 and p.period = t.period and p.metric = t.metric and p.load_id = m.load_id
where t.value is not null
order by t.period`;
  const rows = await warehouse.rows(sql, [name], moneyRow);
  return series.flatMap(({ flow, metric }) => {
    const periods = rows.flatMap(({ metric: id, period }) => (id === metric ? [period] : []));
    const currency = rows[0]?.currency ?? null;
    return periods.length === 0 ? [] : [{ flow, metric, currency, periods }];
  });
}
