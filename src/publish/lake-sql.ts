/** Statements of the lake: what a period holds, and its file. Pure: tables and days in, SQL out. */

import { addDays, type Day } from '../model/calendar.ts';
import { identifier, literal } from '../warehouse/quoting.ts';
import { fileColumns, selectList, type LakeTable } from './lake-table.ts';

/** DuckDB reads these as wildcards, with no escape but brackets. */
const globText = (path: string): string => path.replaceAll(/[*?[]/g, '[$&]');

const tableName = (table: LakeTable): string => `main.${identifier(table.name)}`;

/**
 * Per period, in order: first day (null: not divided), rows, content, and the sums in the order of `summed`.
 *
 * The content is the same exactly when the rows are, in any order, copies counted: a sum over rows. Each row is hashed
 * twice because DuckDB joins the hashes of columns by exclusive or, under which values that change places between two
 * rows could cancel out.
 */
export function summarizePeriods(table: LakeTable): string {
  const names = table.columns.map(({ name }) => identifier(name)).join(', ');
  const sums = table.summed.map((name) => `sum(${identifier(name)})::varchar`).join(', ');
  const measures = `count(*)::varchar as rows,
    coalesce(sum(hash(hash(${names}))), 0)::varchar as content,
    [${sums}]::varchar[] as sums
from ${tableName(table)}`;
  if (table.grain === null) return `select\n    null::varchar as period,\n    ${measures}`;
  const period = `cast(${identifier(table.grain)} as DATE)`;
  return `select\n    ${period}::varchar as period,\n    ${measures}\ngroup by ${period}\norder by ${period}`;
}

/** Writes a period's rows, or all of an undivided table, as one Parquet file, in the order loads laid them out. */
export function copyPeriod(table: LakeTable, period: Day | null, path: string): string {
  return `copy (
select
    ${selectList(fileColumns(table))}
from ${tableName(table)}
where ${insidePeriod(table, period)}
) to ${literal(path)} (format parquet, compression zstd)`;
}

/** The bare column is compared, so that only the blocks of the period are read. */
function insidePeriod({ grain }: LakeTable, period: Day | null): string {
  if (grain === null || period === null) return 'true';
  const column = identifier(grain);
  if (grain !== 'hour') return `${column} = DATE ${literal(period)}`;
  return `${column} >= TIMESTAMP ${literal(period)} and ${column} < TIMESTAMP ${literal(addDays(period, 1))}`;
}

/** The views of the catalog and their comments, one statement each; `root` is the lake's absolute path, `filled` the tables with files. */
export function catalogStatements(
  root: string,
  tables: readonly LakeTable[],
  filled: ReadonlySet<LakeTable>,
): string[] {
  return tables.flatMap((table) => {
    const view = tableName(table);
    return [
      `create view ${view} as\nselect\n    ${selectList(table.columns)}\nfrom ${filled.has(table) ? filesOf(root, table) : noRows(table)}`,
      ...(table.comment === null ? [] : [`comment on view ${view} is ${literal(table.comment)}`]),
      ...table.columns.flatMap(({ name, comment }) =>
        comment === null ? [] : [`comment on column ${view}.${identifier(name)} is ${literal(comment)}`],
      ),
    ];
  });
}

/** DuckDB resolves a relative path against the reader's directory, not the catalog's: paths are absolute. */
function filesOf(root: string, { name, key }: LakeTable): string {
  const folder = globText(`${root}/${name}`);
  if (key === null) return `read_parquet(${literal(`${folder}/data.parquet`)}, hive_partitioning = false)`;
  const files = literal(`${folder}/${key}=*/data.parquet`);
  return `read_parquet(${files}, hive_partitioning = true, hive_types = {${identifier(key)}: DATE})`;
}

/** A glob without files is an error to DuckDB. */
function noRows({ columns }: LakeTable): string {
  const nulls = columns.map(({ name, type }) => `cast(null as ${type}) as ${identifier(name)}`);
  return `(select ${nulls.join(', ')} where false)`;
}
