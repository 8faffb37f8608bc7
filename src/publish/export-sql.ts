/** The statement of an export: the rows of a slice in one file, in an order that depends on the rows alone. Pure. */

import { addDays, type Day } from '../model/calendar.ts';
import { dateDimensions, type DateDimension } from '../model/dimension.ts';
import { dayLiteral, identifier, literal } from '../warehouse/sql.ts';
import { plainType } from './lake-table.ts';

export const exportFormats = ['parquet', 'csv', 'ndjson'] as const;

export type ExportFormat = (typeof exportFormats)[number];

export interface ExportColumn {
  readonly name: string;
  /** SQL type in the warehouse. */
  readonly type: string;
}

/** First and last day, both inclusive; null leaves that end open. */
export interface ExportDays {
  readonly from: Day | null;
  readonly to: Day | null;
}

/** Whether a path asks for a compressed file. Parquet is compressed by itself. */
export const isCompressed = (path: string): boolean => /\.gz$/i.test(path);

/** The extension decides, before a `.gz`; null for one no format has. */
export function formatOf(path: string): ExportFormat | null {
  const extension = /\.([a-z]+)(?:\.gz)?$/i.exec(path)?.[1]?.toLowerCase();
  if (extension === 'parquet' && isCompressed(path)) return null;
  if (extension === 'jsonl') return 'ndjson';
  return exportFormats.find((format) => format === extension) ?? null;
}

/** The finest date dimension among the columns; null when there is none. */
export function exportGrain(columns: readonly ExportColumn[]): DateDimension | null {
  return dateDimensions.find((dimension) => columns.some(({ name }) => name === dimension)) ?? null;
}

const options: Readonly<Record<ExportFormat, string>> = {
  parquet: 'format parquet, compression zstd',
  csv: 'format csv, header true',
  ndjson: 'format json',
};

/** What is written, and how. */
export interface ExportTarget {
  readonly path: string;
  readonly format: ExportFormat;
  readonly compressed: boolean;
  /** Whether texts that a spreadsheet would take for a formula are defused in CSV. */
  readonly defused: boolean;
}

/** Writes the rows of a table or view whose period lies within the days, or has some of them. */
export function exportStatement(
  relation: string,
  columns: readonly ExportColumn[],
  days: ExportDays,
  to: ExportTarget,
): string {
  const selected = columns.map((column) => `${exported(column, to)} as ${identifier(headed(column.name, to))}`);
  const order = columns
    .map(({ type }, index) => (isNumeric(type) ? null : index))
    .flatMap((index) => (index === null ? [] : [`s.${identifier(columns[index]?.name ?? '')}`]));
  return `copy (
select
    ${selected.join(',\n    ')}
from main.${identifier(relation)} as s
where ${insideDays(exportGrain(columns), days)}
order by ${[...order, '1'].join(', ')}
) to ${literal(to.path)} (${options[to.format]}${to.compressed ? ', compression gzip' : ''})`;
}

function exported({ name, type }: ExportColumn, { format, defused: isDefused }: ExportTarget): string {
  const column = `s.${identifier(name)}`;
  if (format === 'ndjson') return column;
  const plain = plainType(type);
  const value = `cast(${column} as ${plain})`;
  return format === 'csv' && isDefused && plain === 'VARCHAR' ? defused(value) : value;
}

/** What spreadsheets take for a formula when a text begins with it. */
const FORMULA_STARTS = /^[=+\-@\t\r\n]/;

/** A text that is only a number is no formula, and ids such as `-300` are joined on. */
const PLAIN_NUMBER = /-?\d+(\.\d+)?/;

/** With an apostrophe before it a formula is text again; numbers, dates and empty texts stay as they are. */
function defused(text: string): string {
  const isFormula = `regexp_matches(${text}, ${literal(FORMULA_STARTS.source)})`;
  const isNumber = `regexp_full_match(${text}, ${literal(PLAIN_NUMBER.source)})`;
  return `case when ${isFormula} and not ${isNumber} then '''' || ${text} else ${text} end`;
}

const headed = (name: string, { format, defused: isDefused }: ExportTarget): string =>
  format === 'csv' && isDefused && FORMULA_STARTS.test(name) ? `'${name}` : name;

const isNumeric = (type: string): boolean => /^(BIGINT|DOUBLE|DECIMAL)/.test(type);

/** A week, month, quarter or year is written whole where any of its days is asked for, as backfill replaces it. */
function insideDays(grain: DateDimension | null, { from, to }: ExportDays): string {
  if (grain === null) return 'true';
  const column = `s.${identifier(grain)}`;
  const isDaily = grain === 'hour' || grain === 'day';
  const after = isDaily ? `${column} >=` : `${column} + interval 1 ${grain} >`;
  const conditions = [
    from === null ? [] : [`${after} ${dayLiteral(grain, from)}`],
    to === null ? [] : [`${column} < ${dayLiteral(grain, addDays(to, 1))}`],
  ].flat();
  return conditions.length === 0 ? 'true' : conditions.join(' and ');
}
