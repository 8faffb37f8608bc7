/**
 * Makes a slice's table, adapts it to the configuration, swaps it, and cuts it to what `retain` keeps. For a new fingerprint, a
 * second table is built in `ripen_internal`, and replaces the live one once it has every period of the coverage.
 */

import * as z from 'zod';

import { Failure } from '../../errors.ts';
import type { Catalog } from '../../model/catalog.ts';
import { lastDay, spanOf, weekdayNames, weekdayOf } from '../../model/calendar.ts';
import { metricsByAge } from '../../model/cube.ts';
import { isDateDimension } from '../../model/dimension.ts';
import { fingerprintOf, type Slice } from '../../model/slice.ts';
import { tableOf } from '../../model/ledger.ts';
import { metricsOf } from '../../model/metric.ts';
import { coverageOf, firstKeptDay } from '../../model/period.ts';
import {
  asScript,
  dayShape,
  identifier,
  insertRows,
  literal,
  statement,
  storedColumnTypes,
} from '../sql.ts';
import { readSliceLedger } from '../ledger.ts';
import { readRelations } from '../relations.ts';
import { recordSchemaChanges, type SchemaChange } from '../runs.ts';
import type { Warehouse } from '../warehouse.ts';
import { describeTables } from './slice-declarations.ts';
import { readAdditivity } from './slice-metrics.ts';
import {
  castExactly,
  columnsOf,
  insideDays,
  ledgerBounds,
  liveTable,
  tableColumns,
  type Target,
} from './target.ts';

const buildingTable = (slice: string) => `ripen_internal.${identifier(`building_${slice}`)}`;

/**
 * Makes or alters tables. Columns keep their configured order and never narrow. Returns by slice its table, or why it cannot be
 * loaded as configured.
 */
export async function prepareTables(
  warehouse: Warehouse,
  slices: readonly Slice[],
  catalog: Catalog,
  runId: string,
): Promise<Map<string, Target | Failure>> {
  const prepared = new Map<string, Target | Failure>();
  const existing: Target[] = [];
  const missing: Target[] = [];
  const abandoned: { readonly name: string; readonly fingerprint: string }[] = [];
  const stored = await Promise.all(
    slices.map(async (slice) => {
      const ledger = await readSliceLedger(warehouse, slice.name);
      return { slice, ledger, additivity: await readAdditivity(warehouse, slice.name) };
    }),
  );
  for (const { slice, ledger, additivity } of stored) {
    const { name } = slice;
    const refusal = await refusalOf(warehouse, slice);
    if (refusal !== null) {
      prepared.set(name, refusal);
      continue;
    }
    const fingerprint = fingerprintOf(slice);
    const table = tableOf(ledger, fingerprint);
    const state = table?.state ?? (ledger.live === null ? 'live' : 'building');
    const relation = state === 'live' ? liveTable(name) : buildingTable(name);
    const columns = columnsOf(slice, metricsOf(slice, catalog, additivity), new Map());
    const target: Target = { slice, fingerprint, state, table: relation, catalog, columns };
    (table === null ? missing : existing).push(target);
    // It was built for a meaning that is no longer configured.
    const { building } = ledger;
    if (building !== null && building !== table)
      abandoned.push({ name, fingerprint: building.fingerprint });
  }
  await warehouse.transact(async () => {
    for (const { name, fingerprint } of abandoned) {
      await warehouse.alter(`drop table if exists ${buildingTable(name)}`);
      await deleteLedgerEntries(warehouse, name, fingerprint);
    }
    if (missing.length > 0) await makeTables(warehouse, missing, runId);
  });
  for (const target of existing)
    if (target.slice.cube !== undefined) await removeMetrics(warehouse, target, runId);
  const targets = await Promise.all(
    [...existing, ...missing].map(async (made) => {
      const { slice, table, columns } = made;
      const types = await storedColumnTypes(warehouse, table, slice.name);
      return { types, target: { ...made, columns: columnsOf(slice, columns.metrics, types) } };
    }),
  );
  const unaltered: Target[] = [];
  for (const { target, types } of targets) {
    prepared.set(target.slice.name, target);
    const columns = tableColumns(target.columns);
    const hasNames = columns.map(({ name }) => name).join('\n') === [...types.keys()].join('\n');
    if (hasNames && columns.every(({ name, type }) => types.get(name) === type)) {
      unaltered.push(target);
      continue;
    }
    // One by one, as each may be too large to be copied beside others.
    await warehouse.transact(async () => {
      if (hasNames) await alterTypes(warehouse, target, types, runId);
      else await rebuildTable(warehouse, target, types, runId);
      await describeTables(warehouse, [target]);
    });
  }
  await warehouse.transact(async () => describeTables(warehouse, unaltered));
  return prepared;
}

async function makeTables(warehouse: Warehouse, targets: readonly Target[], runId: string) {
  // A view of another slice, or of one that is no longer configured, may have this name.
  const statements = targets.flatMap(({ table, columns }) => {
    const list = tableColumns(columns).map(({ name, type }) => `${identifier(name)} ${type}`);
    return [`drop view if exists ${table}`, `create table ${table} (${list.join(', ')})`];
  });
  await warehouse.alter(asScript(statements));
  const created_at = new Date();
  const rows = targets.map(({ slice, fingerprint, state, table }) => {
    const live_at = state === 'live' ? created_at : null;
    return { slice: slice.name, fingerprint, table_name: table, state, created_at, live_at };
  });
  await insertRows(warehouse, 'ripen.slice_tables', rows);
  const changes = targets.map(({ slice, fingerprint, state }) => {
    return { object: slice.name, change: `${state} table made`, after: fingerprint };
  });
  await recordSchemaChanges(warehouse, runId, changes);
}

/** Returns whether any type changed. Must precede row changes in a transaction. */
export async function alterTypes(
  warehouse: Warehouse,
  { slice, table, columns }: Target,
  existing: ReadonlyMap<string, string>,
  runId: string,
): Promise<boolean> {
  const statements: string[] = [];
  const changes: SchemaChange[] = [];
  for (const { name, type } of tableColumns(columns)) {
    const before = existing.get(name) ?? type;
    if (before === type) continue;
    const column = identifier(name);
    const using = castExactly(column, before, type);
    statements.push(`alter table ${table} alter column ${column} type ${type} using ${using}`);
    changes.push({ object: slice.name, name, change: 'column widened', before, after: type });
  }
  if (statements.length === 0) return false;
  await warehouse.alter(asScript(statements));
  await recordSchemaChanges(warehouse, runId, changes);
  return true;
}

/** DuckDB adds columns only at the end, but their configured order is public. */
async function rebuildTable(
  warehouse: Warehouse,
  { slice, fingerprint, table, columns }: Target,
  existing: ReadonlyMap<string, string>,
  runId: string,
) {
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
      ...(table === liveTable(slice.name) ? [dropProjected(slice)] : []),
    ]),
  );
  const changes: SchemaChange[] = [];
  for (const name of new Set([...existing.keys(), ...wanted.keys()])) {
    const [before, after] = [existing.get(name) ?? null, wanted.get(name) ?? null];
    if (before !== null && after !== null) continue;
    // If the metric returns, its periods are due again.
    await warehouse.run(statement('load/delete_metric'), [slice.name, fingerprint, name]);
    const change = after === null ? 'column removed' : 'column added';
    changes.push({ object: slice.name, name, change, before, after });
  }
  await recordSchemaChanges(warehouse, runId, changes);
}

const loadedMetric = z.object({ metric: z.string() });

async function removeMetrics(
  warehouse: Warehouse,
  { slice, fingerprint, table, columns }: Target,
  runId: string,
) {
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
    for (const name of removed)
      await warehouse.run(statement('load/delete_metric'), [...key, name]);
    const changes = removed.map((name) => {
      return { object: slice.name, name, change: 'metric removed', before: name };
    });
    await recordSchemaChanges(warehouse, runId, changes);
  });
}

const weekRow = z.object({ week: dayShape });

/** Queries a week that begins on the day on which most rows' weeks begin. */
const usualWeek = (table: string) => `select min(week)::varchar as week
from ${table}
where week is not null
group by dayofweek(week)
order by count(*) desc
limit 1`;

export async function refusalOf(warehouse: Warehouse, slice: Slice): Promise<Failure | null> {
  const { name, grain, weekStartsOn } = slice;
  const ledger = await readSliceLedger(warehouse, name);
  const stored = tableOf(ledger, fingerprintOf(slice));
  const [period, ...others] = slice.dimensions.includes('week')
    ? (stored?.periods.values() ?? [])
    : [];
  let week = grain === 'week' ? period?.bucket.start : undefined;
  if (grain !== 'week' && period !== undefined) {
    const table = stored?.state === 'building' ? buildingTable(name) : liveTable(name);
    [week] = (await warehouse.rows(usualWeek(table), [], weekRow)).map((row) => row.week);
  }
  if (period !== undefined && week !== undefined && weekdayOf(week) !== weekStartsOn) {
    const weekday = weekdayNames[weekdayOf(week)];
    const days = spanOf(period.requested, ...others.map(({ requested }) => requested));
    const message = `slice ${name}: week_starts_on is ${weekdayNames[weekStartsOn]}, but its loaded weeks begin on ${weekday}.`;
    const backfill = `ripen backfill --slice ${name} --from ${days.start} --to ${lastDay(days)}`;
    const hint = `Set \`week_starts_on: ${weekday}\`, or begin anew: \`ripen drop --slice ${name}\`, then \`${backfill}\`.`;
    return new Failure('DATA_MALFORMED', message, { facts: { slice: name }, hint });
  }
  const relations = await readRelations(warehouse);
  const other = ['_cohorts', '_final', '_maturation', '_projected']
    .map((ending) => name + ending)
    .find((view) => relations.get(`main.${view}`)?.is_table === true);
  if (other !== undefined) {
    const message = `slice ${name}: a view of it would have the name of the table ${other}, which the warehouse holds.`;
    const hint = `Give the slice another name, or delete the other with \`ripen drop --slice ${other}\`.`;
    return new Failure('CONFIG_INVALID', message, { facts: { slice: name }, hint });
  }
  const periods = ledger.live?.periods.size ?? 0;
  if (grain !== null || periods === 0) return null;
  const columns = await storedColumnTypes(warehouse, liveTable(name), name);
  if (![...columns.keys()].some(isDateDimension)) return null;
  const message = `slice ${name}: it no longer has a date dimension, and its table has ${periods} periods, which would be lost.`;
  const hint = `Give the report without a date another name, or delete the periods with \`ripen drop --slice ${name}\`.`;
  return new Failure('CONFIG_INVALID', message, { facts: { slice: name, periods }, hint });
}

/** It may name columns that the table no longer has. The run makes it again at its end. */
const dropProjected = ({ name }: Slice) =>
  `drop view if exists main.${identifier(`${name}_projected`)}`;

/** The loads stay, without metrics: if the meaning returns, they say nothing of the values loaded then. */
async function deleteLedgerEntries(warehouse: Warehouse, slice: string, fingerprint: string) {
  await warehouse.run(statement('load/delete_restatements'), [slice, fingerprint]);
  await warehouse.run(statement('load/delete_metric'), [slice, fingerprint, null]);
  await warehouse.run(statement('load/delete_periods'), [slice, fingerprint, null, null, null]);
  await warehouse.run(statement('load/delete_table'), [slice, fingerprint]);
}

/** In one transaction, so that no reader sees a mixture. */
export async function swapTables(
  warehouse: Warehouse,
  target: Target,
  runId: string,
): Promise<void> {
  const { slice, fingerprint } = target;
  const { live } = await readSliceLedger(warehouse, slice.name);
  const table = liveTable(slice.name);
  await warehouse.transact(async () => {
    await warehouse.alter(
      asScript([
        `drop table ${table}`,
        `create table ${table} as from ${target.table}`,
        `drop table ${target.table}`,
        dropProjected(slice),
      ]),
    );
    if (live !== null) await deleteLedgerEntries(warehouse, slice.name, live.fingerprint);
    await warehouse.run(statement('load/record_swap'), [slice.name, fingerprint, table]);
    await describeTables(warehouse, [{ ...target, state: 'live', table }]);
    const before = live?.fingerprint ?? null;
    const change = { object: slice.name, change: 'table swapped', before, after: fingerprint };
    await recordSchemaChanges(warehouse, runId, [change]);
  });
}

/** Deletes what `retain` no longer keeps, but for the newest period, on which the coverage depends. */
export async function deleteOld(
  warehouse: Warehouse,
  { slice, fingerprint, table }: Target,
  planAt: Date,
) {
  if (slice.retainDays === null) return null;
  const ledger = await readSliceLedger(warehouse, slice.name);
  const kept = firstKeptDay(slice, planAt);
  const starts = [...(tableOf(ledger, fingerprint)?.periods.keys() ?? [])].toSorted();
  const [first, newest] = [starts.at(0), starts.at(-1)];
  if (kept === null || first === undefined || newest === undefined) return null;
  const before = newest < kept && coverageOf(slice, [], planAt) !== null ? newest : kept;
  const periods = starts.filter((start) => start < before).length;
  if (periods === 0) return null;
  const days = { start: first, end: before };
  return warehouse.transact(async () => {
    const rows = await warehouse.run(`delete from ${table} where ${insideDays(slice.grain, days)}`);
    if (rows > 0) warehouse.reclaimAtClose();
    const [start, end] = ledgerBounds(slice.grain, days);
    const bounds = [slice.name, fingerprint, start, end, null];
    await warehouse.run(statement('load/delete_periods'), bounds);
    return { periods, rows, before };
  });
}
