/** Reads what was spent and earned in the newest periods of a slice, what of it may still move, and what to expect. */

import * as z from 'zod';

import type { Day } from '../../model/calendar.ts';
import { addsUpCertainly } from '../../model/metric.ts';
import { documentedMetric } from '../../model/metric-forms.ts';
import type { Slice } from '../../model/slice.ts';
import { identifier, literal } from '../../warehouse/sql.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { moneyPeriod, type MoneySeries } from './status-report.ts';

/** As many bars as a phone has room for. */
const SHOWN_PERIODS = 60;
/** Each sum takes more than 1 MB of the engine's memory (measured). */
const SUMS_AT_ONCE = 40;

const moneyRow = moneyPeriod
  .extend({ slice: z.string(), metric: z.string(), currency: z.string().nullable() })
  .transform(({ slice, metric, currency, ...period }) => ({ slice, metric, currency, period }));

/**
 * Reads the first metrics of spend and revenue, as `config/metrics.csv` has them, that are among the columns of each slice's table. Returns
 * them by slice.
 */
export async function readMoney(
  warehouse: Warehouse,
  slices: readonly Slice[],
  columnsOf: (slice: string) => readonly string[],
  periodsOf: (slice: string) => readonly { readonly start_day: Day }[],
): Promise<ReadonlyMap<string, readonly MoneySeries[]>> {
  const series: { slice: string; flow: 'spend' | 'revenue'; metric: string }[] = [];
  const sums: string[] = [];
  for (const slice of slices) {
    const { name, grain, cube } = slice;
    const columns = columnsOf(name);
    const since = periodsOf(name).at(-SHOWN_PERIODS) ?? periodsOf(name)[0];
    if (grain === null || cube !== undefined || since === undefined || !columns.includes(grain))
      continue;
    const period = `cast(${identifier(grain)} as date)`;
    for (const flow of ['spend', 'revenue'] as const) {
      const metric = slice.metrics.find(
        (id) =>
          documentedMetric(id, null)?.flow === flow &&
          addsUpCertainly(slice, id) &&
          columns.includes(id),
      );
      if (metric === undefined) continue;
      series.push({ slice: name, flow, metric });
      sums.push(`select ${literal(name)} as slice, ${literal(metric)} as metric, ${period} as period, sum(${identifier(metric)})::double as value
    from main.${identifier(name)} where ${period} >= date ${literal(since.start_day)} group by all`);
    }
  }
  const rows: z.output<typeof moneyRow>[] = [];
  for (let at = 0; at < sums.length; at += SUMS_AT_ONCE) {
    const sql = `with totals as (
    ${sums.slice(at, at + SUMS_AT_ONCE).join('\n    union all\n    ')}
),

-- A slice may be configured for another one since.
currencies as (
    select l.slice, arg_max(l.parameters ->> '$.currency', l.load_id) as currency
    from ripen.loads as l
    join ripen.slice_tables as t on t.slice = l.slice and t.fingerprint = l.fingerprint and t.state = 'live'
    group by l.slice
)

select
    t.slice,
    t.metric,
    c.currency,
    t.period::varchar as first_day,
    t.value,
    m.period is null as is_final,
    t.value * p.factor as projected,
    least(t.value * p.factor_low, t.value * p.factor_high) as low,
    greatest(t.value * p.factor_low, t.value * p.factor_high) as high
from totals as t
left join currencies as c on c.slice = t.slice
left join ripen_internal.maturing as m on m.slice = t.slice and m.period = t.period and m.metric = t.metric
left join ripen_internal.projections as p
    on p.slice = t.slice and p.period = t.period and p.metric = t.metric and p.load_id = m.load_id
where t.value is not null
order by t.period`;
    rows.push(...(await warehouse.rows(sql, [], moneyRow)));
  }
  const money = new Map<string, MoneySeries[]>();
  for (const { slice, flow, metric } of series) {
    const shown = rows.filter((row) => row.slice === slice && row.metric === metric);
    if (shown.length === 0) continue;
    const currency = shown[0]?.currency ?? null;
    const periods = shown.map(({ period }) => period);
    money.set(slice, [...(money.get(slice) ?? []), { flow, metric, currency, periods }]);
  }
  return money;
}
