/**
 * How each engine writes the tables of a lake, one template each for plain files and for Delta tables, and the views over them.
 * Statements are parted by a line with `;`; `{…}` is a part of the table; what stands in `⟦ ⟧` is for tables that are divided by
 * date, and in `⟪ ⟫` for those of which one night is read.
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
  /** Types it calls otherwise, and DECIMAL, which keeps its digits where nothing is said of it. */
  readonly types: Readonly<Record<string, string>>;
  /** The type of what may be NULL, where that is another. */
  readonly nullable?: string;
  readonly mostCommentBytes?: number;
  /** What stands before a path of a disk, and in the place of `s3:`. */
  readonly localScheme?: string;
  readonly scheme?: string;
  /** None where it reads Delta tables alone. */
  readonly plain?: Templates;
  readonly delta: Templates;
  /** What stands behind the name of a table to read one night of it. */
  readonly version?: string;
  /** Whether views can show one night of Delta tables. */
  readonly hasNights: boolean;
  readonly view: string;
  /** Whether comments of views are statements of their own. */
  readonly commentsApart?: boolean;
  /** What says of a column of a view what it is. */
  readonly columnComment?: string;
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

/** What Spark and Databricks share. */
const inSpark = {
  name: inSchema(backticked),
  text: backslashed,
  // A plain timestamp would move the digits of the file to the zone of the session.
  types: { INTEGER: 'int', VARCHAR: 'string', TIMESTAMP: 'timestamp_ntz' },
  delta: {
    preamble: 'create database if not exists {schema}',
    table: 'create table if not exists {name} using delta location {location}',
  },
  version: ' version as of {night}',
  hasNights: true,
  view: 'create or replace view {name} (\n{namedColumns}\n)\ncomment {comment} as\n{rows}',
  columnComment: ' comment {comment}',
} as const;

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
    nullable: 'Nullable({type})',
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
      notes: [],
      local: ['A server reads folders below its user_files_path alone.'],
      preamble: 'create database if not exists {schema}',
      table: `create or replace view {name}
(
{viewColumns}
)
as select
{viewNames}
from {deltaReader}({address})
⟪settings delta_lake_snapshot_version = {night}
⟫comment {comment}`,
    },
    hasNights: true,
    view: 'create or replace view {name}\n(\n{viewColumns}\n)\nas {rows}\ncomment {comment}',
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
        'Put the name of your catalog of the Delta Lake connector in the place of hive; it needs register-table-procedure.enabled.',
      ],
      preamble: 'create schema if not exists hive.{schema}',
      table:
        'call hive.system.register_table(schema_name => {schemaText}, table_name => {table}, table_location => {location})',
    },
    version: ' for version as of {night}',
    hasNights: true,
    view: 'create or replace view {name} as\n{rows}',
    commentsApart: true,
  },
  spark: {
    ...inSpark,
    title: 'Spark SQL',
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
    delta: { ...inSpark.delta, proof: notRun('Delta Lake for Spark SQL'), notes: [] },
  },
  databricks: {
    ...inSpark,
    title: 'Databricks',
    delta: {
      ...inSpark.delta,
      proof: notRun('Databricks SQL with Unity Catalog'),
      notes: ['Needs an external location of Unity Catalog that covers the bucket.'],
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
      notes: ['Run each statement by itself, as Athena takes one at a time.'],
      preamble: 'create database if not exists {schema}',
      table: `create external table if not exists {name}
location {folder}
tblproperties ('table_type' = 'DELTA')`,
    },
    hasNights: false,
    view: 'create or replace view {name} as\n{rows}',
  },
  snowflake: {
    title: 'Snowflake',
    name: inSchema(identifier),
    text: backslashed,
    types: {},
    delta: {
      proof: notRun('Iceberg tables over Delta files'),
      notes: [
        'Needs an external volume whose location is the folder of the tables, here called ripen_volume.',
        'Names are written as the tables have them, in small letters.',
      ],
      preamble: `create catalog integration if not exists ripen_delta
    catalog_source = object_store
    table_format = delta
    enabled = true
;
create schema if not exists {schema}`,
      table: `create iceberg table if not exists {name}
    external_volume = 'ripen_volume'
    catalog = 'ripen_delta'
    base_location = {folderName}
    auto_refresh = true
    comment = {comment}`,
    },
    hasNights: false,
    view: 'create or replace view {name} (\n{namedColumns}\n)\ncomment = {comment} as\n{rows}',
    columnComment: ' comment {comment}',
  },
  bigquery: {
    title: 'BigQuery',
    name: inSchema(escaped),
    text: backslashed,
    types: { BOOLEAN: 'bool', BIGINT: 'int64', DOUBLE: 'float64', VARCHAR: 'string', DECIMAL: 'bignumeric' },
    delta: {
      proof: notRun('BigLake tables for Delta Lake'),
      notes: [
        'Needs a connection that may read the bucket, here called us.ripen; of Amazon S3 one of BigQuery Omni, in the region of the bucket.',
      ],
      preamble: 'create schema if not exists {schema}',
      table: `create external table if not exists {name}
with connection \`us.ripen\`
options (
    format = 'DELTA_LAKE',
    uris = [{location}],
    description = {comment}
)`,
    },
    hasNights: false,
    view: 'create or replace view {name} (\n{namedColumns}\n)\noptions (description = {comment}) as\n{rows}',
    columnComment: ' options (description = {comment})',
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
      proof:
        'The views are run by the tests (npm test) over a reader in the place of delta_scan; its extension is not in the registry.',
      notes: ['An older night takes an extension whose delta_scan knows the parameter version.'],
      local: ['catalog.duckdb beside the tables needs no extension, and shows the newest night.'],
      preamble: 'install delta\n;\nload delta\n;\ncreate schema if not exists {schema}',
      table:
        'create or replace view {name} as\nselect\n{tableNames}\nfrom delta_scan({location}⟪, version => {night}⟫)',
    },
    hasNights: true,
    view: 'create or replace view {name} as\n{rows}',
    commentsApart: true,
  },
};
