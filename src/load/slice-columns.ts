/** The columns of a slice's table: names, types, order. Pure. */

import { formatColumnType, type ColumnType } from '../model/column-type.ts';
import { isDateDimension } from '../model/dimension.ts';
import { identifier } from '../warehouse/quoting.ts';

export interface MetricColumn {
  readonly id: string;
  readonly type: ColumnType;
  readonly additive: boolean;
  /** Whether it is only assumed that its values add up. */
  readonly isAssumed: boolean;
}

/** A slice's columns, in configured order. */
export interface Columns {
  readonly dimensions: readonly string[];
  readonly metrics: readonly MetricColumn[];
  /** Keys the service sent unasked. */
  readonly extra: readonly string[];
}

export function dimensionType(name: string): string {
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
