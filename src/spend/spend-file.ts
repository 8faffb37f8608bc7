/** A spend file → its records, in the form that its extension says, and which names it may give its columns. */

import { stat } from 'node:fs/promises';
import { extname } from 'node:path';

import * as z from 'zod';

import { nearest } from '../config/nearest.ts';
import { Failure, textOf } from '../errors.ts';
import type { Emit } from '../events.ts';
import { count, identifier, literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { rejectColumns, requiredColumns, type SpendRecord, spendColumns } from './rules.ts';
import { csvLines, ndjsonRecords } from './text-records.ts';

const ROWS_PER_PAGE = 1000;

/** A spend file, opened: its records in order, read as they are needed. */
export type SpendRecords = AsyncGenerator<SpendRecord, void>;

/** The records of a spend file; throws `USAGE_INVALID` for what is no such file, and `SPEND_REJECTED` for one with wrong columns. */
export async function openSpendFile(file: string, warehouse: Warehouse, emit: Emit): Promise<SpendRecords> {
  const columns = new SpendColumns(file, emit);
  const readers = new Map<string, () => SpendRecords>([
    ['.csv', () => csvRecords(file, columns)],
    ['.ndjson', () => ndjsonRecords(file, (line, keys) => columns.checkKeys(line, keys))],
    ['.parquet', () => parquetRecords(file, warehouse, columns)],
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

/** Checks the columns of one file; a name that is a known one but for its form is refused, as its values would be overlooked. */
class SpendColumns {
  readonly #warned = new Set<string>();
  readonly #file: string;
  readonly #emit: Emit;

  constructor(file: string, emit: Emit) {
    this.#file = file;
    this.#emit = emit;
  }

  /** Throws `SPEND_REJECTED` with all that is wrong with a header. */
  checkHeader(names: readonly string[]): void {
    const unknown = names.filter((name) => !isKnown(name));
    const missing = requiredColumns.filter((column) => !names.some((name) => plain(name) === column));
    const twice = new Set(names.filter((name, at) => names.indexOf(name) !== at));
    this.#check(this.#file, names, [
      ...missing.map((column) => {
        const near = nearest(column, unknown);
        return near === null ? `no ${column}` : `no ${column} (is it ${quoted(near)}?)`;
      }),
      ...[...twice].map((name) => `${quoted(name)} twice`),
    ]);
  }

  /** Throws `SPEND_REJECTED` for a key of a line that is a column in wrong case. */
  checkKeys(line: number, names: readonly string[]): void {
    this.#check(`line ${line} of ${this.#file}`, names, []);
  }

  #check(where: string, names: readonly string[], more: readonly string[]): void {
    const misspelt = names.flatMap((name) => {
      const meant = spendColumns.find((column) => column === plain(name));
      return meant === undefined || meant === name ? [] : [`${quoted(name)} for ${meant}`];
    });
    const problems = [...misspelt, ...more];
    if (problems.length > 0) {
      throw new Failure('SPEND_REJECTED', `The columns of ${where} were wrong: it had ${problems.join(', ')}.`, {
        facts: { file: this.#file, problems: problems.length },
        hint: `Name the columns ${requiredColumns.join(', ')}, in lower case, separated by commas in CSV; nothing was sent.`,
      });
    }
    for (const name of names) {
      if (isKnown(name) || this.#warned.has(name) || this.#warned.size >= MAX_WARNINGS) continue;
      this.#warned.add(name);
      const meant = nearest(name, spendColumns);
      const suggestion = meant === null ? '' : `; did you mean ${meant}?`;
      const message = `${this.#file} had a column ${quoted(name)}, which is not sent${suggestion}.`;
      this.#emit({ type: 'warning', code: 'SPEND_COLUMN_UNKNOWN', slice: null, window: null, message });
    }
  }
}

async function* csvRecords(file: string, columns: SpendColumns): SpendRecords {
  let header: readonly string[] | null = null;
  for await (const { line, values, defect } of csvLines(file)) {
    if (header === null) {
      header = values;
      columns.checkHeader(header);
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

const describedColumn = z.object({ column_name: z.string(), column_type: z.string() });
type DescribedColumn = z.infer<typeof describedColumn>;
const numberedRow = z.object({ row: z.string(), number: count });
const givenRow = z.record(z.string(), z.string().nullable());

const repeatable = new Map<string, string>(spendColumns.map((name) => [`${name}_1`, name]));

/** The rows of a Parquet file, every value as its exact text. A column that is sent and holds floats is refused: they were rounded before. */
async function* parquetRecords(file: string, warehouse: Warehouse, columns: SpendColumns): SpendRecords {
  // A path is a pattern to DuckDB, and a folder `key=value` a column. Written without the annotation, text is a binary column.
  const path = literal(file.replaceAll(/[*?[]/g, '[$&]'));
  const source = `read_parquet(${path}, binary_as_string = true, hive_partitioning = false, file_row_number = true)`;
  const rows = `describe select * exclude (file_row_number) from ${source}`;
  const described = await readingParquet(file, warehouse.rows(rows, [], describedColumn));
  // Of a column that is there twice DuckDB numbers the second, whose values would be overlooked.
  columns.checkHeader(described.map(({ column_name: name }) => repeatable.get(name) ?? name));
  refuseFloats(file, described);
  const given = described.map((column) => `${literal(column.column_name)}: ${exactText(column)}`).join(', ');
  const sql = `select file_row_number + 1 as number, to_json({${given}})::varchar as "row" from ${source}
where file_row_number >= $1 and file_row_number < $2 order by number`;
  for (let first = 0; ; first += ROWS_PER_PAGE) {
    const page = await readingParquet(file, warehouse.rows(sql, [first, first + ROWS_PER_PAGE], numberedRow));
    for (const { number, row } of page) yield { line: number, given: givenRow.parse(JSON.parse(row)), defects: [] };
    if (page.length < ROWS_PER_PAGE) return;
  }
}

/** An instant with a zone is written in UTC; all else is what DuckDB prints, exactly for decimals and integers. */
function exactText({ column_name: name, column_type: type }: DescribedColumn): string {
  const column = identifier(name);
  return type === 'TIMESTAMP WITH TIME ZONE'
    ? `strftime(${column} at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')`
    : `${column}::varchar`;
}

function refuseFloats(file: string, described: readonly DescribedColumn[]): void {
  const names = described
    .filter(({ column_type: type }) => type === 'DOUBLE' || type === 'FLOAT')
    .filter(({ column_name: name }) => spendColumns.some((known) => known === name))
    .map(({ column_name: name, column_type: type }) => `${name} ${type}`)
    .join(', ');
  if (names === '') return;
  throw new Failure('SPEND_REJECTED', `${file} held floats where exact values are needed: ${names}.`, {
    facts: { file, columns: names },
    hint: 'Write amounts as DECIMAL or as text, and the other columns as text; nothing was sent.',
  });
}

/** What DuckDB says of the file is the file's fault, not a bug; failures of the disk pass as they are. */
async function readingParquet<T>(file: string, work: Promise<T>): Promise<T> {
  return work.catch((cause: unknown) => {
    if (cause instanceof Failure) throw cause;
    const [first = ''] = textOf(cause).split('\n');
    const hint = 'Write the file again; nothing was sent.';
    throw new Failure('SPEND_REJECTED', `${file} could not be read as Parquet: ${first}`, {
      facts: { file },
      hint,
      cause,
    });
  });
}
