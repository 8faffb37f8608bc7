/** The statements with which an engine reads lakes where they lie: every table, every column with type and comment. */

import type { Config, ObjectStore } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { newestNight } from './delta/commit.ts';
import { engines, type Engine } from './engines.ts';
import type { EngineRelation, EngineWords, FileTable } from './engine-language.ts';
import { engineWords } from './engine-words.ts';
import { deltaTables, lakeTables, shownColumns, type LakeTable } from './lake-table.ts';
import { withStore } from './open-store.ts';
import { sliceViews, type Dialect, type LakeView } from './slice-views.ts';

/** A lake as its readers see it. */
export interface DescribedLake {
  /** An absolute directory, or `s3://bucket/prefix`. */
  readonly root: string;
  readonly store: ObjectStore | null;
  /** Whether its tables are Delta tables, not plain files. */
  readonly isDelta: boolean;
  /** The newest whole night of Delta tables; null where none was found. */
  readonly night: number | null;
  /** The schema, or database, that takes the tables. */
  readonly schema: string;
  readonly tables: readonly LakeTable[];
}

/** The statements for every lake that an engine can read, one lake after the other. Throws `USAGE_INVALID` when there is none. */
export async function lakesDdl(
  engine: Engine,
  publishing: Pick<Config, 'publish'>,
  warehouse: Warehouse,
  signal: AbortSignal = new AbortController().signal,
): Promise<string> {
  const lakes = await describedLakes(engine, publishing, warehouse, signal);
  return lakes.map((lake) => lakeDdl(engine, lake)).join('\n');
}

/** Every lake that an engine can read, each with a schema of its own. Throws `USAGE_INVALID` when there is none. */
export async function describedLakes(
  engine: Engine,
  { publish }: Pick<Config, 'publish'>,
  warehouse: Warehouse,
  signal: AbortSignal,
): Promise<DescribedLake[]> {
  if (!engines.includes(engine)) {
    throw new Failure('USAGE_INVALID', `The engine ${engine} was not known.`, {
      hint: `Name one of ${engines.join(', ')}.`,
    });
  }
  const schemas = new Set<string>();
  const described: DescribedLake[] = [];
  const refusals: string[] = [];
  for (const target of publish) {
    if (target.kind === 'duckdb') continue;
    const isDelta = target.kind === 'delta';
    const place = { root: target.path, store: target.store ?? null, isDelta };
    const refusal = ddlRefusal(engine, place);
    if (refusal !== null) {
      refusals.push(refusal);
      continue;
    }
    const tables = isDelta ? await deltaTables(warehouse, target.keepReleased) : await lakeTables(warehouse);
    const night = isDelta ? await withStore(target, null, signal, newestNight).catch(() => null) : null;
    described.push({ ...place, schema: schemaName(target.path, schemas), night, tables });
  }
  if (described.length > 0) return described;
  const because = refusals.length === 0 ? 'none is configured' : refusals.join('; ');
  throw new Failure('USAGE_INVALID', `There was no lake to describe: ${because}.`, {
    facts: { engine },
    hint: `Add a delta target to publish where ${engine} reads, or name another engine of ${engines.join(', ')}.`,
  });
}

/** Schemas that DuckDB has already, or takes for a database of its own. */
const takenByDuckdb = new Set(['information_schema', 'memory', 'pg_catalog', 'system', 'temp']);

/** A name for the schema of a lake, from the last step of its path, in letters that every engine takes unquoted: unlike those taken, and one of them now. */
export function schemaName(root: string, taken: Set<string>): string {
  const last = root.split('/').findLast((step) => step !== '') ?? '';
  const word = last
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '_')
    .replace(/_+$/, '');
  const plain = /^(\d|$)/.test(word) || takenByDuckdb.has(word) ? `lake_${word}`.replace(/_$/, '') : word;
  let name = plain;
  for (let count = 2; taken.has(name); count += 1) name = `${plain}_${count}`;
  taken.add(name);
  return name;
}

/** Why an engine cannot read a lake there; null when it can. */
export function ddlRefusal(
  engine: Engine,
  { root, store, isDelta }: Pick<DescribedLake, 'root' | 'store' | 'isDelta'>,
): string | null {
  const { title, plain, readsDisks } = engineWords[engine];
  if (!isDelta && plain === undefined) return `${title} reads Delta tables, not the plain files in ${root}`;
  if (store === null && !readsDisks) return `${title} reads s3:// alone, not ${root}`;
  const hasWildcards = engine === 'clickhouse' && !isDelta && /[*?{}]/.test(root);
  return hasWildcards ? `ClickHouse takes the * ? { } in ${root} for wildcards` : null;
}

/** The statements for one lake, headed by what is to be known of them; each ends in a semicolon. */
export function lakeDdl(engine: Engine, lake: DescribedLake): string {
  const words = engineWords[engine];
  const { isDelta, root, store, tables } = lake;
  const { notes, local, table } = (isDelta ? undefined : words.plain) ?? words.delta;
  const heading = [
    `How ${words.title} reads the ${isDelta ? 'Delta tables' : 'lake'} ${root}; made by \`ripen publish --ddl ${engine}\`.`,
    ...notes,
    ...(store === null && local !== undefined ? [local] : []),
    ...(isDelta ? [nightNote(words, lake.night)] : []),
    'Make and run the statements again after a slice or its columns changed.',
  ];
  const views = tables.flatMap((each) => sliceViews(each, dialectOf(words, lake.schema, pinOf(words, lake))));
  return asText(heading, [
    ...(engine === 'duckdb' ? duckdbSecret(store) : []),
    ...schemaStatements(words, lake),
    ...tables.flatMap((each) => table(tableIn(words, lake, each))),
    ...views.flatMap((each) => viewStatements(words, lake.schema, each)),
  ]);
}

/** Comments and statements as one text. */
export const asText = (heading: readonly string[], statements: readonly string[]): string =>
  [...heading.map((line) => `-- ${line}\n`), ...statements.map((sql) => `\n${sql};\n`)].join('');

function nightNote({ version, title }: EngineWords, night: number | null): string {
  if (version === undefined)
    return `${title} reads the newest version of each table, which is another night while one is published.`;
  if (night === null) return 'No night was found there: the views show the newest version of each table.';
  const what = version === '' ? 'Tables and views show' : 'The views show';
  return `${what} night ${night}, the newest, whatever is published later, for as long as keep says: make them again each night.`;
}

/** The statements that come before those of the tables of a lake. */
export function schemaStatements(words: EngineWords, { schema, isDelta }: DescribedLake): string[] {
  const before = isDelta ? (words.delta.before ?? []) : [];
  return [...before, `create ${words.container} if not exists ${words.catalog ?? ''}${words.quote(schema)}`];
}

/** The statements of a view over tables of a lake, with every comment. */
export function viewStatements(words: EngineWords, schema: string, view: LakeView): readonly string[] {
  return words.view(relationIn({ ...words, ...words.views }, schema, view), view.rows);
}

/** A relation's name in an engine, with its schema. */
const nameIn = ({ quote, catalog = '' }: EngineWords, schema: string, name: string): string =>
  `${catalog}${quote(schema)}.${quote(name)}`;

/** What stands behind the name of a table so that the newest night is read; its views show that already. */
export const pinOf = ({ version }: EngineWords, { isDelta, night }: DescribedLake): string =>
  isDelta && night !== null && version ? `${version}${night}` : '';

/** How an engine writes a query over the tables of a schema. */
export function dialectOf(words: EngineWords, schema: string, pinned = ''): Dialect {
  const ofViews = { ...words, ...words.views };
  return {
    column: ofViews.quote,
    from: (table) => `${nameIn(ofViews, schema, table)}${pinned}`,
    text: ofViews.text,
    type: (column) => words.type(column.type),
  };
}

function relationIn(
  words: EngineWords,
  schema: string,
  { name, comment, columns }: Pick<LakeTable, 'name' | 'comment' | 'columns'>,
): EngineRelation {
  const { quote, text, mostCommentBytes = Infinity } = words;
  return {
    name: nameIn(words, schema, name),
    comment: text(comment ?? ''),
    columns: columns.map((column) => ({
      plain: column.name,
      name: quote(column.name),
      type: words.type(column.type),
      comment: column.comment === null ? null : text(shortened(column.comment, mostCommentBytes)),
    })),
  };
}

function tableIn(words: EngineWords, { schema, store, root, night }: DescribedLake, table: LakeTable): FileTable {
  const relation = relationIn(words, schema, { ...table, columns: shownColumns(table) });
  return {
    ...relation,
    own: relation.columns.slice(0, table.columns.length),
    key: relation.columns.find(({ plain }) => plain === table.key) ?? null,
    table: table.name,
    schema,
    folder: `${words.place?.(root, store) ?? root}/${table.name}`,
    isOnDisk: store === null,
    night,
  };
}

/** As many whole characters as fit. */
const shortened = (comment: string, mostBytes: number): string =>
  new TextDecoder().decode(Buffer.from(comment).subarray(0, mostBytes), { stream: true });

/** What DuckDB needs to reach a bucket; nothing for a disk. */
function duckdbSecret(store: ObjectStore | null): string[] {
  if (store === null) return [];
  const endpoint = store.endpoint === null ? null : new URL(store.endpoint);
  const options = [
    'type s3',
    'provider credential_chain',
    ...(store.region === null ? [] : [`region ${literal(store.region)}`]),
    ...(endpoint === null ? [] : [`endpoint ${literal(endpoint.host)}`, `use_ssl ${endpoint.protocol === 'https:'}`]),
    ...(store.pathStyle ? [`url_style 'path'`] : []),
  ];
  return [
    'install httpfs',
    'load httpfs',
    'install aws',
    'load aws',
    `create or replace secret (${options.join(', ')})`,
  ];
}
