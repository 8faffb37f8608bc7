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

const foundRow = z.object({ wanted: count, others: count, first: z.string().nullable(), last: z.string().nullable() });

/** A warning for each filter of a window's slice that its staged rows show to be ignored. Asks nothing where there is no such filter. */
export async function ignoredFilters(
  warehouse: Warehouse,
  { dimensions, parameters }: Slice,
  windowNo: number,
): Promise<LoadWarning[]> {
  const warnings: LoadWarning[] = [];
  for (const dimension of dimensions.filter((name) => !isDateDimension(name))) {
    const list = parameters[`${dimension}__in`];
    if (list === undefined) continue;
    const [found] = await warehouse.rows(rowsBeside(dimension, windowNo), [list], foundRow);
    if (found === undefined || found.wanted === 0 || found.others === 0) continue;
    const examples = [...new Set([found.first, found.last])].map((value) => JSON.stringify(value)).join(', ');
    const message = `${found.others} rows had values of ${dimension} that ${dimension}__in does not name, such as ${examples}: the service ignored the filter, or part of it. They were loaded.`;
    warnings.push({ code: 'FILTER_IGNORED', message });
  }
  return warnings;
}

/** How many rows have a value of the list (bound), how many another one, and two of these. */
function rowsBeside(dimension: string, windowNo: number): string {
  const column = identifier(dimension);
  return `select
    coalesce(sum(rows) filter (where is_named), 0)::bigint as wanted,
    coalesce(sum(rows) filter (where not is_named), 0)::bigint as others,
    min(value) filter (where not is_named) as "first",
    max(value) filter (where not is_named) as "last"
from (
    select ${column} as value, count(*) as rows, list_contains(string_split(lower($1), ','), lower(${column})) as is_named
    from ${staging.typed}
    where ${WINDOW} = ${windowNo} and ${column} is not null
    group by ${column}
)`;
}
