/** Reads the values of a slice's dimensions. */

import * as z from 'zod';

import { dimensionValues } from '../model/catalog.ts';
import { isDateDimension } from '../model/dimension.ts';
import type { Slice } from '../model/slice.ts';
import type { KnownValue, KnownValues } from '../model/window.ts';
import type { Target } from '../warehouse/tables/target.ts';
import { count, identifier } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

const valueRow = z.object({ value: z.string(), rows: count });

/** More values do not make a better division. */
const MAX_VALUES = 1000;

export async function readKnownValues(
  warehouse: Warehouse,
  { slice, table }: Target,
): Promise<KnownValues> {
  const known = new Map(await readValues(warehouse, slice, table));
  for (const dimension of slice.dimensions) {
    const list = dimensionValues.get(dimension);
    if (list?.[1] !== 'id' || known.has(dimension)) continue;
    const listed = 'select id as value, 1 as rows from ripen.catalog where filter = $1 order by id';
    const values = await warehouse.rows(listed, [list[0]], valueRow);
    if (values.length > 0) known.set(dimension, values);
  }
  return known;
}

export async function readValues(
  warehouse: Warehouse,
  slice: Slice,
  rows: string,
): Promise<KnownValues> {
  const known = new Map<string, readonly KnownValue[]>();
  for (const dimension of slice.dimensions.filter((name) => !isDateDimension(name))) {
    const column = identifier(dimension);
    const sql = `select ${column} as value, count(*) as rows from (select ${column} from ${rows})
     where ${column} is not null group by all order by rows desc, value limit ${MAX_VALUES}`;
    const values = await warehouse.rows(sql, [], valueRow);
    if (values.length > 0) known.set(dimension, values);
  }
  return known;
}
