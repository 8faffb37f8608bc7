/** ClickHouse: a view over the files of each table, whose columns and comments the view states. */

import type { LakeColumn, LakeTable } from '../lake-table.ts';
import { backslashed, dividedColumns, typeIn, type DescribedLake, type Dialect } from './dialect.ts';

const types: Readonly<Record<string, string>> = {
  BOOLEAN: 'Bool',
  TINYINT: 'Int8',
  SMALLINT: 'Int16',
  INTEGER: 'Int32',
  BIGINT: 'Int64',
  FLOAT: 'Float32',
  DOUBLE: 'Float64',
  // Date ends in 2149 and begins in 1970, which is enough for periods alone.
  DATE: 'Date32',
  // Without a zone the digits of the file would be shown in that of the server.
  TIMESTAMP: "DateTime64(6, 'UTC')",
  VARCHAR: 'String',
};

export const quoted = (name: string): string => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;

/** Every column of a table in order, with its type; the one of the path is never NULL. */
function declared(table: LakeTable): readonly { readonly column: LakeColumn; readonly type: string }[] {
  const { inPath } = dividedColumns(table);
  const isInTable = inPath === null || table.columns.includes(inPath);
  const columns = isInTable ? table.columns : [...table.columns, inPath];
  return columns.map((column) => {
    if (column.name === inPath?.name) return { column, type: 'Date' };
    const type = typeIn(types, column.type).replace(/^decimal/, 'Decimal');
    return { column, type: `Nullable(${type})` };
  });
}

/**
 * Whether ClickHouse is to read the dates from the folders itself. It takes `key=value` from those above the lake too,
 * and lets that go before the columns of the file (measured); so it does only where a column of the table hides the path.
 */
const isHive = ({ columns }: LakeTable): boolean => columns.some(({ name }) => name === '_path');

/** A column as the view selects it: the one of the path from the last folder alone. */
function selected(column: LakeColumn, table: LakeTable): string {
  const name = quoted(column.name);
  if (isHive(table) || column.name !== dividedColumns(table).inPath?.name) return name;
  return `toDate(extract(_path, ${backslashed(`/${column.name}=([^/]*)/[^/]*$`)})) as ${name}`;
}

/** The table function that reads a table's files. */
function source(table: LakeTable, lake: DescribedLake): string {
  const { inFiles } = dividedColumns(table);
  const structure = declared(table)
    .filter(({ column }) => isHive(table) || inFiles.includes(column))
    .map(({ column, type }) => `${quoted(column.name)} ${type}`);
  const files = `${table.name}/${table.key === null ? '' : `${table.key}=*/`}data.parquet`;
  const given = `${backslashed(`${address(lake)}/${files}`)}, 'Parquet', ${backslashed(structure.join(', '))}`;
  return `${lake.store === null ? 'file' : 's3'}(${given})`;
}

/** Amazon's own address unless an endpoint is stated. */
export function address({ root, store }: DescribedLake): string {
  if (store === null) return root;
  const { bucket, prefix, region, pathStyle } = store;
  const endpoint = new URL(store.endpoint ?? `https://s3.${region === null ? '' : `${region}.`}amazonaws.com`);
  if (!pathStyle) endpoint.hostname = `${bucket}.${endpoint.hostname}`;
  const base = endpoint.href.replace(/\/+$/, '');
  return [base, ...(pathStyle ? [bucket] : []), ...(prefix === '' ? [] : [prefix])].join('/');
}

export const clickhouse: Dialect = {
  title: 'ClickHouse',
  proof: 'Run by the tests (npm run test:lake): in chDB 3.4.0, which is ClickHouse 26.7, from disk and from S3.',
  notes: ({ store }) =>
    store === null
      ? ['A server reads files below its user_files_path alone; clickhouse local and chDB read any.']
      : [
          'Credentials are not written here: the server takes them from its environment (use_environment_credentials).',
          'A query with a condition on the days opens the files of those days alone.',
        ],
  refusal: ({ root }) => (/[*?{}]/.test(root) ? `ClickHouse takes the * ? { } in ${root} for wildcards` : null),
  preamble: ({ schema }) => [`create database if not exists ${quoted(schema)}`],
  table(table, lake) {
    const columns = declared(table).map(
      ({ column: { name, comment }, type }) =>
        `    ${quoted(name)} ${type}${comment === null ? '' : ` comment ${backslashed(comment)}`}`,
    );
    const names = declared(table).map(({ column }) => selected(column, table));
    return [
      `create or replace view ${this.name(table.name, lake.schema)}
(
${columns.join(',\n')}
)
as select
    ${names.join(',\n    ')}
from ${source(table, lake)}
settings use_hive_partitioning = ${isHive(table) ? 1 : 0}
comment ${backslashed(table.comment ?? '')}`,
    ];
  },
  name: (name, schema) => (schema === undefined ? quoted(name) : `${quoted(schema)}.${quoted(name)}`),
  text: backslashed,
};
