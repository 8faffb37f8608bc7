/** The tables of slices, and how their rows identify partners and links. */

import * as z from 'zod';

import { count, storedColumnTypes, identifier, statement } from '../warehouse/sql.ts';
import { remembering } from '../warehouse/remembering.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

export interface StoredSlice {
  readonly slice: string;
  /** Quoted, with its schema. */
  readonly table: string;
  /** Whether readers see it; otherwise it is being built. */
  readonly isLive: boolean;
  readonly columns: readonly string[];
  /** How far its days are ahead of UTC; negative if behind. */
  readonly aheadSeconds: number;
}

const sliceRow = z.object({
  slice: z.string(),
  table_name: z.string(),
  is_live: z.boolean(),
  ahead_seconds: z.number(),
});

/** The tables that readers see, one per slice. */
export async function readLiveSlices(warehouse: Warehouse): Promise<readonly StoredSlice[]> {
  return (await readSliceTables(warehouse)).filter(({ isLive }) => isLive);
}

/** Every table of every slice, by name. */
export const readSliceTables = remembering(async (warehouse): Promise<readonly StoredSlice[]> => {
  const rows = await warehouse.rows(statement('links/slice_tables'), [], sliceRow);
  const slices: StoredSlice[] = [];
  for (const { slice, table_name: table, is_live: isLive, ahead_seconds: aheadSeconds } of rows) {
    const columns = [...(await storedColumnTypes(warehouse, table, slice)).keys()];
    slices.push({ slice, table, isLive, columns, aheadSeconds });
  }
  return slices;
});

/**
 * A row's own id of one kind, as SQL over the alias `s`: from the slice's column if it has one, else as the service attached
 * it. NULL if it attached several (observed: attr_dependency), or if the id is empty or `unknown`.
 */
export function rowIdSql({ columns }: StoredSlice, id: string): string {
  const attached = 's."attr_dependency"';
  const single = `case json_type(${attached}, '$.${id}')
            when 'ARRAY' then
                case when json_array_length(${attached}, '$.${id}') = 1 then (${attached} ->> '$.${id}[0]') end
            when 'OBJECT' then null
            else (${attached} ->> '$.${id}')
        end`;
  const known = (sql: string): string => `nullif(nullif(${sql}, ''), 'unknown')`;
  return columns.includes(id)
    ? `coalesce(${known(`s.${identifier(id)}`)}, ${known(single)})`
    : known(single);
}

/** Dimensions with which a row names its partner's id, or has it attached. */
const partnerDimensions = ['partner_id', 'partner_name', 'partner', 'channel'] as const;

/** Whether the rows of a slice can identify their partner. */
export function namesPartners({ columns }: StoredSlice): boolean {
  return partnerDimensions.some((name) => columns.includes(name));
}

/** Whether the rows of a slice can identify their link: two apps may share a name, but never a token. */
export function namesLinks({ columns }: StoredSlice): boolean {
  return columns.includes('app_token') && columns.includes('network');
}

const scanRow = z.object({ searched: count, newest: count });

/** The newest load whose rows were searched for links or partners, and the newest load of all; 0 if there is none. */
export async function readRowScan(
  warehouse: Warehouse,
  reader: 'partners' | 'links',
): Promise<z.infer<typeof scanRow>> {
  const [scan] = await warehouse.rows(statement('links/row_scan'), [reader], scanRow);
  return scan ?? { searched: 0, newest: 0 };
}
