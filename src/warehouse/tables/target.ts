/** The table of a slice and its columns. */

import type { Day, DayInterval } from '../../model/calendar.ts';
import type { Catalog } from '../../model/catalog.ts';
import {
  type ColumnType,
  commonType,
  DOUBLE,
  formatColumnType,
  isExact,
  parseColumnType,
  widen,
} from '../../model/column-type.ts';
import { cubeColumns } from '../../model/cube.ts';
import { type DateDimension, isDateDimension } from '../../model/dimension.ts';
import type { Metric } from '../../model/metric.ts';
import type { Slice } from '../../model/slice.ts';
import { dayLiteral, identifier, literal } from '../sql.ts';

export interface Target {
  readonly slice: Slice;
  readonly fingerprint: string;
  readonly state: 'live' | 'building';
  /** Quoted, with its schema. */
  readonly table: string;
  readonly columns: Columns;
  /** At least the items of the slice's metrics and dimensions. */
  readonly catalog: Catalog;
}

export const liveTable = (slice: string): string => `main.${identifier(slice)}`;

export interface Columns {
  readonly dimensions: readonly string[];
  /** With the types of their columns. Those of a cube are rows of its table, not columns. */
  readonly metrics: readonly Metric[];
  /** Of a cube. */
  readonly value?: ColumnType;
}

/** For windows of only some metrics: a cube loads only these, any other slice NULL for the rest. */
export function withMetrics(target: Target, metrics: readonly string[]): Target {
  const ids = new Set(metrics);
  const slice = { ...target.slice, metrics: target.slice.metrics.filter((id) => ids.has(id)) };
  if (target.columns.value === undefined) return { ...target, slice };
  const loaded = target.columns.metrics.filter(({ id }) => ids.has(id));
  return { ...target, slice, columns: { ...target.columns, metrics: loaded } };
}

export function withChanges(target: Target, loaded: Target): Target {
  const changed = new Map(loaded.columns.metrics.map((metric) => [metric.id, metric]));
  const metrics = target.columns.metrics.map((metric) => changed.get(metric.id) ?? metric);
  return { ...loaded, slice: target.slice, columns: { ...loaded.columns, metrics } };
}

export function tableColumns(columns: Columns): { readonly name: string; readonly type: string }[] {
  const dimensions = columns.dimensions.map((name) => ({
    name,
    type: name === 'hour' ? 'TIMESTAMP' : isDateDimension(name) ? 'DATE' : 'VARCHAR',
  }));
  const key = { name: 'attr_dependency', type: 'JSON' };
  const loadId = { name: '_load_id', type: 'BIGINT' };
  if (columns.value === undefined) {
    const metrics = columns.metrics.map(({ id: name, type }) => ({
      name,
      type: formatColumnType(type),
    }));
    return [...dimensions, ...metrics, key, { name: '_extra', type: 'JSON' }, loadId];
  }
  const value = formatColumnType(columns.value);
  const text = 'VARCHAR';
  const types = { cohort: text, metric: text, age: text, age_days: 'INTEGER', value };
  return [...dimensions, ...cubeColumns.map((name) => ({ name, type: types[name] })), key, loadId];
}

export function columnsOf(
  slice: Slice,
  metrics: readonly Metric[],
  existing: ReadonlyMap<string, string>,
): Columns {
  const { dimensions, cube } = slice;
  if (cube === undefined) {
    // A column never narrows, and becomes DOUBLE only if the slice states that.
    const wide = metrics.map((metric): Metric => {
      const { id, type } = metric;
      const has = parseColumnType(existing.get(id) ?? '');
      if (has === null || (!isExact(type) && Object.hasOwn(slice.types, id))) return metric;
      if (!isExact(has) || !isExact(type)) return { ...metric, type: has };
      return { ...metric, type: widen(has, type) ?? has };
    });
    return { dimensions, metrics: wide };
  }
  const has = parseColumnType(existing.get('value') ?? '');
  // Numbers that it does not hold fail their window.
  const value = valueType(metrics, has) ?? has ?? DOUBLE;
  return { dimensions, metrics, value };
}

/** Holds the values of a cube's metrics and those already stored. Null if no exact type does. */
export function valueType(metrics: readonly Metric[], has: ColumnType | null): ColumnType | null {
  const [first, ...others] = [...(has === null ? [] : [has]), ...metrics.map(({ type }) => type)];
  if (first === undefined) throw new RangeError('A cube has at least one metric.');
  return commonType([first, ...others]);
}

/** Between decimal and double as text, as DuckDB's cast misses the nearest double. */
export function castExactly(value: string, from: string, to: string): string {
  const text = (from === 'DOUBLE') === (to === 'DOUBLE') ? value : `cast(${value} as VARCHAR)`;
  return `cast(${text} as ${to})`;
}

export const additiveOf = (columns: Pick<Columns, 'metrics'>): Metric[] =>
  columns.metrics.filter(({ additive }) => additive);

/** Of rows, or with `start_day` of entries in the ledger. */
export function insideDays(grain: DateDimension | 'start_day' | null, days: DayInterval): string {
  if (grain === null) return 'true';
  const column = identifier(grain);
  const [start, end] = [dayLiteral(grain, days.start), dayLiteral(grain, days.end)];
  return `${column} >= ${start} and ${column} < ${end}`;
}

/** Returns the first day of a row's period as SQL. */
export function periodOf(grain: DateDimension | null, start: Day): string {
  if (grain === null) return `DATE ${literal(start)}`;
  return grain === 'hour' ? `cast(${identifier(grain)} as DATE)` : identifier(grain);
}

/** Returns the days of replaced periods, as parameters. */
export const ledgerBounds = (
  grain: unknown,
  { start, end }: DayInterval,
): readonly [Day | null, Day | null] => (grain === null ? [null, null] : [start, end]);
