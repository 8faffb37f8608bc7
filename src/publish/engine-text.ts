/**
 * The statements of each engine: the templates in `sql/engines`, filled. Pure.
 *
 * A template is divided by lines `-- Each …:`. In it `{word}` is a value, escaped as the quotes around it want it, and a line behind
 * `[word]` is repeated for each of the values under that word, with commas between: none, and the line is left out.
 */

import type { ObjectStore } from '../config/config.ts';
import { statement } from '../warehouse/sql.ts';
import type { Engine } from './engines.ts';
import { fileText, type LakeTable } from './lake-table.ts';

/** Where the tables of a lake lie, and where an engine is to show them. */
export interface LakePlace {
  /** An absolute directory, or `s3://bucket/prefix`. */
  readonly root: string;
  readonly store: ObjectStore | null;
  /** Whether its tables are Delta tables, not plain files. */
  readonly isDelta: boolean;
  /** The newest whole night of Delta tables; null where none was found. */
  readonly night: number | null;
  /** The schema, or database, that takes the tables. */
  readonly schema: string;
}

/** A table or view of a lake. */
interface EngineRelation extends Pick<LakeTable, 'name' | 'comment' | 'columns'> {
  /** The column that divides plain files into folders. */
  readonly key?: string | null;
  /** The query a view stands for. */
  readonly rows?: string;
}

type Escape = (text: string) => string;

/** How names and texts stand in their quotes. */
interface Quoting {
  readonly quote: '"' | '`';
  readonly name: Escape;
  readonly text: Escape;
}

interface Dialect extends Quoting {
  /** In statements about tables, where that differs. */
  readonly ofTables?: Quoting;
  readonly type: (type: string) => string;
  /** The type of what only the names of folders state. */
  readonly typeOfKey?: string;
  readonly readsDisks: boolean;
  /** The root as the engine reaches it. */
  readonly place?: (root: string, store: ObjectStore | null) => string;
}

const doubling =
  (quote: string): Escape =>
  (text) =>
    text.replaceAll(quote, quote + quote);
const backslashing =
  (quote: string): Escape =>
  (text) =>
    text.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`).replaceAll('\n', '\\n');

const ansi: Quoting = { quote: '"', name: doubling('"'), text: doubling("'") };
const hive: Quoting = { quote: '`', name: doubling('`'), text: backslashing("'") };
const escaping: Quoting = { quote: '`', name: backslashing('`'), text: backslashing("'") };

/** Types in small letters, but for those an engine calls otherwise; DECIMAL keeps its digits where it is not listed. */
const renamed =
  (names: Readonly<Record<string, string>>) =>
  (type: string): string =>
    names[type] ?? (type.startsWith('DECIMAL') ? names['DECIMAL'] : undefined) ?? type.toLowerCase();

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
// A plain timestamp would move the digits of the file to the zone of the session.
const inSpark = renamed({ INTEGER: 'int', VARCHAR: 'string', TIMESTAMP: 'timestamp_ntz' });

const dialects: Readonly<Record<Engine, Dialect>> = {
  clickhouse: {
    ...escaping,
    type: (type) => `Nullable(${inClickhouse(type)})`,
    // Never NULL, and as plain as that a condition on it keeps files from being opened.
    typeOfKey: 'Date',
    readsDisks: true,
    place: (root, store) => (store === null ? root : httpAddress(store)),
  },
  trino: {
    ...ansi,
    // The connector's precision is milliseconds unless it is configured otherwise, and a finer table is refused.
    type: renamed({ TIMESTAMP: 'timestamp(3)' }),
    readsDisks: true,
    place: (root, store) => (store === null ? `local://${root}` : root),
  },
  spark: {
    ...hive,
    type: inSpark,
    readsDisks: true,
    place: (root, store) => (store === null ? `file://${root}` : root.replace(/^s3:/, 's3a:')),
  },
  databricks: { ...hive, type: inSpark, readsDisks: false },
  athena: { ...ansi, ofTables: hive, type: renamed({ INTEGER: 'int', VARCHAR: 'string' }), readsDisks: false },
  snowflake: { ...ansi, text: backslashing("'"), type: renamed({}), readsDisks: false },
  bigquery: {
    ...escaping,
    type: renamed({ BOOLEAN: 'bool', BIGINT: 'int64', DOUBLE: 'float64', VARCHAR: 'string', DECIMAL: 'bignumeric' }),
    readsDisks: false,
    place: (root, store) =>
      store?.endpoint?.includes('storage.googleapis.com') === true ? root.replace(/^s3:/, 'gs:') : root,
  },
  duckdb: { ...ansi, type: renamed({}), readsDisks: true },
};

/** Where ClickHouse finds a bucket: Amazon's own address unless an endpoint is stated. */
function httpAddress({ bucket, prefix, region, pathStyle, endpoint: stated }: ObjectStore): string {
  const endpoint = new URL(stated ?? `https://s3.${region === null ? '' : `${region}.`}amazonaws.com`);
  if (!pathStyle) endpoint.hostname = `${bucket}.${endpoint.hostname}`;
  return [endpoint.href.replace(/\/+$/, ''), ...(pathStyle ? [bucket] : []), ...(prefix === '' ? [] : [prefix])].join(
    '/',
  );
}

/** Why an engine cannot read a lake there; null when it can. */
export function ddlRefusal(
  engine: Engine,
  { root, store, isDelta }: Pick<LakePlace, 'root' | 'store' | 'isDelta'>,
): string | null {
  if (!isDelta && templateOf(engine, 'plain table') === null)
    return `${engine} reads Delta tables, not the plain files in ${root}`;
  if (store === null && !dialects[engine].readsDisks) return `${engine} reads s3:// alone, not ${root}`;
  const hasWildcards = engine === 'clickhouse' && !isDelta && /[*?{}]/.test(root);
  return hasWildcards ? `${engine} takes the * ? { } in ${root} for wildcards` : null;
}

/** How an engine writes a query over the tables of a lake, each at the night that is read. */
export function queryWords(engine: Engine, place: LakePlace) {
  const { quote, name, text, type } = dialects[engine];
  const bare = { comment: null, columns: [] };
  return {
    column: (of: string): string => `${quote}${name(of)}${quote}`,
    text: (of: string): string => `'${text(of)}'`,
    type,
    from: (table: string): string =>
      engineText(engine, 'table in a view', place, { ...bare, name: table }).replaceAll('\n', ' '),
  };
}

type Part = 'lake' | 'plain table' | 'Delta table' | 'table in a view' | 'view';

/** A part of an engine's template; null where it has none such. */
function templateOf(engine: Engine, part: Part): string | null {
  const [lake = '', ...others] = statement(`engines/${engine}`).split(/^-- Each (.+):\n/m);
  const at = others.indexOf(part);
  return part === 'lake' ? lake : at < 0 ? null : (others[at + 1] ?? null);
}

/** The statements of an engine that come before its tables, headed by what is to be known of it, or those of a table or view. */
export function engineText(engine: Engine, part: Part, place: LakePlace, relation?: EngineRelation): string {
  const { values, lists } = wordsOf(engine, part, place, relation);
  const lines = (templateOf(engine, part) ?? '').trim().split('\n');
  const filled = lines.flatMap((line) => {
    const [, word, text = line] = /^\[([a-z ]+)\] (.*)$/.exec(line) ?? [];
    const repeated = word === undefined ? [{}] : (lists[word] ?? []);
    return repeated.map((own: Values, at) => {
      const all = { ...values, ...own };
      const separator = at === repeated.length - 1 || text.endsWith(';') ? '' : ',';
      return `${text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => all[name] ?? whole)}${separator}`;
    });
  });
  return filled
    .filter((line, at) => line !== '' || filled[at - 1] !== '')
    .join('\n')
    .trimEnd();
}

type Values = Readonly<Record<string, string>>;

/** What a template can say of a lake and of one of its tables or views. */
function wordsOf(
  engine: Engine,
  part: Part,
  { root, store, isDelta, night, schema }: LakePlace,
  { name: table, comment, columns, key = null, rows = '' }: EngineRelation = { name: '', comment: null, columns: [] },
) {
  const dialect = dialects[engine];
  const { quote, name, text } = part.endsWith(' table') ? (dialect.ofTables ?? dialect) : dialect;
  const folder = `${dialect.place?.(root, store) ?? root}/${table}`;
  const shown = columns.map((column) => ({
    plain: column.name,
    name: name(column.name),
    type: (column.name === key ? dialect.typeOfKey : undefined) ?? dialect.type(column.type),
    comment: text(column.comment ?? ''),
  }));
  const structure = shown.map((each) => `${quote}${each.name}${quote} ${each.type}`);
  const stored = shown.filter(({ plain }) => plain !== key);
  const keys = shown.filter(({ plain }) => plain === key);
  const only = (holds: boolean, own: Values = {}): readonly Values[] => (holds ? [own] : []);
  const endpoint = typeof store?.endpoint === 'string' ? new URL(store.endpoint) : null;
  const values: Values = {
    schema,
    table,
    comment: text(comment ?? ''),
    rows,
    folder: text(folder),
    pattern: fileText(folder).slice(1, -1),
    glob: key === null ? '' : `${key}=*/`,
    structure: text(structure.join(', ')),
    night: String(night),
    region: text(store?.region ?? ''),
    host: text(endpoint?.host ?? ''),
    ssl: String(endpoint?.protocol === 'https:'),
  };
  const lists: Readonly<Record<string, readonly Values[]>> = {
    column: shown,
    commented: shown.filter((column) => column.comment !== ''),
    stored,
    key: keys,
    'key last': [...stored, ...keys],
    plain: only(!isDelta),
    delta: only(isDelta),
    night: only(isDelta && night !== null),
    newest: only(night === null),
    disk: only(store === null),
    bucket: only(store !== null),
    region: only(typeof store?.region === 'string'),
    endpoint: only(endpoint !== null),
    'path style': only(store?.pathStyle === true),
  };
  return { values, lists };
}
