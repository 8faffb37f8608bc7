/** Amazon Athena: an external table each in the words of Hive, views in those of Trino. */

import { backslashed, backticked, dividedColumns, doubled, doubleQuoted, typeIn, type Dialect } from './dialect.ts';

const types: Readonly<Record<string, string>> = { INTEGER: 'int', VARCHAR: 'string' };

/** The Glue catalog takes no longer comment of a column. */
const MOST_COMMENT_BYTES = 255;

/** As many whole characters as fit. */
const shortened = (comment: string): string =>
  new TextDecoder().decode(Buffer.from(comment).subarray(0, MOST_COMMENT_BYTES), { stream: true });

export const athena: Dialect = {
  title: 'Amazon Athena',
  proof: 'Not run by the tests; written after the documentation of Athena engine version 3.',
  notes: () => [
    'Run each statement by itself, as Athena takes one at a time.',
    `Comments of columns are cut at ${MOST_COMMENT_BYTES} bytes, the most the Glue catalog takes.`,
    'Run msck repair table again after a publish that made periods.',
  ],
  refusal: ({ root, store }) => (store === null ? `Athena reads s3:// alone, not ${root}` : null),
  preamble: ({ schema }) => [`create database if not exists ${backticked(schema)}`],
  table(table, { root, schema }) {
    const { inFiles, inPath } = dividedColumns(table);
    const line = ({ name, type, comment }: (typeof inFiles)[number]): string =>
      `${backticked(name)} ${typeIn(types, type)}${comment === null ? '' : ` comment ${backslashed(shortened(comment))}`}`;
    const name = `${backticked(schema)}.${backticked(table.name)}`;
    return [
      // Of an external table this takes the description, never the files.
      `drop table if exists ${name}`,
      `create external table ${name} (
    ${inFiles.map(line).join(',\n    ')}
)
comment ${backslashed(table.comment ?? '')}
${inPath === null ? '' : `partitioned by (${line(inPath)})\n`}stored as parquet
location ${backslashed(`${root}/${table.name}/`)}`,
      ...(inPath === null ? [] : [`msck repair table ${name}`]),
    ];
  },
  name: (name, schema) => (schema === undefined ? doubleQuoted(name) : `${doubleQuoted(schema)}.${doubleQuoted(name)}`),
  text: doubled,
};
