/** The engines, what is said of each, and how they write names and places; apart from the statements, so that the options load none of them. */

import type { ObjectStore } from '../config/config.ts';

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

/** A table or view as an engine names it: names and comments are quoted, of lists each line is a column. */
export interface Described {
  /** As it stands in a query, with its schema. */
  readonly name: string;
  readonly comment: string;
  /** Name, type and comment of each column; with the one of the folders last; and without it. */
  readonly typed: string;
  readonly keyLast: string;
  readonly inFiles: string;
  /** Name and comment of each column. */
  readonly commented: string;
  readonly names: string;
  /** Names and types in one line. */
  readonly structure: string;
  /** A statement for each comment. */
  readonly commentStatements: readonly string[];
  /** The column that parts it into folders: its plain name, the quoted one, and the latter with type and comment; null for none. */
  readonly key: { readonly plain: string; readonly name: string; readonly typed: string } | null;
  /** Its own name, and that of its schema, as they are. */
  readonly table: string;
  readonly schema: string;
  /** Where its files lie, as the engine reaches the place. */
  readonly folder: string;
  readonly isOnDisk: boolean;
  /** The version that is shown; null for the newest. */
  readonly night: number | null;
}

/** How an engine reads one kind of lake. */
export interface EngineReading {
  /** Whether ripen's tests ran statements like these and in what; then what whoever runs them has to know. */
  readonly notes: readonly string[];
  /** What is to be known of a lake on a disk besides. */
  readonly local?: string;
  readonly table: (described: Described) => readonly string[];
  /** What comes before the schema. */
  readonly before?: readonly string[];
}

export interface EngineWords {
  readonly title: string;
  readonly quote: (name: string) => string;
  readonly text: (value: string) => string;
  /** Where views are written otherwise than tables. */
  readonly views?: Pick<EngineWords, 'quote' | 'text'>;
  /** What stands before the name of a schema. */
  readonly catalog?: string;
  /** Types it calls otherwise, and DECIMAL, which keeps its digits where it is not listed. */
  readonly types: Readonly<Record<string, string>>;
  /** The type of what may be NULL, and of a column that only the names of folders state, where they are others. */
  readonly nullable?: (type: string) => string;
  readonly keyType?: string;
  readonly mostCommentBytes?: number;
  /** What stands behind the name of a column to say what it is. */
  readonly commentClause?: (text: string) => string;
  /** Whether it reads a disk, or object stores alone. */
  readonly readsDisks: boolean;
  readonly place?: (root: string, store: ObjectStore | null) => string;
  readonly schema: (name: string) => string;
  /** None where it reads Delta tables alone. */
  readonly plain?: EngineReading;
  readonly delta: EngineReading;
  readonly view: (described: Described, rows: string) => readonly string[];
  /** What stands behind a table's name before the night to be read; empty where its own statement names one, null where nothing does. */
  readonly version: string | null;
}

/** Text in single quotes for engines in which a backslash escapes. */
export const backslashed = (value: string): string =>
  `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`;
/** A name in backticks, which are doubled in it. */
export const backticked = (name: string): string => `\`${name.replaceAll('`', '``')}\``;
/** A name in backticks, for engines in which a backslash escapes. */
export const escaped = (name: string): string => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;

/** Where ClickHouse finds a bucket: Amazon's own address unless an endpoint is stated. */
export function httpAddress({ bucket, prefix, region, pathStyle, endpoint: stated }: ObjectStore): string {
  const endpoint = new URL(stated ?? `https://s3.${region === null ? '' : `${region}.`}amazonaws.com`);
  if (!pathStyle) endpoint.hostname = `${bucket}.${endpoint.hostname}`;
  const base = endpoint.href.replace(/\/+$/, '');
  return [base, ...(pathStyle ? [bucket] : []), ...(prefix === '' ? [] : [prefix])].join('/');
}
