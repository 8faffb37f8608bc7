/** A spend file → its records, in the form that its extension says. */

import { stat } from 'node:fs/promises';
import { extname } from 'node:path';

import * as z from 'zod';

import { Failure, textOf } from '../errors.ts';
import type { Emit } from '../events.ts';
import { count, identifier, literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { SpendRecords } from './rules.ts';
import { SpendColumns, spendColumns } from './spend-columns.ts';
import { csvRecords, ndjsonRecords } from './text-records.ts';

const ROWS_PER_PAGE = 1000;

const describedColumn = z.object({ column_name: z.string(), column_type: z.string() });
const numberedRow = z.object({ row: z.string(), number: count });
const givenRow = z.record(z.string(), z.string().nullable());

const repeatable = new Map<string, string>(spendColumns.map((name) => [`${name}_1`, name]));

/** The records of a spend file, read as they are needed; throws `USAGE_INVALID` for what is no such file. */
export async function openSpendFile(file: string, warehouse: Warehouse, emit: Emit): Promise<SpendRecords> {
  const columns = new SpendColumns(file, emit);
  const readers: Readonly<Record<string, () => SpendRecords>> = {
    '.csv': () => csvRecords(file, columns),
    '.ndjson': () => ndjsonRecords(file, columns),
    '.parquet': () => parquetRecords(file, warehouse, columns),
  };
  const extension = extname(file).toLowerCase();
  const reader = Object.hasOwn(readers, extension) ? readers[extension] : undefined;
  if (reader === undefined) {
    throw new Failure(
      'USAGE_INVALID',
      `${file} had the extension "${extension}", not ${Object.keys(readers).join(', ')}.`,
      {
        facts: { file },
        hint: 'Name the file after its form: .csv, .ndjson or .parquet.',
      },
    );
  }
  // A pipe would be read once and a device for ever; neither leaves a place for the rejects.
  const found = await stat(file).catch(() => null);
  if (found?.isFile() === true) return reader();
  throw new Failure(
    'USAGE_INVALID',
    `The spend file ${file} was ${found === null ? 'not found' : 'no regular file'}.`,
    {
      facts: { file },
      hint: 'Give the path of an existing file.',
    },
  );
}

/**
 * The rows of a Parquet file, every value as its exact text, through a temporary table. Throws `SPEND_REJECTED` for a file
 * that is no Parquet, for wrong columns, and for a column that is sent and holds floats: they were rounded before.
 */
async function* parquetRecords(file: string, warehouse: Warehouse, columns: SpendColumns): SpendRecords {
  // A path is a pattern to DuckDB, and a folder `key=value` a column. Written without the annotation, text is a binary column.
  const path = literal(file.replaceAll(/[*?[]/g, '[$&]'));
  const source = `read_parquet(${path}, binary_as_string = true, hive_partitioning = false)`;
  const described = await readingParquet(file, warehouse.rows(`describe select * from ${source}`, [], describedColumn));
  // Of a column that is there twice DuckDB numbers the second, whose values would be overlooked.
  columns.checkHeader(described.map(({ column_name: name }) => repeatable.get(name) ?? name));
  refuseFloats(file, described);
  const given = described.map((column) => `${literal(column.column_name)}: ${exactText(column)}`).join(', ');
  await readingParquet(
    file,
    warehouse.run(`create or replace temp table spend_parquet as
select row_number() over () as number, to_json({${given}})::varchar as "row" from ${source}`),
  );
  try {
    const sql = 'select number, "row" from spend_parquet where number >= $1 and number < $2 order by number';
    for (let first = 1; ; first += ROWS_PER_PAGE) {
      const page = await warehouse.rows(sql, [first, first + ROWS_PER_PAGE], numberedRow);
      for (const { number, row } of page) yield { line: number, given: givenRow.parse(JSON.parse(row)), defects: [] };
      if (page.length < ROWS_PER_PAGE) return;
    }
  } finally {
    await warehouse.run('drop table if exists spend_parquet');
  }
}

/** An instant with a zone is written in UTC; all else is what DuckDB prints, exactly for decimals and integers. */
function exactText({ column_name: name, column_type: type }: z.infer<typeof describedColumn>): string {
  const column = identifier(name);
  return type === 'TIMESTAMP WITH TIME ZONE'
    ? `strftime(${column} at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')`
    : `${column}::varchar`;
}

function refuseFloats(file: string, described: readonly z.infer<typeof describedColumn>[]): void {
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
    throw new Failure('SPEND_REJECTED', `${file} could not be read as Parquet: ${first}`, {
      facts: { file },
      hint: 'Write the file again; nothing was sent.',
      cause,
    });
  });
}
