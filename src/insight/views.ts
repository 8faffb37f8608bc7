/** Declares the views `<slice>_maturation` and `<slice>_projected` with their comments. */

import type { Metric } from '../model/metric.ts';
import type { Slice } from '../model/slice.ts';
import { additiveOf, type Target } from '../tables/target.ts';
import { commentOn, declare } from '../warehouse/declaring.ts';
import { namesCollide } from '../warehouse/relations.ts';
import { identifier, literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** The metrics whose totals become final. */
const ripening = ({ columns }: Target): Metric[] =>
  additiveOf(columns).filter(({ horizonMs }) => horizonMs !== null);

/** Returns the SQL of the first day of a row's period. The slice must have a date dimension. */
export function periodOf({ grain }: Slice): string {
  return grain === 'hour' ? `cast(s."hour" as date)` : `s.${identifier(grain ?? 'day')}`;
}

/** Replaces the views of a live table, or drops them if no total becomes final. Runs inside the caller's transaction. */
export async function declareViews(warehouse: Warehouse, live: Target): Promise<void> {
  const { name, grain, dimensions } = live.slice;
  const isRipening = grain !== null && ripening(live).length > 0;
  const projected = isRipening ? projectedView(live) : null;
  const maturation = `main.${identifier(`${name}_maturation`)}`;
  const statements = [maturation, projectedName(name)].map((view) => `drop view if exists ${view}`);
  if (isRipening) {
    const text = `How much of the final totals of ${name} was known at each age, in quartiles over final periods; no rows with too little history.`;
    const view = `create or replace view ${maturation} as
select metric, age_days, periods, share_q25, share_median, share_q75
from ripen_internal.maturation
where slice = ${literal(name)}`;
    statements.push(view, ...commentOn('view', maturation, text, maturationComments));
  }
  if (projected !== null) {
    const text = `Projections, not measurements: the final value to expect of each maturing cell of ${name}, with an 80 % interval; ripen.projection_errors says how well that did, and why a metric is missing here.`;
    const comments = new Map(
      dimensions.map((dimension) => [dimension, `${dimension} (dimension), as in ${name}`]),
    );
    for (const [column, words] of projectedComments) comments.set(column, words);
    statements.push(projected, ...commentOn('view', projectedName(name), text, comments));
  }
  await declare(warehouse, {
    name: `insight ${name}`,
    slice: name,
    relations: [`main.${name}_maturation`, `main.${name}_projected`],
    from: statements,
    statements: () => Promise.resolve(statements),
  });
}

const projectedName = (slice: string): string => `main.${identifier(`${slice}_projected`)}`;

/**
 * The rows of maturing cells, once per projected metric, times the factor of their period's total: they add up to the period's
 * projection, and those above zero also to both ends of its interval. A projection applies only to the load it was made from.
 * Null if a dimension has the name of one of the view's own columns.
 */
function projectedView(live: Target): string | null {
  const { slice, fingerprint, table } = live;
  if (namesCollide(slice.dimensions, projectedComments)) return null;
  const dimensions = slice.dimensions.map((name) => `s.${identifier(name)}`).join(', ');
  const values = ripening(live).map(
    ({ id }) => `when ${literal(id)} then s.${identifier(id)}::double`,
  );
  const isCube = slice.cube !== undefined;
  const value = isCube ? 's."value"::double' : `case p.metric ${values.join(' ')} end`;
  return `create or replace view ${projectedName(slice.name)} as
with current_projections as (
    select p.*
    from ripen_internal.projections as p
    semi join ripen.periods as h
        on h.slice = p.slice and h.start_day = p.period and h.load_id = p.load_id and h.fingerprint = ${literal(fingerprint)}
    where p.slice = ${literal(slice.name)}
),

cells as (
    select ${dimensions}, p.metric, p.age_days, ${value} as value,
        p.factor as "factor,", p.factor_low as "low,", p.factor_high as "high,", p.periods as "periods,"
    from ${table} as s
    join current_projections as p on p.period = ${periodOf(slice)}${isCube ? ' and p.metric = s.metric' : ''}
)

select ${[...slice.dimensions.map(identifier), 'metric', 'age_days'].join(', ')}, value, value * "factor," as projected,
    value * if(value < 0, "high,", "low,") as low, value * if(value < 0, "low,", "high,") as high,
    "periods," as periods
from cells
where value is not null`;
}

const maturationComments: readonly (readonly [string, string])[] = [
  ['metric', 'Name of the metric'],
  ['age_days', 'Days from the last day of a period to the fetch'],
  ['periods', 'Final periods it rests on; unfinal ones are never counted'],
  ['share_q25', 'Share of the final total that was known: a quarter of the periods had less'],
  ['share_median', 'Share of the final total that was known: half of the periods had less'],
  ['share_q75', 'Share of the final total that was known: three quarters of the periods had less'],
];

const ofTotals =
  '; without negative rows they add up to that of the total of the period, which coverage is measured on';

const projectedComments: readonly (readonly [string, string])[] = [
  ['metric', 'Name of the metric; a projection, not a measurement'],
  ['age_days', 'Days from the last day of the period to the fetch the projection was made from'],
  ['value', 'The present value, still maturing'],
  [
    'projected',
    'Projection, not a measurement: the final value to expect, by chain ladder from the history of the slice',
  ],
  ['low', `Projection: lower end of the 80 % interval${ofTotals}`],
  ['high', `Projection: upper end of the 80 % interval${ofTotals}`],
  ['periods', 'Projection: the fewest periods behind any of its factors'],
];
