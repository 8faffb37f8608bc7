/** DuckDB: the views of `catalog.duckdb`, for a lake that has none beside it or for a database of the reader's own. */

import { identifier, literal } from '../../warehouse/sql.ts';
import { lakeView } from '../lake-sql.ts';
import type { DescribedLake, Dialect } from './dialect.ts';

function secretOf({ store }: DescribedLake): string {
  const endpoint = store?.endpoint === undefined || store.endpoint === null ? null : new URL(store.endpoint);
  const options = [
    'type s3',
    'provider credential_chain',
    ...(store?.region === undefined || store.region === null ? [] : [`region ${literal(store.region)}`]),
    ...(endpoint === null ? [] : [`endpoint ${literal(endpoint.host)}`, `use_ssl ${endpoint.protocol === 'https:'}`]),
    ...(store?.pathStyle === true ? [`url_style 'path'`] : []),
  ];
  return `create or replace secret (${options.join(', ')})`;
}

export const duckdb: Dialect = {
  title: 'DuckDB',
  proof: 'Run by the tests from disk (npm test); not from S3, as its extension is not in the registry.',
  notes: ({ store }) =>
    store === null
      ? ['catalog.duckdb beside Delta tables holds such views, over files that are never replaced while they are read.']
      : ['The secret takes the credentials of the environment; a view is made where the files are there.'],
  refusal: () => null,
  preamble: (lake) => [
    ...(lake.store === null ? [] : ['install httpfs', 'load httpfs', 'install aws', 'load aws', secretOf(lake)]),
    `create schema if not exists ${identifier(lake.schema)}`,
  ],
  table(table, { root, schema }) {
    return lakeView(root, table, schema);
  },
  name: (name, schema) => (schema === undefined ? identifier(name) : `${identifier(schema)}.${identifier(name)}`),
  text: literal,
};
