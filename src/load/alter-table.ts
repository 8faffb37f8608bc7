/** The columns of a slice's table: brought into the configured order, added, removed, widened. Inside the caller's transaction. */

import { type ColumnType, formatColumnType } from '../model/column-type.ts';
import type { Slice } from '../model/slice.ts';
import { identifier, statement } from '../warehouse/sql.ts';
import { recordSchemaChange } from '../warehouse/runs.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { describeSlice } from './describing.ts';
import { type Columns, liveTable, tableColumns, type Target } from './target.ts';
import { castExactly } from './staged-sql.ts';

/** The run makes it again at its end; until then it would name columns that the table may not have any more. */
export async function dropProjected(warehouse: Warehouse, { name }: Slice): Promise<void> {
  await warehouse.run(`drop view if exists main.${identifier(`${name}_projected`)}`);
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
export async function rebuildTable(
  warehouse: Warehouse,
  { slice, fingerprint, table, columns, existing, runId }: Rebuild,
): Promise<void> {
  const wanted = tableColumns(columns);
  const selected = wanted.map(({ name, type }) =>
    existing.has(name)
      ? `cast(${identifier(name)} as ${type}) as ${identifier(name)}`
      : `null::${type} as ${identifier(name)}`,
  );
  const copy = `ripen_internal.${identifier(`copy_${slice.name}`)}`;
  await warehouse.run(`create table ${copy} as select ${selected.join(', ')} from ${table}`);
  await warehouse.run(`drop table ${table}`);
  await warehouse.run(`create table ${table} as from ${copy}`);
  await warehouse.run(`drop table ${copy}`);
  if (table === liveTable(slice.name)) await dropProjected(warehouse, slice);
  const names = new Set(wanted.map(({ name }) => name));
  const added = wanted.filter(({ name }) => !existing.has(name));
  const removed = [...existing].filter(([name]) => !names.has(name));
  const record = async (name: string, change: string, before: string | null, after: string | null): Promise<void> =>
    recordSchemaChange(warehouse, { runId, object: slice.name, name, change, before, after });
  // The values are gone: should the metric come back, its periods are due again. So are those of a column that somebody removed.
  for (const name of [...removed.map(([name]) => name), ...added.map(({ name }) => name)]) {
    const forgotten = await warehouse.run(statement('load/forget_metric'), [slice.name, fingerprint, name]);
    const before = existing.get(name) ?? null;
    if (before !== null || forgotten > 0) await record(name, 'column removed', before, null);
  }
  for (const { name, type } of added) await record(name, 'column added', null, type);
}

/** Widens the values of a cube, without loss, as `alterColumns` does; one type holds those of all its metrics. */
export async function widenValue(
  warehouse: Warehouse,
  target: Target,
  value: ColumnType,
  runId: string,
): Promise<Target> {
  const { slice, table, columns } = target;
  const [before, after] = [columns.cube?.value ?? value, formatColumnType(value)];
  if (columns.cube === undefined || formatColumnType(before) === after) return target;
  const using = castExactly('"value"', before, value);
  await warehouse.run(`alter table ${table} alter column "value" type ${after} using ${using}`);
  const change = { name: 'value', change: 'column widened', before: formatColumnType(before), after };
  await recordSchemaChange(warehouse, { runId, object: slice.name, ...change });
  return { ...target, columns: { ...columns, cube: { ...columns.cube, value } } };
}

/**
 * Widens metric columns, without loss, as recorded schema changes, before the transaction touches any row; returns the target with its
 * new types.
 */
export async function alterColumns(
  warehouse: Warehouse,
  target: Target,
  widened: ReadonlyMap<string, ColumnType>,
  runId: string,
): Promise<Target> {
  if (widened.size === 0) return target;
  const metrics = target.columns.metrics.map((metric) => ({ ...metric, type: widened.get(metric.id) ?? metric.type }));
  const wider: Target = { ...target, columns: { ...target.columns, metrics } };
  for (const [id, type] of widened) {
    const before = target.columns.metrics.find((metric) => metric.id === id)?.type;
    const after = formatColumnType(type);
    const using = before === undefined ? '' : ` using ${castExactly(identifier(id), before, type)}`;
    await warehouse.run(`alter table ${target.table} alter column ${identifier(id)} type ${after}${using}`);
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
  return wider;
}
