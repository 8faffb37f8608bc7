/** Reads spend and revenue of the newest periods of slices, and what to expect. */

import * as z from 'zod';

import type { Day } from '../../model/calendar.ts';
import { addsUpCertainly } from '../../model/metric.ts';
import { documentedMetric } from '../../model/metric-forms.ts';
import type { Slice } from '../../model/slice.ts';
import { asScript, identifier, jsonOf, literal } from '../../warehouse/sql.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { moneyPeriod, type MoneySeries } from './status-report.ts';

/** As many bars as a phone has room for. */
const SHOWN_PERIODS = 60;
/** Each sum takes more than 1 MB of the engine's memory (measured). */
const SUMS_AT_ONCE = 40;
/** No table of the warehouse has a blank in its name. */
const TOTALS = '"ripen money"';

const moneyRow = z.object({
  slice: z.string(),
  metric: z.string(),
  currency: z.string().nullable(),
  periods: jsonOf(z.array(moneyPeriod)),
});

/** Reads the first metrics of spend and of revenue (`config/metrics.csv`) that the table of each slice has. */
export async function readMoney(
  warehouse: Warehouse,
  slices: readonly Slice[],
  columnsOf: (slice: string) => ReadonlyMap<string, unknown>,
  periodsOf: (slice: string) => readonly { readonly start_day: Day }[],
): Promise<ReadonlyMap<string, readonly MoneySeries[]>> {
  const series: { slice: string; flow: 'spend' | 'revenue'; metric: string }[] = [];
  const sums: string[] = [];
  for (const slice of slices) {
    const { name, grain, cube } = slice;
    const columns = columnsOf(name);
    const [since] = periodsOf(name).slice(-SHOWN_PERIODS);
    if (grain === null || cube !== undefined || since === undefined || !columns.has(grain))
      continue;
    const period = `cast(${identifier(grain)} as date)`;
    const candidates = slice.metrics.filter((id) => columns.has(id) && addsUpCertainly(slice, id));
    const flowing = (['spend', 'revenue'] as const).flatMap((flow) => {
      const metric = candidates.find((id) => documentedMetric(id, null)?.flow === flow);
      return metric === undefined ? [] : [{ slice: name, flow, metric }];
    });
    if (flowing.length === 0) continue;
    series.push(...flowing);
    const totals = flowing.map(({ metric }, at) => `sum(${identifier(metric)})::double as v${at}`);
    const values = flowing.map(({ metric }, at) => `{metric: ${literal(metric)}, value: v${at}}`);
    sums.push(`select ${literal(name)} as slice, period, unnest([${values.join(', ')}], max_depth := 2)
from (
    select ${period} as period, ${totals.join(', ')}
    from main.${identifier(name)} where ${period} >= date ${literal(since.start_day)} group by 1
)`);
  }
  if (sums.length === 0) return new Map();
  const statements: string[] = [];
  for (let at = 0; at < sums.length; at += SUMS_AT_ONCE) {
    const into = at === 0 ? `create or replace temp table ${TOTALS} as` : `insert into ${TOTALS}`;
    statements.push(`${into}\n${sums.slice(at, at + SUMS_AT_ONCE).join('\nunion all\n')}`);
  }
  const sql = `-- A slice may be configured for another one since.
with currencies as (
    select l.slice, arg_max(l.parameters ->> '$.currency', l.load_id) as currency
    from ripen.loads as l
    join ripen.slice_tables as t on t.slice = l.slice and t.fingerprint = l.fingerprint and t.state = 'live'
    group by l.slice
)

select
    t.slice,
    t.metric,
    any_value(c.currency) as currency,
    to_json(list(
        {
            first_day: t.period::varchar,
            value: t.value,
            is_final: m.period is null,
            projected: t.value * p.factor,
            low: least(t.value * p.factor_low, t.value * p.factor_high),
            high: greatest(t.value * p.factor_low, t.value * p.factor_high)
        }
        order by t.period
    ))::varchar as periods
from ${TOTALS} as t
left join currencies as c on c.slice = t.slice
left join ripen_internal.maturing as m on m.slice = t.slice and m.period = t.period and m.metric = t.metric
left join ripen_internal.projections as p
    on p.slice = t.slice and p.period = t.period and p.metric = t.metric and p.load_id = m.load_id
where t.value is not null
group by t.slice, t.metric`;
  const rows = await warehouse.rows(asScript([...statements, sql]), [], moneyRow);
  const money = new Map<string, MoneySeries[]>();
  for (const { slice, flow, metric } of series) {
    const row = rows.find((one) => one.slice === slice && one.metric === metric);
    if (row === undefined) continue;
    const { currency, periods } = row;
    money.set(slice, [...(money.get(slice) ?? []), { flow, metric, currency, periods }]);
  }
  return money;
}
