/**
 * Statements that read spooled answers. Pure: names in, SQL out.
 *
 * `answers` holds one row per spooled file (path, window_no); the view `staged` gives the rows as text, as they came.
 */

import { literal } from '../warehouse/quoting.ts';
import type { Columns } from './slice-columns.ts';

/**
 * `read_json` over documents. Records and format are stated because leaving them open makes DuckDB sniff the first file,
 * nine times slower to bind.
 */
function readJson(paths: readonly string[], maxBytes: number, columns: string): string {
  const files = paths.map(literal).join(', ');
  return `read_json([${files}], format = 'unstructured', records = true, auto_detect = false, filename = true,
        maximum_object_size = ${maxBytes}, columns = {${columns}})`;
}

/**
 * `documents`: one row per document of the files, with its rows as JSON and what stands beside them. Files are parsed here,
 * once; everything that follows reads the table.
 */
export function readDocuments(paths: readonly string[], maxBytes: number): string {
  const columns = `rows: 'JSON[]', totals: 'JSON', warnings: 'JSON', data_warnings: 'JSON', pagination: 'JSON'`;
  return `insert into documents
select filename, rows, totals::varchar, warnings::varchar, data_warnings::varchar, pagination::varchar
from ${readJson(paths, maxBytes, columns)}`;
}

/** An empty `documents`. */
export const noDocuments = `create or replace temp table documents (
    filename VARCHAR,
    rows JSON[],
    totals VARCHAR,
    warnings VARCHAR,
    data_warnings VARCHAR,
    pagination VARCHAR
)`;

/** What stands beside the rows of each document, how many rows there are, and which keys they have. */
export const inspectDocuments = `select
    filename,
    len(rows) as row_count,
    to_json(list_distinct(list_transform(rows, lambda r: json_keys(r))))::varchar as key_sets,
    totals,
    warnings,
    data_warnings,
    pagination
from documents`;

/** The view `staged`: every row of the documents as text, beside the number of its window. */
export function stagedRows(columns: Columns): string {
  const requested = [...columns.dimensions, ...columns.metrics.map(({ id }) => id)];
  const shape = JSON.stringify({
    ...Object.fromEntries(requested.map((name) => [name, 'VARCHAR'])),
    attr_dependency: 'JSON',
  });
  return `create or replace temp view staged as
select
    window_no,
    ${extraKeys(columns.extra)} as "_extra",
    unnest(json_transform(r, ${literal(shape)}))
from (
    select a.window_no, unnest(d.rows) as r
    from documents as d
    join answers as a on a.path = d.filename
)`;
}

function extraKeys(keys: readonly string[]): string {
  if (keys.length === 0) return 'null::JSON';
  const entries = keys.map((key) => `{'key': ${literal(key)}, 'value': json_extract(r, ${literal(jsonPath(key))})}`);
  return `to_json(map_from_entries(list_filter([${entries.join(', ')}], lambda e: e.value is not null)))`;
}

function jsonPath(key: string): string {
  return `$."${key.replaceAll('\\', String.raw`\\`).replaceAll('"', String.raw`\"`)}"`;
}
