/** The words in which each engine takes a Delta table where it lies; columns and comments it finds in the table. */

import { identifier } from '../../warehouse/sql.ts';
import { address, quoted } from './clickhouse.ts';
import { backslashed, backticked, doubled, doubleQuoted, type DescribedLake, type Dialect } from './dialect.ts';

/** What an engine says of Delta tables otherwise than of plain files. */
type DeltaWords = Pick<Dialect, 'proof' | 'notes' | 'refusal' | 'preamble' | 'table'>;

const notRun = (documentation: string): string =>
  `Not run by the tests; written after the documentation of ${documentation}.`;

const ONE_NIGHT =
  'The newest version of ripen_finality is the newest whole night; every table has it under the same number.';

const location = ({ root }: DescribedLake, name: string): string => `${root}/${name}`;

/** The words for Delta tables, by engine. */
export const deltaWords = {
  clickhouse: {
    proof: 'Run by the tests (npm run test:lake): in chDB 3.4.0, which is ClickHouse 26.7, from disk and from S3.',
    notes: ({ store }) => [
      ONE_NIGHT,
      'Ask for it: set delta_lake_snapshot_version to its number in each select of one table.',
      ...(store === null ? ['A server reads folders below its user_files_path alone.'] : []),
    ],
    refusal: () => null,
    preamble: ({ schema }) => [`create database if not exists ${backticked(schema)}`],
    table({ name, comment, columns }, lake) {
      const place = backslashed(`${lake.store === null ? lake.root : address(lake)}/${name}/`);
      const source = lake.store === null ? 'deltaLakeLocal' : 'deltaLake';
      const listed = columns.map((column) => `    ${quoted(column.name)}`).join(',\n');
      return [
        `create or replace view ${backticked(lake.schema)}.${quoted(name)} as
select
${listed}
from ${source}(${place})
comment ${backslashed(comment ?? '')}`,
      ];
    },
  },
  duckdb: {
    proof: notRun("DuckDB's extension delta; its catalog.duckdb beside local tables is (npm test)"),
    notes: ({ store }) => [
      ONE_NIGHT,
      ...(store === null ? ['catalog.duckdb beside the tables needs no extension, and shows one night.'] : []),
    ],
    refusal: () => null,
    preamble: ({ schema }) => ['install delta', 'load delta', `create schema if not exists ${identifier(schema)}`],
    table: ({ name }, lake) => [
      `create or replace view ${identifier(lake.schema)}.${identifier(name)} as\nfrom delta_scan(${doubled(location(lake, name))})`,
    ],
  },
  trino: {
    proof: notRun('the Delta Lake connector'),
    notes: () => [
      ONE_NIGHT,
      'Put the name of your catalog of the Delta Lake connector in the place of hive; it needs register-table-procedure.enabled.',
    ],
    refusal: () => null,
    preamble: ({ schema }) => [`create schema if not exists hive.${doubleQuoted(schema)}`],
    table: ({ name }, lake) => [
      `call hive.system.register_table(schema_name => ${doubled(lake.schema)}, table_name => ${doubled(name)}, table_location => ${doubled(
        lake.store === null ? `local://${location(lake, name)}` : location(lake, name),
      )})`,
    ],
  },
  spark: {
    proof: notRun('Delta Lake for Spark SQL'),
    notes: () => [ONE_NIGHT, 'Ask for it: select … from t version as of <number>.'],
    refusal: () => null,
    preamble: ({ schema }) => [`create database if not exists ${backticked(schema)}`],
    table: ({ name }, lake) => [
      `create table if not exists ${backticked(lake.schema)}.${backticked(name)} using delta location ${backslashed(
        location(lake, name).replace(/^s3:/, 's3a:'),
      )}`,
    ],
  },
  athena: {
    proof: notRun('Athena engine version 3'),
    notes: () => ['Run each statement by itself, as Athena takes one at a time. It reads the newest version alone.'],
    refusal: ({ root, store }) => (store === null ? `Athena reads s3:// alone, not ${root}` : null),
    preamble: ({ schema }) => [`create database if not exists ${backticked(schema)}`],
    table: ({ name }, lake) => [
      `create external table if not exists ${backticked(lake.schema)}.${backticked(name)}
location ${backslashed(`${location(lake, name)}/`)}
tblproperties ('table_type' = 'DELTA')`,
    ],
  },
} as const satisfies Readonly<Record<string, DeltaWords>>;
