/**
 * Fills in an engine's template in `sql/engines`. Pure.
 *
 * Lines `-- Each …:` divide a template. `{word}` is a value, escaped for its quotes. A line after `[word]` is repeated for each
 * value of that word, with commas between unless it ends in a semicolon, or stands if the word is a condition that holds. A
 * template without a `[disk]` line is of an engine that cannot read from disk.
 */

import type { ObjectStore } from '../../config/config.ts';
import { statement } from '../../warehouse/sql.ts';
import { fileText } from '../tables.ts';
import type { DescribedTable, LakePlace } from '../target.ts';
import type { Engine } from './engines.ts';

export interface EnginePlace extends LakePlace {
  /** The schema, or database, for the tables. */
  readonly schema: string;
}

interface EngineRelation extends DescribedTable {
  /** The query of a view. */
  readonly rows?: string;
}

type Escape = (text: string) => string;

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

function templateOf(engine: Engine, part: Part): string | null {
  const [lake = '', ...others] = statement(`engines/${engine}`).split(/^-- Each (.+):\n/m);
  const at = others.indexOf(part);
  return part === 'lake' ? lake : at < 0 ? null : (others[at + 1] ?? null);
}

/** Returns why an engine cannot read a lake. */
export function ddlRefusal(
  engine: Engine,
  { root, store, isDelta }: Pick<LakePlace, 'root' | 'store' | 'isDelta'>,
): string | null {
  if (!isDelta && templateOf(engine, 'plain table') === null)
    return `${engine} reads Delta tables, not the plain files in ${root}`;
  if (store === null && !statement(`engines/${engine}`).includes('\n[disk] '))
    return `${engine} reads s3:// alone, not ${root}`;
  const hasWildcards = engine === 'clickhouse' && !isDelta && /[*?{}]/.test(root);
  return hasWildcards ? `${engine} takes the * ? { } in ${root} as wildcards` : null;
}

function typeIn(engine: Engine, type: string): string {
  const [name = type, digits = ''] = type.split(/(?=\()/);
  const listed = new RegExp(`^${name} (.+)$`, 'm').exec(templateOf(engine, 'type') ?? '')?.[1];
  return listed?.replace('{digits}', digits) ?? type.toLowerCase();
}

/** Returns how an engine writes queries over the tables of a lake, each at the lake's night. */
export function queryWords(engine: Engine, place: EnginePlace) {
  const { quote, name, text } = quotings[engine];
  return {
    column: (of: string): string => `${quote}${name(of)}${quote}`,
    text: (of: string): string => `'${text(of)}'`,
    type: (of: string): string => typeIn(engine, of),
    from: (table: string): string =>
      engineText(engine, 'table in a view', place, { ...none, name: table }).replaceAll('\n', ' '),
  };
}

type Values = Readonly<Record<string, string>>;

const none: EngineRelation = { name: '', comment: null, columns: [] };

/** Returns an engine's statements for a table or view, or for `lake` those before all tables. */
export function engineText(
  engine: Engine,
  part: Part,
  { root, store, isDelta, night, schema }: EnginePlace,
  { name: table, comment, columns, rows = '' } = none,
): string {
  // Athena quotes like Hive in statements about tables, and like Trino in queries.
  const { quote, name, text } =
    engine === 'athena' && part.endsWith(' table') ? hive : quotings[engine];
  const shown = columns.map((column) => ({
    name: name(column.name),
    type: typeIn(engine, column.type),
    comment: text(column.comment ?? ''),
  }));
  const endpoint = store === null || store.endpoint === null ? null : new URL(store.endpoint);
  const values: Values = {
    schema,
    table,
    comment: text(comment ?? ''),
    rows,
    root: text(root),
    path: text(root.replace(/^s3:/, '')),
    address: store === null ? '' : text(httpAddress(store)),
    pattern: fileText(root).slice(1, -1),
    structure: text(shown.map((each) => `${quote}${each.name}${quote} ${each.type}`).join(', ')),
    night: String(night),
    region: text(store?.region ?? ''),
    host: text(endpoint?.host ?? ''),
    ssl: String(endpoint?.protocol === 'https:'),
  };
  const lists: Readonly<Record<string, readonly Values[]>> = {
    column: shown,
    commented: shown.filter((column) => column.comment !== ''),
  };
  const conditions: Readonly<Record<string, boolean>> = {
    plain: !isDelta,
    delta: isDelta,
    night: isDelta && night !== null,
    newest: night === null,
    disk: store === null,
    bucket: store !== null,
    region: typeof store?.region === 'string',
    endpoint: endpoint !== null,
    'path style': store?.pathStyle === true,
  };
  const lines = (templateOf(engine, part) ?? '').trim().split('\n');
  const filled = lines.flatMap((line) => {
    const [, word, text = line] = /^\[([a-z ]+)\] (.*)$/.exec(line) ?? [];
    const isOnce = word === undefined || conditions[word] === true;
    const repeated = isOnce ? [{}] : (lists[word] ?? []);
    return repeated.map((own: Values, at) => {
      const all = { ...values, ...own };
      const separator = at === repeated.length - 1 || text.endsWith(';') ? '' : ',';
      return `${text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => all[name] ?? whole)}${separator}`;
    });
  });
  const isNoGap = (line: string, at: number): boolean => line !== '' || filled[at - 1] !== '';
  return filled.filter(isNoGap).join('\n').trimEnd();
}

function httpAddress({ bucket, prefix, region, pathStyle, endpoint: stated }: ObjectStore): string {
  const endpoint = new URL(
    stated ?? `https://s3.${region === null ? '' : `${region}.`}amazonaws.com`,
  );
  if (!pathStyle) endpoint.hostname = `${bucket}.${endpoint.hostname}`;
  const steps = [endpoint.href.replace(/\/+$/, ''), pathStyle ? bucket : '', prefix];
  return steps.filter((step) => step !== '').join('/');
}
