/** Reads the values of a slice's dimensions, and which parts of a window had none. */

import * as z from 'zod';

import { dimensionValues } from '../model/catalog.ts';
import { isDateDimension } from '../model/dimension.ts';
import type { Slice } from '../model/slice.ts';
import {
  isDivided,
  type KnownValue,
  type KnownValues,
  type Part,
  partId,
} from '../model/window.ts';
import type { Target } from '../warehouse/tables/target.ts';
import { count, dayLiteral, identifier, literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Readable } from './answered.ts';

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

const idleRow = z.object({ rows: count, of_parts: z.array(count) });

/**
 * Returns the lists of values (`partId`) of a window that are answered without rows, and have none in its stored days or, if
 * these have no rows, in the newest day before them.
 */
export async function readIdleParts(
  warehouse: Warehouse,
  { slice: { grain }, table }: Target,
  { answers, spooled: { window } }: Readable,
): Promise<ReadonlySet<string>> {
  const filled = new Set(answers.flatMap(({ box, rows }) => (rows > 0 ? [box.partNo] : [])));
  const empty = window.parts.filter(
    (part, partNo) => !filled.has(partNo) && !isDivided(window, part),
  );
  if (window.parts.length === 1 || empty.length === 0) return new Set();
  const isListed = (part: Part) =>
    Object.entries(part)
      .map(([name, list]) => `${identifier(name)} in (${(list.in ?? []).map(literal).join(', ')})`)
      .join(' and ');
  let days = 'true';
  if (grain !== null) {
    const column = identifier(grain);
    const [start, end] = [window.replaced.start, window.replaced.end].map((of) =>
      dayLiteral(grain, of),
    );
    const newest = `(select date_trunc('day', max(${column})) from ${table} where ${column} < ${end})`;
    days = `${column} >= least(${start}, ${newest}) and ${column} < ${end}`;
  }
  const counts = empty.map((part) => `count(*) filter (where ${isListed(part)})`);
  const sql = `select count(*) as rows, [${counts.join(', ')}]::varchar[] as of_parts from ${table} where ${days}`;
  const [stored] = await warehouse.rows(sql, [], idleRow);
  const idle = empty.filter(
    (_, at) => stored !== undefined && stored.rows > 0 && stored.of_parts[at] === 0,
  );
  return new Set(idle.map(partId));
}
