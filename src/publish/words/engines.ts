/** In a file of their own so that the command's options load no statements. */

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
