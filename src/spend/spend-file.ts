/**
 * A spend file, CSV (RFC 4180), newline-delimited JSON or Parquet → its records, and which names it may give its columns.
 *
 * Own readers of the texts, because a bad line is rejected alone, under the number an editor shows, and no number becomes a float:
 * csv-parse and DuckDB lose one or the other.
 */

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { extname } from 'node:path';

import { parse } from 'lossless-json';
import * as z from 'zod';

import { nearest } from '../config/nearest.ts';
import { Failure, storageFailed, textOf } from '../errors.ts';
import type { Emit } from '../events.ts';
import { count, identifier, jsonOf, literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { rejectColumns, requiredColumns, type SpendRecord, spendColumns } from './rules.ts';

const PARQUET_ROWS_PER_PAGE = 1000;
/** No honest line is longer; a quote that is never closed would otherwise fill the memory. */
const MAX_LINE_CHARACTERS = 65_536;
/** Enough of a line that is no JSON to recognise it. */
const RAW_CHARACTERS = 1000;

/** A value of a CSV line: what stands in quotes, the closing quote, what stands without quotes, the comma. */
const CSV_VALUE = /(?:"([^"]*(?:""[^"]*)*)("|$))?([^,]*)(,|$)/gy;
/** What tells the keys of an object from all else: texts, and the marks around them. */
const TEXT_OR_MARK = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/g;

/** A spend file, opened: its records in order, read as they are needed. */
export type SpendRecords = AsyncGenerator<SpendRecord, void>;

/** The records of a spend file; throws `USAGE_INVALID` for what is no such file, and `SPEND_REJECTED` for one with wrong columns. */
export async function openSpendFile(file: string, warehouse: Warehouse, emit: Emit): Promise<SpendRecords> {
  const check = columnCheck(file, emit);
  const readers = new Map<string, () => SpendRecords>([
    ['.csv', () => csvRecords(file, check)],
    ['.ndjson', () => ndjsonRecords(file, check)],
    ['.parquet', () => parquetRecords(file, warehouse, check)],
  ]);
  const extension = extname(file).toLowerCase();
  const reader = readers.get(extension);
  if (reader === undefined) {
    const message = `${file} had the extension "${extension}", not ${[...readers.keys()].join(', ')}.`;
    const hint = 'Name the file after its form: .csv, .ndjson or .parquet.';
    throw new Failure('USAGE_INVALID', message, { facts: { file }, hint });
  }
  // A pipe would be read once and a device for ever; neither leaves a place for the rejects.
  const found = await stat(file).catch(() => null);
  if (found?.isFile() === true) return reader();
  const message = `The spend file ${file} was ${found === null ? 'not found' : 'no regular file'}.`;
  throw new Failure('USAGE_INVALID', message, { facts: { file }, hint: 'Give the path of an existing file.' });
}

/** A file whose every line brings other columns would warn for ever. */
const MAX_WARNINGS = 20;

const isKnown = (name: string): boolean => [...spendColumns, ...rejectColumns].includes(name);
const quoted = (name: string): string => JSON.stringify(name.slice(0, 100));
const plain = (name: string): string => name.trim().toLowerCase();

/** Throws `SPEND_REJECTED` for column names with problems, of those it knows and others; warns once of each name that means nothing. */
type ColumnCheck = (where: string, names: readonly string[], problems?: readonly string[]) => void;

/** A name that is a known one but for its form is refused, as its values would be overlooked. */
function columnCheck(file: string, emit: Emit): ColumnCheck {
  const warned = new Set<string>();
  return (where, names, otherProblems = []) => {
    const misspelt = names.flatMap((name) => {
      const meant = spendColumns.find((column) => column === plain(name));
      return meant === undefined || meant === name ? [] : [`${quoted(name)} for ${meant}`];
    });
    const problems = [...misspelt, ...otherProblems];
    if (problems.length > 0) {
      throw new Failure('SPEND_REJECTED', `The columns of ${where} were wrong: it had ${problems.join(', ')}.`, {
        facts: { file, problems: problems.length },
        hint: `Name the columns ${requiredColumns.join(', ')}, in lower case, separated by commas in CSV; nothing was sent.`,
      });
    }
    for (const name of names) {
      if (isKnown(name) || warned.has(name) || warned.size >= MAX_WARNINGS) continue;
      warned.add(name);
      const meant = nearest(name, spendColumns);
      const suggestion = meant === null ? '' : `; did you mean ${meant}?`;
      const message = `${file} had a column ${quoted(name)}, which is not sent${suggestion}.`;
      emit({ type: 'warning', code: 'SPEND_COLUMN_UNKNOWN', slice: null, window: null, message });
    }
  };
}

/** What is wrong with a header beside misspelt names. */
function headerProblems(names: readonly string[]): string[] {
  const unknown = names.filter((name) => !isKnown(name));
  const missing = requiredColumns.filter((column) => !names.some((name) => plain(name) === column));
  const twice = new Set(names.filter((name, at) => names.indexOf(name) !== at));
  return [
    ...missing.map((column) => {
      const near = nearest(column, unknown);
      return near === null ? `no ${column}` : `no ${column} (is it ${quoted(near)}?)`;
    }),
    ...[...twice].map((name) => `${quoted(name)} twice`),
  ];
}

async function* csvRecords(file: string, check: ColumnCheck): SpendRecords {
  let header: readonly string[] | null = null;
  for await (const { line, values, defect } of csvLines(file)) {
    if (header === null) {
      header = values;
      check(file, header, headerProblems(header));
      continue;
    }
    const given = Object.fromEntries(header.flatMap((name, at) => (at < values.length ? [[name, values[at]]] : [])));
    const noun = values.length === 1 ? 'value' : 'values';
    const odd = `the line had ${values.length} ${noun} for ${header.length} columns`;
    const defects = [...(values.length === header.length ? [] : [odd]), ...(defect === null ? [] : [defect])];
    yield defects.length === 0 ? { line, given, defects } : { line, given, defects, raw: values };
  }
  if (header !== null) return;
  throw new Failure('SPEND_REJECTED', `${file} was empty: it had no header.`, {
    facts: { file },
    hint: 'Write the names of the columns into the first line; nothing was sent.',
  });
}

interface CsvLine {
  readonly line: number;
  /** Quotes resolved. */
  readonly values: readonly string[];
  readonly defect: string | null;
}

/** The lines of a CSV file; one whose quote is open goes on in the next one. */
async function* csvLines(file: string): AsyncGenerator<CsvLine, void> {
  let first = 1;
  let open: string | null = null;
  for await (const [line, part] of numberedLines(file)) {
    if (open === null) first = line;
    const text: string = open === null ? part : `${open}\n${part}`;
    if (text.length > MAX_LINE_CHARACTERS) throw overlong(file, first);
    const { values, isOpen, defect } = csvValues(text.replace(/\r$/, ''));
    open = isOpen ? text : null;
    if (!isOpen && text.trim() !== '') yield { line: first, values, defect };
  }
  if (open === null) return;
  const defect = 'a quote was never closed: all that follows it was read as one value';
  yield { line: first, values: csvValues(open).values, defect };
}

function csvValues(text: string) {
  const values: string[] = [];
  let isOpen = false;
  let defect: string | null = null;
  for (const [, quoted, closing, bare = '', comma] of text.matchAll(CSV_VALUE)) {
    values.push(`${quoted?.replaceAll('""', '"') ?? ''}${bare}`);
    if (quoted !== undefined && bare !== '') defect = 'a value went on after its closing quote';
    isOpen = closing === '';
    if (comma === '') break;
  }
  return { values, isOpen, defect };
}

/** The records of a newline-delimited JSON file, bare numbers by their text. */
async function* ndjsonRecords(file: string, check: ColumnCheck): SpendRecords {
  for await (const [line, text] of numberedLines(file)) {
    if (text.trim() === '') continue;
    const given = parsedObject(text);
    const defects = given === null ? ['the line was no JSON object'] : brokenKeys(text);
    if (given !== null && defects.length === 0) {
      check(`line ${line} of ${file}`, Object.keys(given));
      yield { line, given, defects };
    } else yield { line, given: {}, defects, raw: text.trim().slice(0, RAW_CHARACTERS).toWellFormed() };
  }
}

/** What is wrong with the keys of a JSON object. Of a key that is there twice parsers keep the last one, or tell only of other values. */
function brokenKeys(text: string): string[] {
  const met = new Map<string, number>();
  let depth = 0;
  let name = '';
  for (const [token] of text.matchAll(TEXT_OR_MARK)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (token !== ':') name = token;
    else if (depth === 1) {
      const key = String(JSON.parse(name));
      met.set(key, (met.get(key) ?? 0) + 1);
    }
  }
  return [...met].flatMap(([key, times]) => {
    if (!key.isWellFormed()) return ['the line had a key that was not UTF-8'];
    return times === 1 ? [] : [`the line had the key ${JSON.stringify(key.slice(0, 100))} ${times} times`];
  });
}

const wellFormed = (_: string, value: unknown): unknown => (typeof value === 'string' ? value.toWellFormed() : value);
const numberText = (number: string): string => number;
const objectShape = z.record(z.string(), z.unknown());

function parsedObject(text: string): Record<string, unknown> | null {
  try {
    const options = { parseNumber: numberText, onDuplicateKey: ({ newValue }: { newValue: unknown }) => newValue };
    return objectShape.safeParse(parse(text, wellFormed, options)).data ?? null;
  } catch {
    return null;
  }
}

/** The lines of a UTF-8 file with their numbers from 1, without its byte order mark; bytes that are no UTF-8 become U+FFFD. */
async function* numberedLines(file: string): AsyncGenerator<[number, string], void> {
  let line = 1;
  let rest = '';
  try {
    for await (const chunk of createReadStream(file, 'utf8')) {
      const parts = `${rest}${String(chunk)}`.split('\n');
      rest = parts.pop() ?? '';
      for (const part of parts) {
        yield [line, withoutMark(line, part)];
        line += 1;
      }
      if (rest.length > MAX_LINE_CHARACTERS) throw overlong(file, line);
    }
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const hint = 'Check the permissions of the file.';
    throw storageFailed(`${file} could not be read`, cause, { facts: { file }, hint });
  }
  yield [line, withoutMark(line, rest)];
}

const withoutMark = (line: number, text: string): string => (line === 1 ? text.replace(/^\uFEFF/, '') : text);

function overlong(file: string, line: number): Failure {
  return new Failure('SPEND_REJECTED', `Line ${line} of ${file} had more than ${MAX_LINE_CHARACTERS} characters.`, {
    facts: { file, line, max_characters: MAX_LINE_CHARACTERS },
    hint: 'Look for a quote that is never closed, or a file that is not text; nothing was sent.',
  });
}

const describedColumn = z.object({ column_name: z.string(), column_type: z.string() });
const numberedRow = z.object({ number: count, row: jsonOf(z.record(z.string(), z.string().nullable())) });

const repeatable = new Map<string, string>(spendColumns.map((name) => [`${name}_1`, name]));

/** The rows of a Parquet file, every value as its exact text. A column that is sent and holds floats is refused: they were rounded before. */
async function* parquetRecords(file: string, warehouse: Warehouse, check: ColumnCheck): SpendRecords {
  // A path is a pattern to DuckDB, and a folder `key=value` a column. Written without the annotation, text is a binary column.
  const path = literal(file.replaceAll(/[*?[]/g, '[$&]'));
  const source = `read_parquet(${path}, binary_as_string = true, hive_partitioning = false, file_row_number = true)`;
  const rows = `describe select * exclude (file_row_number) from ${source}`;
  const described = await readingParquet(file, warehouse.rows(rows, [], describedColumn));
  // Of a column that is there twice DuckDB numbers the second, whose values would be overlooked.
  const header = described.map(({ column_name: name }) => repeatable.get(name) ?? name);
  const floats = described.flatMap(({ column_name: name, column_type: type }) => {
    const isFloat = (type === 'DOUBLE' || type === 'FLOAT') && spendColumns.some((known) => known === name);
    return isFloat ? [`${name} ${type}, which was rounded before: write it as DECIMAL or as text`] : [];
  });
  check(file, header, [...headerProblems(header), ...floats]);
  const given = described.map(({ column_name: name, column_type: type }) => {
    const column = identifier(name);
    const isInstant = type === 'TIMESTAMP WITH TIME ZONE';
    const utc = `strftime(${column} at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')`;
    return `${literal(name)}: ${isInstant ? utc : `${column}::varchar`}`;
  });
  const sql = `select file_row_number + 1 as number, to_json({${given.join(', ')}})::varchar as "row" from ${source}
where file_row_number >= $1 and file_row_number < $2 order by number`;
  for (let first = 0; ; first += PARQUET_ROWS_PER_PAGE) {
    const between = [first, first + PARQUET_ROWS_PER_PAGE];
    const page = await readingParquet(file, warehouse.rows(sql, between, numberedRow));
    for (const { number, row } of page) yield { line: number, given: row, defects: [] };
    if (page.length < PARQUET_ROWS_PER_PAGE) return;
  }
}

/** What DuckDB says of the file is the file's fault, not a bug; failures of the disk pass as they are. */
async function readingParquet<T>(file: string, work: Promise<T>): Promise<T> {
  return work.catch((cause: unknown) => {
    if (cause instanceof Failure) throw cause;
    const [first = ''] = textOf(cause).split('\n');
    const message = `${file} could not be read as Parquet: ${first}`;
    const hint = 'Write the file again; nothing was sent.';
    throw new Failure('SPEND_REJECTED', message, { facts: { file }, hint, cause });
  });
}
