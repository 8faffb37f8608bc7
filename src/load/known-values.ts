/** Which values a slice's dimensions take: what an answer brought, else what its table holds, else what the catalog lists. */

import * as z from 'zod';

import { dimensionValueFilters } from '../model/catalog.ts';
import { isDateDimension } from '../model/dimension.ts';
import type { Slice } from '../model/slice.ts';
import type { KnownValue } from '../model/window.ts';
import { count, identifier } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { staging, WINDOW } from './staged-sql.ts';
import type { Target } from './target.ts';

const valueRow = z.object({ value: z.string(), rows: count });

type KnownValues = ReadonlyMap<string, readonly KnownValue[]>;

/** More values do not make a better division. */
const MOST_VALUES = 1000;

/** By requested text dimension, the values in one window of an answer that is staged. */
export const readStagedValues = async (
  warehouse: Warehouse,
  { slice }: Target,
  windowNo: number,
): Promise<KnownValues> =>
  valuesBy(slice, async (name) => valuesIn(warehouse, name, `${staging.typed} where ${WINDOW} = ${windowNo}`));

/** By requested text dimension, the values in the slice's table, else those that the catalog lists. */
export const readKnownValues = async (warehouse: Warehouse, { slice, table }: Target): Promise<KnownValues> =>
  valuesBy(slice, async (name) => {
    const stored = await valuesIn(warehouse, name, table);
    return stored.length > 0 ? stored : listedValues(warehouse, name);
  });

/** A dimension without any is absent. */
async function valuesBy(
  { dimensions }: Slice,
  read: (dimension: string) => Promise<readonly KnownValue[]>,
): Promise<KnownValues> {
  const known = new Map<string, readonly KnownValue[]>();
  for (const dimension of dimensions.filter((name) => !isDateDimension(name))) {
    const values = await read(dimension);
    if (values.length > 0) known.set(dimension, values);
  }
  return known;
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

/** The values the catalog lists for a dimension; none where no filter name lists them. */
async function listedValues(warehouse: Warehouse, dimension: string): Promise<KnownValue[]> {
  const filter = dimensionValueFilters[dimension];
  if (filter === undefined) return [];
  const listed = 'select id as value, 1 as rows from ripen.catalog where filter = $1 order by id';
  return warehouse.rows(listed, [filter], valueRow);
}
