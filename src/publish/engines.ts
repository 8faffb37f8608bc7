/** The engines whose statements can be made; apart from the statements, so that the options load none of them. */

export const engines = [
  'clickhouse',
  'trino',
  'spark',
  'databricks',
  'athena',
  'snowflake',
  'bigquery',
  'duckdb',
] as const;
export type Engine = (typeof engines)[number];
