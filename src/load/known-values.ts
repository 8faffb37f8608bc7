/** Which values a slice's dimensions take: what an answer brought, else what its table holds, else what the catalog lists. */

import * as z from 'zod';

import { dimensionValueFilters } from '../model/catalog.ts';
import { isDateDimension } from '../model/dimension.ts';
import type { KnownValue } from '../model/window.ts';
import { count, identifier } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { staging, WINDOW } from './window-sql.ts';
import type { Target } from './target.ts';

const valueRow = z.object({ value: z.string(), rows: count });

/** More values do not make a better division. */
const MOST_VALUES = 1000;

/** By requested text dimension, the values of an answer that is staged. */
export async function readStagedValues(
  warehouse: Warehouse,
  target: Target,
  windowNo: number,
): Promise<Map<string, readonly KnownValue[]>> {
  const known = new Map<string, readonly KnownValue[]>();
  for (const dimension of target.slice.dimensions.filter((name) => !isDateDimension(name))) {
    const values = await valuesIn(warehouse, dimension, `${staging.typed} where ${WINDOW} = ${windowNo}`);
    if (values.length > 0) known.set(dimension, values);
  }
  return known;
}

const labelRow = z.object({ label: z.string().nullable() });

/** Every value of a text dimension in an answer that is staged, NULL too. */
export async function readStagedLabels(
  warehouse: Warehouse,
  dimension: string,
  windowNo: number,
): Promise<ReadonlySet<string | null>> {
  const sql = `select distinct ${identifier(dimension)} as label from ${staging.typed} where ${WINDOW} = ${windowNo}`;
  const labels = await warehouse.rows(sql, [], labelRow);
  return new Set(labels.map(({ label }) => label));
}

async function valuesIn(warehouse: Warehouse, dimension: string, rows: string): Promise<KnownValue[]> {
  const column = identifier(dimension);
  return warehouse.rows(
    `select ${column} as value, count(*) as rows from (select ${column} from ${rows})
     where ${column} is not null group by all order by rows desc, value limit ${MOST_VALUES}`,
    [],
    valueRow,
  );
}

/** By requested text dimension; a dimension nothing is known of is absent. */
export async function readKnownValues(
  warehouse: Warehouse,
  target: Target,
): Promise<Map<string, readonly KnownValue[]>> {
  const known = new Map<string, readonly KnownValue[]>();
  for (const dimension of target.slice.dimensions.filter((name) => !isDateDimension(name))) {
    const seen = await valuesIn(warehouse, dimension, target.table);
    const values = seen.length > 0 ? seen : await listedValues(warehouse, dimension);
    if (values.length > 0) known.set(dimension, values);
  }
  return known;
}

/** The values the catalog lists for a dimension; none where no filter name lists them. */
async function listedValues(warehouse: Warehouse, dimension: string): Promise<KnownValue[]> {
  const filter = dimensionValueFilters[dimension];
  if (filter === undefined) return [];
  const listed = 'select id as value, 1 as rows from ripen.catalog where filter = $1 order by id';
  return warehouse.rows(listed, [filter], valueRow);
}
