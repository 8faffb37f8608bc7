/** The report: groups of atoms become rows, filtered, totalled, sorted, cut, in the envelope of the service. */

import { addDays, startOfDayAt } from '../../model/calendar.ts';
import { isDateDimension } from '../../model/dimension.ts';
import type { AtomStore } from './atoms.ts';
import { type RowBucket, createBuckets, type Dependency, type Group, groupAtoms } from './groups.ts';
import { choose, hashText, mix } from './hash.ts';
import { inUnits, type WorldMetric } from './metric.ts';
import type { ReportQuery } from './query.ts';

/** `attr_dependency`, then one key per dimension and per metric, in the order requested. */
export type ReportRow = Readonly<Record<string, Cell | Readonly<Record<string, Dependency>>>>;

export interface Report {
  readonly rows: readonly ReportRow[];
  /** In units of the currency; 0 where a ratio has nothing to say. */
  readonly totals: Readonly<Record<string, number>>;
  readonly warnings: readonly string[];
  readonly pagination: null;
}

const MS_PER_HOUR = 3_600_000;

/** A metric with the places of its measures among the sums of a group. */
interface Column {
  readonly metric: WorldMetric;
  readonly positions: readonly number[];
  readonly seed: number;
}

function valueOf(column: Column, sums: readonly number[], days: number): number | null {
  return column.metric.combine(
    column.positions.map((position) => sums[position] ?? 0),
    days,
  );
}

/** Whether a metric's cumulative value is withheld from a bucket, as some of its cohorts are not complete. */
function isWithheld(metric: WorldMetric, bucket: RowBucket, query: ReportQuery): boolean {
  if (!query.matureOnly || metric.completeAfterDays === null) return false;
  const completeAt = startOfDayAt(addDays(bucket.lastDay, 1 + metric.completeAfterDays), query.utcOffset);
  return completeAt.getTime() > query.moment.nowHour * MS_PER_HOUR;
}

/** A row before it is written, and what it is sorted by. */
interface Line {
  readonly group: Group;
  readonly seed: number;
  readonly values: readonly { readonly column: Column; readonly value: number | null; readonly withheld: boolean }[];
}

function writeRow({ group, seed, values }: Line, query: ReportQuery): ReportRow {
  // Not an object to be filled: `__proto__` may be the name of a metric.
  const row: [string, ReportRow[string]][] = [['attr_dependency', group.identity.attrDependency]];
  for (const dimension of query.dimensions) {
    const date = isDateDimension(dimension) ? group.bucket.texts[dimension] : undefined;
    row.push([dimension, date ?? group.identity.texts.get(dimension) ?? null]);
  }
  for (const { column, value, withheld } of values) {
    const cellSeed = mix(seed, column.seed);
    row.push([column.metric.id, withheld ? writeWithheld(cellSeed) : writeValue(column.metric, value, cellSeed)]);
  }
  return Object.fromEntries(row);
}

function sortKeyOf(line: Line, name: string): string | number {
  const cell = line.values.find(({ column }) => column.metric.id === name);
  if (cell !== undefined) return cell.value ?? Number.NEGATIVE_INFINITY;
  if (isDateDimension(name)) return line.group.bucket.texts[name] ?? '';
  return line.group.identity.texts.get(name) ?? '';
}

function sortLines(lines: Line[], query: ReportQuery): void {
  for (const { name, descending } of query.sort.toReversed()) {
    lines.sort((left, right) => {
      const a = sortKeyOf(left, name);
      const b = sortKeyOf(right, name);
      if (a === b) return 0;
      return a < b === descending ? 1 : -1;
    });
  }
}

/** Totals over the rows that passed the filters; what is withheld from a row is missing from them too. */
function totalsOf(lines: readonly Line[], columns: readonly Column[], days: number): Record<string, number> {
  const totals = columns.map((column, index): [string, number] => {
    const sums: number[] = [];
    for (const { group, values } of lines) {
      if (values[index]?.withheld ?? false) continue;
      for (const position of column.positions) sums[position] = (sums[position] ?? 0) + (group.sums[position] ?? 0);
    }
    const value = valueOf(column, sums, days);
    return [column.metric.id, value === null ? 0 : inUnits(column.metric, value)];
  });
  return Object.fromEntries(totals);
}

/** The report of a query on some traffic; null when nothing matched. Rows come in the order of time, then as sorted. */
export function createReport(query: ReportQuery, atoms: AtomStore): Report | null {
  const wanted = [...query.metrics, ...query.filters.metrics.map((filter) => filter.metric)];
  const measures = [...new Set(wanted.flatMap((metric) => metric.measures))];
  const columnOf = (metric: WorldMetric): Column => ({
    metric,
    positions: metric.measures.map((measure) => measures.indexOf(measure)),
    seed: hashText(metric.id),
  });
  const columns = query.metrics.map((metric) => columnOf(metric));
  const tests = query.filters.metrics.map(({ metric, accepts }) => ({ column: columnOf(metric), accepts }));

  const buckets = createBuckets(query);
  const groups = groupAtoms(query, atoms, buckets, measures);
  const withheldByRank = buckets.all.map((bucket) => columns.map(({ metric }) => isWithheld(metric, bucket, query)));

  const lines: Line[] = groups
    .filter(({ bucket, sums }) => tests.every(({ column, accepts }) => accepts(valueOf(column, sums, bucket.days))))
    .map((group) => ({
      group,
      seed: mix(group.bucket.seed, group.identity.seed),
      values: columns.map((column, index) => ({
        column,
        value: valueOf(column, group.sums, group.bucket.days),
        withheld: withheldByRank[group.bucket.rank]?.[index] ?? false,
      })),
    }));
  if (lines.length === 0) return null;

  const totals = totalsOf(lines, columns, buckets.days);
  sortLines(lines, query);
  const shown = query.limit === null ? lines : lines.slice(0, query.limit);
  const warnings =
    shown.length < lines.length
      ? [`The report was limited to ${shown.length} rows; ${lines.length} rows matched the query.`]
      : [];
  const rows = shown.map((line) => writeRow(line, query));
  return { rows, totals, pagination: null, warnings };
}

type Cell = string | number | null;

/** One cell in so many has another form than the usual one. */
const ODD_EVERY = 50;
const MICRO_DIGITS = 6;
const MIN_DIGITS = 2;
const MICRO = 10 ** MICRO_DIGITS;

/** Micro-units as a decimal of 2 to 6 digits, exactly; zero is `0.0`. */
function moneyText(micros: number): string {
  if (micros === 0) return '0.0';
  const size = Math.abs(micros);
  const digits = String(size % MICRO)
    .padStart(MICRO_DIGITS, '0')
    .replace(/0+$/, '')
    .padEnd(MIN_DIGITS, '0');
  return `${micros < 0 ? '-' : ''}${Math.floor(size / MICRO)}.${digits}`;
}

/** A cell of a report; `seed` belongs to its row. */
function writeValue(metric: WorldMetric, value: number | null, seed: number): Cell {
  if (value === null) return (seed & 1) === 0 ? null : '';
  const form = choose(mix(seed, value), ODD_EVERY);
  if (form === 0) return inUnits(metric, value);
  if (metric.unit === 'micros') return moneyText(value);
  return metric.unit === 'count' && form === 1 ? `${value}.0` : String(value);
}

/** A cell whose cumulative value is withheld: not to be told from a true zero, or from nothing. */
function writeWithheld(seed: number): Cell {
  return (seed & 1) === 0 ? '0.0' : null;
}
