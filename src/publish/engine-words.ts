/** The words of each engine: how it declares plain files, Delta tables and views. Pure. */

import { identifier, literal } from '../warehouse/sql.ts';
import {
  commentedView,
  httpAddress,
  madeAnew,
  type EngineRelation,
  type EngineReading,
  type EngineWords,
  backslashed,
  standard,
  ofHive,
  ofEscapes,
  renamed,
  listed,
  typed,
  commented,
  nameOf,
  inFiles,
  keyLast,
} from './engine-language.ts';
import type { Engine } from './engines.ts';
import { fileText } from './lake-table.ts';

const notRun = (documentation: string): string =>
  `Not run by the tests; written after the documentation of ${documentation}.`;
const IN_CHDB = 'Run by the tests (npm run test:lake): in chDB 3.4.0, which is ClickHouse 26.7, from disk and from S3.';
const ONE_AT_A_TIME = 'Run each statement by itself, as Athena takes one at a time.';

const clickhouseView: EngineWords['view'] = ({ name, columns, comment }, rows) => [
  `create or replace view ${name}\n(\n${listed(columns, typed)}\n)\nas ${rows}\ncomment ${comment}`,
];
/** What Spark and Databricks share. */
const inSpark = {
  ...ofHive,
  // A plain timestamp would move the digits of the file to the zone of the session.
  type: renamed({ INTEGER: 'int', VARCHAR: 'string', TIMESTAMP: 'timestamp_ntz' }),
  container: 'database',
  version: ' version as of ',
  view: ({ name, columns, comment }: EngineRelation, rows: string) => [
    `create or replace view ${name} (\n${listed(columns, commented)}\n)\ncomment ${comment} as\n${rows}`,
  ],
} as const;
const sparkTable: EngineReading['table'] = ({ name, folder }) => [
  `create table if not exists ${name} using delta location ${backslashed(folder)}`,
];

const inClickhouse = renamed({
  BOOLEAN: 'Bool',
  INTEGER: 'Int32',
  BIGINT: 'Int64',
  DOUBLE: 'Float64',
  // Date ends in 2149 and begins in 1970, which is enough for periods alone.
  DATE: 'Date32',
  // Without a zone the digits of the file would be shown in that of the server.
  TIMESTAMP: "DateTime64(6, 'UTC')",
  VARCHAR: 'String',
});

export const engineWords: Readonly<Record<Engine, EngineWords>> = {
  clickhouse: {
    title: 'ClickHouse',
    ...ofEscapes,
    type: (type) => `Nullable(${inClickhouse(type).replace(/^decimal/, 'Decimal')})`,
    readsDisks: true,
    place: (root, store) => (store === null ? root : httpAddress(store)),
    container: 'database',
    plain: {
      notes: [
        IN_CHDB,
        'Credentials are not written here: a server takes those of a bucket from its environment (use_environment_credentials).',
        'A query with a condition on the days opens the files of those days alone.',
      ],
      local: 'A server reads files below its user_files_path alone; clickhouse local and chDB read any.',
      table: ({ columns: shown, key, ...of }) => {
        // What only the names of folders state is never NULL.
        const columns = shown.map((column) => (column === key ? { ...column, type: 'Date' } : column));
        const files = backslashed(`${of.folder}/${key === null ? '' : `${key.plain}=*/`}data.parquet`);
        const structure = backslashed(columns.map(({ name, type }) => `${name} ${type}`).join(', '));
        const from = `${of.isOnDisk ? 'file' : 's3'}(${files}, 'Parquet', ${structure})`;
        const rows = `select\n${listed(columns, nameOf)}\nfrom ${from}\nsettings use_hive_partitioning = 1`;
        return clickhouseView({ ...of, columns }, rows);
      },
    },
    delta: {
      notes: [IN_CHDB],
      local: 'A server reads folders below its user_files_path alone.',
      table: (of) => {
        const from = `${of.isOnDisk ? 'deltaLakeLocal' : 'deltaLake'}(${backslashed(`${of.folder}/`)})`;
        const pinned = of.night === null ? '' : `\nsettings delta_lake_snapshot_version = ${of.night}`;
        return clickhouseView(of, `select\n${listed(of.columns, nameOf)}\nfrom ${from}${pinned}`);
      },
    },
    version: '',
    view: clickhouseView,
  },
  trino: {
    title: 'Trino',
    ...standard,
    catalog: 'hive.',
    // The connector's precision is milliseconds unless it is configured otherwise, and a finer table is refused.
    type: renamed({ TIMESTAMP: 'timestamp(3)' }),
    readsDisks: true,
    place: (root, store) => `${store === null ? 'local://' : ''}${root}`,
    container: 'schema',
    plain: {
      notes: [
        notRun('the Hive connector'),
        'Put the name of your catalog of the Hive connector in the place of hive.',
        'Call sync_partition_metadata again after a publish that made or removed periods.',
      ],
      local: 'A local lake needs fs.native-local.enabled=true and local.location=/ in it.',
      table: (of) => {
        const { name, comment, folder, key } = of;
        const divided = key === null ? '' : `,\n    partitioned_by = array[${literal(key.plain)}]`;
        const sync = `call hive.system.sync_partition_metadata(${literal(of.schema)}, ${literal(of.table)}, 'FULL')`;
        const create = `create table ${name} (\n${listed(keyLast(of), typed)}\n)\ncomment ${comment}\nwith (
    external_location = ${literal(folder)},
    format = 'PARQUET'${divided}\n)`;
        return [...madeAnew(name, create), ...(key === null ? [] : [sync])];
      },
    },
    delta: {
      notes: [
        notRun('the Delta Lake connector'),
        'Put the name of your catalog of the Delta Lake connector in the place of hive; it needs register-table-procedure.enabled.',
      ],
      table: ({ schema, table, folder }) => [
        `call hive.system.register_table(schema_name => ${literal(schema)}, table_name => ${literal(table)}, table_location => ${literal(folder)})`,
      ],
    },
    version: ' for version as of ',
    view: commentedView,
  },
  spark: {
    ...inSpark,
    title: 'Spark SQL',
    readsDisks: true,
    place: (root, store) => (store === null ? `file://${root}` : root.replace(/^s3:/, 's3a:')),
    plain: {
      notes: [
        notRun('Spark 3.5'),
        'Needs Spark 3.4 or newer, for timestamp_ntz.',
        'Run repair table … sync partitions again after a publish that made or removed periods, refresh table after any.',
      ],
      table: (of) => {
        const { name, comment, folder, key } = of;
        const divided = key === null ? '' : `partitioned by (${key.name})\n`;
        const create = `create table ${name} (\n${listed(keyLast(of), typed)}\n)\nusing parquet
${divided}location ${backslashed(folder)}\ncomment ${comment}`;
        return [...madeAnew(name, create), ...(key === null ? [] : [`repair table ${name} sync partitions`])];
      },
    },
    delta: { notes: [notRun('Delta Lake for Spark SQL')], table: sparkTable },
  },
  databricks: {
    ...inSpark,
    title: 'Databricks',
    readsDisks: false,
    delta: {
      notes: [
        notRun('Databricks SQL with Unity Catalog'),
        'Needs an external location of Unity Catalog that covers the bucket.',
      ],
      table: sparkTable,
    },
  },
  athena: {
    title: 'Amazon Athena',
    ...ofHive,
    views: standard,
    type: renamed({ INTEGER: 'int', VARCHAR: 'string' }),
    // The Glue catalog takes no longer comment of a column.
    mostCommentBytes: 255,
    readsDisks: false,
    container: 'database',
    plain: {
      notes: [
        notRun('Athena engine version 3'),
        ONE_AT_A_TIME,
        'Comments of columns are cut at 255 bytes, the most the Glue catalog takes.',
        'Run msck repair table again after a publish that made periods.',
      ],
      table: (of) => {
        const { name, comment, folder, key } = of;
        const divided = key === null ? '' : `partitioned by (${typed(key)})\n`;
        const create = `create external table ${name} (\n${listed(inFiles(of), typed)}\n)\ncomment ${comment}
${divided}stored as parquet\nlocation ${backslashed(`${folder}/`)}`;
        return [...madeAnew(name, create), ...(key === null ? [] : [`msck repair table ${name}`])];
      },
    },
    delta: {
      notes: [notRun('Athena engine version 3'), ONE_AT_A_TIME],
      table: ({ name, folder }) => [
        `create external table if not exists ${name}\nlocation ${backslashed(`${folder}/`)}\ntblproperties ('table_type' = 'DELTA')`,
      ],
    },
    view: ({ name }, rows) => [`create or replace view ${name} as\n${rows}`],
  },
  snowflake: {
    title: 'Snowflake',
    quote: identifier,
    text: backslashed,
    type: renamed({}),
    readsDisks: false,
    container: 'schema',
    delta: {
      notes: [
        notRun('Iceberg tables over Delta files'),
        'Needs an external volume whose location is the folder of the tables, here called ripen_volume.',
        'Names are written as the tables have them, in small letters.',
      ],
      before: [
        `create catalog integration if not exists ripen_delta
    catalog_source = object_store
    table_format = delta
    enabled = true`,
      ],
      table: ({ name, table, comment }) => [
        `create iceberg table if not exists ${name}
    external_volume = 'ripen_volume'
    catalog = 'ripen_delta'
    base_location = ${backslashed(`${table}/`)}
    auto_refresh = true
    comment = ${comment}`,
      ],
    },
    view: ({ name, columns, comment }, rows) => [
      `create or replace view ${name} (\n${listed(columns, commented)}\n)\ncomment = ${comment} as\n${rows}`,
    ],
  },
  bigquery: {
    title: 'BigQuery',
    ...ofEscapes,
    type: renamed({ BOOLEAN: 'bool', BIGINT: 'int64', DOUBLE: 'float64', VARCHAR: 'string', DECIMAL: 'bignumeric' }),
    readsDisks: false,
    place: (root, store) =>
      store?.endpoint?.includes('storage.googleapis.com') === true ? root.replace(/^s3:/, 'gs:') : root,
    container: 'schema',
    delta: {
      notes: [
        notRun('BigLake tables for Delta Lake'),
        'Needs a connection that may read the bucket, here called us.ripen; of Amazon S3 one of BigQuery Omni, in the region of the bucket.',
      ],
      table: ({ name, folder, comment }) => [
        `create external table if not exists ${name}\nwith connection \`us.ripen\`\noptions (
    format = 'DELTA_LAKE',
    uris = [${backslashed(folder)}],
    description = ${comment}\n)`,
      ],
    },
    view: ({ name, columns, comment }, rows) => {
      const described = listed(columns, (column) =>
        column.comment === null ? column.name : `${column.name} options (description = ${column.comment})`,
      );
      return [`create or replace view ${name} (\n${described}\n)\noptions (description = ${comment}) as\n${rows}`];
    },
  },
  duckdb: {
    title: 'DuckDB',
    ...standard,
    type: renamed({}),
    readsDisks: true,
    container: 'schema',
    plain: {
      notes: [
        'Run by the tests from disk (npm test); not from S3, as its extension is not in the registry.',
        'A view is made where the files are; for a bucket the secret takes the credentials of the environment.',
      ],
      table: (of) => {
        const { folder, key, columns, own } = of;
        const files = fileText(folder).slice(0, -1) + `${key === null ? '' : `/${key.plain}=*`}/data.parquet'`;
        const divided = key === null ? 'false' : `true, hive_types = {${literal(key.plain)}: DATE}`;
        const from = `read_parquet(${files}, hive_partitioning = ${divided})`;
        return commentedView({ ...of, columns: own }, `select\n${listed(columns, nameOf)}\nfrom ${from}`);
      },
    },
    delta: {
      notes: [
        'The views are run by the tests (npm test) over a reader in the place of delta_scan; its extension is not in the registry.',
        'An older night takes an extension whose delta_scan knows the parameter version.',
      ],
      local: 'catalog.duckdb beside the tables needs no extension, and shows the newest night.',
      before: ['install delta', 'load delta'],
      table: (of) => {
        const pinned = of.night === null ? '' : `, version => ${of.night}`;
        const from = `delta_scan(${literal(of.folder)}${pinned})`;
        return commentedView({ ...of, columns: of.own }, `select\n${listed(of.columns, nameOf)}\nfrom ${from}`);
      },
    },
    version: '',
    view: commentedView,
  },
};
