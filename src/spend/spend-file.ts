/**
 * Reads the lines of a spend file, CSV (RFC 4180), newline-delimited JSON or Parquet, and checks the names of its columns.
 *
 * CSV and JSON have readers of their own: a bad line must be rejected alone, under the number an editor shows, and no number
 * may become a float. csv-parse and DuckDB fail at one or the other.
 */

import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';

import { parse } from 'lossless-json';
import * as z from 'zod';

import { Failure, storageFailed, textOf } from '../errors.ts';
import { count, identifier, jsonOf, literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { requiredColumns, type SpendRecord, spendColumns } from './rules.ts';

/** More than half a million short lines, which take hours to send. They are kept in memory: 600,000 took 1.2 GB (measured). */
const MAX_BYTES = 32 * 1024 * 1024;

/** A value of a CSV line: the quoted part, the closing quote, the unquoted part, the end. */
const CSV_VALUE = /(?:"([^"]*(?:""[^"]*)*)("|$))?([^,\n]*?)(,|\r?\n|\r?$)/gy;
/** A string of a JSON line; a key is followed by its colon. */
const JSON_TEXT = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g;

/** The lines of a spend file, in order. Throws `USAGE_INVALID` if it is none, `SPEND_REJECTED` if its columns are wrong. */
export async function readSpendFile(file: string, warehouse: Warehouse): Promise<SpendRecord[]> {
  const readers = new Map<string, () => Promise<SpendRecord[]>>([
    ['.csv', async () => csvRecords(file, await textOfFile(file))],
    ['.ndjson', async () => ndjsonRecords(await textOfFile(file))],
    ['.parquet', async () => parquetRecords(file, warehouse)],
  ]);
  const refused = (problem: string): Failure =>
    new Failure('USAGE_INVALID', `The spend file ${file} ${problem}.`, {
      facts: { file },
      hint: 'Give an existing file that is named after its form, and send a larger one in parts.',
    });
  const reader = readers.get(extname(file).toLowerCase());
  if (reader === undefined) throw refused(`did not end in ${[...readers.keys()].join(', ')}`);
  const found = await stat(file).catch(() => null);
  if (found === null) throw refused('was not found');
  // A pipe can be read only once and a device never ends; neither has a place for the rejects.
  if (!found.isFile()) throw refused('was no regular file');
  if (found.size > MAX_BYTES) throw refused(`had ${found.size} bytes, more than ${MAX_BYTES}`);
  return reader();
}

/** The text of a UTF-8 file without its byte order mark; invalid bytes become U+FFFD. */
async function textOfFile(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    const hint = 'Check the permissions of the file.';
    throw storageFailed(`${file} could not be read`, cause, { facts: { file }, hint });
  });
  return text.replace(/^\uFEFF/, '');
}

/** Throws `SPEND_REJECTED` if a header lacks columns, has one twice, or has other problems. */
function checkHeader(
  file: string,
  names: readonly string[],
  otherProblems: readonly string[] = [],
): void {
  const missing = requiredColumns.filter((column) => !names.includes(column));
  const twice = new Set(names.filter((name, at) => names.indexOf(name) !== at));
  const problems = [
    ...missing.map((column) => `no ${column}`),
    ...[...twice].map((name) => `${JSON.stringify(name)} twice`),
    ...otherProblems,
  ];
  if (problems.length === 0) return;
  throw new Failure(
    'SPEND_REJECTED',
    `The columns of ${file} were wrong: it had ${problems.join(', ')}.`,
    {
      facts: { file, problems: problems.length },
      hint: `Name the columns ${requiredColumns.join(', ')}, in lower case, separated by commas in CSV; nothing was sent.`,
    },
  );
}

function csvRecords(file: string, text: string): SpendRecord[] {
  const lines = csvLines(text);
  const first = lines.next();
  const header = first.done === true ? [] : first.value.values;
  checkHeader(file, header);
  return Array.from(lines, ({ line, values, defect }) => {
    const countDefect = `the line had ${values.length} values for ${header.length} columns`;
    const defects = [
      ...(values.length === header.length ? [] : [countDefect]),
      ...(defect === null ? [] : [defect]),
    ];
    // The columns of a malformed line are a guess, and must not be shown as if they were meant.
    const given =
      defects.length > 0
        ? { raw: values }
        : Object.fromEntries(header.map((name, at) => [name, values[at]]));
    return { line, given, defects };
  });
}

interface CsvLine {
  readonly line: number;
  /** Without their quotes. */
  readonly values: readonly string[];
  readonly defect: string | null;
}

/** The lines of a CSV text without blank ones; a line break in quotes does not end a line. */
function* csvLines(text: string): Generator<CsvLine, void> {
  let line = 1;
  let started: { line: number; values: string[]; defect: string | null } = {
    line,
    values: [],
    defect: null,
  };
  for (const [whole, quoted, closing, bare = '', end] of text.matchAll(CSV_VALUE)) {
    started.values.push(`${quoted?.replaceAll('""', '"') ?? ''}${bare}`);
    if (closing === '')
      started.defect = 'a quote was never closed: all that follows it was read as one value';
    else if (quoted !== undefined && bare !== '')
      started.defect = 'a value went on after its closing quote';
    line += whole.split('\n').length - 1;
    if (end === ',') continue;
    const isBlank = started.values.length === 1 && quoted === undefined && bare.trim() === '';
    if (!isBlank) yield started;
    started = { line, values: [], defect: null };
  }
}

function ndjsonRecords(text: string): SpendRecord[] {
  return text
    .split('\n')
    .flatMap((raw, at) => (raw.trim() === '' ? [] : [{ line: at + 1, ...objectOf(raw.trim()) }]));
}

const objectShape = z.record(z.string(), z.unknown());

/** The columns of a JSON object, numbers as their text. A repeated key is a defect: a parser would keep only the last. */
function objectOf(raw: string): Pick<SpendRecord, 'given' | 'defects'> {
  let defect = 'the line was no JSON object';
  try {
    const texts = [...raw.matchAll(JSON_TEXT)].filter(([, , colon]) => colon !== undefined);
    const keys = texts.map(([, text = '']) => String(JSON.parse(text)));
    const twice = keys.find((key, at) => keys.indexOf(key) !== at);
    if (twice === undefined) {
      const given = objectShape.parse(parse(raw, null, { parseNumber: (number) => number }));
      return { given, defects: [] };
    }
    defect = `the line had the key ${JSON.stringify(twice)} twice`;
  } catch {
    // The defect states it.
  }
  return { given: { raw }, defects: [defect] };
}

const describedColumn = z.object({ column_name: z.string(), column_type: z.string() });
const numberedRow = z.object({
  line: count,
  given: jsonOf(z.record(z.string(), z.string().nullable())),
});

/** The rows of a Parquet file, values as their exact text. Floats in columns to send are refused: they are already rounded. */
async function parquetRecords(file: string, warehouse: Warehouse): Promise<SpendRecord[]> {
  // To DuckDB, a path is a pattern and a folder `key=value` a column. Text that is not annotated as text is a binary column.
  const path = literal(file.replaceAll(/[*?[]/g, '[$&]'));
  const source = `read_parquet(${path}, binary_as_string = true, hive_partitioning = false, file_row_number = true)`;
  try {
    const rows = `describe select * exclude (file_row_number) from ${source}`;
    const described = await warehouse.rows(rows, [], describedColumn);
    const floats = described.flatMap(({ column_name: name, column_type: type }) => {
      const isFloat =
        (type === 'DOUBLE' || type === 'FLOAT') && spendColumns.some((known) => known === name);
      return isFloat
        ? [`${name} ${type}, which was rounded before: write it as DECIMAL or as text`]
        : [];
    });
    // If a column occurs twice, DuckDB numbers the second, whose values would be overlooked.
    const names = described.map(
      ({ column_name: name }) => spendColumns.find((known) => `${known}_1` === name) ?? name,
    );
    checkHeader(file, names, floats);
    const given = described.map(({ column_name: name, column_type: type }) => {
      const column = identifier(name);
      const isInstant = type === 'TIMESTAMP WITH TIME ZONE';
      const utc = `strftime(${column} at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')`;
      return `${literal(name)}: ${isInstant ? utc : `${column}::varchar`}`;
    });
    const sql = `select file_row_number + 1 as line, to_json({${given.join(', ')}})::varchar as given
from ${source} order by line`;
    return (await warehouse.rows(sql, [], numberedRow)).map(({ line, given }) => ({
      line,
      given,
      defects: [],
    }));
  } catch (cause) {
    // An error of DuckDB is the file's fault, not a bug; failures of the disk pass unchanged.
    if (cause instanceof Failure) throw cause;
    const [first = ''] = textOf(cause).split('\n');
    const message = `${file} could not be read as Parquet: ${first}`;
    const hint = 'Write the file again; nothing was sent.';
    throw new Failure('SPEND_REJECTED', message, { facts: { file }, hint, cause });
  }
}
