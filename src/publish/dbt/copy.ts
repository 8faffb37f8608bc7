/** The published copy dbt is to read, described from the warehouse: the snapshot, or else the catalog of local Delta tables. */

import { basename, join } from 'node:path';

import * as z from 'zod';

import type { Config } from '../../config/config.ts';
import { Failure } from '../../errors.ts';
import type { DateDimension } from '../../model/dimension.ts';
import type { Slice } from '../../model/slice.ts';
import { columnsNow, relationsIn } from '../../warehouse/relations.ts';
import { identifier, literal, statement } from '../../warehouse/sql.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { schemaName } from '../ddl/ddl.ts';
import { CATALOG } from '../delta/catalog-file.ts';
import { dimensionTables, FINALITY, grainOf, isMetric, deltaTables } from '../lake-table.ts';
import type { DbtCopy, DbtSlice, DbtSource, DbtTable, Freshness, Rule } from './source.ts';

/** A night may start late or take long; two in a row may not. */
const LOADED_WARN_HOURS = 36;
const LOADED_ERROR_HOURS = 60;
/** The newest day is yesterday's, counted from its first hour. */
const NEWEST_DAY_HOURS = 24;

/** What the ledger tells analysts; the rest of it is bookkeeping. */
const ledgerTables = ['finality', 'loads', 'periods', 'restatements', 'runs'];

const REPORTS = 'ripen';
const LEDGER = 'ripen_ledger';

const metricRow = z.object({ metric: z.string() });

/** Describes the first snapshot, else the first local Delta tables; `USAGE_INVALID` when neither is configured. */
export async function dbtCopy(
  { publish, slices }: Pick<Config, 'publish' | 'slices'>,
  warehouse: Warehouse,
): Promise<DbtCopy> {
  const snapshot = publish.find(({ kind }) => kind === 'duckdb');
  if (snapshot !== undefined) return ofSnapshot(snapshot.path, slices, warehouse);
  const tables = publish.find((target) => target.kind === 'delta' && target.store === undefined);
  if (tables !== undefined) return ofCatalog(tables.path, slices, warehouse);
  throw new Failure(
    'USAGE_INVALID',
    'No copy that dbt could read was configured: neither a snapshot nor local Delta tables.',
    {
      hint: 'Add a duckdb target to publish.',
    },
  );
}

async function ofSnapshot(path: string, slices: readonly Slice[], warehouse: Warehouse): Promise<DbtCopy> {
  const database = schemaName(basename(path, '.duckdb'), new Set());
  const tablesOf = ({ name }: Slice): string[] => [name, `${name}_final`, `${name}_links`];
  const main = await relationsOf(warehouse, 'main', [...slices.flatMap(tablesOf), ...dimensionTables]);
  const ledger = await relationsOf(warehouse, 'ripen', ledgerTables);
  const ofSlices = slices.flatMap((slice) => [
    ...chosen(main, [slice.name]).map((table) =>
      ruled(table, [...sliceRules(slice, table), ...loadRules], loadedLately(slice, database)),
    ),
    ...chosen(main, tablesOf(slice).slice(1)),
  ]);
  const dimensions = chosen(main, dimensionTables).map((table) => ruled(table, dimensionRules[table.name]));
  const bookkeeping = chosen(ledger, ledgerTables).map((table) => ruled(table, ledgerRules[table.name]));
  return {
    path,
    database,
    sources: [reports([...ofSlices, ...dimensions]), ledgerSource(bookkeeping)],
    slices: await slicesOf(ofSlices, slices, [LEDGER, 'finality'], warehouse),
  };
}

async function ofCatalog(path: string, slices: readonly Slice[], warehouse: Warehouse): Promise<DbtCopy> {
  const database = basename(CATALOG, '.duckdb');
  const tables = (await deltaTables(warehouse)).flatMap(({ name, comment, columns, grain }): DbtTable[] => {
    const slice = slices.find((each) => each.name === name);
    const table = { name, comment, columns, freshness: null };
    if (slice === undefined)
      return [{ ...table, rules: name === FINALITY ? finalityRules : (dimensionRules[name] ?? []) }];
    const final = { ...table, name: `${name}_final`, comment: finalComment(comment), rules: [] };
    return [{ ...table, rules: sliceRules(slice, table), freshness: newestDay(slice, grain, database) }, final];
  });
  return {
    path: join(path, CATALOG),
    database,
    sources: [reports(tables)],
    slices: await slicesOf(tables, slices, [REPORTS, FINALITY], warehouse),
  };
}

/** The slices that are among the tables of the copy. */
async function slicesOf(
  tables: readonly DbtTable[],
  slices: readonly Slice[],
  finality: DbtSlice['finality'],
  warehouse: Warehouse,
): Promise<DbtSlice[]> {
  const found: DbtSlice[] = [];
  for (const { name, columns } of chosen(
    tables,
    slices.map((slice) => slice.name),
  )) {
    const metrics = columns.filter(isMetric).map((column) => column.name);
    const adding = await warehouse.rows(statement('publish/additive_metrics'), [name], metricRow);
    const additive = adding.map(({ metric }) => metric).filter((metric) => metrics.includes(metric));
    found.push({ name, columns, grain: grainOf(columns), metrics, additive, finality });
  }
  return found;
}

const finalComment = (comment: string | null): string => `${comment ?? ''} Cells that are not final are NULL.`.trim();

const reports = (tables: readonly DbtTable[]): DbtSource => ({
  name: REPORTS,
  comment: 'Attribution reports, one table per slice, with partners, links and the catalog of metrics.',
  schema: 'main',
  tables,
});

const ledgerSource = (tables: readonly DbtTable[]): DbtSource => ({
  name: LEDGER,
  comment: 'What was asked, what was loaded, what moved, and which cells are final.',
  schema: 'ripen',
  tables,
});

/** Those of a schema that are there under these names, with every column as it is. */
async function relationsOf(warehouse: Warehouse, schema: string, names: readonly string[]): Promise<DbtTable[]> {
  const found = await relationsIn(warehouse, schema);
  const named = names.flatMap((name) => found.get(name) ?? []);
  return Promise.all(
    named.map(async (relation) => {
      const columns = await columnsNow(warehouse, schema, relation);
      return { name: relation.name, comment: relation.comment, columns, rules: [], freshness: null };
    }),
  );
}

const chosen = (tables: readonly DbtTable[], names: readonly string[]): DbtTable[] =>
  names.flatMap((name) => tables.find((table) => table.name === name) ?? []);

function ruled(table: DbtTable, rules: readonly Rule[] = [], freshness: Freshness | null = null): DbtTable {
  return { ...table, rules, freshness };
}

/** Columns ripen adds that no row is told apart by. */
const besideTheKey = new Set(['_extra', '_load_id']);

/** A row is told apart by its dimensions and what the service attached to it; its period is always there. */
function sliceRules({ grain }: Slice, { columns }: Pick<DbtTable, 'columns'>): Rule[] {
  const names = columns.map(({ name }) => name);
  const key = columns.filter((column) => !isMetric(column) && !besideTheKey.has(column.name)).map(({ name }) => name);
  const period = grain !== null && names.includes(grain) ? [{ kind: 'not_null', column: grain } as const] : [];
  return [...period, { kind: 'unique_row', columns: key }];
}

const loadRules: readonly Rule[] = [
  { kind: 'not_null', column: '_load_id' },
  { kind: 'relationships', column: '_load_id', source: LEDGER, table: 'loads', field: 'load_id' },
];

const finalityRules: readonly Rule[] = [{ kind: 'unique_row', columns: ['slice', 'period', 'metric'] }];

const idRules = (column: string): Rule[] => [
  { kind: 'not_null', column },
  { kind: 'unique', column },
];

const dimensionRules: Readonly<Record<string, readonly Rule[]>> = {
  partners: idRules('partner_id'),
  links: idRules('token'),
};

const ledgerRules: Readonly<Record<string, readonly Rule[]>> = {
  finality: finalityRules,
  loads: [...idRules('load_id'), { kind: 'accepted_values', column: 'verdict', values: ['proven', 'unverifiable'] }],
  periods: [{ kind: 'accepted_values', column: 'state', values: ['open', 'maturing', 'final'] }],
};

/** Every night loads at least the newest day of a slice whose end moves; one whose end is fixed rests at last. */
const isLive = ({ datePeriod }: Slice): boolean => !('day' in datePeriod.last);

function loadedLately(slice: Slice, database: string): Freshness | null {
  if (!isLive(slice)) return null;
  return {
    query: `select max(loaded_at) from ${identifier(database)}.ripen.loads where slice = ${literal(slice.name)}`,
    warnAfterHours: LOADED_WARN_HOURS,
    errorAfterHours: LOADED_ERROR_HOURS,
  };
}

/** A catalog does not say when it was loaded; the newest day it holds says the same. */
function newestDay(slice: Slice, grain: DateDimension | null, database: string): Freshness | null {
  if (!isLive(slice) || (grain !== 'day' && grain !== 'hour')) return null;
  return {
    query: `select max(${identifier(grain)})::date::timestamp from ${identifier(database)}.main.${identifier(slice.name)}`,
    warnAfterHours: NEWEST_DAY_HOURS + LOADED_WARN_HOURS,
    errorAfterHours: NEWEST_DAY_HOURS + LOADED_ERROR_HOURS,
  };
}
