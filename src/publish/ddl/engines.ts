/** The engines that can be told how to read a lake; apart from the statements, so that the options load none of them. */

export const engines = ['clickhouse', 'trino', 'spark', 'athena', 'duckdb'] as const;
