/** Spark SQL: a table over the files each, its partitions found by a repair. */

import { backslashed, backticked, dividedColumns, typeIn, type Dialect } from './dialect.ts';

const types: Readonly<Record<string, string>> = {
  INTEGER: 'int',
  VARCHAR: 'string',
  // A plain timestamp would move the digits of the file to the zone of the session.
  TIMESTAMP: 'timestamp_ntz',
};

export const spark: Dialect = {
  title: 'Spark SQL',
  proof: 'Not run by the tests; written after the documentation of Spark 3.5.',
  notes: () => [
    'Needs Spark 3.4 or newer, for timestamp_ntz.',
    'Run repair table … sync partitions again after a publish that made or removed periods, refresh table after any.',
  ],
  refusal: () => null,
  preamble: ({ schema }) => [`create database if not exists ${backticked(schema)}`],
  table(table, lake) {
    const { inFiles, inPath } = dividedColumns(table);
    const columns = [...inFiles, ...(inPath === null ? [] : [inPath])].map(
      ({ name, type, comment }) =>
        `    ${backticked(name)} ${typeIn(types, type)}${comment === null ? '' : ` comment ${backslashed(comment)}`}`,
    );
    const location = lake.store === null ? `file://${lake.root}` : lake.root.replace(/^s3:/, 's3a:');
    const name = this.name(table.name, lake.schema);
    return [
      // Of a table with a location this takes the description, never the files.
      `drop table if exists ${name}`,
      `create table ${name} (
${columns.join(',\n')}
)
using parquet
${inPath === null ? '' : `partitioned by (${backticked(inPath.name)})\n`}location ${backslashed(`${location}/${table.name}`)}
comment ${backslashed(table.comment ?? '')}`,
      ...(inPath === null ? [] : [`repair table ${name} sync partitions`]),
    ];
  },
  name: (name, schema) => (schema === undefined ? backticked(name) : `${backticked(schema)}.${backticked(name)}`),
  text: backslashed,
};
