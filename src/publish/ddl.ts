/** The statements with which an engine reads lakes where they lie: every table, every column with type and comment. */

import type { Config, ObjectStore } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { engines, type Engine } from './engines.ts';
import { engineWords, type EngineWords } from './engine-words.ts';
import { listTables } from './delta/commit.ts';
import { logFiles } from './delta/log.ts';
import { type Dialect, lakeView, sliceViews } from './lake-sql.ts';
import { deltaTables, FINALITY, lakeTables, type LakeColumn, type LakeTable } from './lake-table.ts';
import { schemaName } from './schema-name.ts';
import { type LakeTarget, withStore } from './open-store.ts';

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

/**
 * The statements with which an engine reads every lake it can, one lake after the other, each in a schema of its own.
 * Throws `USAGE_INVALID` when there is none.
 */
export async function lakesDdl(
  engine: Engine,
  { publish }: Pick<Config, 'publish'>,
  warehouse: Warehouse,
  signal: AbortSignal = new AbortController().signal,
): Promise<string> {
  const lakes = await describedLakes(engine, { publish }, warehouse, signal);
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
    const schema = schemaName(target.path, schemas);
    const place = { root: target.path, store: target.store ?? null, isDelta, schema };
    const refusal = ddlRefusal(engine, place);
    if (refusal !== null) {
      refusals.push(refusal);
      continue;
    }
    schemas.add(schema);
    const released = isDelta && target.keepReleased === true ? 'true' : null;
    const tables = isDelta ? await deltaTables(warehouse, released) : await lakeTables(warehouse);
    const night = isDelta ? await newestNight(target, signal) : null;
    described.push({ ...place, night, tables });
  }
  if (described.length > 0) return described;
  const because = refusals.length === 0 ? 'none is configured' : refusals.join('; ');
  throw new Failure('USAGE_INVALID', `There was no lake to describe: ${because}.`, {
    facts: { engine },
    hint: `Add a delta target to publish where ${engine} reads, or name another engine of ${engines.join(', ')}.`,
  });
}

/** The version that every table has; null before the first publish, and where the store does not say. */
async function newestNight(target: LakeTarget, signal: AbortSignal): Promise<number | null> {
  return withStore(target, null, signal, async (store) => {
    const lying = (await listTables(store, FINALITY)).get(FINALITY);
    return logFiles(lying?.keys() ?? []).commits.at(-1) ?? null;
  }).catch(() => null);
}

/** Why an engine cannot read a lake there; null when it can. */
export function ddlRefusal(
  engine: Engine,
  { root, store, isDelta }: Pick<DescribedLake, 'root' | 'store' | 'isDelta'>,
): string | null {
  const { title, plain } = engineWords[engine];
  if (!isDelta && plain === undefined) return `${title} reads Delta tables, not the plain files in ${root}`;
  const readsDisks = !['athena', 'snowflake', 'bigquery', 'databricks'].includes(engine);
  if (store === null && !readsDisks) return `${title} reads s3:// alone, not ${root}`;
  const hasWildcards = engine === 'clickhouse' && !isDelta && /[*?{}]/.test(root);
  return hasWildcards ? `ClickHouse takes the * ? { } in ${root} for wildcards` : null;
}

/** The statements for one lake, headed by what is to be known of them; each ends in a semicolon. */
export function lakeDdl(engine: Engine, lake: DescribedLake): string {
  const words = engineWords[engine];
  const { proof, notes, local = [], preamble, table } = (lake.isDelta ? undefined : words.plain) ?? words.delta;
  const heading = [
    `How ${words.title} reads the ${lake.isDelta ? 'Delta tables' : 'lake'} ${lake.root}; made by \`ripen publish --ddl ${engine}\`.`,
    proof,
    ...notes,
    ...(lake.store === null ? local : []),
    ...(lake.isDelta ? nightNotes(words, lake.night) : []),
    'Make and run the statements again after a slice or its columns changed.',
  ];
  const shared: Parts = { schema: words.name(lake.schema), schemaText: words.text(lake.schema) };
  const tableStatements = (each: LakeTable): string[] => {
    if (engine === 'duckdb' && !lake.isDelta) return lakeView(lake.root, each, lake.schema);
    const filled = fill(table, { ...shared, ...partsOf(each, lake, words) }, { isDivided: each.key !== null, ...lake });
    return engine === 'duckdb' ? [...filled, ...commentsOf(each, words, lake)] : filled;
  };
  const statements = [
    ...(engine === 'duckdb' ? duckdbSecret(lake.store) : []),
    ...fill(preamble, shared, { isDivided: false, night: null }),
    ...lake.tables.flatMap(tableStatements),
    ...lake.tables.flatMap((each) => viewStatements(each, words, lake)),
  ];
  return [...heading.map((line) => `-- ${line}\n`), ...statements.map((sql) => `\n${sql};\n`)].join('');
}

function nightNotes({ hasNights, version, title }: EngineWords, night: number | null): string[] {
  if (!hasNights)
    return [`${title} reads the newest version of each table, which is another night while one is published.`];
  if (night === null) return ['No night was found there: the views show the newest version of each table.'];
  const what = version === undefined ? 'Tables and views show' : 'The views show';
  return [
    `${what} night ${night}, the newest, whatever is published later, for as long as keep says: make them again each night.`,
  ];
}

/** The views beside the table of a slice, with what the warehouse says of them. */
function viewStatements(table: LakeTable, words: EngineWords, lake: DescribedLake): string[] {
  return sliceViews(table, dialectOf(words, lake)).flatMap((each) =>
    viewOver({ ...table, ...each, key: null }, each.rows, words, lake),
  );
}

/** How an engine writes a query over the tables of a lake. */
export function dialectOf(words: EngineWords, { schema, isDelta, night }: DescribedLake): Dialect {
  const { types, nullable = '{type}', version = '' } = words;
  const { name, text } = words.views ?? words;
  const pinned = isDelta && night !== null ? version.replace('{night}', String(night)) : '';
  return {
    column: (each) => name(each),
    from: (each) => `${name(each, schema)}${pinned}`,
    text,
    type: (column) => nullable.replace('{type}', typeOf(column, types)),
  };
}

/** The statements of a view over a query, with every comment. */
export function viewOver(table: LakeTable, rows: string, words: EngineWords, lake: DescribedLake): string[] {
  const { name } = words.views ?? words;
  const parts = { ...partsOf(table, lake, words), name: name(table.name, lake.schema), rows };
  const filled = fill(words.view, parts, { isDivided: false, night: null });
  return words.commentsApart === true ? filled.concat(commentsOf(table, words, lake)) : filled;
}

/** The statements that come before those of a schema. */
export const preambleOf = ({ delta, name, text }: EngineWords, schema: string): string[] =>
  fill(delta.preamble, { schema: name(schema), schemaText: text(schema) }, { isDivided: false, night: null });

/** What DuckDB and Trino are told of a view, a statement each. */
function commentsOf({ name, comment, columns }: LakeTable, words: EngineWords, { schema }: DescribedLake): string[] {
  const full = words.name(name, schema);
  return [
    ...(comment === null ? [] : [`comment on view ${full} is ${words.text(comment)}`]),
    ...columns.flatMap((column) =>
      column.comment === null
        ? []
        : [`comment on column ${full}.${words.name(column.name)} is ${words.text(column.comment)}`],
    ),
  ];
}

const typeOf = ({ type }: LakeColumn, types: EngineWords['types']): string =>
  types[type] ?? (type.startsWith('DECIMAL') ? types['DECIMAL'] : undefined) ?? type.toLowerCase();

type Parts = Readonly<Record<string, string>>;

/** The statements of a template: what stands in `⟦ ⟧` is for divided tables alone, in `⟪ ⟫` for a night, `{part}` is put in. */
function fill(
  template: string,
  parts: Parts,
  { isDivided, night }: { readonly isDivided: boolean; readonly night: number | null },
): string[] {
  return template
    .replaceAll(/⟦([^⟧]*)⟧/g, (_, inner: string) => (isDivided ? inner : ''))
    .replaceAll(/⟪([^⟫]*)⟫/g, (_, inner: string) => (night === null ? '' : inner))
    .split('\n;\n')
    .filter((statement) => statement.trim() !== '')
    .map((statement) => statement.replaceAll(/\{(\w+)\}/g, (_, part: string) => parts[part] ?? ''));
}

/** The columns of a table as engines with partitions see them: those in its files, and the one in the path. */
function dividedColumns({ columns, key }: LakeTable): {
  readonly inFiles: readonly LakeColumn[];
  readonly inPath: readonly LakeColumn[];
} {
  const inFiles = columns.filter(({ name }) => name !== key);
  if (key === null) return { inFiles, inPath: [] };
  const own = columns.find(({ name }) => name === key);
  return { inFiles, inPath: [own ?? { name: key, type: 'DATE', comment: `The ${key} the rows are filed under.` }] };
}

function partsOf(table: LakeTable, lake: DescribedLake, words: EngineWords): Parts {
  const { name, text, types, mostCommentBytes = Infinity, columnComment = '' } = words;
  const { inFiles, inPath } = dividedColumns(table);
  const commented = (column: LakeColumn, type: string): string => {
    const comment = column.comment === null ? '' : ` comment ${text(shortened(column.comment, mostCommentBytes))}`;
    return `${name(column.name)} ${type}${comment}`;
  };
  const line = (column: LakeColumn): string => commented(column, typeOf(column, types));
  const lines = (columns: readonly string[]): string => columns.map((each) => `    ${each}`).join(',\n');
  const named = table.columns.map(({ name: column, comment }) => {
    const said = comment === null ? '' : columnComment.replace('{comment}', () => text(comment));
    return `${name(column)}${said}`;
  });
  const address = lake.store === null ? lake.root : httpAddress(lake.store);
  const isGoogle = words.title === 'BigQuery' && address.includes('storage.googleapis.com');
  const path =
    lake.store === null
      ? `${words.localScheme ?? ''}${lake.root}`
      : lake.root.replace(/^s3:/, isGoogle ? 'gs:' : (words.scheme ?? 's3:'));
  // ClickHouse: in the order of the table, every column but the one of the path may be NULL.
  const declared = [...table.columns, ...inPath.filter((column) => !table.columns.includes(column))];
  const typed = declared.map((column) => {
    const type = `Nullable(${typeOf(column, types).replace(/^decimal/, 'Decimal')})`;
    return { column, type: inPath.includes(column) && !lake.isDelta ? 'Date' : type };
  });
  return {
    name: words.name(table.name, lake.schema),
    table: text(table.name),
    comment: text(table.comment ?? ''),
    columns: lines([...inFiles, ...inPath].map(line)),
    fileColumns: lines(inFiles.map(line)),
    pathColumn: inPath.map(line).join(''),
    pathName: inPath.map((column) => name(column.name)).join(''),
    pathText: inPath.map((column) => text(column.name)).join(''),
    location: text(`${path}/${table.name}`),
    folder: text(`${path}/${table.name}/`),
    folderName: text(`${table.name}/`),
    night: String(lake.night),
    namedColumns: lines(named),
    viewColumns: lines(typed.map(({ column, type }) => commented(column, type))),
    viewNames: lines(typed.map(({ column }) => name(column.name))),
    tableNames: lines(table.columns.map((column) => name(column.name))),
    structure: text(typed.map(({ column, type }) => `${name(column.name)} ${type}`).join(', ')),
    files: text(`${address}/${table.name}/${table.key === null ? '' : `${table.key}=*/`}data.parquet`),
    address: text(`${address}/${table.name}/`),
    reader: lake.store === null ? 'file' : 's3',
    deltaReader: lake.store === null ? 'deltaLakeLocal' : 'deltaLake',
  };
}

/** As many whole characters as fit. */
const shortened = (comment: string, mostBytes: number): string =>
  new TextDecoder().decode(Buffer.from(comment).subarray(0, mostBytes), { stream: true });

/** Where ClickHouse finds a bucket: Amazon's own address unless an endpoint is stated. */
function httpAddress({ bucket, prefix, region, pathStyle, endpoint: stated }: ObjectStore): string {
  const endpoint = new URL(stated ?? `https://s3.${region === null ? '' : `${region}.`}amazonaws.com`);
  if (!pathStyle) endpoint.hostname = `${bucket}.${endpoint.hostname}`;
  const base = endpoint.href.replace(/\/+$/, '');
  return [base, ...(pathStyle ? [bucket] : []), ...(prefix === '' ? [] : [prefix])].join('/');
}

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
  const secret = `create or replace secret (${options.join(', ')})`;
  return ['install httpfs', 'load httpfs', 'install aws', 'load aws', secret];
}
