/**
 * Makes a slice's table, adapts it to the configuration, swaps it, and cuts it to what `retain` keeps. If the fingerprint of a
 * slice changes, a second table is built in `ripen_internal`, and replaces the live one once it has every period of the
 * coverage.
 */

import * as z from 'zod';

import { Failure } from '../../errors.ts';
import type { Catalog } from '../../model/catalog.ts';
import { type Day, lastDay, spanOf, weekdayNames, weekdayOf } from '../../model/calendar.ts';
import { metricsByAge } from '../../model/cube.ts';
import { isDateDimension } from '../../model/dimension.ts';
import { fingerprintOf, type Slice } from '../../model/slice.ts';
import { type SliceLedger, tableOf } from '../../model/ledger.ts';
import { metricsOf } from '../../model/metric.ts';
import { coverageOf, firstKeptDay } from '../../model/period.ts';
import { asScript, identifier, insertRows, literal, statement, storedColumnTypes } from '../sql.ts';
import { readSliceLedger } from '../ledger.ts';
import { recordSchemaChange } from '../runs.ts';
import { remembering } from '../remembering.ts';
import type { Warehouse } from '../warehouse.ts';
import { describeSlice } from './describing.ts';
import { readAdditivity, recordedUnknown } from './slice-metrics.ts';
import {
  castExactly,
  columnsOf,
  createTable,
  insideDays,
  ledgerBounds,
  liveTable,
  tableColumns,
  type Target,
} from './target.ts';

const buildingTable = (slice: string): string =>
  `ripen_internal.${identifier(`building_${slice}`)}`;

/**
 * Makes or alters the table so that it has the configured columns in order, none narrower than before. Added metrics are NULL
 * until their periods are fetched. Throws as `refuseUnloadable` does.
 */
export async function prepareTable(
  warehouse: Warehouse,
  slice: Slice,
  catalog: Catalog,
  runId: string,
): Promise<Target> {
  const fingerprint = fingerprintOf(slice);
  const ledger = await readSliceLedger(warehouse, slice.name);
  await refuseUnloadable(warehouse, slice, ledger);
  const known = tableOf(ledger, fingerprint);
  const state = known?.state ?? (ledger.live === null ? 'live' : 'building');
  const table = state === 'live' ? liveTable(slice.name) : buildingTable(slice.name);
  const metrics = metricsOf(slice, catalog, await readAdditivity(warehouse, slice.name));
  const columns = columnsOf(slice, metrics, new Map());
  const made: Target = { slice, fingerprint, state, table, catalog, columns };
  await warehouse.transact(async () => {
    if (ledger.building !== null && ledger.building !== known) {
      // It was built for a fingerprint that is no longer configured.
      await warehouse.alter(`drop table if exists ${buildingTable(slice.name)}`);
      await deleteLedgerEntries(warehouse, slice.name, ledger.building.fingerprint);
    }
    if (known !== null) return;
    // A view of another slice, or of one that is no longer configured, may have this name.
    await warehouse.alter(asScript([`drop view if exists ${table}`, createTable(table, columns)]));
    const created_at = new Date();
    const row = { slice: slice.name, fingerprint, table_name: table, state, created_at };
    const live_at = state === 'live' ? created_at : null;
    await insertRows(warehouse, 'ripen.slice_tables', [{ ...row, live_at }]);
    const change = { name: null, change: `${state} table made`, before: null, after: fingerprint };
    await recordSchemaChange(warehouse, runId, slice.name, change);
  });
  if (slice.cube !== undefined && known !== null) await removeMetrics(warehouse, made, runId);
  const existing = await storedColumnTypes(warehouse, table, slice.name);
  const target = { ...made, columns: columnsOf(slice, metrics, existing) };
  const names = tableColumns(target.columns).map(({ name }) => name);
  return warehouse.transact(async () => {
    if (names.join('\n') === [...existing.keys()].join('\n'))
      await alterTypes(warehouse, target, existing, runId);
    else await rebuildTable(warehouse, target, existing, runId);
    await describeSlice(warehouse, target);
    return target;
  });
}

/** Gives columns the target's types. Returns whether any changed. Must precede row changes in a transaction. */
export async function alterTypes(
  warehouse: Warehouse,
  { slice, table, columns }: Target,
  existing: ReadonlyMap<string, string>,
  runId: string,
): Promise<boolean> {
  const changed = tableColumns(columns).filter(({ name, type }) => existing.get(name) !== type);
  for (const { name, type } of changed) {
    const [column, before] = [identifier(name), existing.get(name) ?? type];
    const using = castExactly(column, before, type);
    await warehouse.alter(
      `alter table ${table} alter column ${column} type ${type} using ${using}`,
    );
    const change = { name, change: 'column widened', before, after: type };
    await recordSchemaChange(warehouse, runId, slice.name, change);
  }
  return changed.length > 0;
}

/** Copies the table: DuckDB adds columns only at the end, but their configured order is public. */
async function rebuildTable(
  warehouse: Warehouse,
  { slice, fingerprint, table, columns }: Target,
  existing: ReadonlyMap<string, string>,
  runId: string,
): Promise<void> {
  const wanted = new Map(tableColumns(columns).map(({ name, type }) => [name, type]));
  const selected = [...wanted].map(([name, type]) => {
    const before = existing.get(name) ?? null;
    const value = before === null ? `null::${type}` : castExactly(identifier(name), before, type);
    return `${value} as ${identifier(name)}`;
  });
  const copy = `ripen_internal.${identifier(`copy_${slice.name}`)}`;
  await warehouse.alter(
    asScript([
      `create table ${copy} as select ${selected.join(', ')} from ${table}`,
      `drop table ${table}`,
      `create table ${table} as from ${copy}`,
      `drop table ${copy}`,
    ]),
  );
  if (table === liveTable(slice.name)) await dropProjected(warehouse, slice);
  const names = [...existing.keys(), ...wanted.keys()];
  for (const name of names.filter((column) => !existing.has(column) || !wanted.has(column))) {
    // Its values are deleted: if the metric returns, its periods are due again, as are those of a column dropped by hand.
    await warehouse.run(statement('load/delete_metric'), [slice.name, fingerprint, name]);
    const [before, after] = [existing.get(name) ?? null, wanted.get(name) ?? null];
    const change = after === null ? 'column removed' : 'column added';
    await recordSchemaChange(warehouse, runId, slice.name, { name, change, before, after });
  }
}

const loadedMetric = z.object({ metric: z.string() });

/** Removes the rows of metrics that a cube no longer has, and counts the rest. */
async function removeMetrics(
  warehouse: Warehouse,
  { slice, fingerprint, table, columns }: Target,
  runId: string,
): Promise<void> {
  const key = [slice.name, fingerprint];
  const loaded = await warehouse.rows(statement('load/loaded_metrics'), key, loadedMetric);
  const removed = loaded.map(({ metric }) => metric).filter((id) => !slice.metrics.includes(id));
  if (removed.length === 0) return;
  const names = removed.map(literal).join(', ');
  const ages = JSON.stringify([...metricsByAge(slice, columns.metrics).keys()]);
  const date = identifier(slice.grain ?? 'day');
  await warehouse.transact(async () => {
    await warehouse.run(`delete from ${table} where metric in (${names})`);
    await warehouse.run(statement('load/delete_other_ages'), [...key, ages]);
    // The next load of a period compares what it brings with these.
    const counted = `select count(*) from ${table} as t where t.${date}::date = p.start_day and t.age = p.age and t."value" <> 0`;
    const recount = `update ripen.periods as p set rows = (${counted}) where slice = $1 and fingerprint = $2`;
    await warehouse.run(recount, key);
    for (const name of removed) {
      await warehouse.run(statement('load/delete_metric'), [...key, name]);
      const change = { name, change: 'metric removed', before: name, after: null };
      await recordSchemaChange(warehouse, runId, slice.name, change);
    }
  });
}

const readMainTables = remembering(async (warehouse): Promise<ReadonlySet<string>> => {
  const shape = z.object({ table_name: z.string() }).transform((row) => row.table_name);
  return new Set(await warehouse.rows(statement('ledger/tables_in_the_way'), [], shape));
}, 'relations');

/** Reads together what `prepareTable` needs. An error is thrown only where the value is needed. */
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
 * Throws `CONFIG_INVALID` if a view of the slice would have the name of a table, or if it no longer has a date dimension: its
 * single period would replace the dated ones. Throws `DATA_MALFORMED` if its loaded weeks begin on another day than configured.
 */
export async function refuseUnloadable(
  warehouse: Warehouse,
  slice: Slice,
  ledger: SliceLedger,
): Promise<void> {
  const { name, grain, weekStartsOn } = slice;
  const stored = tableOf(ledger, fingerprintOf(slice))?.periods.values() ?? [];
  const [week, ...weeks] = grain === 'week' ? stored : [];
  if (week !== undefined && weekdayOf(week.bucket.start) !== weekStartsOn) {
    const weekday = weekdayNames[weekdayOf(week.bucket.start)];
    const days = spanOf(week.requested, ...weeks.map(({ requested }) => requested));
    const message = `slice ${name}: week_starts_on is ${weekdayNames[weekStartsOn]}, but its loaded weeks begin on ${weekday}.`;
    const backfill = `ripen backfill --slice ${name} --from ${days.start} --to ${lastDay(days)}`;
    const hint = `Set \`week_starts_on: ${weekday}\`, or begin anew: \`ripen drop --slice ${name}\`, then \`${backfill}\`.`;
    throw new Failure('DATA_MALFORMED', message, { facts: { slice: name }, hint });
  }
  const tables = await readMainTables(warehouse);
  const other = ['_cohorts', '_final', '_maturation', '_projected']
    .map((ending) => name + ending)
    .find((view) => tables.has(view));
  if (other !== undefined) {
    const message = `slice ${name}: a view of it would have the name of the table ${other}, which the warehouse holds.`;
    const hint = `Give the slice another name, or delete the other with \`ripen drop --slice ${other}\`.`;
    throw new Failure('CONFIG_INVALID', message, { facts: { slice: name }, hint });
  }
  const periods = ledger.live?.periods.size ?? 0;
  if (grain !== null || periods === 0) return;
  const columns = await storedColumnTypes(warehouse, liveTable(name), name);
  if (![...columns.keys()].some(isDateDimension)) return;
  const message = `slice ${name}: it no longer has a date dimension, and its table has ${periods} periods, which would be lost.`;
  const hint = `Give the report without a date another name, or delete the periods with \`ripen drop --slice ${name}\`.`;
  throw new Failure('CONFIG_INVALID', message, { facts: { slice: name, periods }, hint });
}

/** Drops the view `_projected`, which may name columns that the table no longer has. The run makes it again at its end. */
const dropProjected = async (warehouse: Warehouse, { name }: Slice): Promise<number> =>
  warehouse.alter(`drop view if exists main.${identifier(`${name}_projected`)}`);

async function deletePeriods(
  warehouse: Warehouse,
  slice: string,
  fingerprint: string,
  [start, end]: ReturnType<typeof ledgerBounds> = [null, null],
): Promise<void> {
  await warehouse.run(statement('load/delete_periods'), [slice, fingerprint, start, end, null]);
}

/**
 * Deletes a dropped table's ledger entries. Its loads stay, without metrics: if the meaning returns, they say nothing of the
 * values that are loaded then.
 */
async function deleteLedgerEntries(
  warehouse: Warehouse,
  slice: string,
  fingerprint: string,
): Promise<void> {
  await warehouse.run(statement('load/delete_restatements'), [slice, fingerprint]);
  await warehouse.run(statement('load/delete_metric'), [slice, fingerprint, null]);
  await deletePeriods(warehouse, slice, fingerprint);
  await warehouse.run(statement('load/delete_table'), [slice, fingerprint]);
}

/** Replaces the live table with a complete one in one transaction, so that no reader sees a mixture. */
export async function swapTables(
  warehouse: Warehouse,
  target: Target,
  runId: string,
): Promise<void> {
  const { slice, fingerprint } = target;
  const { live } = await readSliceLedger(warehouse, slice.name);
  const table = liveTable(slice.name);
  await warehouse.transact(async () => {
    const moved = `create table ${table} as from ${target.table}`;
    await warehouse.alter(asScript([`drop table ${table}`, moved, `drop table ${target.table}`]));
    await dropProjected(warehouse, slice);
    if (live !== null) await deleteLedgerEntries(warehouse, slice.name, live.fingerprint);
    await warehouse.run(statement('load/record_swap'), [slice.name, fingerprint, table]);
    await describeSlice(warehouse, { ...target, state: 'live', table });
    const before = live?.fingerprint ?? null;
    const change = { name: null, change: 'table swapped', before, after: fingerprint };
    await recordSchemaChange(warehouse, runId, slice.name, change);
  });
}

/**
 * Deletes the periods before the first day that `retain` keeps. The newest stays until a later one is loaded, as the coverage
 * depends on it. Loads stay on record.
 */
export async function deleteOld(
  warehouse: Warehouse,
  { slice, fingerprint, table }: Target,
  planAt: Date,
): Promise<{ readonly periods: number; readonly rows: number; readonly before: Day } | null> {
  if (slice.retainDays === null) return null;
  const ledger = await readSliceLedger(warehouse, slice.name);
  const kept = firstKeptDay(slice, planAt);
  const stored = [...(tableOf(ledger, fingerprint)?.periods.values() ?? [])];
  const starts = stored.map(({ bucket }) => bucket.start).toSorted();
  const [first, newest] = [starts.at(0), starts.at(-1)];
  if (kept === null || first === undefined || newest === undefined) return null;
  const before = newest < kept && coverageOf(slice, [], planAt) !== null ? newest : kept;
  const periods = starts.filter((start) => start < before).length;
  if (periods === 0) return null;
  const days = { start: first, end: before };
  return warehouse.transact(async () => {
    const rows = await warehouse.run(`delete from ${table} where ${insideDays(slice.grain, days)}`);
    if (rows > 0) warehouse.reclaimAtClose();
    await deletePeriods(warehouse, slice.name, fingerprint, ledgerBounds(slice.grain, days));
    return { periods, rows, before };
  });
}
