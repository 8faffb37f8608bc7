/** The columns of a slice's table as they are, as they are to be, and how the table gets from one to the other. */

import { capacityOf, formatColumnType, parseColumnType, widen, type ColumnType } from '../model/column-type.ts';
import type { Metric } from '../model/metric.ts';
import type { Slice } from '../model/slice.ts';
import { identifier } from '../warehouse/quoting.ts';
import { recordSchemaChange } from '../warehouse/runs.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { describeSlice } from './describing.ts';
import { type Columns, tableColumns, type Target } from './target.ts';

/** The columns a slice's table is to have; a column that exists keeps its type where that is wider. */
export function columnsOf(slice: Slice, metrics: readonly Metric[], existing: ReadonlyMap<string, string>): Columns {
  return {
    dimensions: slice.dimensions,
    metrics: metrics.map(({ id, type, additive, additivity }) => ({
      id,
      additive,
      isAssumed: additivity === 'assumed',
      type: keepWide(type, existing.get(id)),
    })),
    extra: [],
  };
}

/** The same columns with the types they are stored with. */
export function columnsAsStored(columns: Columns, existing: ReadonlyMap<string, string>): Columns {
  const metrics = columns.metrics.map((metric) => ({
    ...metric,
    type: parseColumnType(existing.get(metric.id) ?? '') ?? metric.type,
  }));
  return { ...columns, metrics };
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

/**
 * Widens metric columns, without loss, as recorded schema changes; returns the target with its new types. Inside the
 * caller's transaction, before it touches any row.
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
  return wider;
}
