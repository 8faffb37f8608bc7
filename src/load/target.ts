/** The table a slice's rows go to, and its columns, as every step of a load needs to know them. Pure. */

import type { Catalog } from '../model/catalog.ts';
import { capacityOf, type ColumnType, formatColumnType, parseColumnType, widen } from '../model/column-type.ts';
import { isDateDimension } from '../model/dimension.ts';
import type { Metric } from '../model/metric.ts';
import type { Slice } from '../model/slice.ts';
import { identifier } from '../warehouse/sql.ts';

/** Where a slice's rows go, and in which shape. */
export interface Target {
  readonly slice: Slice;
  readonly fingerprint: string;
  readonly metrics: readonly Metric[];
  readonly state: 'live' | 'building';
  /** Quoted, with its schema. */
  readonly table: string;
  readonly columns: Columns;
  /** For what analysts read beside the numbers: at least what it says of the slice's metrics and dimensions. */
  readonly catalog: Catalog;
}

/** Where the rows of a slice's live table are. */
export const liveTable = (slice: string): string => `main.${identifier(slice)}`;

export interface MetricColumn {
  readonly id: string;
  readonly type: ColumnType;
  /** What the catalog or the configuration says; the column may have become wider. */
  readonly declared: ColumnType;
  readonly additive: boolean;
  /** Whether it is only assumed that its values add up. */
  readonly isAssumed: boolean;
}

/** Whether a column became one of doubles: it takes only numbers that a double says to the last digit. */
export const becameDouble = ({ type, declared }: Pick<MetricColumn, 'type' | 'declared'>): boolean =>
  type.kind === 'DOUBLE' && declared.kind !== 'DOUBLE';

/** A slice's columns, in configured order. */
export interface Columns {
  readonly dimensions: readonly string[];
  readonly metrics: readonly MetricColumn[];
}

function dimensionType(name: string): string {
  if (name === 'hour') return 'TIMESTAMP';
  return isDateDimension(name) ? 'DATE' : 'VARCHAR';
}

/** Name and type of every column of a slice's table, in order. */
export function tableColumns(columns: Columns): { readonly name: string; readonly type: string }[] {
  return [
    ...columns.dimensions.map((name) => ({ name, type: dimensionType(name) })),
    ...columns.metrics.map(({ id, type }) => ({ name: id, type: formatColumnType(type) })),
    { name: 'attr_dependency', type: 'JSON' },
    { name: '_extra', type: 'JSON' },
    { name: '_load_id', type: 'BIGINT' },
  ];
}

export function createTable(table: string, columns: Columns): string {
  const definitions = tableColumns(columns).map(({ name, type }) => `${identifier(name)} ${type}`);
  return `create table ${table} (\n    ${definitions.join(',\n    ')}\n)`;
}

/** The columns a slice's table is to have; a column that exists keeps its type where that is wider. */
export function columnsOf(slice: Slice, metrics: readonly Metric[], existing: ReadonlyMap<string, string>): Columns {
  return {
    dimensions: slice.dimensions,
    metrics: metrics.map(({ id, type, additive, additivity }) => ({
      id,
      additive,
      isAssumed: additivity === 'assumed',
      declared: type,
      type: keepWide(type, existing.get(id)),
    })),
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

/** The type a column has or gets: an existing one never narrows, and no word of a catalog or configuration turns it from exact to floating or back. */
export function keepWide(wanted: ColumnType, existing: string | undefined): ColumnType {
  const has = existing === undefined ? null : parseColumnType(existing);
  if (has === null || has.kind === 'DOUBLE' || wanted.kind === 'DOUBLE') return has ?? wanted;
  return widen(has, capacityOf(wanted)) ?? has;
}
