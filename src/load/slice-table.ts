/**
 * The table of a slice: made, kept in step with the configuration, swapped when its meaning changed.
 *
 * A slice has one live table. When its fingerprint changes, a second one is built in schema `ripen_internal` until every period
 * of its coverage is in it; then it takes the live one's place in one transaction, and no reader ever sees a mixture.
 */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import type { WeekStart } from '../model/calendar.ts';
import type { Catalog } from '../model/catalog.ts';
import { formatColumnType, parseColumnType } from '../model/column-type.ts';
import { metricsByAge } from '../model/cube.ts';
import { isDateDimension } from '../model/dimension.ts';
import { fingerprintOf } from '../model/fingerprint.ts';
import {
  carries,
  fingerprintFromWeek,
  type SliceLedger,
  type SliceTable,
  tableOf,
  weekStartOf,
} from '../model/ledger.ts';
import { metricsOf } from '../model/metric.ts';
import type { Slice } from '../model/slice.ts';
import { heldColumnTypes, identifier, literal, statement } from '../warehouse/sql.ts';
import { learnWeekStart, readSliceLedger } from '../warehouse/ledger.ts';
import { recordSchemaChange } from '../warehouse/runs.ts';
import { remembering } from '../warehouse/remembering.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { alterColumns, dropProjected, rebuildTable } from './alter-table.ts';
import { describeSlice } from './describing.ts';
import { readAdditivity, recordedIds, recordedUnknown } from './slice-metrics.ts';
import { columnsAsStored, columnsOf, createTable, liveTable, tableColumns, type Target } from './target.ts';

const buildingTable = (slice: string): string => `ripen_internal.${identifier(`building_${slice}`)}`;

/**
 * Makes or alters the table a slice's rows go to, so that it has exactly the configured columns in configured order; a
 * column that was widened stays wide, and one whose type the catalog or the configuration widened is altered here, before
 * anything is inserted. Removed metrics disappear, added ones are NULL until their periods are fetched. Throws
 * `CONFIG_INVALID` for a slice that lost its date dimension: its periods would have no place any more.
 */
export async function prepareTable(
  warehouse: Warehouse,
  slice: Slice,
  catalog: Catalog,
  runId: string,
): Promise<Target> {
  const meaning = fingerprintOf(slice);
  const ledger = await readSliceLedger(warehouse, slice.name);
  await refuseUnloadable(warehouse, slice, ledger);
  const known = tableOf(ledger, meaning);
  const state = known?.state ?? (ledger.live === null ? 'live' : 'building');
  const fingerprint = known?.fingerprint ?? meaning;
  const table = state === 'live' ? liveTable(slice.name) : buildingTable(slice.name);
  const seen = await readAdditivity(warehouse, slice.name);
  const given = metricsOf(slice, catalog);
  const metrics = metricsOf(slice, catalog, seen);
  await warehouse.transact(async () => {
    if (ledger.building !== null && ledger.building !== known) await dropBuilding(warehouse, slice, ledger.building);
    if (known !== null) return;
    // A view of another slice gives way, or was left by one that is not configured any more.
    await warehouse.run(`drop view if exists ${table}`);
    await warehouse.run(createTable(table, columnsOf(slice, given, new Map())));
    await recordTable(
      warehouse,
      slice,
      { fingerprint, table, state, weekStartsOn: weekStartOf(ledger, meaning) },
      runId,
    );
  });
  if (slice.cube !== undefined && known !== null) await removeMetrics(warehouse, { slice, fingerprint, table }, runId);
  const existing = await heldColumnTypes(warehouse, table, slice.name);
  const columns = columnsOf(slice, metrics, existing);
  const wanted = tableColumns(columns);
  const base = { slice, fingerprint, metrics, state, table, catalog };
  if (wanted.map(({ name }) => name).join('\n') !== [...existing.keys()].join('\n')) {
    const target: Target = { ...base, columns };
    await warehouse.transact(async () => {
      await rebuildTable(warehouse, { slice, fingerprint, table, columns, existing, runId });
      await describeSlice(warehouse, target);
    });
    return target;
  }
  if (columns.cube !== undefined) {
    // As it is stored; a type that the catalog made wider is needed by the first value of it.
    const value = parseColumnType(existing.get('value') ?? '') ?? columns.cube.value;
    const target: Target = { ...base, columns: { ...columns, cube: { ...columns.cube, value } } };
    await warehouse.transact(async () => describeSlice(warehouse, target));
    return target;
  }
  const asItIs: Target = { ...base, columns: columnsAsStored(columns, existing) };
  const widened = new Map(
    columns.metrics
      .filter(({ id, type }) => formatColumnType(type) !== existing.get(id))
      .map(({ id, type }) => [id, type]),
  );
  return warehouse.transact(async () => {
    if (widened.size > 0) return alterColumns(warehouse, asItIs, widened, runId);
    await describeSlice(warehouse, asItIs);
    return asItIs;
  });
}

/** Removes the rows of metrics that a cube has no longer: should one return, its periods are due again. */
async function removeMetrics(
  warehouse: Warehouse,
  { slice, fingerprint, table }: Pick<Target, 'slice' | 'fingerprint' | 'table'>,
  runId: string,
): Promise<void> {
  const recorded = await recordedIds(warehouse, slice.name);
  const removed = recorded.filter((id) => !slice.metrics.includes(id));
  if (removed.length === 0) return;
  const ages = JSON.stringify([
    ...metricsByAge(
      slice,
      slice.metrics.map((id) => ({ id })),
    ).keys(),
  ]);
  await warehouse.transact(async () => {
    await warehouse.run(`delete from ${table} where metric in (${removed.map(literal).join(', ')})`);
    await warehouse.run(statement('load/forget_other_ages'), [slice.name, fingerprint, ages]);
    for (const name of removed) {
      await warehouse.run(statement('load/forget_metric'), [slice.name, fingerprint, name]);
      const change = { name, change: 'metric removed', before: name, after: null };
      await recordSchemaChange(warehouse, { runId, object: slice.name, ...change });
    }
  });
}

const readMainTables = remembering(async (warehouse): Promise<ReadonlySet<string>> => {
  const rows = await warehouse.rows(statement('ledger/tables_in_the_way'), [], z.object({ table_name: z.string() }));
  return new Set(rows.map((row) => row.table_name));
}, 'relations');

/** Reads what the tables of some slices are prepared by, together; what cannot be read fails where it is needed. */
export async function readAhead(warehouse: Warehouse, slices: readonly Slice[]): Promise<void> {
  await Promise.allSettled(
    slices.flatMap(({ name }) => [
      readSliceLedger(warehouse, name),
      readAdditivity(warehouse, name),
      recordedUnknown(warehouse, name),
    ]),
  );
}

/**
 * Why a slice cannot be loaded as it is configured; null where it can. What ripen makes of a slice is named after it, and may not
 * stand in the place of a table. A report without a date has one period: the dated ones would have no place in its table, and
 * be lost with the old one.
 */
export async function refusalOf(
  warehouse: Warehouse,
  { name, grain }: Slice,
  { live }: Pick<SliceLedger, 'live'>,
): Promise<{ readonly setting: 'name' | 'dimensions'; readonly message: string; readonly hint: string } | null> {
  const views = ['_cohorts', '_final', '_maturation', '_projected'].map((ending) => name + ending);
  const tables = await readMainTables(warehouse, '');
  const other = views.find((view) => tables.has(view));
  if (other !== undefined) {
    return {
      setting: 'name',
      message: `a view of it would have the name of the table ${other}, which the warehouse holds.`,
      hint: `Give the slice another name, or let the other go with \`ripen drop --slice ${other}\`.`,
    };
  }
  if (grain !== null || live === null || live.periods.size === 0) return null;
  const columns = await heldColumnTypes(warehouse, liveTable(name), name);
  if (![...columns.keys()].some(isDateDimension)) return null;
  return {
    setting: 'dimensions',
    message: `it has no date dimension any more, and its table holds ${live.periods.size} periods, which would be lost.`,
    hint: `Give the report without a date another name, or let the periods go with \`ripen drop --slice ${name}\`.`,
  };
}

/** Throws `CONFIG_INVALID` for a slice that cannot be loaded as it is configured. */
export async function refuseUnloadable(
  warehouse: Warehouse,
  slice: Slice,
  ledger: Pick<SliceLedger, 'live'>,
): Promise<void> {
  const refusal = await refusalOf(warehouse, slice, ledger);
  if (refusal === null) return;
  const { message, hint } = refusal;
  const facts = { slice: slice.name, periods: ledger.live?.periods.size ?? 0 };
  throw new Failure('CONFIG_INVALID', `slice ${slice.name}: ${message}`, { facts, hint });
}

async function recordTable(
  warehouse: Warehouse,
  slice: Slice,
  {
    fingerprint,
    table,
    state,
    weekStartsOn,
  }: Pick<Target, 'fingerprint' | 'table' | 'state'> & { readonly weekStartsOn: WeekStart | null },
  runId: string,
): Promise<void> {
  await warehouse.run(statement('load/record_table'), [slice.name, fingerprint, table, state, weekStartsOn]);
  await recordSchemaChange(warehouse, {
    runId,
    object: slice.name,
    name: null,
    change: `${state} table made`,
    before: null,
    after: fingerprint,
  });
}

/** A table that was being built for a meaning that is no longer wanted, or for weeks that begin on another day again. */
async function dropBuilding(warehouse: Warehouse, slice: Slice, { fingerprint }: SliceTable): Promise<void> {
  await warehouse.run(`drop table if exists ${buildingTable(slice.name)}`);
  await forget(warehouse, slice.name, fingerprint);
}

/**
 * Takes the service's word that weeks begin on another day. A table that holds nothing yet just learns it; one that does
 * holds weeks of another meaning, so a new one is built beside it. Call `prepareTable` for the target then.
 */
export async function turnWeeks(
  warehouse: Warehouse,
  { slice, fingerprint }: Target,
  weekStartsOn: WeekStart,
  runId: string,
): Promise<void> {
  const meaning = fingerprintOf(slice);
  const { live, building } = await readSliceLedger(warehouse, slice.name);
  const table = [live, building].find((known) => known?.fingerprint === fingerprint) ?? null;
  await warehouse.transact(async () => {
    if (table === null || table.periods.size === 0) {
      await learnWeekStart(warehouse, { slice: slice.name, fingerprint }, weekStartsOn);
      return;
    }
    if (building !== null) await dropBuilding(warehouse, slice, building);
    if (live === null || (carries(live.fingerprint, meaning) && live.weekStartsOn === weekStartsOn)) return;
    const columns = `(select * from ${liveTable(slice.name)} limit 0)`;
    await warehouse.run(`create table ${buildingTable(slice.name)} as from ${columns}`);
    const made = {
      fingerprint: fingerprintFromWeek(meaning, weekStartsOn),
      table: buildingTable(slice.name),
      state: 'building',
      weekStartsOn,
    } as const;
    await recordTable(warehouse, slice, made, runId);
  });
}

/** Forgets what the ledger says of a dropped table; that its totals moved compares with none of another's. */
async function forget(warehouse: Warehouse, slice: string, fingerprint: string): Promise<void> {
  await warehouse.run(statement('load/forget_restatements'), [slice, fingerprint]);
  await warehouse.run(statement('load/forget_periods'), [slice, fingerprint, null, null, null]);
  await warehouse.run(statement('load/forget_released'), [slice, fingerprint, null, null]);
  await warehouse.run(statement('load/forget_table'), [slice, fingerprint]);
}

/** Puts a complete table in the live one's place, in one transaction. */
export async function swapTables(warehouse: Warehouse, target: Target, runId: string): Promise<void> {
  const { slice, fingerprint } = target;
  const ledger = await readSliceLedger(warehouse, slice.name);
  await warehouse.transact(async () => {
    await warehouse.run(`drop table ${liveTable(slice.name)}`);
    await warehouse.run(`create table ${liveTable(slice.name)} as from ${target.table}`);
    await warehouse.run(`drop table ${target.table}`);
    await dropProjected(warehouse, slice);
    if (ledger.live !== null) await forget(warehouse, slice.name, ledger.live.fingerprint);
    await warehouse.run(statement('load/record_swap'), [slice.name, fingerprint, liveTable(slice.name)]);
    await describeSlice(warehouse, { ...target, state: 'live', table: liveTable(slice.name) });
    await recordSchemaChange(warehouse, {
      runId,
      object: slice.name,
      name: null,
      change: 'table swapped',
      before: ledger.live?.fingerprint ?? null,
      after: fingerprint,
    });
  });
}
