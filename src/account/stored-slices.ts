/** The tables of slices, and how their rows identify partners and links. */

import * as z from 'zod';

import { count, storedColumnTypes, identifier, statement } from '../warehouse/sql.ts';
import { cachedRead } from '../warehouse/cached-reads.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

export interface StoredSlice {
  readonly slice: string;
  /** Quoted, with its schema. */
  readonly table: string;
  /** False while it is being built, and readers see another. */
  readonly isLive: boolean;
  readonly columns: readonly string[];
  /** How far its days are ahead of UTC. */
  readonly aheadSeconds: number;
}

const sliceRow = z.object({
  slice: z.string(),
  table_name: z.string(),
  is_live: z.boolean(),
  ahead_seconds: z.number(),
});

export const readSliceTables = cachedRead(async (warehouse): Promise<readonly StoredSlice[]> => {
  const rows = await warehouse.rows(statement('links/slice_tables'), [], sliceRow);
  return Promise.all(
    rows.map(async ({ slice, table_name: table, is_live: isLive, ahead_seconds: aheadSeconds }) => {
      const columns = [...(await storedColumnTypes(warehouse, table, slice)).keys()];
      return { slice, table, isLive, columns, aheadSeconds };
    }),
  );
});

/**
 * Returns an id of a row `s` as SQL: from the slice's column, else as the service attached it. NULL if it attached several
 * (observed: attr_dependency), or an empty or `unknown` one.
 */
export function rowIdSql({ columns }: StoredSlice, id: string): string {
  const attached = 's."attr_dependency"';
  const single = `case json_type(${attached}, '$.${id}')
            when 'ARRAY' then
                case when json_array_length(${attached}, '$.${id}') = 1 then (${attached} ->> '$.${id}[0]') end
            when 'OBJECT' then null
            else (${attached} ->> '$.${id}')
        end`;
  const named = (sql: string) => `nullif(nullif(${sql}, ''), 'unknown')`;
  return columns.includes(id)
    ? `coalesce(${named(`s.${identifier(id)}`)}, ${named(single)})`
    : named(single);
}

/** Whether rows identify their partner, by its id or because that is attached. */
export const namesPartners = ({ columns }: StoredSlice): boolean =>
  ['partner_id', 'partner_name', 'partner', 'channel'].some((name) => columns.includes(name));

/** Whether rows identify their link: two apps may share a name, but never a token. */
export const namesLinks = ({ columns }: StoredSlice): boolean =>
  columns.includes('app_token') && columns.includes('network');

export async function readRowScan(warehouse: Warehouse, reader: 'partners' | 'links') {
  const shape = z.object({ searched: count, newest: count });
  const [scan] = await warehouse.rows(statement('links/row_scan'), [reader], shape);
  return scan ?? { searched: 0, newest: 0 };
}
