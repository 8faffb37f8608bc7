/** The metrics of the stored catalog, for whoever asks what a pattern stands for without reading the rest of it. */

import * as z from 'zod';

import { metricFilterNames } from '../model/catalog.ts';
import type { Warehouse } from './warehouse.ts';

const metricRow = z.object({ id: z.string() });

/** The ids of all metrics that filters-data listed when it was last seen, sorted; none before the first time. */
export async function readListedMetrics(warehouse: Warehouse): Promise<string[]> {
  const rows = await warehouse.rows(
    `select distinct id from ripen.catalog where filter in (select unnest(from_json($1::json, '["VARCHAR"]'))) order by id`,
    [JSON.stringify(metricFilterNames)],
    metricRow,
  );
  return rows.map(({ id }) => id);
}
