/**
 * The table of a slice: made, kept in step with the configuration, swapped when its meaning changed.
 *
 * A slice has one live table. When its fingerprint changes, a second one is built in schema `ripen` until every period
 * of the date period is in it; then it takes the live one's place in one transaction, and no reader ever sees a mixture.
 */

import * as z from 'zod';

import type { Catalog } from '../model/catalog.ts';
import { capacityOf, formatColumnType, parseColumnType, widen, type ColumnType } from '../model/column-type.ts';
import { fingerprintOf } from '../model/fingerprint.ts';
import type { SliceLedger } from '../model/ledger.ts';
import { metricsOf, type Metric } from '../model/metric.ts';
import type { Slice } from '../model/slice.ts';
import { readSliceLedger } from '../warehouse/ledger.ts';
import { identifier } from '../warehouse/quoting.ts';
import { recordSchemaChange } from '../warehouse/runs.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { describeSlice } from './describing.ts';
import { createTable, tableColumns, type Columns } from './slice-columns.ts';
import type { Target } from './target.ts';

const columnRow = z.object({ column_name: z.string(), data_type: z.string() });

export const liveTable = (slice: string): string => `main.${identifier(slice)}`;
const buildingTable = (slice: string): string => `ripen.${identifier(`building_${slice}`)}`;

/**
 * Makes or alters the table a slice's rows go to, so that it has exactly the configured columns in configured order; a
 * column that was widened stays wide. Removed metrics disappear, added ones are NULL until their periods are fetched.
 */
export async function prepareTable(
  warehouse: Warehouse,
  slice: Slice,
  catalog: Catalog,
  runId: string,
): Promise<Target> {
  const fingerprint = fingerprintOf(slice);
  const ledger = await readSliceLedger(warehouse, slice.name);
  const state = ledger.live === null || ledger.live.fingerprint === fingerprint ? 'live' : 'building';
  const table = state === 'live' ? liveTable(slice.name) : buildingTable(slice.name);
  const metrics = metricsOf(slice, catalog);
  await warehouse.transact(async () => {
    await dropStaleBuilding(warehouse, slice, ledger, fingerprint);
    const isKnown = ledger[state]?.fingerprint === fingerprint;
    if (!isKnown) {
      await warehouse.run(createTable(table, columnsOf(slice, metrics, new Map())));
      await warehouse.run(
        `insert into ripen.slice_tables values ($1, $2, $3, $4, $5, null, null, now() at time zone 'UTC',
             case when $4 = 'live' then now() at time zone 'UTC' end)`,
        [slice.name, fingerprint, table, state, ledger.live?.weekStartsOn ?? null],
      );
      await recordSchemaChange(warehouse, {
        runId,
        object: slice.name,
        name: null,
        change: `${state} table made`,
        before: null,
        after: fingerprint,
      });
    }
  });
  const existing = await existingTypes(warehouse, table);
  const columns = columnsOf(slice, metrics, existing);
  const wanted = tableColumns(columns).map(({ name }) => name);
  if (wanted.join('\n') !== [...existing.keys()].join('\n')) {
    await rebuildTable(warehouse, { slice, fingerprint, table, columns, existing, runId });
  }
  const target: Target = { slice, fingerprint, metrics, state, table, columns, catalog };
  await warehouse.transact(() => describeSlice(warehouse, target));
  return target;
}

/** A table that was being built for a meaning that is no longer wanted. */
async function dropStaleBuilding(
  warehouse: Warehouse,
  slice: Slice,
  ledger: SliceLedger,
  fingerprint: string,
): Promise<void> {
  if (ledger.building === null) return;
  const isWanted = ledger.building.fingerprint === fingerprint && ledger.live?.fingerprint !== fingerprint;
  if (isWanted) return;
  await warehouse.run(`drop table if exists ${buildingTable(slice.name)}`);
  await forget(warehouse, slice.name, ledger.building.fingerprint);
}

async function forget(warehouse: Warehouse, slice: string, fingerprint: string): Promise<void> {
  await warehouse.run('delete from ripen.periods where slice = $1 and fingerprint = $2', [slice, fingerprint]);
  await warehouse.run('delete from ripen.slice_tables where slice = $1 and fingerprint = $2', [slice, fingerprint]);
}

async function existingTypes(warehouse: Warehouse, table: string): Promise<Map<string, string>> {
  const rows = await warehouse.rows(
    `select column_name, column_type as data_type from (describe ${table})`,
    [],
    columnRow,
  );
  return new Map(rows.map((row) => [row.column_name, row.data_type]));
}

function columnsOf(slice: Slice, metrics: readonly Metric[], existing: ReadonlyMap<string, string>): Columns {
  return {
    dimensions: slice.dimensions,
    metrics: metrics.map(({ id, type, additive }) => ({ id, additive, type: keepWide(type, existing.get(id)) })),
    extra: [],
  };
}

/** The type a column has or gets: an existing column never narrows and never turns from exact to floating or back. */
function keepWide(wanted: ColumnType, existing: string | undefined): ColumnType {
  const has = existing === undefined ? null : parseColumnType(existing);
  if (has === null || has.kind === 'DOUBLE' || wanted.kind === 'DOUBLE') return has ?? wanted;
  return widen(has, capacityOf(wanted)) ?? has;
}

interface Rebuild {
  readonly slice: Slice;
  readonly fingerprint: string;
  readonly table: string;
  readonly columns: Columns;
  readonly existing: ReadonlyMap<string, string>;
  readonly runId: string;
}

/** DuckDB adds columns at the end only; the configured order is public, so the table is copied. */
async function rebuildTable(
  warehouse: Warehouse,
  { slice, fingerprint, table, columns, existing, runId }: Rebuild,
): Promise<void> {
  const wanted = tableColumns(columns);
  const selected = wanted.map(({ name, type }) =>
    existing.has(name)
      ? `cast(${identifier(name)} as ${type}) as ${identifier(name)}`
      : `null::${type} as ${identifier(name)}`,
  );
  const copy = `ripen.${identifier(`copy_${slice.name}`)}`;
  await warehouse.transact(async () => {
    await warehouse.run(`create table ${copy} as select ${selected.join(', ')} from ${table}`);
    await warehouse.run(`drop table ${table}`);
    await warehouse.run(`create table ${table} as from ${copy}`);
    await warehouse.run(`drop table ${copy}`);
    const names = new Set(wanted.map(({ name }) => name));
    for (const { name, type } of wanted.filter((column) => !existing.has(column.name))) {
      await recordSchemaChange(warehouse, {
        runId,
        object: slice.name,
        name,
        change: 'column added',
        before: null,
        after: type,
      });
    }
    for (const [name, type] of [...existing].filter(([column]) => !names.has(column))) {
      // The values are gone: should the metric come back, its periods are due again.
      await warehouse.run(
        'update ripen.loads set metrics = list_filter(metrics, lambda m: m <> $3) where slice = $1 and fingerprint = $2',
        [slice.name, fingerprint, name],
      );
      await recordSchemaChange(warehouse, {
        runId,
        object: slice.name,
        name,
        change: 'column removed',
        before: type,
        after: null,
      });
    }
  });
}

/** Widens metric columns, without loss, as recorded schema changes; returns the target with its new types. */
export async function widenColumns(
  warehouse: Warehouse,
  target: Target,
  widened: ReadonlyMap<string, ColumnType>,
  runId: string,
): Promise<Target> {
  if (widened.size === 0) return target;
  const metrics = target.columns.metrics.map((metric) => ({ ...metric, type: widened.get(metric.id) ?? metric.type }));
  const wider: Target = { ...target, columns: { ...target.columns, metrics } };
  await warehouse.transact(async () => {
    for (const [id, type] of widened) {
      const before = target.columns.metrics.find((metric) => metric.id === id)?.type;
      const after = formatColumnType(type);
      await warehouse.run(`alter table ${target.table} alter column ${identifier(id)} type ${after}`);
      await recordSchemaChange(warehouse, {
        runId,
        object: target.slice.name,
        name: id,
        change: 'column widened',
        before: before === undefined ? null : formatColumnType(before),
        after,
      });
    }
    await describeSlice(warehouse, wider);
  });
  return wider;
}

/** Puts a complete table in the live one's place, in one transaction. */
export async function swapTables(warehouse: Warehouse, target: Target, runId: string): Promise<void> {
  const { slice, fingerprint } = target;
  const ledger = await readSliceLedger(warehouse, slice.name);
  await warehouse.transact(async () => {
    await warehouse.run(`drop table ${liveTable(slice.name)}`);
    await warehouse.run(`create table ${liveTable(slice.name)} as from ${target.table}`);
    await warehouse.run(`drop table ${target.table}`);
    if (ledger.live !== null) await forget(warehouse, slice.name, ledger.live.fingerprint);
    await warehouse.run(
      `update ripen.slice_tables set state = 'live', table_name = $3, live_at = now() at time zone 'UTC'
       where slice = $1 and fingerprint = $2`,
      [slice.name, fingerprint, liveTable(slice.name)],
    );
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
