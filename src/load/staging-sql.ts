/**
 * Statements that read spooled answers. Pure: names in, SQL out.
 *
 * `answers` holds one row per spooled file (path, window_no); `staged` gets the rows as text, as they came.
 */

import { identifier, literal } from '../warehouse/quoting.ts';
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

/** One row per document of the files: what stands beside the rows, how many there are, and which keys they have. */
export function inspectAnswers(paths: readonly string[], maxBytes: number): string {
  const columns = `rows: 'JSON[]', totals: 'JSON', warnings: 'JSON', data_warnings: 'JSON', pagination: 'JSON'`;
  return `select
    filename,
    len(rows) as row_count,
    to_json(list_distinct(list_transform(rows, lambda r: json_keys(r))))::varchar as key_sets,
    totals::varchar as totals,
    warnings::varchar as warnings,
    data_warnings::varchar as data_warnings,
    pagination::varchar as pagination
from ${readJson(paths, maxBytes, columns)}`;
}

/** Fills `staged`: every row of the files as text, beside the number of its window. */
export function stageRows(paths: readonly string[], maxBytes: number, columns: Columns): string {
  const requested = [...columns.dimensions, ...columns.metrics.map(({ id }) => id)];
  const fields = [...requested.map((name) => `${identifier(name)} VARCHAR`), 'attr_dependency JSON'].join(', ');
  if (columns.extra.length === 0) {
    return `create or replace temp table staged as
select a.window_no, null::JSON as "_extra", unnest(s.r)
from (
    select filename, unnest(rows) as r
    from ${readJson(paths, maxBytes, `rows: ${literal(`STRUCT(${fields})[]`)}`)}
) as s
join answers as a on a.path = s.filename`;
  }
  const shape = JSON.stringify({
    ...Object.fromEntries(requested.map((name) => [name, 'VARCHAR'])),
    attr_dependency: 'JSON',
  });
  const extras = columns.extra.map(
    (key) => `{'key': ${literal(key)}, 'value': json_extract(s.r, ${literal(jsonPath(key))})}`,
  );
  return `create or replace temp table staged as
select
    a.window_no,
    to_json(map_from_entries(list_filter([${extras.join(', ')}], lambda e: e.value is not null)))
        as "_extra",
    unnest(json_transform(s.r, ${literal(shape)}))
from (
    select filename, unnest(rows) as r
    from ${readJson(paths, maxBytes, `rows: 'JSON[]'`)}
) as s
join answers as a on a.path = s.filename`;
}

function jsonPath(key: string): string {
  return `$."${key.replaceAll('\\', String.raw`\\`).replaceAll('"', String.raw`\"`)}"`;
}
