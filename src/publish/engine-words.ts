/**
 * How each engine writes the tables of a lake: one template each for plain files and for Delta tables. Statements are parted by a
 * line with `;`; `{…}` is a part of the table, and what stands in `⟦ ⟧` is for tables that are divided by date.
 */

import { identifier, literal } from '../warehouse/sql.ts';
import type { Engine } from './engines.ts';

/** How views quote a name, with its schema where the second is given, and a text. */
export interface TableWords {
  readonly name: (name: string, schema?: string) => string;
  readonly text: (value: string) => string;
}

interface Templates {
  /** Whether ripen's tests ran statements like these, and in what. */
  readonly proof: string;
  /** What whoever runs the statements has to know, a line each; of a lake on a disk the local ones too. */
  readonly notes: readonly string[];
  readonly local?: readonly string[];
  /** What comes before the tables. */
  readonly preamble: string;
  readonly table: string;
}

export interface EngineWords extends TableWords {
  readonly title: string;
  /** Where views are written otherwise than tables. */
  readonly views?: TableWords;
  /** Types it calls otherwise; DECIMAL keeps its digits. */
  readonly types: Readonly<Record<string, string>>;
  readonly mostCommentBytes?: number;
  /** What stands before a path of a disk, and in the place of `s3:`. */
  readonly localScheme?: string;
  readonly scheme?: string;
  readonly plain: Templates;
  readonly delta: Templates;
}

/** Text in single quotes for engines in which a backslash escapes. */
const backslashed = (value: string): string =>
  `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`;

const inSchema =
  (quote: (name: string) => string, before = ''): TableWords['name'] =>
  (name, schema) =>
    schema === undefined ? quote(name) : `${before}${quote(schema)}.${quote(name)}`;

const backticked = (name: string): string => `\`${name.replaceAll('`', '``')}\``;
const escaped = (name: string): string => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;

const ONE_NIGHT =
  'The newest version of ripen_finality is the newest whole night; every table has it under the same number.';
const notRun = (documentation: string): string =>
  `Not run by the tests; written after the documentation of ${documentation}.`;
const IN_CHDB = 'Run by the tests (npm run test:lake): in chDB 3.4.0, which is ClickHouse 26.7, from disk and from S3.';

export const engineWords: Readonly<Record<Engine, EngineWords>> = {
  clickhouse: {
    title: 'ClickHouse',
    name: inSchema(escaped),
    text: backslashed,
    types: {
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
    },
    plain: {
      proof: IN_CHDB,
      notes: [
        'Credentials are not written here: a server takes those of a bucket from its environment (use_environment_credentials).',
        'A query with a condition on the days opens the files of those days alone.',
      ],
      local: ['A server reads files below its user_files_path alone; clickhouse local and chDB read any.'],
      preamble: 'create database if not exists {schema}',
      table: `create or replace view {name}
(
{viewColumns}
)
as select
{viewNames}
from {reader}({files}, 'Parquet', {structure})
settings use_hive_partitioning = 1
comment {comment}`,
    },
    delta: {
      proof: IN_CHDB,
      notes: [ONE_NIGHT, 'Ask for it: set delta_lake_snapshot_version to its number in each select of one table.'],
      local: ['A server reads folders below its user_files_path alone.'],
      preamble: 'create database if not exists {schema}',
      table: `create or replace view {name} as
select
{tableNames}
from {deltaReader}({address})
comment {comment}`,
    },
  },
  trino: {
    title: 'Trino',
    name: inSchema(identifier, 'hive.'),
    text: literal,
    // The connector's precision is milliseconds unless it is configured otherwise, and a finer table is refused.
    types: { FLOAT: 'real', TIMESTAMP: 'timestamp(3)' },
    localScheme: 'local://',
    plain: {
      proof: notRun('the Hive connector'),
      notes: [
        'Put the name of your catalog of the Hive connector in the place of hive.',
        'Call sync_partition_metadata again after a publish that made or removed periods.',
      ],
      local: ['A local lake needs fs.native-local.enabled=true and local.location=/ in it.'],
      preamble: 'create schema if not exists hive.{schema}',
      // Of an external table dropping takes the description, never the files.
      table: `drop table if exists {name}
;
create table {name} (
{columns}
)
comment {comment}
with (
    external_location = {location},
    format = 'PARQUET'⟦,
    partitioned_by = array[{pathText}]⟧
)
;
⟦call hive.system.sync_partition_metadata({schemaText}, {table}, 'FULL')⟧`,
    },
    delta: {
      proof: notRun('the Delta Lake connector'),
      notes: [
        ONE_NIGHT,
        'Put the name of your catalog of the Delta Lake connector in the place of hive; it needs register-table-procedure.enabled.',
      ],
      preamble: 'create schema if not exists hive.{schema}',
      table:
        'call hive.system.register_table(schema_name => {schemaText}, table_name => {table}, table_location => {location})',
    },
  },
  spark: {
    title: 'Spark SQL',
    name: inSchema(backticked),
    text: backslashed,
    // A plain timestamp would move the digits of the file to the zone of the session.
    types: { INTEGER: 'int', VARCHAR: 'string', TIMESTAMP: 'timestamp_ntz' },
    localScheme: 'file://',
    scheme: 's3a:',
    plain: {
      proof: notRun('Spark 3.5'),
      notes: [
        'Needs Spark 3.4 or newer, for timestamp_ntz.',
        'Run repair table … sync partitions again after a publish that made or removed periods, refresh table after any.',
      ],
      preamble: 'create database if not exists {schema}',
      // Of a table with a location dropping takes the description, never the files.
      table: `drop table if exists {name}
;
create table {name} (
{columns}
)
using parquet
⟦partitioned by ({pathName})
⟧location {location}
comment {comment}
;
⟦repair table {name} sync partitions⟧`,
    },
    delta: {
      proof: notRun('Delta Lake for Spark SQL'),
      notes: [ONE_NIGHT, 'Ask for it: select … from t version as of <number>.'],
      preamble: 'create database if not exists {schema}',
      table: 'create table if not exists {name} using delta location {location}',
    },
  },
  athena: {
    title: 'Amazon Athena',
    name: inSchema(backticked),
    text: backslashed,
    views: { name: inSchema(identifier), text: literal },
    types: { INTEGER: 'int', VARCHAR: 'string' },
    // The Glue catalog takes no longer comment of a column.
    mostCommentBytes: 255,
    plain: {
      proof: notRun('Athena engine version 3'),
      notes: [
        'Run each statement by itself, as Athena takes one at a time.',
        'Comments of columns are cut at 255 bytes, the most the Glue catalog takes.',
        'Run msck repair table again after a publish that made periods.',
      ],
      preamble: 'create database if not exists {schema}',
      // Of an external table dropping takes the description, never the files.
      table: `drop table if exists {name}
;
create external table {name} (
{fileColumns}
)
comment {comment}
⟦partitioned by ({pathColumn})
⟧stored as parquet
location {folder}
;
⟦msck repair table {name}⟧`,
    },
    delta: {
      proof: notRun('Athena engine version 3'),
      notes: ['Run each statement by itself, as Athena takes one at a time. It reads the newest version alone.'],
      preamble: 'create database if not exists {schema}',
      table: `create external table if not exists {name}
location {folder}
tblproperties ('table_type' = 'DELTA')`,
    },
  },
  duckdb: {
    title: 'DuckDB',
    name: inSchema(identifier),
    text: literal,
    types: {},
    plain: {
      proof: 'Run by the tests from disk (npm test); not from S3, as its extension is not in the registry.',
      notes: ['A view is made where the files are; for a bucket the secret takes the credentials of the environment.'],
      preamble: 'create schema if not exists {schema}',
      // The views of lake-sql, which state every comment.
      table: '',
    },
    delta: {
      proof: notRun("DuckDB's extension delta; its catalog.duckdb beside local tables is (npm test)"),
      notes: [ONE_NIGHT],
      local: ['catalog.duckdb beside the tables needs no extension, and shows one night.'],
      preamble: 'install delta\n;\nload delta\n;\ncreate schema if not exists {schema}',
      table: 'create or replace view {name} as\nfrom delta_scan({location})',
    },
  },
};
