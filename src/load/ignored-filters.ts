/**
 * Filters that the service did not heed: a list of values was sent for a dimension, and rows of other values came beside theirs.
 *
 * A filter's values are those of its dimension, exactly (service-interface: Dimension filters). Services may all the same take ids
 * where rows have names, or write them otherwise: where no row has one of the values nothing is concluded, nor from letter case.
 */

import * as z from 'zod';

import { isDateDimension } from '../model/dimension.ts';
import type { Slice } from '../model/slice.ts';
import { count, identifier } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { LoadWarning } from './load-result.ts';
import { staging, WINDOW } from './window-sql.ts';

const foundRow = z.object({
  window_no: z.number(),
  wanted: count,
  others: count,
  first: z.string().nullable(),
  last: z.string().nullable(),
});

/** By window, a warning for each filter of the slice that its staged rows show to be ignored. Asks nothing where there is no such filter. */
export async function ignoredFilters(
  warehouse: Warehouse,
  { dimensions, parameters }: Slice,
  windowNos: readonly number[],
): Promise<Map<number, readonly LoadWarning[]>> {
  const warnings = new Map<number, readonly LoadWarning[]>();
  if (windowNos.length === 0) return warnings;
  for (const dimension of dimensions.filter((name) => !isDateDimension(name))) {
    const list = parameters[`${dimension}__in`];
    if (list === undefined) continue;
    for (const found of await warehouse.rows(rowsBeside(dimension, windowNos), [list], foundRow)) {
      const examples = [...new Set([found.first, found.last])].map((value) => JSON.stringify(value)).join(', ');
      const message = `${found.others} rows had values of ${dimension} that ${dimension}__in does not name, such as ${examples}: the service ignored the filter, or part of it. They were loaded.`;
      const known = warnings.get(found.window_no) ?? [];
      warnings.set(found.window_no, [...known, { code: 'FILTER_IGNORED', message }]);
    }
  }
  return warnings;
}

/** Of the windows with a value of the list (bound) and another one: how many rows of each, and two of the others. */
function rowsBeside(dimension: string, windowNos: readonly number[]): string {
  const column = identifier(dimension);
  return `select
    window_no,
    coalesce(sum(rows) filter (where is_named), 0)::bigint as wanted,
    coalesce(sum(rows) filter (where not is_named), 0)::bigint as others,
    min(value) filter (where not is_named) as "first",
    max(value) filter (where not is_named) as "last"
from (
    select ${WINDOW} as window_no, ${column} as value, count(*) as rows,
        list_contains(string_split(lower($1), ','), lower(${column})) as is_named
    from ${staging.typed}
    where ${WINDOW} in (${windowNos.join(', ')}) and ${column} is not null
    group by 1, 2
)
group by window_no
having wanted > 0 and others > 0`;
}
