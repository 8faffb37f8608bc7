/** `sources.yml` of dbt for the copy it is to read: tables and columns with descriptions, when they are fresh, what always holds. */

import { basename, join } from 'node:path';

import { Document } from 'yaml';

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import type { DateDimension } from '../model/dimension.ts';
import type { Slice } from '../model/slice.ts';
import { columnsNow, relationsIn } from '../warehouse/relations.ts';
import { identifier, literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { schemaName } from './ddl.ts';
import { CATALOG } from './delta/catalog.ts';
import { deltaTables, dimensionTables, FINALITY, isMetric, type LakeColumn } from './lake-table.ts';

/** A table or view of the copy. */
interface DbtTable {
  readonly name: string;
  readonly comment: string | null;
  readonly columns: readonly LakeColumn[];
  /** Tests of the whole table, and of columns by name, as dbt writes them. */
  readonly tests: readonly unknown[];
  readonly columnTests: Readonly<Record<string, readonly unknown[]>>;
  readonly freshness: object | null;
}

/** A DuckDB file that dbt attaches: the snapshot, or the catalog beside Delta tables. */
interface DbtCopy {
  readonly path: string;
  /** The name it is attached under. */
  readonly database: string;
  readonly sources: readonly {
    readonly name: string;
    readonly comment: string;
    readonly schema: string;
    readonly tables: readonly DbtTable[];
  }[];
}

/** A night may start late or take long; two in a row may not. */
const LOADED_WARN_HOURS = 36;
const LOADED_ERROR_HOURS = 60;
/** The newest day is yesterday's, counted from its first hour. */
const NEWEST_DAY_HOURS = 24;

/** What the ledger says to analysts; the rest of it is bookkeeping. */
const ledgerTables = ['finality', 'loads', 'periods', 'restatements', 'runs'];

/** Describes the first snapshot, else the first local Delta tables; `USAGE_INVALID` when neither is configured. */
export async function dbtSourcesYaml(
  { publish, slices }: Pick<Config, 'publish' | 'slices'>,
  warehouse: Warehouse,
): Promise<string> {
  const snapshot = publish.find(({ kind }) => kind === 'duckdb');
  if (snapshot !== undefined) return sourcesYaml(await ofSnapshot(snapshot.path, slices, warehouse));
  const tables = publish.find((target) => target.kind === 'delta' && target.store === undefined);
  if (tables !== undefined) return sourcesYaml(await ofCatalog(tables.path, slices, warehouse));
  const message = 'No copy that dbt could read was configured: neither a snapshot nor local Delta tables.';
  throw new Failure('USAGE_INVALID', message, { hint: 'Add a duckdb target to publish.' });
}

const REPORTS = {
  name: 'ripen',
  comment: 'Attribution reports, one table per slice, with partners, links and the catalog of metrics.',
  schema: 'main',
};
const LEDGER = {
  name: 'ripen_ledger',
  comment: 'What was requested, what was loaded, what moved, and which cells are final.',
  schema: 'ripen',
};

async function ofSnapshot(path: string, slices: readonly Slice[], warehouse: Warehouse): Promise<DbtCopy> {
  const database = schemaName(basename(path, '.duckdb'), new Set());
  const views = slices.flatMap(({ name }) => [
    name,
    ...['_final', '_cohorts', '_links'].map((ending) => `${name}${ending}`),
  ]);
  const main = (await relationsOf(warehouse, 'main', [...views, ...dimensionTables])).map((table) => {
    const slice = slices.find(({ name }) => name === table.name);
    return slice === undefined ? table : ruled(table, slice, loadedLately(slice, database));
  });
  const ledger = await relationsOf(warehouse, 'ripen', ledgerTables);
  return {
    path,
    database,
    sources: [
      { ...REPORTS, tables: main },
      { ...LEDGER, tables: ledger },
    ],
  };
}

async function ofCatalog(path: string, slices: readonly Slice[], warehouse: Warehouse): Promise<DbtCopy> {
  const database = basename(CATALOG, '.duckdb');
  const tables = (await deltaTables(warehouse)).flatMap(({ name, comment, columns, grain }): DbtTable[] => {
    const table = plainTable(name, comment, columns);
    const slice = slices.find((each) => each.name === name);
    if (slice === undefined) return [table];
    const finalComment = `${comment ?? ''} Cells that are not final are NULL.`.trim();
    return [ruled(table, slice, newestDay(slice, grain, database)), plainTable(`${name}_final`, finalComment, columns)];
  });
  return { path: join(path, CATALOG), database, sources: [{ ...REPORTS, tables }] };
}

/** Those of a schema that are there under these names, with every column as it is. */
async function relationsOf(warehouse: Warehouse, schema: string, names: readonly string[]): Promise<DbtTable[]> {
  const found = await relationsIn(warehouse, schema);
  const named = names.flatMap((name) => found.get(name) ?? []);
  const tables = named.map(async (relation) =>
    plainTable(relation.name, relation.comment, await columnsNow(warehouse, schema, relation)),
  );
  return Promise.all(tables);
}

const idTests = ['not_null', 'unique'];

/** What always holds of tables that are no slices. */
const columnTestsOf: Readonly<Record<string, DbtTable['columnTests']>> = {
  partners: { partner_id: idTests },
  links: { token: idTests },
  loads: { load_id: idTests, verdict: [accepted(['proven', 'unverifiable'])] },
  periods: { state: [accepted(['open', 'maturing', 'final'])] },
};

function accepted(values: readonly string[]): object {
  return { accepted_values: { arguments: { values } } };
}

function plainTable(name: string, comment: string | null, columns: readonly LakeColumn[]): DbtTable {
  const isFinality = name === 'finality' || name === FINALITY;
  const tests = isFinality ? [uniqueRow(name, ['slice', 'period', 'metric'])] : [];
  return { name, comment, columns, tests, columnTests: columnTestsOf[name] ?? {}, freshness: null };
}

/** A whole key is one value, as dbt's own test of a column takes an expression as well. */
function uniqueRow(table: string, columns: readonly string[]): object {
  const columnName = unrendered(`row(${columns.map(identifier).join(', ')})`);
  return { unique: { name: `unique_row_of_${table}`, arguments: { column_name: columnName } } };
}

/** Columns ripen adds that no row is told apart by. */
const besideTheKey = new Set(['_extra', '_load_id']);

/** A slice: a row is told apart by its dimensions and what the service attached to it; its period is always there. */
function ruled(table: DbtTable, { name, grain }: Slice, freshness: object | null): DbtTable {
  const names = new Set(table.columns.map((column) => column.name));
  const key = table.columns.filter((column) => !isMetric(column) && !besideTheKey.has(column.name));
  const to = `source('${LEDGER.name}', 'loads')`;
  const loaded = ['not_null', { relationships: { arguments: { to, field: 'load_id' } } }];
  const tests = [
    uniqueRow(
      name,
      key.map((column) => column.name),
    ),
  ];
  const columnTests = {
    ...(grain !== null && names.has(grain) ? { [grain]: ['not_null'] } : {}),
    ...(names.has('_load_id') ? { _load_id: loaded } : {}),
  };
  return { ...table, tests, columnTests, freshness };
}

/** Every night loads at least the newest day of a slice whose end moves; one whose end is fixed rests at last. */
const isLive = ({ datePeriod }: Slice): boolean => !('day' in datePeriod.last);

function loadedLately(slice: Slice, database: string): object | null {
  const query = `select max(loaded_at) from ${identifier(database)}.ripen.loads where slice = ${literal(slice.name)}`;
  return isLive(slice) ? freshness(query, 0) : null;
}

/** A catalog does not say when it was loaded; the newest day it holds says the same. */
function newestDay(slice: Slice, grain: DateDimension | null, database: string): object | null {
  if (!isLive(slice) || (grain !== 'day' && grain !== 'hour')) return null;
  const table = `${identifier(database)}.main.${identifier(slice.name)}`;
  return freshness(`select max(${identifier(grain)})::date::timestamp from ${table}`, NEWEST_DAY_HOURS);
}

const freshness = (query: string, moreHours: number): object => ({
  freshness: {
    warn_after: { count: moreHours + LOADED_WARN_HOURS, period: 'hour' },
    error_after: { count: moreHours + LOADED_ERROR_HOURS, period: 'hour' },
  },
  loaded_at_query: query,
});

/** Words that some engine takes for its own among the service's names; whatever is no plain word is quoted too. */
const troubleNames = new Set('hour day week month year quarter cost index value name label level'.split(' '));
const isTrouble = (name: string): boolean => troubleNames.has(name) || !/^[a-z_][a-z0-9_]*$/.test(name);

const LINE_WIDTH = 120;

function sourcesYaml({ path, database, sources }: DbtCopy): string {
  const quoting = { database: true, schema: true, identifier: true };
  const nodes = sources.map(({ name, comment, schema, tables }) => ({
    name,
    description: comment,
    database,
    schema,
    loader: 'ripen',
    quoting,
    tables: tables.map(tableNode),
  }));
  const document = new Document({ version: 2, sources: nodes });
  document.commentBefore = [
    'Sources for dbt 1.10.5 or newer with dbt-duckdb, made by `ripen publish --dbt`: make them again after a slice',
    'or its columns changed. The file is replaced as a whole every night, so dbt attaches it and builds in one of its',
    'own. In profiles.yml:',
    `  attach: [{ path: ${JSON.stringify(path)}, alias: ${database}, read_only: true }]`,
  ]
    .map((line) => ` ${line}`)
    .join('\n');
  return document.toString({ lineWidth: LINE_WIDTH });
}

function tableNode({ name, comment, columns, tests, columnTests, freshness: config }: DbtTable): object {
  return {
    name,
    ...described(comment),
    ...(config === null ? {} : { config }),
    ...tested(tests),
    columns: columns.map((column) => ({
      name: unrendered(column.name),
      ...described(column.comment),
      data_type: column.type.toLowerCase(),
      ...(isTrouble(column.name) ? { quote: true } : {}),
      ...tested(Object.hasOwn(columnTests, column.name) ? (columnTests[column.name] ?? []) : []),
    })),
  };
}

/** dbt renders texts with Jinja, where braces begin a command. */
function unrendered(text: string): string {
  return text.replaceAll('{', '{{ "{" }}');
}

const described = (comment: string | null): object => (comment === null ? {} : { description: unrendered(comment) });
const tested = (tests: readonly unknown[]): object => (tests.length === 0 ? {} : { data_tests: tests });
