/** Statements of the lake: what a period holds, and its file. Pure: tables and days in, SQL out. */

import { addDays, type Day } from '../model/calendar.ts';
import { BIGINT, parseColumnType } from '../model/column-type.ts';
import { identifier, literal } from '../warehouse/sql.ts';
import { exactSum, sumText } from '../warehouse/sums.ts';
import { finalRows } from './final-rows.ts';
import { fileColumns, selectList, type LakeColumn, type LakeTable } from './lake-table.ts';

/** DuckDB reads these as wildcards, with no escape but brackets. */
const globText = (path: string): string => path.replaceAll(/[*?[]/g, '[$&]');

/**
 * Per period, of some or of all, in order: first day (null: not divided), rows, content, and the sums in the order of `summed`.
 *
 * The content is the same exactly when the rows are, in any order, copies counted: a sum over rows. Each row is hashed
 * twice because DuckDB joins the hashes of columns by exclusive or, under which values that change places between two
 * rows could cancel out.
 */
export function summarizePeriods(table: LakeTable, periods: readonly (Day | null)[]): string {
  const names = table.columns.map(({ name }) => identifier(name)).join(', ');
  const sums = sumsOf(table).join(', ');
  const measures = `count(*)::varchar as rows,
    coalesce(sum(hash(hash(${names}))), 0)::varchar as content,
    [${sums}]::varchar[] as sums
from ${table.source}`;
  return table.grain === null
    ? `select\n    null::varchar as period,\n    ${measures}`
    : byPeriod(table, measures, periods);
}

/** The exact sums of a table, as texts, in the order of `summed`. */
export function sumsOf({ summed, columns }: LakeTable): string[] {
  const types = new Map(columns.map(({ name, type }) => [name, parseColumnType(type)]));
  return summed.map((name) => {
    const type = types.get(name) ?? BIGINT;
    return sumText(exactSum(identifier(name), type), type);
  });
}

/** Measures of each of some periods, of none of all, in order; they end with what they are taken from. */
export function byPeriod(table: LakeTable, measures: string, periods: readonly (Day | null)[]): string {
  const period = `cast(${identifier(table.grain ?? '')} as DATE)`;
  const chosen = periods.map((each) => `(${insidePeriod(table, each)})`).join(' or ');
  return `select\n    ${period}::varchar as period,\n    ${measures}
${chosen === '' ? '' : `where ${chosen}\n`}group by ${period}\norder by ${period}`;
}

/** Writes a period's rows, or all of an undivided table, as one Parquet file, in the order loads laid them out. */
export function copyPeriod(table: LakeTable, period: Day | null, path: string): string {
  return `copy (
select
    ${selectList(fileColumns(table))}
from ${table.source}
where ${insidePeriod(table, period)}
) to ${literal(path)} (format parquet, compression zstd)`;
}

/** The bare column is compared, so that only the blocks of the period are read. */
export function insidePeriod({ grain }: LakeTable, period: Day | null): string {
  if (grain === null || period === null) return 'true';
  const column = identifier(grain);
  if (grain !== 'hour') return `${column} = DATE ${literal(period)}`;
  return `${column} >= TIMESTAMP ${literal(period)} and ${column} < TIMESTAMP ${literal(addDays(period, 1))}`;
}

/** The view over one table of a lake, whatever files there are when it is asked, and its comments. */
export function lakeView(root: string, table: LakeTable, schema: string): string[] {
  const { name, key } = table;
  const folder = `${globText(`${root}/${name}`)}${key === null ? '' : `/${key}=*`}`;
  return catalogView(table, schema, rowsOf(literal(`${folder}/data.parquet`), table));
}

/** The view with every cell that is not final NULL, over the views of the table and of finality. */
export function finalView(table: LakeTable): string[] {
  const inMain = (name: string): string => `main.${identifier(name)}`;
  const view = inMain(`${table.name}_final`);
  const comment = `${table.comment ?? ''} Cells that are not final are NULL.`.trim();
  const rows = finalRows(table, { column: identifier, table: inMain, text: literal });
  return [`create or replace view ${view} as\n${rows}`, ...commentsOn(view, comment, table.columns)];
}

/** The view over a table's rows, as SQL; null for none, as a reading of no files is an error. */
export function catalogView(table: LakeTable, schema: string, rows: string | null): string[] {
  const view = `${identifier(schema)}.${identifier(table.name)}`;
  return [
    `create or replace view ${view} as\n${rows ?? noRows(table)}`,
    ...commentsOn(view, table.comment, table.columns),
  ];
}

/**
 * The rows of files, with the date that only their folders state. DuckDB takes `key=value` from every folder on the way,
 * those above the lake too, and puts it before the columns of the file (measured), so the last folder alone is read. A
 * query of one day opens one file, as with DuckDB's own partitions; in 400 files that takes 11 ms in place of 5.
 */
function rowsOf(files: string, table: LakeTable): string {
  const { columns, key } = table;
  const inFile = (column: LakeColumn): boolean => column.name !== key;
  if (columns.every(inFile)) {
    return `select\n    ${selectList(columns)}\nfrom read_parquet(${files}, hive_partitioning = false)`;
  }
  const cells = columns.map((column) =>
    inFile(column)
      ? selectList([column])
      : `cast(${dateInPath(table)} as ${column.type}) as ${identifier(column.name)}`,
  );
  return `select
    ${cells.join(',\n    ')}
from read_parquet(${files}, hive_partitioning = false, filename = ${literal(pathColumn(table))})`;
}

/** The column a view takes a file's path from. A file is passed over by its path under the first name alone. */
export function pathColumn({ columns }: LakeTable): string {
  // No column has a comma in its name, as the service's lists have no escape for one.
  return columns.some(({ name }) => name.toLowerCase() === 'filename') ? 'file,path' : 'filename';
}

/** The date that the folder of a file states, as text. */
export function dateInPath(table: LakeTable): string {
  return `regexp_extract(${identifier(pathColumn(table))}, ${literal(`/${table.key ?? ''}=([^/]*)/[^/]*$`)}, 1)`;
}

function commentsOn(view: string, comment: string | null, columns: readonly LakeColumn[]): string[] {
  return [
    ...(comment === null ? [] : [`comment on view ${view} is ${literal(comment)}`]),
    ...columns.flatMap(({ name, comment: words }) =>
      words === null ? [] : [`comment on column ${view}.${identifier(name)} is ${literal(words)}`],
    ),
  ];
}

/** DuckDB resolves a relative path against the reader's directory, not the catalog's: paths are absolute. */
export const fileText = (path: string): string => literal(globText(path));

function noRows({ columns }: LakeTable): string {
  const nulls = columns.map(({ name, type }) => `cast(null as ${type}) as ${identifier(name)}`);
  return `select\n    ${nulls.join(',\n    ')}\nwhere false`;
}
