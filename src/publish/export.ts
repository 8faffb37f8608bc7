/**
 * The export of a slice: one Parquet, CSV or newline-delimited JSON file, or the same on a stream.
 *
 * A file is whole or not there. Rows come sorted by everything that is not a number, without `_load_id`, so that two
 * warehouses holding the same give the same bytes.
 */

import { createReadStream, createWriteStream } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import type { Config, ObjectStore } from '../config/config.ts';
import { addressProblem, bucketAndPrefix } from '../config/publish-settings.ts';
import { Failure, storageFailed } from '../errors.ts';
import { inTemporaryFolder } from '../warehouse/directories.ts';
import { columnsOf } from '../warehouse/relations.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import {
  exportFormats,
  exportGrain,
  isCompressed,
  exportStatement,
  formatOf,
  type ExportColumn,
  type ExportDays,
  type ExportFormat,
} from './export-sql.ts';
import { withStore } from './open-store.ts';
import { outputAt } from './output-file.ts';
import { codeOf, replaceShared } from './replacement.ts';

/** What to export, and where to. */
export interface ExportOptions extends Partial<ExportDays> {
  /** A configured slice, or, in its place, `table`. */
  readonly slice?: string | undefined;
  /** Any other table or view that analysts query, such as `links`. */
  readonly table?: string | undefined;
  /** A path, `s3://bucket/key`, or `-` for `stream`. */
  readonly output: string;
  /** Where the rows go if `output` is `-`. */
  readonly stream?: Writable;
  /** Taken from the extension of the output by default. */
  readonly format?: ExportFormat | null;
  /** Every cell that is not final is NULL. */
  readonly finalOnly?: boolean;
  /** CSV holds texts as they are, to be joined on, and not as a spreadsheet can be trusted with. */
  readonly asIs?: boolean;
  /** Rights of the file; 0o644 by default. */
  readonly mode?: number;
}

const USUAL_MODE = 0o644;

const unusable = (message: string, hint: string): Failure => new Failure('USAGE_INVALID', message, { hint });

/**
 * What the options amount to, a bucket reached as a configured target in it is. Throws `USAGE_INVALID` where they name nothing
 * to write, or nowhere to write it to.
 */
export function exportRequest(config: Pick<Config, 'publish'>, options: ExportOptions): ExportRequest {
  const { slice: named, table, output, stream = null, format = null, from = null, to = null } = options;
  const slice = table ?? named;
  if (slice === undefined) throw unusable('The export was told nothing to write.', 'Give --slice or --table.');
  if (output === '-' && stream === null) {
    const message = `The export of ${slice} was given no stream to write to.`;
    throw unusable(message, 'Give a stream with the output -, or name a file.');
  }
  if (format !== null && !exportFormats.includes(format)) {
    throw unusable(`The format ${format} was not known.`, `Name one of ${exportFormats.join(', ')}.`);
  }
  const { finalOnly = false, asIs = false, mode = USUAL_MODE } = options;
  const what = { slice, isTable: table !== undefined, format, from, to, finalOnly, asIs };
  return { ...what, output, mode, store: storeOf(output, config) };
}

/** The bucket an output names, reached as a configured target in it is, else as the environment says; null for a file. */
function storeOf(output: string, { publish }: Pick<Config, 'publish'>): ObjectStore | null {
  if (!output.startsWith('s3://')) return null;
  const place = bucketAndPrefix(output);
  if (place === null || place.prefix === '') {
    const problem = addressProblem(output) ?? 'names a bucket and no key in it';
    const message = `The output named no object of a bucket: it ${problem}.`;
    throw unusable(message, 'Write --output as s3://bucket/key.csv.');
  }
  const stores = publish.map((target) => (target.kind === 'duckdb' ? undefined : target.store));
  const reached = stores.find((store) => store?.bucket === place.bucket);
  return { endpoint: null, region: null, pathStyle: false, ...reached, ...place };
}

export interface ExportRequest extends ExportDays {
  /** The slice, or, with `isTable`, any other table or view that analysts query. */
  readonly slice: string;
  readonly isTable?: boolean;
  /** A path, `s3://bucket/key`, or `-` for the stream. */
  readonly output: string;
  /** Needed for the stream; null takes it from the path's extension. */
  readonly format: ExportFormat | null;
  /** Every cell that is not final is NULL. */
  readonly finalOnly: boolean;
  /** Whether CSV holds texts as they are, to be joined on, and not as a spreadsheet can be trusted with. */
  readonly asIs?: boolean;
  /** Rights of the file. */
  readonly mode: number;
  /** The bucket of an `s3://` output, its prefix the key. */
  readonly store?: ObjectStore | null;
  readonly signal?: AbortSignal;
}

export interface Exported {
  readonly slice: string;
  readonly output: string;
  readonly format: ExportFormat;
  readonly rows: number;
}

/**
 * Exports a slice's live table, or its final view. A reader that closes the stream early is no failure. Throws
 * the signal's reason, `USAGE_INVALID` for a slice that was never loaded, an unknown format, reversed days, or days where the
 * slice has none;
 * `STORAGE_FAILED`.
 */
export async function exportSlice(
  warehouse: Warehouse,
  request: ExportRequest,
  stream: Writable | null,
): Promise<Exported> {
  const { slice, output, from, to, signal = new AbortController().signal } = request;
  const format = formatFor(request);
  const relation = request.finalOnly ? `${slice}_final` : slice;
  const columns = (await columnsOf(warehouse, relation)).filter(({ name }) => name !== '_load_id');
  refuseUnreadable(request, columns);
  const write: WriteRows = async (path) => {
    const target = { path, format, compressed: isCompressed(output), defused: request.asIs !== true };
    return warehouse.run(exportStatement(relation, columns, { from, to }, target));
  };
  const stop = (): void => warehouse.interrupt();
  signal.throwIfAborted();
  signal.addEventListener('abort', stop);
  try {
    return { slice, output, format, rows: await written({ ...request, signal }, stream, write) };
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error;
    const hint =
      'Check free space and permissions of the directory, or give a stream that takes all that is written to it.';
    throw storageFailed(`The export to ${output} failed`, error, { hint });
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function refuseUnreadable({ slice, isTable, from, to }: ExportRequest, columns: readonly ExportColumn[]): void {
  if (from !== null && to !== null && from > to) {
    const message = `The export of ${slice} was to begin on ${from}, after its end on ${to}.`;
    throw unusable(message, 'Give --from the first day and --to the last.');
  }
  if (columns.length === 0 && isTable === true) {
    const hint = 'Name one of schema main, such as partners, links, apps or metrics.';
    throw unusable(`There was no table ${slice} to export.`, hint);
  }
  if (columns.length === 0) {
    const message = `The slice ${slice} held nothing to export: it was never loaded.`;
    throw unusable(message, `Run \`ripen sync --slice ${slice}\` first.`);
  }
  if (exportGrain(columns) === null && (from !== null || to !== null)) {
    const message = `The slice ${slice} had no date dimension to choose days by.`;
    throw unusable(message, 'Leave out --from and --to.');
  }
}

function formatFor({ output, format: stated }: ExportRequest): ExportFormat {
  const format = stated ?? (output === '-' ? null : formatOf(output));
  if (format === 'parquet' && isCompressed(output)) {
    const message = `The export to ${output} was to be Parquet in gzip, which no reader takes.`;
    throw unusable(message, 'End the name of --output in .parquet: such a file is compressed by itself.');
  }
  if (format !== null) return format;
  const hint = `State --format ${exportFormats.join(', --format ')}, or end the name of --output in one of them.`;
  throw unusable(`The export to ${output} had no known format.`, hint);
}

/** Writes the rows to a path and returns how many. */
type WriteRows = (path: string) => Promise<number>;

async function written(
  { output, mode, store, signal }: ExportRequest & { readonly signal: AbortSignal },
  stream: Writable | null,
  write: WriteRows,
): Promise<number> {
  if (stream !== null && output === '-') return apart(write, async (rows) => toStream(rows, stream, signal));
  if (store !== undefined && store !== null) {
    const bucket = { path: output, mode, store: { ...store, prefix: '' } };
    return withStore(bucket, null, signal, async (opened) => {
      const rows = await write(await opened.draft(store.prefix));
      await opened.place(store.prefix);
      return rows;
    });
  }
  const { path, isStream } = await outputAt(resolve(output));
  if (isStream) {
    return apart(write, async (rows) => pipeline(createReadStream(rows), createWriteStream(path), { signal }));
  }
  return replaceShared(path, mode, async (unfinished) => {
    const rows = await write(unfinished);
    signal.throwIfAborted();
    return rows;
  });
}

/** DuckDB writes to files alone: what goes elsewhere is a private file first, which is removed afterwards. */
async function apart(write: WriteRows, send: (path: string) => Promise<void>): Promise<number> {
  return inTemporaryFolder(async (folder) => {
    const path = join(folder, 'rows');
    const rows = await write(path);
    await send(path);
    return rows;
  });
}

async function toStream(path: string, stream: Writable, signal: AbortSignal): Promise<void> {
  await pipeline(createReadStream(path), stream, { end: false, signal }).catch((error: unknown) => {
    if (signal.aborted || !['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(codeOf(error) ?? '')) throw error;
  });
}
