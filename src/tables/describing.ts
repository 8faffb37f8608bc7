/** What analysts read besides the numbers: the views `_final` and `_cohorts`, and the comments on tables and columns. */

import { MS_PER_DAY } from '../model/calendar.ts';
import { formatColumnType, haveCommonType } from '../model/column-type.ts';
import { isDateDimension } from '../model/dimension.ts';
import { type Metric, metricItems } from '../model/metric.ts';
import { ratioOf } from '../model/metric-forms.ts';
import { commentOn, declare } from '../warehouse/declaring.ts';
import { identifier, literal } from '../warehouse/sql.ts';
import { namesCollide } from '../warehouse/relations.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { cohortCells, recordMetrics } from './slice-metrics.ts';
import { castExactly, tableColumns, type Target } from './target.ts';

/** Updates a table's views, comments and `ripen.slice_metrics`, or restores lost ones. Inside the caller's transaction. */
export async function describeSlice(warehouse: Warehouse, target: Target): Promise<void> {
  const { slice, state, table, columns } = target;
  const isLive = state === 'live';
  // A table that is being built is not served yet: the recorded metrics are those of the live one.
  if (isLive) await recordMetrics(warehouse, target);
  const statements = [
    ...commentOn('table', table, tableComment(target), columnComments(target)),
    ...(isLive ? viewStatements(target) : []),
  ];
  const views = isLive ? [`main.${slice.name}_final`, `main.${slice.name}_cohorts`] : [];
  await declare(warehouse, {
    name: isLive ? `slice ${slice.name}` : `building ${slice.name}`,
    slice: slice.name,
    // DuckDB keeps a view with the types that its columns had when it was made.
    from: [...statements, ...tableColumns(columns).map(({ name, type }) => `${name} ${type}`)],
    relations: [table.replaceAll('"', ''), ...views],
    statements: () => Promise.resolve(statements),
  });
}

const viewName = ({ slice }: Target, ending: 'final' | 'cohorts'): string =>
  `main.${identifier(`${slice.name}_${ending}`)}`;

/** A cube has no view `_cohorts`, as it already has that form itself. */
function viewStatements(target: Target): string[] {
  const { slice, columns } = target;
  const isCube = columns.cube !== undefined;
  const [final, cohorts] = [viewName(target, 'final'), viewName(target, 'cohorts')];
  const comments = columnComments(target);
  const cohortsText = isCube ? null : cohortsView(target);
  const dimensions = slice.dimensions.map((name) => [name, comments.get(name) ?? name] as const);
  const about = `Cohort metrics of the slice ${slice.name} in long form: one row per ${slice.dimensions.join(', ')}, metric and age that has a value.`;
  const shown = isCube ? 'Final rows only.' : 'Cells that are not final are NULL.';
  return [
    isCube ? finalRows(target) : finalView(target),
    ...commentOn('view', final, `${tableComment(target)} ${shown}`, comments),
    ...(cohortsText === null
      ? [`drop view if exists ${cohorts}`]
      : [
          cohortsText,
          ...commentOn('view', cohorts, about, new Map([...dimensions, ...cohortComments])),
        ]),
  ];
}

function finalRows(target: Target): string {
  const { slice, table, columns } = target;
  const ripe = columns.metrics.flatMap(({ id, horizonMs }) =>
    horizonMs === null ? [] : [`(${literal(id)}, ${(horizonMs + slice.settleMs) / 1000})`],
  );
  const names = tableColumns(columns).map(({ name }) => `s.${identifier(name)}`);
  const from =
    ripe.length === 0
      ? `${table} as s\nwhere false`
      : `${table} as s
join (values ${ripe.join(', ')}) as h(metric, seconds) on h.metric = s.metric
join ripen.periods as p
    on ${periodOf(target)} and p.age = s.age
where p.sound_at >= p.ends_at + to_seconds(h.seconds) and not coalesce(list_contains(p.immature, s.metric), false)`;
  return `create or replace view ${viewName(target, 'final')} as\nselect\n    ${names.join(',\n    ')}\nfrom ${from}`;
}

function tableComment({ slice, columns }: Target): string {
  const filters = Object.entries(slice.parameters).map(([name, value]) => `${name}=${value}`);
  const key = [...slice.dimensions, ...(columns.cube === undefined ? [] : ['metric'])];
  return `Report slice ${slice.name}: one row per ${key.join(', ')}; ${filters.join('; ')}.`;
}

function columnComments(target: Target): Map<string, string> {
  const { slice, catalog } = target;
  const dimensions = slice.dimensions.map((name): [string, string] => {
    const item = catalog.find(({ filter, id }) => filter === 'dimensions' && id === name);
    const zone = isDateDimension(name) ? `; in UTC${slice.utcOffset}` : '';
    const first =
      isDateDimension(name) && name !== 'hour' && name !== 'day'
        ? `; the first day of the ${name}`
        : '';
    return [name, `${item?.name || name} (dimension)${first}${zone}.`];
  });
  const items = metricItems(catalog);
  const metrics = target.columns.metrics.map((metric): [string, string] => {
    const item = items.get(metric.id);
    const words = [item?.name || metric.id, item?.description ?? '']
      .filter((part) => part !== '')
      .join(': ');
    return [
      metric.id,
      `${words} (${unitOf(target, item?.formatting ?? '')}; ${summingText(metric)}; ${horizonText(metric)}).`,
    ];
  });
  const isCube = target.columns.cube !== undefined;
  return new Map([
    ...dimensions,
    ...(isCube ? cubeComments : metrics),
    ['attr_dependency', 'Ids the service attached to the row; part of its key.'],
    ...(isCube
      ? []
      : [['_extra', 'Keys the service sent without being requested; else NULL.'] as const]),
    ['_load_id', 'The load that stored the row: ripen.loads.load_id.'],
  ]);
}

function unitOf({ slice }: Target, formatting: string): string {
  const currency = slice.parameters['currency'] ?? "the account's currency";
  if (formatting.startsWith('money')) return `money in ${currency}`;
  if (formatting === 'percent') return 'a fraction: 0.25 is 25 %';
  return formatting === '' ? 'unit not in the catalog' : formatting;
}

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
  ['age_days', 'Age of the cohort in days: 7 for d7 and w1, 30 for m1'],
  ['value', 'The value. NULL values have no row; zeros have one'],
];

/** How a metric may be taken over several rows. */
function summingText({ id, additive }: Metric): string {
  if (additive) return 'adds up over rows';
  const ratio = ratioOf(id);
  if (ratio === null) return 'must not be summed';
  const factor = ratio.factor === 1 ? '' : `${ratio.factor} * `;
  return `must not be summed: over rows it is ${factor}ratio(${identifier(ratio.numerator)}, ${identifier(ratio.denominator)})`;
}

function horizonText(metric: Metric): string {
  return metric.horizonMs === null
    ? 'never final'
    : `final ${metric.horizonMs / MS_PER_DAY} days after the period`;
}

/** The view that shows a cell only once it is final, as in `ripen.finality`. */
export function finalView(target: Target): string {
  const { slice, table, columns } = target;
  const dimensions = slice.dimensions.map((name) => `s.${identifier(name)}`);
  const cells = columns.metrics.map(({ id, horizonMs }) => {
    const isFinal =
      horizonMs === null
        ? 'false'
        : `p.sound_at >= p.ends_at + to_seconds(${(horizonMs + slice.settleMs) / 1000}) and not coalesce(list_contains(p.immature, ${literal(id)}), false)`;
    return `case when ${isFinal} then s.${identifier(id)} end as ${identifier(id)}`;
  });
  return `create or replace view ${viewName(target, 'final')} as
select
    ${[...dimensions, ...cells, 's.attr_dependency', 's."_extra"', 's."_load_id"'].join(',\n    ')}
from ${table} as s
left join ripen.periods as p
    on ${periodOf(target)}`;
}

/** The join condition of a row `s` and its period `p`. */
function periodOf({ slice: { name, grain }, fingerprint }: Target): string {
  const ofTable = `p.slice = ${literal(name)} and p.fingerprint = ${literal(fingerprint)}`;
  if (grain === null) return ofTable;
  const start = grain === 'hour' ? `date_trunc('day', s."hour")` : `s.${identifier(grain)}`;
  return `${ofTable} and p.start_day = ${start}`;
}

const cohortComments: readonly (readonly [string, string])[] = [
  ['metric', 'Name of the metric without its age; do not sum rows of several metrics or ages'],
  ['age_days', 'Age of the cohort in days: 7 for d7 and w1, 30 for m1'],
  [
    'value',
    'The value of the metric; a ratio, where metric names one, must not be summed. Where no decimal holds the values of every metric here, as beside a ratio, the nearest double',
  ],
  ['is_final', 'Whether the value can no longer change'],
];

/** The view's text; null if the slice has no cohort metrics, or a dimension named like one of the view's own columns. */
function cohortsView(target: Target): string | null {
  const { slice, table, columns } = target;
  const cells = cohortCells(columns.metrics);
  if (cells.length === 0 || namesCollide(slice.dimensions, cohortComments)) return null;
  const dimensions = slice.dimensions.map((name) => `s.${identifier(name)}`).join(', ');
  // If no decimal holds all values, DuckDB's own union would lose digits after the point and miss the nearest double.
  const isExact = haveCommonType(cells.map(({ type }) => type));
  // Joins one scan with a list of metrics: a query for one metric reads no extra rows, and one for all needs a single scan.
  const list = cells.map(({ id, name, ageDays, horizonMs }, at) => {
    const seconds = horizonMs === null ? 'null' : (horizonMs + slice.settleMs) / 1000;
    return `(${at}, ${literal(id)}, ${literal(name)}, ${ageDays}, ${seconds})`;
  });
  const values = cells.map(({ id, type }, at) => {
    const column = `s.${identifier(id)}`;
    return `when ${at} then ${isExact ? column : castExactly(column, formatColumnType(type), 'DOUBLE')}`;
  });
  return `create or replace view ${viewName(target, 'cohorts')} as
select * from (
    select
        ${dimensions},
        c.metric,
        c.age_days::integer as age_days,
        case c.place ${values.join(' ')} end as "value",
        coalesce(p.sound_at >= p.ends_at + to_seconds(c.seconds), false)
            and not coalesce(list_contains(p.immature, c.id), false) as is_final
    from ${table} as s
    left join ripen.periods as p
        on ${periodOf(target)}
    cross join (values ${list.join(', ')}) as c(place, id, metric, age_days, seconds)
)
where "value" is not null`;
}
