/** The columns of a table as they are. */

import * as z from 'zod';

import { remembering } from './remembering.ts';

const columnRow = z.object({ column_name: z.string(), data_type: z.string() });

/** The types of a table's columns, by name, in order; the table quoted, with its schema. Read once between two changes. */
export const columnTypes = remembering(async (warehouse, table): Promise<ReadonlyMap<string, string>> => {
  // A catalog function would look at every column of every view of the warehouse.
  const rows = await warehouse.rows(
    `select column_name, column_type as data_type from (describe ${table})`,
    [],
    columnRow,
  );
  return new Map(rows.map((row) => [row.column_name, row.data_type]));
}, 'relations');
