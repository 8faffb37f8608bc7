/** The rows of a Parquet file, every value as its exact text. */

import * as z from 'zod';

import { Failure, textOf } from '../errors.ts';
import { count, identifier, literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { checkHeader, type UnknownColumns } from './column-names.ts';
import { spendColumns, type SpendRecords } from './spend-record.ts';

const ROWS_PER_PAGE = 1000;

const describedColumn = z.object({ column_name: z.string(), column_type: z.string() });
const numberedRow = z.object({ row: z.string(), number: count });
const givenRow = z.record(z.string(), z.string().nullable());

type Column = z.infer<typeof describedColumn>;

/**
 * Reads the file as it is asked for, through a temporary table. Throws `SPEND_REJECTED` for a file that is no Parquet,
 * for wrong columns, and for a column that is sent and holds floats: they were rounded before ripen saw them.
 */
export async function* parquetRecords(file: string, warehouse: Warehouse, unknown: UnknownColumns): SpendRecords {
  // A path is a pattern to DuckDB, and a folder `key=value` a column. Written without the annotation, text is a binary column.
  const path = literal(file.replaceAll(/[*?[]/g, '[$&]'));
  const source = `read_parquet(${path}, binary_as_string = true, hive_partitioning = false)`;
  const columns = await readingParquet(file, warehouse.rows(`describe select * from ${source}`, [], describedColumn));
  // DuckDB gives a column that is there twice another name, under which its values would be overlooked.
  const repeated = await warehouse.rows(
    `select name from parquet_schema(${path})
     where name in (${spendColumns.map((name) => literal(name)).join(', ')}) group by name having count(*) > 1`,
    [],
    z.object({ name: z.string() }),
  );
  checkHeader(file, [...columns.map(({ column_name: name }) => name), ...repeated.map(({ name }) => name)]);
  refuseFloats(file, columns);
  for (const { column_name: name } of columns) unknown.note(name);
  const given = columns.map((column) => `${literal(column.column_name)}: ${exactText(column)}`).join(', ');
  await readingParquet(
    file,
    warehouse.run(`create or replace temp table spend_parquet as
select row_number() over () as number, to_json({${given}})::varchar as "row" from ${source}`),
  );
  try {
    for (let first = 1; ; first += ROWS_PER_PAGE) {
      const page = await warehouse.rows(
        'select number, "row" from spend_parquet where number >= $1 and number < $2 order by number',
        [first, first + ROWS_PER_PAGE],
        numberedRow,
      );
      for (const { number, row } of page) yield { line: number, given: givenRow.parse(JSON.parse(row)), defects: [] };
      if (page.length < ROWS_PER_PAGE) return;
    }
  } finally {
    await warehouse.run('drop table if exists spend_parquet');
  }
}

/** An instant with a zone is written in UTC; all else is what DuckDB prints, exactly for decimals and integers. */
function exactText({ column_name: name, column_type: type }: Column): string {
  const column = identifier(name);
  return type === 'TIMESTAMP WITH TIME ZONE'
    ? `strftime(${column} at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')`
    : `${column}::varchar`;
}

function refuseFloats(file: string, columns: readonly Column[]): void {
  const floats = columns.filter(
    ({ column_name: name, column_type: type }) =>
      spendColumns.some((known) => known === name) && (type === 'DOUBLE' || type === 'FLOAT'),
  );
  if (floats.length === 0) return;
  const names = floats.map(({ column_name: name, column_type: type }) => `${name} ${type}`).join(', ');
  throw new Failure('SPEND_REJECTED', `${file} held floats where exact values are needed: ${names}.`, {
    facts: { file, columns: names },
    hint: 'Write amounts as DECIMAL or as text, and the other columns as text; nothing was sent.',
  });
}

/** What DuckDB says of the file is the file's fault, not a bug; failures of the disk pass as they are. */
async function readingParquet<T>(file: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const text = textOf(cause);
    throw new Failure('SPEND_REJECTED', `${file} could not be read as Parquet: ${text.split('\n')[0] ?? ''}`, {
      facts: { file },
      hint: 'Write the file again; nothing was sent.',
      cause,
    });
  }
}
