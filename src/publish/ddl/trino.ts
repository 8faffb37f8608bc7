/** Trino, through its Hive connector: an external table each, its partitions registered by a procedure. */

import { dividedColumns, doubled, doubleQuoted, typeIn, type Dialect } from './dialect.ts';

const types: Readonly<Record<string, string>> = {
  FLOAT: 'real',
  // The connector's precision is milliseconds unless it is configured otherwise, and a finer table is refused.
  TIMESTAMP: 'timestamp(3)',
};

/** What the catalog of the Hive connector is called here; a name of the reader's own is as good. */
const CATALOG = 'hive';

export const trino: Dialect = {
  title: 'Trino',
  proof: 'Not run by the tests; written after the documentation of the Hive connector.',
  notes: ({ store }) => [
    `Put the name of your catalog of the Hive connector in the place of ${CATALOG}.`,
    ...(store === null ? ['A local lake needs fs.native-local.enabled=true and local.location=/ in it.'] : []),
    'Call sync_partition_metadata again after a publish that made or removed periods.',
  ],
  refusal: () => null,
  preamble: ({ schema }) => [`create schema if not exists ${CATALOG}.${doubleQuoted(schema)}`],
  table(table, lake) {
    const { inFiles, inPath } = dividedColumns(table);
    const columns = [...inFiles, ...(inPath === null ? [] : [inPath])].map(
      ({ name, type, comment }) =>
        `    ${doubleQuoted(name)} ${typeIn(types, type)}${comment === null ? '' : ` comment ${doubled(comment)}`}`,
    );
    const location = `${lake.store === null ? `local://${lake.root}` : lake.root}/${table.name}`;
    const divided = inPath === null ? '' : `,\n    partitioned_by = array[${doubled(inPath.name)}]`;
    const name = this.name(table.name, lake.schema);
    return [
      // Of an external table this takes the description, never the files.
      `drop table if exists ${name}`,
      `create table ${name} (
${columns.join(',\n')}
)
comment ${doubled(table.comment ?? '')}
with (
    external_location = ${doubled(location)},
    format = 'PARQUET'${divided}
)`,
      ...(inPath === null
        ? []
        : [`call ${CATALOG}.system.sync_partition_metadata(${doubled(lake.schema)}, ${doubled(table.name)}, 'FULL')`]),
    ];
  },
  name: (name, schema) =>
    schema === undefined ? doubleQuoted(name) : `${CATALOG}.${doubleQuoted(schema)}.${doubleQuoted(name)}`,
  text: doubled,
};
