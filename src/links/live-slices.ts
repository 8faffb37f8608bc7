/** The live tables of slices, and how to read from one of their rows what leads to partners and links. */

import * as z from 'zod';

import { heldColumnTypes, identifier, statement } from '../warehouse/sql.ts';
import { remembering } from '../warehouse/remembering.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

export interface LiveSlice {
  readonly slice: string;
  /** Quoted, with its schema. */
  readonly table: string;
  /** In order. */
  readonly columns: readonly string[];
  /** How far its days are ahead of UTC; negative behind. */
  readonly aheadSeconds: number;
}

const sliceRow = z.object({ slice: z.string(), table_name: z.string(), ahead_seconds: z.number() });

/** Every slice that has a live table, by name. */
export const readLiveSlices = (warehouse: Warehouse): Promise<readonly LiveSlice[]> => readSlices(warehouse, '');

const readSlices = remembering(async (warehouse): Promise<readonly LiveSlice[]> => {
  const rows = await warehouse.rows(statement('links/live_slices'), [], sliceRow);
  const slices: LiveSlice[] = [];
  for (const { slice, table_name: table, ahead_seconds: aheadSeconds } of rows) {
    slices.push({ slice, table, columns: [...(await heldColumnTypes(warehouse, table, slice)).keys()], aheadSeconds });
  }
  return slices;
});

/**
 * A row's own id of a kind, as SQL over the alias `s`: the column when the slice has one that says it, else what the service
 * attached to the row. A list of one id is that id; of several ids none is the row's (observed: attr_dependency). An empty id
 * and `unknown` are none.
 */
export function rowIdSql({ columns }: LiveSlice, id: string): string {
  const attached = 's."attr_dependency"';
  const single = `case json_type(${attached}, '$.${id}')
            when 'ARRAY' then
                case when json_array_length(${attached}, '$.${id}') = 1 then (${attached} ->> '$.${id}[0]') end
            when 'OBJECT' then null
            else (${attached} ->> '$.${id}')
        end`;
  const known = (sql: string): string => `nullif(nullif(${sql}, ''), 'unknown')`;
  return columns.includes(id) ? `coalesce(${known(`s.${identifier(id)}`)}, ${known(single)})` : known(single);
}

/** Dimensions for which the service names or attaches the partner's id. */
const partnerDimensions = ['partner_id', 'partner_name', 'partner', 'channel'] as const;

/** Whether the rows of a slice can say which partner they belong to. */
export function namesPartners({ columns }: LiveSlice): boolean {
  return partnerDimensions.some((name) => columns.includes(name));
}

/** Whether the rows of a slice can say which link they belong to; two apps may share their name, never their token. */
export function namesLinks({ columns }: LiveSlice): boolean {
  return columns.includes('app_token') && columns.includes('network');
}
