/**
 * Exports a slice. Rows are sorted by all columns but numbers and have no `_load_id`, so that equal warehouses give equal
 * bytes.
 */

import { createReadStream, createWriteStream } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { Failure, storageFailed, systemText } from '../errors.ts';
import { addDays, type Day } from '../model/calendar.ts';
import { parseColumnType } from '../model/column-type.ts';
import { inTemporaryFolder } from '../warehouse/directories.ts';
import { columnsNow, type RelationColumn, relationsIn } from '../warehouse/relations.ts';
import { dayLiteral, identifier, literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { grainOf, plainType } from './tables.ts';
import { codeOf, outputAt, replaceShared } from './places/replacement.ts';

const formats = {
  parquet: 'format parquet, compression zstd',
  csv: 'format csv, header true',
  ndjson: 'format json',
} as const;
const formatNames = ['parquet', 'csv', 'ndjson'] as const;
type ExportFormat = (typeof formatNames)[number];

export interface ExportOptions {
  readonly slice?: string | undefined;
  /** Any other table or view that analysts query, such as `links`. */
  readonly table?: string | undefined;
  /** First and last day, both inclusive; null: open. */
  readonly from?: Day | null;
  readonly to?: Day | null;
  /** A path, or `-` for `stream`. */
  readonly output: string;
  readonly stream?: Writable;
  readonly format?: ExportFormat | null;
  readonly finalOnly?: boolean;
  /** Keeps CSV texts as they are, for joins (default: formulas of spreadsheets get an apostrophe in front). */
  readonly asIs?: boolean;
  /** Default: 0o644. */
  readonly mode?: number;
  readonly signal?: AbortSignal;
}

export interface Exported {
  readonly slice: string;
  readonly output: string;
  readonly format: ExportFormat;
  readonly rows: number;
}

const unusable = (message: string, hint: string) => new Failure('USAGE_INVALID', message, { hint });

/** Returns the table and the format (default: from the extension, which may precede `.gz`). Throws `USAGE_INVALID`. */
export function exportRequest(options: ExportOptions): Pick<Exported, 'slice' | 'format'> {
  const { slice = '', table = slice, output, stream, from = null, to = null } = options;
  if (table === '')
    throw unusable('The export has no slice or table to write.', 'Pass --slice or --table.');
  if (output === '-' && stream === undefined) {
    const message = `The export of ${table} was given no stream to write to.`;
    throw unusable(message, 'Give a stream with the output -, or name a file.');
  }
  if (from !== null && to !== null && from > to) {
    const message = `The export of ${table} was to begin on ${from}, after its end on ${to}.`;
    throw unusable(message, 'Give --from the first day and --to the last.');
  }
  // Parquet is already compressed.
  const [, extension] = /\.(parquet\.gz|[a-z]+)(?:\.gz)?$/i.exec(output) ?? [];
  const named = options.format ?? extension?.toLowerCase();
  const format = formatNames.find((name) => name === named);
  if (format === undefined) {
    const message = `The export to ${output} had an unknown format: ${named ?? 'no extension'} is none.`;
    const hint = `Use --format ${formatNames.join(', --format ')}, or end the name of --output in one of them.`;
    throw unusable(message, hint);
  }
  return { slice: table, format };
}

/**
 * Exports a live table or final view. A reader may close the stream early. Throws the signal's reason, `STORAGE_FAILED`, or
 * `USAGE_INVALID` for a bad request or a slice that is not loaded or has no dates to choose by.
 */
export async function exportSlice(warehouse: Warehouse, options: ExportOptions): Promise<Exported> {
  const { output, from, to, finalOnly = false, mode = 0o644, stream } = options;
  const { signal = new AbortController().signal } = options;
  const { slice, format } = exportRequest(options);
  const relation = finalOnly ? `${slice}_final` : slice;
  const stored = (await relationsIn(warehouse, 'main')).get(relation);
  if (stored === undefined) {
    const hint =
      'Run `ripen sync` first, or name a table of schema main, such as partners, links, apps or metrics.';
    throw unusable(`There is no table ${slice} to export.`, hint);
  }
  const current = await columnsNow(warehouse, 'main', stored);
  const columns = current.filter(({ name }) => name !== '_load_id');
  if (grainOf(columns) === null && (from ?? to ?? null) !== null) {
    const message = `The slice ${slice} has no date dimension to choose days by.`;
    throw unusable(message, 'Leave out --from and --to.');
  }
  const write = async (path: string) =>
    warehouse.run(exportStatement(relation, columns, options, { path, format }));
  const storageFailure = (error: unknown) =>
    storageFailed(`The export to ${output} failed`, error, {
      hint: 'Check free space and permissions of the directory, or give a stream that takes all that is written to it.',
    });
  signal.throwIfAborted();
  return warehouse.interruptibly(signal, async () => {
    const given = output === '-' ? stream : undefined;
    const place = given === undefined ? await outputAt(resolve(output)) : null;
    if (place?.isStream === false) {
      const rows = await replaceShared(place.path, mode, async (unfinished) => {
        const written = await write(unfinished);
        signal.throwIfAborted();
        return written;
      }).catch((error: unknown) => {
        throw systemText(error, 'syscall') === '' ? error : storageFailure(error);
      });
      return { slice, output, format, rows };
    }
    // DuckDB writes only to files.
    return inTemporaryFolder(async (folder) => {
      const file = join(folder, 'rows');
      const rows = await write(file);
      const sink = given ?? createWriteStream(place?.path ?? output);
      const end = given === undefined;
      await pipeline(createReadStream(file), sink, { end, signal }).catch((error: unknown) => {
        signal.throwIfAborted();
        const isClosed = ['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(codeOf(error));
        if (!isClosed) throw storageFailure(error);
      });
      return { slice, output, format, rows };
    });
  });
}

/** Spreadsheets take such texts for formulas. */
const FORMULA_STARTS = /^[=+\-@\t\r\n]/;

/** A text that is only a number is no formula; ids such as `-300` are used in joins. */
const PLAIN_NUMBER = /-?\d+(\.\d+)?/;

function exportStatement(
  relation: string,
  columns: readonly RelationColumn[],
  { output, from = null, to = null, asIs = false }: ExportOptions,
  { path, format }: { readonly path: string; readonly format: ExportFormat },
) {
  const cells = columns.map(({ name, type }) => {
    const plain = plainType(type);
    const column = `s.${identifier(name)}`;
    const value = format === 'ndjson' ? column : `cast(${column} as ${plain})`;
    if (format !== 'csv' || asIs || plain !== 'VARCHAR') return `${value} as ${identifier(name)}`;
    const isFormula = `regexp_matches(${value}, ${literal(FORMULA_STARTS.source)})`;
    const isNumber = `regexp_full_match(${value}, ${literal(PLAIN_NUMBER.source)})`;
    return `case when ${isFormula} and not ${isNumber} then '''' || ${value} else ${value} end as ${identifier(name)}`;
  });
  const conditions = ['true'];
  const grain = grainOf(columns);
  if (grain !== null) {
    const column = `s.${identifier(grain)}`;
    // A longer period is written whole if any of its days is requested, as backfill replaces it.
    const isLong = grain !== 'hour' && grain !== 'day';
    const after = isLong ? `${column} + interval 1 ${grain} >` : `${column} >=`;
    if (from !== null) conditions.push(`${after} ${dayLiteral(grain, from)}`);
    if (to !== null) conditions.push(`${column} < ${dayLiteral(grain, addDays(to, 1))}`);
  }
  const isCompressed = format !== 'parquet' && /\.gz$/i.test(output);
  const sorted = columns.filter(({ type }) => parseColumnType(type) === null);
  return `copy (
select
    ${cells.join(',\n    ')}
from main.${identifier(relation)} as s
where ${conditions.join(' and ')}
order by ${[...sorted.map(({ name }) => `s.${identifier(name)}`), '1'].join(', ')}
) to ${literal(path)} (${formats[format]}${isCompressed ? ', compression gzip' : ''})`;
}
