/**
 * Statements that read spooled answers. Pure: names in, SQL out.
 *
 * What a batch is worked on in are temporary tables whose names hold a blank and columns whose names hold a comma: no
 * slice, dimension or metric can be called so.
 */

import { formatColumnType } from '../model/column-type.ts';
import { identifier, literal } from '../warehouse/quoting.ts';
import type { Columns } from './target.ts';

/** The temporary tables of a batch. */
export const staging = {
  /** One row per document of the files: its rows as JSON and what stands beside them. */
  documents: '"ripen documents"',
  /** One row per spooled file: path, window_no, part_no. */
  answers: '"ripen answers"',
  /** One row per window: window_no, start_day, end_day. */
  windows: '"ripen windows"',
  /** A view: every row as text, as it came, beside WINDOW, PART and `_extra`. */
  staged: '"ripen staged"',
  /** Every row in the types of the slice, beside WINDOW, PART and ODD; a view where the rows lie in columns. */
  typed: '"ripen typed"',
  /** Rows and totals of `typed` per WINDOW, PART and period: what proof, ledger and restatements are made of. */
  totals: '"ripen totals"',
  /** What became of texts in an unusual form: metric, text, plain. */
  plainTexts: '"ripen plain texts"',
  /** Texts that are no numbers: metric, text, reason. */
  notNumbers: '"ripen not numbers"',
  /** Totals per period before and after a window was replaced. */
  before: '"ripen before"',
  after: '"ripen after"',
} as const;

/** Number of the window in its batch, of the part in its window, and whether a text of the row was not cast. */
export const [WINDOW, PART, ODD] = ['"window,"', '"part,"', '"odd,"'] as const;

/**
 * `read_json` over documents. Records and format are stated because leaving them open makes DuckDB sniff the first file,
 * nine times slower to bind.
 */
function readJson(paths: readonly string[], maxBytes: number, columns: string): string {
  const files = paths.map(literal).join(', ');
  return `read_json([${files}], format = 'unstructured', records = true, auto_detect = false, filename = 'filename',
        maximum_object_size = ${maxBytes}, columns = {${columns}})`;
}

/** What stands beside the rows of a document, as JSON. */
export const besideRows = [
  'totals',
  'warnings',
  'data_warnings',
  'pagination',
  'error',
  'errors',
  'error_code',
  'detail',
] as const;

/** Fills `documents`. Files are parsed here, once; everything that follows reads the table. */
export function readDocuments(paths: readonly string[], maxBytes: number): string {
  const columns = [`rows: 'JSON[]'`, ...besideRows.map((name) => `${name}: 'JSON'`)].join(', ');
  return `insert into ${staging.documents}
select filename, rows, ${besideRows.map((name) => `${name}::varchar`).join(', ')}
from ${readJson(paths, maxBytes, columns)}`;
}

/** An empty `documents`. */
export const noDocuments = `create or replace temp table ${staging.documents} (
    filename VARCHAR,
    rows JSON[],
    ${besideRows.map((name) => `${name} VARCHAR`).join(',\n    ')}
)`;

/** What stands beside the rows of each document, how many rows there are, and which keys they have. */
export const inspectDocuments = `select
    filename,
    len(rows) as row_count,
    to_json(list_distinct(list_transform(rows, lambda r: json_keys(r))))::varchar as key_sets,
    ${besideRows.join(',\n    ')}
from ${staging.documents}`;

/** The view `staged`. */
export function stagedRows(columns: Columns): string {
  const requested = [...columns.dimensions, ...columns.metrics.map(({ id }) => id)];
  const shape = JSON.stringify(
    Object.fromEntries([...requested.map((name) => [name, 'VARCHAR']), ['attr_dependency', 'JSON']]),
  );
  return `create or replace temp view ${staging.staged} as
select
    window_no as ${WINDOW},
    part_no as ${PART},
    ${extraKeys(columns.extra)} as "_extra",
    unnest(json_transform(r, ${literal(shape)}))
from (
    select a.window_no, a.part_no, unnest(d.rows) as r
    from ${staging.documents} as d
    join ${staging.answers} as a on a.path = d.filename
)`;
}

function extraKeys(keys: readonly string[]): string {
  if (keys.length === 0) return 'null::JSON';
  const paths = keys.map((key) => literal(jsonPointer(key))).join(', ');
  // All of a row's keys in one extraction: each one parses the row, and keeps what it parsed for as long as its rows last.
  const pairs = `list_zip([${keys.map(literal).join(', ')}], json_extract(r, [${paths}]))`;
  return `to_json(map_from_entries(list_filter(${pairs}, lambda e: e[2] is not null)))`;
}

/** A JSON pointer (RFC 6901), which names any key, the empty one too. */
function jsonPointer(key: string): string {
  return `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** One part of a window whose rows lie in a Parquet file. */
export interface ColumnFile {
  readonly file: string;
  readonly windowNo: number;
  readonly partNo: number;
}

/**
 * The rows of Parquet files, each of one part, as `typed` has them; in the types of the slice's table, which may have become
 * wider since. One scan over a list of files: a union of as many scans takes twice the time to insert.
 */
export function columnRows(columns: Columns, files: readonly ColumnFile[]): string {
  const values = [
    ...columns.dimensions.map(identifier),
    ...columns.metrics.map(
      ({ id, type }) => `cast(${identifier(id)} as ${formatColumnType(type)}) as ${identifier(id)}`,
    ),
  ];
  const numbers = (of: (each: ColumnFile) => number): string => `[${files.map(of).join(', ')}][file_index::bigint + 1]`;
  return `select
    ${numbers(({ windowNo }) => windowNo)}::integer as ${WINDOW},
    ${numbers(({ partNo }) => partNo)}::integer as ${PART},
    ${values.join(',\n    ')},
    json("attr_dependency") as "attr_dependency",
    null::JSON as "_extra",
    false as ${ODD}
from read_parquet([${files.map(({ file }) => literal(file)).join(', ')}], hive_partitioning = false)`;
}

/** `typed`, of rows that lie in columns or, without files, of none. */
export function typedColumns(
  as: keyof typeof dropTyped,
  table: string,
  columns: Columns,
  files: readonly ColumnFile[],
): string {
  const rows =
    files.length > 0
      ? columnRows(columns, files)
      : `select 0 as ${WINDOW}, 0 as ${PART}, * exclude ("_load_id"), false as ${ODD} from ${table} limit 0`;
  return `create or replace temp ${as} ${staging.typed} as\n${rows}`;
}

/** Removes `typed`. */
export const dropTyped = {
  table: `drop table if exists ${staging.typed}`,
  view: `drop view if exists ${staging.typed}`,
} as const;

/** The rows of some windows of `typed`. */
export function typedRows(windowNos: readonly number[]): string {
  return `select * from ${staging.typed} where ${WINDOW} in (${windowNos.join(', ')})`;
}
