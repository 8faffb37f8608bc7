/** What an engine's words are: how names, texts, types and columns are written in its SQL, and what it makes of a lake. Pure. */

import type { ObjectStore } from '../config/config.ts';
import { identifier, literal } from '../warehouse/sql.ts';

/** A column as an engine writes it; all but the plain name is quoted. */
export interface EngineColumn {
  readonly plain: string;
  readonly name: string;
  readonly type: string;
  readonly comment: string | null;
}

/** A table or view as an engine writes it; name, with its schema, and comment are quoted. */
export interface EngineRelation {
  readonly name: string;
  readonly comment: string;
  readonly columns: readonly EngineColumn[];
}

/** A table of files. */
export interface FileTable extends EngineRelation {
  /** The one among them that divides plain files into folders; null for none. */
  readonly key: EngineColumn | null;
  /** Those of the table itself: its files may lie below a date that is none of them. */
  readonly own: readonly EngineColumn[];
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
  readonly table: (of: FileTable) => readonly string[];
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
  readonly type: (type: string) => string;
  readonly mostCommentBytes?: number;
  /** Whether it reads a disk, or object stores alone. */
  readonly readsDisks: boolean;
  readonly place?: (root: string, store: ObjectStore | null) => string;
  /** What holds its tables. */
  readonly container: 'database' | 'schema';
  /** None where it reads Delta tables alone. */
  readonly plain?: EngineReading;
  readonly delta: EngineReading;
  readonly view: (of: EngineRelation, rows: string) => readonly string[];
  /** What stands behind a table's name before the night to be read; empty where its own statement names one, none where nothing does. */
  readonly version?: string;
}

/** Text in single quotes for engines in which a backslash escapes. */
export const backslashed = (value: string): string =>
  `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`;
export const standard = { quote: identifier, text: literal } as const;
/** Names in backticks, which are doubled in them. */
export const ofHive = { quote: (name: string) => `\`${name.replaceAll('`', '``')}\``, text: backslashed } as const;
/** Names in backticks, before which a backslash stands in them. */
export const ofEscapes = {
  quote: (name: string) => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``,
  text: backslashed,
} as const;

/** Types in small letters, but for those an engine calls otherwise; DECIMAL keeps its digits where it is not listed. */
export const renamed =
  (names: Readonly<Record<string, string>>) =>
  (type: string): string =>
    names[type] ?? (type.startsWith('DECIMAL') ? names['DECIMAL'] : undefined) ?? type.toLowerCase();

export const listed = (columns: readonly EngineColumn[], line: (column: EngineColumn) => string): string =>
  columns.map((column) => `    ${line(column)}`).join(',\n');
const commentOf = ({ comment }: EngineColumn): string => (comment === null ? '' : ` comment ${comment}`);
export const typed = (column: EngineColumn): string => `${column.name} ${column.type}${commentOf(column)}`;
export const commented = (column: EngineColumn): string => `${column.name}${commentOf(column)}`;
export const nameOf = ({ name }: EngineColumn): string => name;
export const inFiles = ({ columns, key }: FileTable): readonly EngineColumn[] =>
  columns.filter((column) => column !== key);
export const keyLast = (of: FileTable): readonly EngineColumn[] => [
  ...inFiles(of),
  ...(of.key === null ? [] : [of.key]),
];

/** Of a table whose files lie elsewhere dropping takes the description, never the files. */
export const madeAnew = (name: string, create: string): string[] => [`drop table if exists ${name}`, create];

const NONE = literal('');

/** A view, then its comments one by one. */
export const commentedView: EngineWords['view'] = ({ name, comment, columns }, rows) => [
  `create or replace view ${name} as\n${rows}`,
  ...(comment === NONE ? [] : [`comment on view ${name} is ${comment}`]),
  ...columns.flatMap((column) =>
    column.comment === null ? [] : [`comment on column ${name}.${column.name} is ${column.comment}`],
  ),
];

/** Where ClickHouse finds a bucket: Amazon's own address unless an endpoint is stated. */
export function httpAddress({ bucket, prefix, region, pathStyle, endpoint: stated }: ObjectStore): string {
  const endpoint = new URL(stated ?? `https://s3.${region === null ? '' : `${region}.`}amazonaws.com`);
  if (!pathStyle) endpoint.hostname = `${bucket}.${endpoint.hostname}`;
  const base = endpoint.href.replace(/\/+$/, '');
  return [base, ...(pathStyle ? [bucket] : []), ...(prefix === '' ? [] : [prefix])].join('/');
}
