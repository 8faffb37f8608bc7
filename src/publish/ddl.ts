/** The statements with which an engine reads lakes where they lie: every table, every column with type and comment. */

import type { Config, ObjectStore } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { engines, type Engine } from './engines.ts';
import { engineWords, type EngineWords, type TableWords } from './engine-words.ts';
import { finalRows, lakeView } from './lake-sql.ts';
import { deltaTables, lakeTables, type LakeColumn, type LakeTable } from './lake-table.ts';

/** A lake as its readers see it. */
export interface DescribedLake {
  /** An absolute directory, or `s3://bucket/prefix`. */
  readonly root: string;
  readonly store: ObjectStore | null;
  /** Whether its tables are Delta tables, not plain files. */
  readonly isDelta: boolean;
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
): Promise<string> {
  if (!engines.includes(engine)) {
    throw new Failure('USAGE_INVALID', `The engine ${engine} was not known.`, {
      hint: `Name one of ${engines.join(', ')}.`,
    });
  }
  const schemas = new Set<string>();
  const lakes: DescribedLake[] = [];
  for (const target of publish) {
    if (target.kind === 'duckdb') continue;
    const isDelta = target.kind === 'delta';
    const tables = await (isDelta ? deltaTables : lakeTables)(warehouse);
    const schema = schemaName(target.path, schemas);
    schemas.add(schema);
    lakes.push({ root: target.path, store: target.store ?? null, isDelta, schema, tables });
  }
  const readable = lakes.filter((lake) => ddlRefusal(engine, lake) === null);
  if (readable.length > 0) return readable.map((lake) => lakeDdl(engine, lake)).join('\n');
  const refusals = lakes.map((lake) => ddlRefusal(engine, lake));
  const others = engines.filter((other) => lakes.some((lake) => ddlRefusal(other, lake) === null));
  const because = lakes.length === 0 ? 'none is configured' : refusals.join('; ');
  const instead = others.length === 0 ? '.' : `, or name an engine that reads what there is: ${others.join(', ')}.`;
  throw new Failure('USAGE_INVALID', `There was no lake to describe: ${because}.`, {
    facts: { engine, engines: others.join(', ') },
    hint:
      lakes.length === 0 ? 'Add a delta or a parquet target to publish.' : `Publish to where ${engine} reads${instead}`,
  });
}

/** Why an engine cannot read a lake there; null when it can. */
export function ddlRefusal(engine: Engine, { root, store, isDelta }: DescribedLake): string | null {
  if (engine === 'athena' && store === null) return `Athena reads s3:// alone, not ${root}`;
  const hasWildcards = engine === 'clickhouse' && !isDelta && /[*?{}]/.test(root);
  return hasWildcards ? `ClickHouse takes the * ? { } in ${root} for wildcards` : null;
}

/** The statements for one lake, headed by what is to be known of them; each ends in a semicolon. */
export function lakeDdl(engine: Engine, lake: DescribedLake): string {
  const words = engineWords[engine];
  const { proof, notes, local = [], preamble, table } = lake.isDelta ? words.delta : words.plain;
  const heading = [
    `How ${words.title} reads the ${lake.isDelta ? 'Delta tables' : 'lake'} ${lake.root}; made by \`ripen publish --ddl ${engine}\`.`,
    proof,
    ...notes,
    ...(lake.store === null ? local : []),
    'Make and run the statements again after a slice or its columns changed.',
  ];
  const shared: Parts = { schema: words.name(lake.schema), schemaText: words.text(lake.schema) };
  const filled = (template: string, each: LakeTable): string[] =>
    fill(template, { ...shared, ...partsOf(each, lake, words) }, each.key !== null);
  const tableStatements = (each: LakeTable): string[] =>
    engine === 'duckdb' && !lake.isDelta ? lakeView(lake.root, each, lake.schema) : filled(table, each);
  const statements = [
    ...(engine === 'duckdb' && !lake.isDelta ? duckdbSecret(lake.store) : []),
    ...fill(preamble, shared, false),
    ...lake.tables.flatMap(tableStatements),
    ...lake.tables
      .filter(({ metrics }) => metrics.length > 0)
      .map((each) => finalView(words.views ?? words, each, lake)),
  ];
  return [...heading.map((line) => `-- ${line}\n`), ...statements.map((sql) => `\n${sql};\n`)].join('');
}

type Parts = Readonly<Record<string, string>>;

/** The statements of a template: what stands in `⟦ ⟧` is for divided tables alone, `{part}` is put in. */
function fill(template: string, parts: Parts, isDivided: boolean): string[] {
  return template
    .replaceAll(/⟦([^⟧]*)⟧/g, (_, inner: string) => (isDivided ? inner : ''))
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
  const { name, text, types, mostCommentBytes = Infinity } = words;
  const { inFiles, inPath } = dividedColumns(table);
  const commented = (column: LakeColumn, type: string): string => {
    const comment = column.comment === null ? '' : ` comment ${text(shortened(column.comment, mostCommentBytes))}`;
    return `${name(column.name)} ${type}${comment}`;
  };
  const line = (column: LakeColumn): string => commented(column, types[column.type] ?? column.type.toLowerCase());
  const lines = (columns: readonly string[]): string => columns.map((each) => `    ${each}`).join(',\n');
  const path =
    lake.store === null ? `${words.localScheme ?? ''}${lake.root}` : lake.root.replace(/^s3:/, words.scheme ?? 's3:');
  // ClickHouse: in the order of the table, every column but the one of the path may be NULL.
  const declared = [...table.columns, ...inPath.filter((column) => !table.columns.includes(column))];
  const typed = declared.map((column) => {
    const type = (types[column.type] ?? column.type.toLowerCase()).replace(/^decimal/, 'Decimal');
    return { column, type: inPath.includes(column) ? 'Date' : `Nullable(${type})` };
  });
  const address = lake.store === null ? lake.root : httpAddress(lake.store);
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

function finalView({ name, text }: TableWords, table: LakeTable, { schema }: DescribedLake): string {
  const inSchema = (given: string): string => name(given, schema);
  const rows = finalRows(table, { column: name, table: inSchema, text });
  return `create or replace view ${inSchema(`${table.name}_final`)} as\n${rows}`;
}

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

/** Schemas that DuckDB has already, or takes for a database of its own. */
const takenByDuckdb = new Set(['information_schema', 'memory', 'pg_catalog', 'system', 'temp']);

/** A name for the schema of a lake, from the last step of its path: small letters, digits and `_`, unlike those taken. */
export function schemaName(root: string, taken: ReadonlySet<string>): string {
  const last = root.split('/').findLast((step) => step !== '') ?? '';
  const word = last
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '_')
    .replace(/_+$/, '');
  const plain = /^(\d|$)/.test(word) || takenByDuckdb.has(word) ? `lake_${word}`.replace(/_$/, '') : word;
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? plain : `${plain}_${count}`;
    if (!taken.has(name)) return name;
  }
}
