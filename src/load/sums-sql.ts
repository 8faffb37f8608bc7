/**
 * Statements on sums: of a batch's rows, for the proof, and of the table before and after, for the restatements.
 * Pure: names, types and days in, SQL out.
 */

import type { Day, DayInterval } from '../model/calendar.ts';
import { type ColumnType, FAST_DIGITS, formatColumnType } from '../model/column-type.ts';
import type { DateDimension } from '../model/dimension.ts';
import { identifier, literal, exactSum, sumAsDecimal, sumText } from '../warehouse/sql.ts';
import type { Columns, MetricColumn } from './target.ts';
import { PART, REJECTED, staging, WINDOW } from './staged-sql.ts';
import { additiveOf, insideDays, periodOf } from './window-sql.ts';

/** Fills `totals` in one pass over `typed`; `start` is the first day of a report without a date dimension. */
export function totalTyped(columns: Columns, grain: DateDimension | null, start: Day): string {
  const sums = additiveOf(columns).map(({ id, type }, at) => {
    const name = identifier(id);
    // A sum of wider decimals would overflow sooner than that of the values, and the magnitude of the least integer does.
    const isNarrow = type.kind === 'DECIMAL' && type.width <= FAST_DIGITS;
    const magnitudes = isNarrow ? `sum(abs(${name}))::double` : `sum(abs(${name}::double))`;
    return `,
    ${exactSum(name, type)} as s${at}, ${magnitudes} as g${at}, coalesce(count_if(${name} <> 0), 0) as z${at}`;
  });
  return `create or replace temp table ${staging.totals} as
select
    ${WINDOW},
    ${PART},
    ${periodOf(grain, start)} as p,
    ${REJECTED} is not null as r,
    count(*) as n${sums.join('')}
from ${staging.typed}
group by all`;
}

/**
 * Per window and part in `totals` the exact sums and the sums of magnitudes of its additive metrics, as lists in configured
 * order, of how many values other than zero they are, and how many rows each period gets (JSON list).
 */
export function sumParts(columns: Columns): string {
  const metrics = additiveOf(columns);
  const each = (sum: (at: number, type: ColumnType) => string): string =>
    metrics.map(({ type }, at) => sum(at, type)).join(', ');
  return `select
    ${WINDOW} as window_no,
    ${PART} as part_no,
    [${each((at, type) => sumText(`sum(s${at})`, type))}]::varchar[] as sums,
    [${each((at) => `sum(g${at})`)}]::double[] as magnitudes,
    [${each((at) => `sum(z${at})`)}]::varchar[] as non_zero,
    to_json(coalesce(list({start: p::varchar, rows: n}) filter (where not r), []))::varchar as periods
from ${staging.totals}
group by ${WINDOW}, ${PART}`;
}

/** Per window and part the exact sums over the distinct rows of some windows. */
export function sumDistinct(columns: Columns, windowNos: readonly number[]): string {
  const metrics = additiveOf(columns).map(({ id, type }) => ({ name: identifier(id), type }));
  // What came unasked is left out: of one key it says the same, or the window fails.
  const names = [...columns.dimensions.map(identifier), 'attr_dependency', ...metrics.map(({ name }) => name)];
  return `select
    ${WINDOW} as window_no,
    ${PART} as part_no,
    [${metrics.map(({ name, type }) => sumText(exactSum(name, type), type)).join(', ')}]::varchar[] as sums
from (
    select distinct ${[WINDOW, PART, ...names].join(', ')}
    from ${staging.typed}
    where ${WINDOW} in (${windowNos.join(', ')})
)
group by ${WINDOW}, ${PART}`;
}

/** The most digits after the point that a part's values of a metric have. */
export function fractionDigits(metric: string, windowNo: number, partNo: number): string {
  return `select max(length(rtrim(split_part(cast(${identifier(metric)} as VARCHAR), '.', 2), '0'))) as digits
from ${staging.typed}
where ${WINDOW} = ${windowNo} and ${PART} = ${partNo}`;
}

/** The first days of the periods in which a table has values of some metrics, other than zero. */
export function periodsWith(
  metrics: readonly Pick<MetricColumn, 'id'>[],
  table: string,
  grain: DateDimension | null,
  days: DayInterval,
): string {
  return `select distinct ${periodOf(grain, days.start)}::varchar as start_day
from ${table}
where ${insideDays(grain, days)} and (${metrics.map(({ id }) => `${identifier(id)} <> 0`).join(' or ')})`;
}

/** The columns of totals in `before` and `after`, which differ so that a join of both has them all. */
const totalIn = { before: 'b', after: 'a' } as const;

/** Per period of some days of the table: its rows (`n`) and the totals of its additive metrics, as a table. */
export function totalPeriods(
  name: 'before' | 'after',
  target: { readonly table: string; readonly columns: Columns },
  grain: DateDimension | null,
  ranges: readonly DayInterval[],
): string {
  const sums = additiveOf(target.columns).map(
    ({ id, type }, at) => `,\n    ${exactSum(identifier(id), type)} as ${totalIn[name]}${at}`,
  );
  // Each range by itself: only so does each touch no block but its own.
  const parts = ranges.map(
    (days) => `select
    ${periodOf(grain, days.start)} as p,
    count(*) as n${sums.join('')}
from ${target.table}
where ${insideDays(grain, days)}
group by 1`,
  );
  return `create or replace temp table ${staging[name]} as\n${parts.join('\nunion all\n')}`;
}

/** The same for the rows that windows in `totals` bring. */
export function totalAfter(columns: Columns, windowNos: readonly number[]): string {
  const sums = additiveOf(columns).map((_, at) => `,\n    sum(s${at}) as ${totalIn.after}${at}`);
  return `create or replace temp table ${staging.after} as
select
    p,
    sum(n) as n${sums.join('')}
from ${staging.totals}
where ${WINDOW} in (${windowNos.join(', ')})
group by 1`;
}

/** Four digits fewer than the ledger's column has: what moved is summed up there. */
const RESTATED = 'DECIMAL(34, 12)';

/**
 * Totals that differ, for periods and metrics that were loaded before, and whether they were final then: as decimals, rounded to
 * twelve digits after the point and NULL where there are more than 22 before it, and as text with every digit. Metrics in `except` are left out. Parameters: $1 slice, $2 fingerprint, $3 the
 * loads (JSON list of load_id, seen_at, start_day, end_day). Returns load_id and period of each.
 */
export function recordRestatements(columns: Columns, except: ReadonlySet<string>): string | null {
  const { cube } = columns;
  const added = additiveOf(columns).filter(({ id }) => !except.has(id));
  if (cube !== undefined && added.length > 0) {
    const ids = added.map(({ id }) => literal(id)).join(', ');
    const moved = `where metric in (${ids}) and ${differs(cube.value, 'b', 'a')}`;
    const both = `select p, metric, age, b.s as b, a.s as a from ${staging.before} as b full join ${staging.after} as a using (p, metric, age)`;
    return insertRestatements(both, [`${changedTotal(cube.value)}\nfrom both_totals\n${moved}`]);
  }
  // Lists of totals, and one part for each type: a statement with a join for each metric would need memory for every one of them.
  const byType = new Map<string, { readonly type: ColumnType; readonly metrics: { id: string; at: number }[] }>();
  for (const [at, { id, type }] of additiveOf(columns).entries()) {
    if (except.has(id)) continue;
    const known = byType.get(formatColumnType(type));
    if (known === undefined) byType.set(formatColumnType(type), { type, metrics: [{ id, at }] });
    else known.metrics.push({ id, at });
  }
  const parts = [...byType.values()].map(({ type, metrics }) => {
    const list = (of: keyof typeof totalIn): string => `[${metrics.map(({ at }) => totalIn[of] + at).join(', ')}]`;
    return `${changedTotal(type)}
from (
    select
        p,
        unnest([${metrics.map(({ id }) => literal(id)).join(', ')}]) as metric,
        '' as age,
        unnest(${list('before')}) as b,
        unnest(${list('after')}) as a
    from both_totals
)
where ${differs(type, 'b', 'a')}`;
  });
  if (parts.length === 0) return null;
  return insertRestatements(`select * from ${staging.before} full join ${staging.after} using (p)`, parts);
}

/** What is recorded of a total that moved. */
const changedTotal = (type: ColumnType): string => `select
    p,
    metric,
    age,
    ${sumAsDecimal('b', type, RESTATED)} as before,
    ${sumAsDecimal('a', type, RESTATED)} as after,
    ${exactText('b', type)} as before_text,
    ${exactText('a', type)} as after_text`;

function insertRestatements(both: string, parts: readonly string[]): string {
  return `insert into ripen.restatements
with loads as (
    select unnest(
        from_json($3::json, '[{"load_id":"BIGINT","seen_at":"TIMESTAMP","start_day":"DATE","end_day":"DATE"}]'),
        recursive := true
    )
),

both_totals as materialized (
    ${both}
)

select
    $1, m.p, m.metric, m.before, m.after, i.seen_at, i.load_id,
    coalesce(
        h.sound_at >= h.ends_at + to_seconds(f.horizon_seconds + f.settle_seconds)
        and not coalesce(list_contains(h.immature, m.metric), false),
        false
    ) as after_final,
    m.before_text, m.after_text
from (
${parts.join('\nunion all\n')}
) as m
join loads as i on i.start_day <= m.p and m.p < i.end_day
join ripen.periods as h on h.slice = $1 and h.fingerprint = $2 and h.start_day = m.p and h.age = m.age
join ripen.loads as l on l.load_id = h.load_id and list_contains(l.metrics, m.metric)
left join ripen.slice_metrics as f on f.slice = $1 and f.metric = m.metric
returning load_id::varchar as load_id, period`;
}

/** An exact sum with every digit, and without zeros at its end: alike whatever type its column had. */
const exactText = (sum: string, type: ColumnType): string =>
  String.raw`regexp_replace(${sumText(sum, type)}, '\.0*$|(\.\d*[1-9])0+$', '\1')`;

/** Sums of doubles depend on the order of addition, which no value has to do with. */
function differs(type: ColumnType, before: string, after: string): string {
  const isOther = `${before} is distinct from ${after}`;
  if (type.kind !== 'DOUBLE') return isOther;
  return `${isOther} and not coalesce(abs(${before} - ${after}) <= 1e-9 * greatest(abs(${before}), abs(${after})), false)`;
}
