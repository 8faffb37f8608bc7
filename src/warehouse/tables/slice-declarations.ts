/** The views `_final` and `_cohorts`, and the comments on tables and columns. */

import { MS_PER_DAY } from '../../model/calendar.ts';
import { formatColumnType, haveCommonType } from '../../model/column-type.ts';
import { isDateDimension } from '../../model/dimension.ts';
import { type Metric, metricItems } from '../../model/metric.ts';
import { isMoney, ratioOf } from '../../model/metric-forms.ts';
import { commentOn, declare, type Declaration } from '../declarations.ts';
import { identifier, literal } from '../sql.ts';
import { namesCollide } from '../relations.ts';
import type { Warehouse } from '../warehouse.ts';
import { cohortCells, recordMetrics } from './slice-metrics.ts';
import { castExactly, tableColumns, type Target } from './target.ts';

/** Runs inside the caller's transaction. */
export async function describeTables(
  warehouse: Warehouse,
  targets: readonly Target[],
): Promise<void> {
  // A table that is being built is not served yet: the recorded metrics are those of the live one.
  const live = targets.filter(({ state }) => state === 'live');
  await recordMetrics(warehouse, live);
  await declare(warehouse, targets.map(declarationOf));
}

function declarationOf(target: Target): Declaration {
  const { slice, state, table, columns } = target;
  const isLive = state === 'live';
  const isCube = columns.value !== undefined;
  const comments = columnComments(target);
  const filters = Object.entries(slice.parameters).map(([name, value]) => `${name}=${value}`);
  const key = slice.dimensions.join(', ');
  const text = `Report slice ${slice.name}: one row per ${key}${isCube ? ', metric' : ''}; ${filters.join('; ')}.`;
  const statements = commentOn('table', table, text, comments);
  if (isLive) {
    const [final, cohorts] = [viewName(target, 'final'), viewName(target, 'cohorts')];
    const shown = isCube ? 'Final rows only.' : 'Cells that are not final are NULL.';
    statements.push(finalView(target), ...commentOn('view', final, `${text} ${shown}`, comments));
    // A cube already has the form of the view `_cohorts` itself.
    const view = isCube ? null : cohortsView(target);
    const about = `Cohort metrics of the slice ${slice.name} in long form: one row per ${key}, metric and age that has a value.`;
    const words = slice.dimensions.map((name) => [name, comments.get(name) ?? name] as const);
    if (view === null) statements.push(`drop view if exists ${cohorts}`);
    else statements.push(view, ...commentOn('view', cohorts, about, [...words, ...cohortComments]));
  }
  const views = isLive ? [`main.${slice.name}_final`, `main.${slice.name}_cohorts`] : [];
  return {
    name: isLive ? `slice ${slice.name}` : `building ${slice.name}`,
    slice: slice.name,
    // DuckDB keeps a view with the types that its columns had when it was made.
    inputs: [...statements, ...tableColumns(columns).map(({ name, type }) => `${name} ${type}`)],
    relations: [table.replaceAll('"', ''), ...views],
    statements: () => Promise.resolve(statements),
  };
}

const viewName = ({ slice }: Target, ending: 'final' | 'cohorts') =>
  `main.${identifier(`${slice.name}_${ending}`)}`;

/** The condition under which a cell of the period `p` is final, as in `ripen.finality`. */
const isFinal = (seconds: string, metric: string) =>
  `p.trusted_at >= p.ends_at + to_seconds(${seconds}) and not coalesce(list_contains(p.immature, ${metric}), false)`;

const finalSeconds = ({ slice }: Target, horizonMs: number | null) =>
  horizonMs === null ? null : String((horizonMs + slice.settleMs) / 1000);

function columnComments(target: Target) {
  const { slice, catalog, columns } = target;
  const comments = new Map<string, string>();
  for (const name of slice.dimensions) {
    const item = catalog.find(({ filter, id }) => filter === 'dimensions' && id === name);
    const isLong = isDateDimension(name) && name !== 'hour' && name !== 'day';
    const first = isLong ? `; the first day of the ${name}` : '';
    const zone = isDateDimension(name) ? `; in UTC${slice.utcOffset}` : '';
    comments.set(name, `${item?.name || name} (dimension)${first}${zone}.`);
  }
  const isCube = columns.value !== undefined;
  const items = metricItems(catalog);
  for (const metric of isCube ? [] : columns.metrics) {
    const { id, horizonMs } = metric;
    const { name = '', description = '', formatting = '' } = items.get(id) ?? {};
    const words = `${name || id}${description && `: ${description}`}`;
    const days = horizonMs === null ? null : horizonMs / MS_PER_DAY;
    const horizon = days === null ? 'never final' : `final ${days} days after the period`;
    let unit = formatting === '' ? 'unit not in the catalog' : formatting;
    if (isMoney(formatting))
      unit = `money in ${slice.parameters['currency'] ?? "the account's currency"}`;
    else if (formatting === 'percent') unit = 'a fraction: 0.25 is 25 %';
    comments.set(id, `${words} (${unit}; ${summingText(metric)}; ${horizon}).`);
  }
  for (const [name, text] of isCube ? cubeComments : []) comments.set(name, text);
  comments.set('attr_dependency', 'Ids the service attached to the row; part of its key.');
  if (!isCube) comments.set('_extra', 'Keys the service sent without being requested; else NULL.');
  return comments.set('_load_id', 'The load that stored the row: ripen.loads.load_id.');
}

const ageDays = ['age_days', 'Age of the cohort in days: 7 for d7 and w1, 30 for m1'] as const;

const cubeComments: readonly (readonly [string, string])[] = [
  ['cohort', 'The metric without its age, as configured; do not sum rows of several'],
  [
    'metric',
    'The metric as the service names it; ripen.slice_metrics says whether its values add up',
  ],
  [
    'age',
    'Age of the cohort as the service writes it, such as d7; do not sum rows of several ages',
  ],
  ageDays,
  ['value', 'The value. NULL values have no row; zeros have one'],
];

function summingText({ id, additive }: Metric): string {
  if (additive) return 'adds up over rows';
  const ratio = ratioOf(id);
  if (ratio === null) return 'must not be summed';
  const factor = ratio.factor === 1 ? '' : `${ratio.factor} * `;
  return `must not be summed: over rows it is ${factor}ratio(${identifier(ratio.numerator)}, ${identifier(ratio.denominator)})`;
}

/** Of a cube only the final rows, of any other slice all rows, with NULL in cells that are not final. */
function finalView(target: Target) {
  const { table, columns } = target;
  const isCube = columns.value !== undefined;
  const horizons = new Map(
    columns.metrics.map(({ id, horizonMs }) => [id, finalSeconds(target, horizonMs)] as const),
  );
  const cells = tableColumns(columns).map(({ name }) => {
    const column = `s.${identifier(name)}`;
    const seconds = isCube ? undefined : horizons.get(name);
    if (seconds === undefined) return column;
    const condition = seconds === null ? 'false' : isFinal(seconds, literal(name));
    return `case when ${condition} then ${column} end as ${identifier(name)}`;
  });
  const view = `create or replace view ${viewName(target, 'final')} as
select
    ${cells.join(',\n    ')}
from ${table} as s`;
  if (!isCube) return `${view}\nleft join ripen.periods as p\n    on ${periodJoin(target)}`;
  const ripe = [...horizons].flatMap(([id, seconds]) =>
    seconds === null ? [] : [`(${literal(id)}, ${seconds})`],
  );
  if (ripe.length === 0) return `${view}\nwhere false`;
  return `${view}
join (values ${ripe.join(', ')}) as h(metric, seconds) on h.metric = s.metric
join ripen.periods as p
    on ${periodJoin(target)} and p.age = s.age
where ${isFinal('h.seconds', 's.metric')}`;
}

function periodJoin({ slice: { name, grain }, fingerprint }: Target): string {
  const ofTable = `p.slice = ${literal(name)} and p.fingerprint = ${literal(fingerprint)}`;
  if (grain === null) return ofTable;
  const start = grain === 'hour' ? `date_trunc('day', s."hour")` : `s.${identifier(grain)}`;
  return `${ofTable} and p.start_day = ${start}`;
}

const cohortComments: readonly (readonly [string, string])[] = [
  ['metric', 'Name of the metric without its age; do not sum rows of several metrics or ages'],
  ageDays,
  [
    'value',
    'The value of the metric; a ratio, where metric names one, must not be summed. Where no decimal holds the values of every metric here, as beside a ratio, the nearest double',
  ],
  ['is_final', 'Whether the value can no longer change'],
];

/** Null without cohort metrics, or if a dimension has the name of one of the view's columns. */
function cohortsView(target: Target) {
  const { slice, table, columns } = target;
  const cells = cohortCells(columns.metrics);
  if (cells.length === 0 || namesCollide(slice.dimensions, cohortComments)) return null;
  const dimensions = slice.dimensions.map((name) => `s.${identifier(name)}`).join(', ');
  // DuckDB's own union would lose digits after the point and miss the nearest double.
  const isExact = haveCommonType(cells.map(({ type }) => type));
  // A query for one metric reads no extra rows, and one for all needs a single scan.
  const list = cells.map(({ id, name, ageDays, horizonMs }, at) => {
    return `(${at}, ${literal(id)}, ${literal(name)}, ${ageDays}, ${finalSeconds(target, horizonMs)})`;
  });
  const values = cells.map(({ id, type }, at) => {
    const column = `s.${identifier(id)}`;
    const value = isExact ? column : castExactly(column, formatColumnType(type), 'DOUBLE');
    return `when ${at} then ${value}`;
  });
  return `create or replace view ${viewName(target, 'cohorts')} as
select * from (
    select
        ${dimensions},
        c.metric,
        c.age_days::integer as age_days,
        case c.place ${values.join(' ')} end as "value",
        coalesce(${isFinal('c.seconds', 'c.id')}, false) as is_final
    from ${table} as s
    left join ripen.periods as p
        on ${periodJoin(target)}
    cross join (values ${list.join(', ')}) as c(place, id, metric, age_days, seconds)
)
where "value" is not null`;
}
