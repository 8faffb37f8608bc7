/**
 * Exports a slice as one Parquet, CSV or newline-delimited JSON file, or the same on a stream.
 *
 * A file is whole or not there. Rows are sorted by all columns but numbers and have no `_load_id`, so that two warehouses with
 * the same content give the same bytes.
 */

import { createReadStream, createWriteStream } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { Failure, storageFailed } from '../errors.ts';
import { addDays, type Day } from '../model/calendar.ts';
import type { DateDimension } from '../model/dimension.ts';
import { inTemporaryFolder } from '../warehouse/directories.ts';
import { columnsOf, type RelationColumn } from '../warehouse/relations.ts';
import { dayLiteral, identifier, literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { grainOf, plainType } from './lake-table.ts';
import { codeOf, outputAt, replaceShared } from './replacement.ts';

const options = {
  parquet: 'format parquet, compression zstd',
  csv: 'format csv, header true',
  ndjson: 'format json',
} as const;
const exportFormats = ['parquet', 'csv', 'ndjson'] as const;
type ExportFormat = (typeof exportFormats)[number];

export interface ExportOptions {
  /** A configured slice, unless `table` is stated. */
  readonly slice?: string | undefined;
  /** Any other table or view that analysts query, such as `links`. */
  readonly table?: string | undefined;
  /** First and last day, both inclusive; null: open. */
  readonly from?: Day | null;
  readonly to?: Day | null;
  /** A path, or `-` for `stream`. */
  readonly output: string;
  /** Receives the rows if `output` is `-`. */
  readonly stream?: Writable;
  /** By default that of the output's extension. */
  readonly format?: ExportFormat | null;
  /** Exports the final view: a cell that is not final is NULL. */
  readonly finalOnly?: boolean;
  /** CSV texts stay as they are, for joins; by default those a spreadsheet takes for formulas get an apostrophe in front. */
  readonly asIs?: boolean;
  /** Permissions of the file; 0o644 by default. */
  readonly mode?: number;
  readonly signal?: AbortSignal;
}

export interface Exported {
  readonly slice: string;
  readonly output: string;
  readonly format: ExportFormat;
  readonly rows: number;
}

const unusable = (message: string, hint: string): Failure =>
  new Failure('USAGE_INVALID', message, { hint });

/**
 * Returns what an export writes, and in which format: the stated one, else that of the extension, which may precede `.gz`.
 * Throws `USAGE_INVALID` if the options lack a table, a stream or a known format, or the last day is before the first.
 */
export function exportRequest(given: ExportOptions): {
  readonly slice: string;
  readonly format: ExportFormat;
} {
  const { slice = '', table = slice, output, stream, from = null, to = null } = given;
  if (table === '')
    throw unusable('The export named nothing to write.', 'Give --slice or --table.');
  if (output === '-' && stream === undefined) {
    const message = `The export of ${table} was given no stream to write to.`;
    throw unusable(message, 'Give a stream with the output -, or name a file.');
  }
  if (from !== null && to !== null && from > to) {
    const message = `The export of ${table} was to begin on ${from}, after its end on ${to}.`;
    throw unusable(message, 'Give --from the first day and --to the last.');
  }
  // No reader takes Parquet in gzip; Parquet is already compressed.
  const [, extension] = /\.(parquet\.gz|[a-z]+)(?:\.gz)?$/i.exec(output) ?? [];
  const named = given.format ?? extension?.toLowerCase();
  const format = exportFormats.find((each) => each === named);
  if (format === undefined) {
    const message = `The export to ${output} had an unknown format: ${named ?? 'no extension'} is none.`;
    const hint = `State --format ${exportFormats.join(', --format ')}, or end the name of --output in one of them.`;
    throw unusable(message, hint);
  }
  return { slice: table, format };
}

/**
 * Exports a slice's live table or final view. A reader that closes the stream early is no failure. Throws the signal's reason,
 * `STORAGE_FAILED`, or `USAGE_INVALID` as `exportRequest` does, for a slice never loaded, or for days of one without dates.
 */
export async function exportSlice(warehouse: Warehouse, given: ExportOptions): Promise<Exported> {
  const { output, finalOnly = false, signal = new AbortController().signal } = given;
  const { slice, format } = exportRequest(given);
  const relation = finalOnly ? `${slice}_final` : slice;
  const columns = (await columnsOf(warehouse, relation)).filter(({ name }) => name !== '_load_id');
  if (columns.length === 0) {
    const hint =
      'Run `ripen sync` first, or name a table of schema main, such as partners, links, apps or metrics.';
    throw unusable(`There was no table ${slice} to export.`, hint);
  }
  if (grainOf(columns) === null && (given.from ?? given.to ?? null) !== null) {
    throw unusable(
      `The slice ${slice} had no date dimension to choose days by.`,
      'Leave out --from and --to.',
    );
  }
  const write = async (path: string): Promise<number> =>
    warehouse.run(exportStatement(relation, columns, given, { path, format }));
  const stop = (): void => warehouse.interrupt();
  signal.throwIfAborted();
  signal.addEventListener('abort', stop);
  try {
    return { slice, output, format, rows: await written({ ...given, signal }, write) };
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** How a text begins that spreadsheets take for a formula. */
const FORMULA_STARTS = /^[=+\-@\t\r\n]/;

/** A text that is only a number is no formula; ids such as `-300` are used in joins. */
const PLAIN_NUMBER = /-?\d+(\.\d+)?/;

/** The statement that writes the rows of the days, in an order that depends on the rows alone. */
function exportStatement(
  relation: string,
  columns: readonly RelationColumn[],
  { output, from = null, to = null, asIs = false }: ExportOptions,
  { path, format }: { readonly path: string; readonly format: ExportFormat },
): string {
  const cells = columns.map(({ name, type }) => {
    const plain = plainType(type);
    const column = `s.${identifier(name)}`;
    const value = format === 'ndjson' ? column : `cast(${column} as ${plain})`;
    const isDefused = format === 'csv' && !asIs && plain === 'VARCHAR';
    return `${isDefused ? defused(value) : value} as ${identifier(name)}`;
  });
  const isCompressed = format !== 'parquet' && /\.gz$/i.test(output);
  const sorted = columns.filter(({ type }) => !/^(BIGINT|DOUBLE|DECIMAL)/.test(type));
  return `copy (
select
    ${cells.join(',\n    ')}
from main.${identifier(relation)} as s
where ${insideDays(grainOf(columns), from, to)}
order by ${[...sorted.map(({ name }) => `s.${identifier(name)}`), '1'].join(', ')}
) to ${literal(path)} (${options[format]}${isCompressed ? ', compression gzip' : ''})`;
}

/** Puts an apostrophe before a formula, which makes it a text; numbers, dates and empty texts stay as they are. */
function defused(text: string): string {
  const isFormula = `regexp_matches(${text}, ${literal(FORMULA_STARTS.source)})`;
  const isNumber = `regexp_full_match(${text}, ${literal(PLAIN_NUMBER.source)})`;
  return `case when ${isFormula} and not ${isNumber} then '''' || ${text} else ${text} end`;
}

/** A week, month, quarter or year is written whole if any of its days is requested, as backfill replaces it. */
function insideDays(grain: DateDimension | null, from: Day | null, to: Day | null): string {
  if (grain === null) return 'true';
  const column = `s.${identifier(grain)}`;
  const after =
    grain === 'hour' || grain === 'day' ? `${column} >=` : `${column} + interval 1 ${grain} >`;
  const conditions = [
    ...(from === null ? [] : [`${after} ${dayLiteral(grain, from)}`]),
    ...(to === null ? [] : [`${column} < ${dayLiteral(grain, addDays(to, 1))}`]),
  ];
  return conditions.length === 0 ? 'true' : conditions.join(' and ');
}

/** Lets `write` write to a path, moves that to the output and returns the number of rows. */
async function written(
  { output, mode = 0o644, stream, signal }: ExportOptions & { readonly signal: AbortSignal },
  write: (path: string) => Promise<number>,
): Promise<number> {
  const storageFailure = (error: unknown): Failure =>
    storageFailed(`The export to ${output} failed`, error, {
      hint: 'Check free space and permissions of the directory, or give a stream that takes all that is written to it.',
    });
  const { path, isStream } =
    output === '-' ? { path: output, isStream: true } : await outputAt(resolve(output));
  if (!isStream) {
    return replaceShared(path, mode, async (unfinished) => {
      const rows = await write(unfinished);
      signal.throwIfAborted();
      return rows;
    }).catch((error: unknown) => {
      throw error instanceof Error && 'syscall' in error ? storageFailure(error) : error;
    });
  }
  // DuckDB writes only to files, so the rows for a stream are a private temporary file first.
  return inTemporaryFolder(async (folder) => {
    const rows = await write(join(folder, 'rows'));
    const sink = output === '-' && stream !== undefined ? stream : createWriteStream(path);
    await pipeline(createReadStream(join(folder, 'rows')), sink, {
      end: sink !== stream,
      signal,
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      const isClosed = ['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(codeOf(error) ?? '');
      if (!isClosed) throw storageFailure(error);
    });
    return rows;
  });
}
