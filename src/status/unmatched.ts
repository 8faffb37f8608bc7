/** Which of a slice's newest rows found no link or partner; read from its joined view. */

import * as z from 'zod';

import type { Slice } from '../model/slice.ts';
import { columnsOf } from '../warehouse/relations.ts';
import { count, identifier } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Unmatched } from './status-report.ts';

/** A month shows what is wrong now, and takes no longer with every year. */
const DAYS = 30;
/** Enough to know where to look; `ripen.unmatched_rows` has them all. */
const NAMES = 5;
/** What a row is called after where its link is missing, the best first. */
const nameColumns = ['network', 'partner_name', 'partner_id', 'app_token'] as const;

const nameRow = z.object({ name: z.string().nullable(), rows: count, unmatched_rows: count });

/** Of the 30 days up to the newest row; null for a slice without dates or without such a view. */
export async function readUnmatched(warehouse: Warehouse, { name: slice, grain }: Slice): Promise<Unmatched | null> {
  if (grain === null) return null;
  const columns = new Set((await columnsOf(warehouse, `${slice}_links`)).map((column) => column.name));
  const named = nameColumns.find((name) => columns.has(name));
  if (!columns.has('is_matched') || !columns.has(grain) || named === undefined) return null;
  const period = `v.${identifier(grain)}`;
  const rows = await warehouse.rows(
    `select v.${identifier(named)} as name, count(*) as rows, count(*) filter (where not v.is_matched) as unmatched_rows
from main.${identifier(`${slice}_links`)} as v
where ${period} > (select max(s.${identifier(grain)}) from main.${identifier(slice)} as s) - interval ${DAYS} days
group by 1
order by unmatched_rows desc, name`,
    [],
    nameRow,
  );
  return {
    days: DAYS,
    rows: rows.reduce((sum, row) => sum + row.rows, 0),
    unmatched_rows: rows.reduce((sum, row) => sum + row.unmatched_rows, 0),
    names: rows
      .filter((row) => row.unmatched_rows > 0)
      .slice(0, NAMES)
      .map((row) => ({ name: row.name, unmatched_rows: row.unmatched_rows })),
  };
}
