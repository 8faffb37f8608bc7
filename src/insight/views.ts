/** Declares the views `<slice>_maturation` and `<slice>_projected` with their comments. */

import type { Target } from '../warehouse/tables/target.ts';
import { commentOn, declare, type Declaration } from '../warehouse/declarations.ts';
import { namesCollide } from '../warehouse/relations.ts';
import { identifier, literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** Drops the views of slices without a date dimension. Runs inside the caller's transaction. */
export async function declareViews(warehouse: Warehouse, live: readonly Target[]): Promise<void> {
  const declarations = live.map((target): Declaration => {
    const { name, grain, dimensions } = target.slice;
    const maturation = `main.${identifier(`${name}_maturation`)}`;
    const projected = `main.${identifier(`${name}_projected`)}`;
    const statements = [maturation, projected].map((view) => `drop view if exists ${view}`);
    if (grain !== null) {
      const text = `How much of the final totals of ${name} was known at each age, in quartiles over final periods; no rows with too little history, or without control totals.`;
      const query = `create or replace view ${maturation} as
select metric, age_days, periods, share_q25, share_median, share_q75
from ripen_internal.maturation
where slice = ${literal(name)}`;
      statements.push(query, ...commentOn('view', maturation, text, maturationComments));
    }
    if (grain !== null && !namesCollide(dimensions, projectedComments)) {
      const text = `Projections, not measurements: the final value to expect of each maturing cell of ${name}, with an 80 % interval, or why there is none; ripen.projection_errors says how well that did.`;
      const query = `create or replace view ${projected} as\n${projectedSql(target, grain)}`;
      const words = dimensions.map((id) => [id, `${id} (dimension), as in ${name}`] as const);
      const comments = new Map([...words, ...projectedComments]);
      statements.push(query, ...commentOn('view', projected, text, comments));
    }
    return {
      name: `insight ${name}`,
      slice: name,
      relations: [`main.${name}_maturation`, `main.${name}_projected`],
      inputs: statements,
      statements: () => Promise.resolve(statements),
    };
  });
  await declare(warehouse, declarations);
}

/**
 * Queries the maturing cells, each with the factor of its period's total, made for the same load. They add up to the period's
 * projection, and those above zero also to both ends of its interval.
 */
function projectedSql({ slice, table, columns }: Target, grain: string) {
  const dimensions = slice.dimensions.map((name) => `s.${identifier(name)}`).join(', ');
  const values = columns.metrics.map(
    ({ id }) => `when ${literal(id)} then s.${identifier(id)}::double`,
  );
  const isCube = slice.cube !== undefined;
  const value = isCube ? 's."value"::double' : `case p.metric ${values.join(' ')} end`;
  const period = `cast(s.${identifier(grain)} as date)`;
  return `with maturing as (
    select m.period, m.metric, f.age_days, f.factor, f.factor_low, f.factor_high, f.periods,
        coalesce(m.basis, f.basis, 'no control totals') as basis
    from ripen_internal.maturing as m
    left join ripen_internal.projections as f
        on f.slice = m.slice and f.period = m.period and f.metric = m.metric and f.load_id = m.load_id
    where m.slice = ${literal(slice.name)}
),

cells as (
    select ${dimensions}, p.metric, p.age_days, ${value} as value,
        p.factor as "factor,", p.factor_low as "low,", p.factor_high as "high,", p.periods as "periods,", p.basis as "basis,"
    from ${table} as s
    join maturing as p on p.period = ${period}${isCube ? ' and p.metric = s.metric' : ''}
)

select ${[...slice.dimensions.map(identifier), 'metric', 'age_days'].join(', ')}, value, value * "factor," as projected,
    value * if(value < 0, "high,", "low,") as low, value * if(value < 0, "low,", "high,") as high,
    "basis," as basis, "periods," as periods
from cells
where value is not null or "basis," = 'total of 0'`;
}

const maturationComments: readonly (readonly [string, string])[] = [
  ['metric', 'Name of the metric'],
  ['age_days', 'Days from the last day of a period to a night on which control totals were read'],
  ['periods', 'Final periods it rests on; unfinal ones are never counted'],
  ['share_q25', 'Total at that age over the final total: a quarter of the periods had less'],
  ['share_median', 'Total at that age over the final total: half of the periods had less'],
  ['share_q75', 'Total at that age over the final total: three quarters of the periods had less'],
];

const ofTotals =
  '; without negative rows they add up to that of the total of the period, which coverage is measured on';

const projectedComments: readonly (readonly [string, string])[] = [
  ['metric', 'Name of the metric; a projection, not a measurement'],
  ['age_days', 'Days from the last day of the period to the control total that is projected'],
  ['value', 'The value as it was loaded, still maturing'],
  [
    'projected',
    'Projection, not a measurement: the final value to expect; null if history says too little',
  ],
  ['low', `Projection: lower end of the 80 % interval${ofTotals}`],
  ['high', `Projection: upper end of the 80 % interval${ofTotals}`],
  [
    'basis',
    'ladder: chain ladder from the history of the slice; as is: the total of tonight, as totals of that age hardly moved; stated: its final total, not loaded yet; else why there is no projection: too little history, too uncertain (past projections were poor), total of 0, does not add up, never final, not over, cut (by the date period), no control totals, incomplete (rows do not add up to their total), lost app (the total lacks an app that rows have)',
  ],
  ['periods', 'Projection: the fewest periods behind it'],
];
