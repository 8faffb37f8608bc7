/**
 * The statements for an engine: its template in `sql/engines`, filled in. Pure.
 *
 * A template is divided by lines `-- Each …:`. In it `{word}` is a value, escaped as the quotes around it want it, and a line behind
 * `[word]` is repeated for each of the values under that word, with commas between: for none the line is left out. A template without
 * a line for a `[disk]` is of an engine that reads none.
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

const quotings: Readonly<Record<Engine, Quoting>> = {
  clickhouse: escaping,
  trino: ansi,
  spark: hive,
  databricks: hive,
  athena: ansi,
  snowflake: { ...ansi, text: backslashing("'") },
  bigquery: escaping,
  duckdb: ansi,
};

type Part = 'lake' | 'plain table' | 'Delta table' | 'table in a view' | 'view' | 'type';

/** A part of an engine's template; null where it has none such. */
function templateOf(engine: Engine, part: Part): string | null {
  const [lake = '', ...others] = statement(`engines/${engine}`).split(/^-- Each (.+):\n/m);
  const at = others.indexOf(part);
  return part === 'lake' ? lake : at < 0 ? null : (others[at + 1] ?? null);
}

/** Why an engine cannot read a lake there; null when it can. */
export function ddlRefusal(
  engine: Engine,
  { root, store, isDelta }: Pick<LakePlace, 'root' | 'store' | 'isDelta'>,
): string | null {
  if (!isDelta && templateOf(engine, 'plain table') === null)
    return `${engine} reads Delta tables, not the plain files in ${root}`;
  if (store === null && !statement(`engines/${engine}`).includes('\n[disk] '))
    return `${engine} reads s3:// alone, not ${root}`;
  const hasWildcards = engine === 'clickhouse' && !isDelta && /[*?{}]/.test(root);
  return hasWildcards ? `${engine} takes the * ? { } in ${root} for wildcards` : null;
}

/** A type of a lake as an engine calls it: in small letters where its template lists no other name. */
function typeIn(engine: Engine, type: string): string {
  const [name = type, digits = ''] = type.split(/(?=\()/);
  const listed = new RegExp(`^${name} (.+)$`, 'm').exec(templateOf(engine, 'type') ?? '')?.[1];
  return listed?.replace('{digits}', digits) ?? type.toLowerCase();
}

/** How an engine writes a query over the tables of a lake, each at the night that is read. */
export function queryWords(engine: Engine, place: LakePlace) {
  const { quote, name, text } = quotings[engine];
  const bare = { comment: null, columns: [] };
  return {
    column: (of: string): string => `${quote}${name(of)}${quote}`,
    text: (of: string): string => `'${text(of)}'`,
    type: (of: string): string => typeIn(engine, of),
    from: (table: string): string =>
      engineText(engine, 'table in a view', place, { ...bare, name: table }).replaceAll('\n', ' '),
  };
}

type Values = Readonly<Record<string, string>>;

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
  const isNoGap = (line: string, at: number): boolean => line !== '' || filled[at - 1] !== '';
  return filled.filter(isNoGap).join('\n').trimEnd();
}

/** What a template can say of a lake and of one of its tables or views. */
function wordsOf(
  engine: Engine,
  part: Part,
  { root, store, isDelta, night, schema }: LakePlace,
  { name: table, comment, columns, key = null, rows = '' }: EngineRelation = { name: '', comment: null, columns: [] },
) {
  // Athena takes statements about tables as Hive does, and queries as Trino.
  const { quote, name, text } = engine === 'athena' && part.endsWith(' table') ? hive : quotings[engine];
  const shown = columns.map((column) => ({
    plain: column.name,
    name: name(column.name),
    type: typeIn(engine, column.name === key && engine === 'clickhouse' ? 'FOLDER' : column.type),
    comment: text(column.comment ?? ''),
  }));
  const stored = shown.filter(({ plain }) => plain !== key);
  const keys = shown.filter(({ plain }) => plain === key);
  const only = (holds: boolean): readonly Values[] => (holds ? [{}] : []);
  const endpoint = typeof store?.endpoint === 'string' ? new URL(store.endpoint) : null;
  const values: Values = {
    schema,
    table,
    comment: text(comment ?? ''),
    rows,
    root: text(root),
    path: text(root.replace(/^s3:/, '')),
    address: store === null ? '' : text(httpAddress(store)),
    pattern: fileText(root).slice(1, -1),
    glob: key === null ? '' : `${key}=*/`,
    structure: text(shown.map((each) => `${quote}${each.name}${quote} ${each.type}`).join(', ')),
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

/** Where a bucket answers: Amazon's own address unless an endpoint is stated. */
function httpAddress({ bucket, prefix, region, pathStyle, endpoint: stated }: ObjectStore): string {
  const endpoint = new URL(stated ?? `https://s3.${region === null ? '' : `${region}.`}amazonaws.com`);
  if (!pathStyle) endpoint.hostname = `${bucket}.${endpoint.hostname}`;
  const steps = [endpoint.href.replace(/\/+$/, ''), pathStyle ? bucket : '', prefix];
  return steps.filter((step) => step !== '').join('/');
}
