/** Statements about the tables of a lake: what their periods hold, their files, the views over them. Pure: tables and days in, SQL out. */

import { addDays, type Day } from '../model/calendar.ts';
import { BIGINT, parseColumnType } from '../model/column-type.ts';
import { identifier, literal, exactSum, sumText } from '../warehouse/sql.ts';
import { FINALITY, type CohortsView, type LakeColumn, type LakeTable } from './lake-table.ts';

/** DuckDB reads these as wildcards, with no escape but brackets. */
export const fileText = (path: string): string => literal(path.replaceAll(/[*?[]/g, '[$&]'));

const periodOf = ({ grain }: LakeTable): string =>
  grain === null ? 'null::date' : `cast(${identifier(grain)} as DATE)`;

/**
 * Which load brought the rows of each period, in order: period (null: not divided) and stamp, null where no single load did.
 *
 * Only a load writes rows and gives them its id, so rows of one stamp are equal, but for a column that was removed: if it returns
 * before a publish without it, it holds nothing of those loads any more. So removals count too.
 */
export function stampPeriods(table: LakeTable): string {
  return `with held as (
    select
        ${periodOf(table)} as period,
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

/**
 * Per period of those given, or of all where none is, in order: first day (null: not divided), rows, content, and the exact sums in
 * the order of `summed`; all in one scan.
 *
 * The content is the same exactly when the rows are, in any order, copies counted. A NULL adds nothing to it: a file without a
 * column is as good as one with NULLs alone. A cell is hashed with the name of its column, so that a value counts where it stands.
 */
export function summarizePeriods(table: LakeTable, periods: readonly (Day | null)[]): string {
  const cells = table.columns.map(({ name, type }) => {
    const cell = identifier(name);
    return `case when ${cell} is null then 0::hugeint else hash(${literal(name)}, cast(${cell} as ${type}))::hugeint end`;
  });
  const types = new Map(table.columns.map(({ name, type }) => [name, parseColumnType(type)]));
  const sums = table.summed.map((name) => {
    const type = types.get(name) ?? BIGINT;
    return sumText(exactSum(identifier(name), type), type);
  });
  const chosen = periods.map((each) => `(${insidePeriod(table, each)})`).join(' or ');
  return `select
    ${periodOf(table)}::varchar as period,
    count(*)::varchar as rows,
    concat_ws('-', count(*), coalesce(sum(hash(${cells.join('\n        + ')})), 0)) as content,
    [${sums.join(', ')}]::varchar[] as sums
from ${table.source}
${chosen === '' ? '' : `where ${chosen}\n`}${table.grain === null ? '' : `group by ${periodOf(table)}\norder by ${periodOf(table)}`}`;
}

/** Writes a period's rows, or all of an undivided table, as one Parquet file in the order loads laid them out; `cell` says how a column is written. */
export function copyPeriod(
  table: LakeTable,
  period: Day | null,
  path: string,
  { cell, options = '' }: { readonly cell: (column: LakeColumn) => string; readonly options?: string },
): string {
  const cells = fileColumns(table).map((column) => `${cell(column)} as ${identifier(column.name)}`);
  return `copy (
select
    ${cells.join(',\n    ')}
from ${table.source}
where ${insidePeriod(table, period)}
) to ${literal(path)} (format parquet, compression zstd, return_stats${options})`;
}

export const castCell = ({ name, type }: LakeColumn): string => `cast(${identifier(name)} as ${type})`;

/** The bare column is compared, so that only the blocks of the period are read. */
function insidePeriod({ grain }: LakeTable, period: Day | null): string {
  if (grain === null || period === null) return 'true';
  const column = identifier(grain);
  if (grain !== 'hour') return `${column} = DATE ${literal(period)}`;
  return `${column} >= TIMESTAMP ${literal(period)} and ${column} < TIMESTAMP ${literal(addDays(period, 1))}`;
}

/**
 * The columns a file holds. The one its directory is named after is left out: pyarrow, and with it pandas and Ray,
 * refuse a data set that has it in both places ("Unable to merge: Field day has incompatible types"); DuckDB, Polars,
 * Spark and Trino take it from the path.
 */
export function fileColumns(table: LakeTable): readonly LakeColumn[] {
  return table.columns.filter(({ name }) => name !== table.key);
}

/** The view over one table of plain files, whatever files there are when it is queried, and its comments. */
export function lakeView(root: string, table: LakeTable, schema: string): string[] {
  const { name, key, columns } = table;
  const files = fileText(`${root}/${name}`).slice(0, -1) + `${key === null ? '' : `/${key}=*`}/data.parquet'`;
  const divided = key === null ? 'false' : `true, hive_types = {${literal(key)}: DATE}`;
  const cells = columns.map((column) => `${castCell(column)} as ${identifier(column.name)}`).join(',\n    ');
  return view(table, schema, `select\n    ${cells}\nfrom read_parquet(${files}, hive_partitioning = ${divided})`);
}

/** A view with what is said of it: a query over tables of the lake. */
export interface LakeView extends Pick<LakeTable, 'name' | 'comment' | 'columns'> {
  readonly rows: string;
}

/** DuckDB's view over a query, and its comments. */
export function view({ name, comment, columns }: Omit<LakeView, 'rows'>, schema: string, rows: string): string[] {
  const viewName = `${identifier(schema)}.${identifier(name)}`;
  return [
    `create or replace view ${viewName} as\n${rows}`,
    ...(comment === null ? [] : [`comment on view ${viewName} is ${literal(comment)}`]),
    ...columns.flatMap(({ name: column, comment: words }) =>
      words === null ? [] : [`comment on column ${viewName}.${identifier(column)} is ${literal(words)}`],
    ),
  ];
}

/** How an engine writes names, tables at the night that is read, texts and types. */
export interface Dialect {
  readonly column: (name: string) => string;
  readonly from: (table: string) => string;
  readonly text: (value: string) => string;
  readonly type: (column: LakeColumn) => string;
}

/** DuckDB's, over tables of one schema. */
export const inDuckdb: Dialect = {
  column: identifier,
  from: (table) => `main.${identifier(table)}`,
  text: literal,
  type: ({ type }) => type,
};

/** What a lake shows of a slice beside its table, in the words every engine shares: its final cells, and its cohorts in long form. */
export function sliceViews(table: LakeTable, dialect: Dialect): LakeView[] {
  const { name, columns, metrics, cohorts } = table;
  if (metrics.length === 0) return [];
  const words = table.isCube ? 'Final rows alone.' : 'Cells that are not final are NULL.';
  const comment = `${table.comment ?? ''} ${words}`.trim();
  const rows = table.isCube ? finalCells(table, dialect) : finalRows(table, dialect);
  const final = { name: `${name}_final`, comment, columns, rows };
  if (cohorts === null) return [final];
  return [final, { ...cohorts, name: `${name}_cohorts`, rows: cohortRows(table, cohorts, dialect) }];
}

/** A slice joined once with what the lake says of its final cells. */
function finalRows({ name, columns, metrics, grain }: LakeTable, { column, from, text }: Dialect): string {
  const places = new Map(metrics.map((metric, place) => [metric, place]));
  const cells = columns.map((each) => {
    const cell = `s.${column(each.name)}`;
    const place = places.get(each.name);
    return `${place === undefined ? cell : `case when f.m${place} = 1 then ${cell} end`} as ${column(each.name)}`;
  });
  const isFinal = metrics.map(
    (metric, place) => `max(case when ${column('metric')} = ${text(metric)} then 1 end) as m${place}`,
  );
  const period = grain === null ? [] : [column('period')];
  const join = grain === null ? 'cross join' : 'left join';
  const on = grain === null ? '' : ` on f.${column('period')} = cast(s.${column(grain)} as date)`;
  return `select
    ${cells.join(',\n    ')}
from ${from(name)} as s
${join} (
    select
        ${[...period, ...isFinal].join(',\n        ')}
    from ${from(FINALITY)}
    where ${column('slice')} = ${text(name)} and ${column('is_final')}${grain === null ? '' : `\n    group by ${column('period')}`}
) as f${on}`;
}

/** The final rows of a cube. */
function finalCells({ name, columns, grain }: LakeTable, { column, from, text }: Dialect): string {
  const [metric, period] = [column('metric'), column('period')];
  return `select
    ${columns.map((each) => `s.${column(each.name)} as ${column(each.name)}`).join(',\n    ')}
from ${from(name)} as s
join (
    select ${period}, ${metric}
    from ${from(FINALITY)}
    where ${column('slice')} = ${text(name)} and ${column('is_final')}
) as f on f.${metric} = s.${metric} and f.${period} = cast(s.${column(grain ?? 'day')} as date)`;
}

/** One row for each row of a slice, metric and age that has a value. A list of plain selects is what every engine takes for one. */
function cohortRows({ name, grain }: LakeTable, { columns, cells }: CohortsView, dialect: Dialect): string {
  const { column, from, text, type } = dialect;
  const own = ['metric', 'age_days', 'value', 'is_final'];
  const dimensions = columns.filter((each) => !own.includes(each.name)).map((each) => column(each.name));
  const value = columns.find((each) => each.name === 'value');
  const listed = cells.map(({ column: id, metric, ageDays }, place) => {
    const cell = `${place} as place, ${text(id)} as id, ${text(metric)} as metric, ${ageDays} as age_days`;
    return `select ${cell}`;
  });
  const values = cells.map(({ column: id }, place) => {
    const cell = `s.${column(id)}`;
    return `when ${place} then ${value === undefined ? cell : `cast(${cell} as ${type(value)})`}`;
  });
  const period = column('period');
  const on = grain === null ? '' : ` and f.${period} = cast(s.${column(grain)} as date)`;
  return `select
    ${[...dimensions, ...own.map(column)].join(',\n    ')}
from (
    select
        ${[...dimensions.map((each) => `s.${each} as ${each}`), `c.metric as ${column('metric')}`, `c.age_days as ${column('age_days')}`].join(',\n        ')},
        case c.place ${values.join(' ')} end as ${column('value')},
        coalesce(f.${column('is_final')}, false) as ${column('is_final')}
    from ${from(name)} as s
    cross join (
        ${listed.join('\n        union all ')}
    ) as c
    left join (
        select ${period}, ${column('metric')}, ${column('is_final')} from ${from(FINALITY)} where ${column('slice')} = ${text(name)}
    ) as f on f.${column('metric')} = c.id${on}
) as cells
where ${column('value')} is not null`;
}
