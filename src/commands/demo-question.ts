/** The one question the tour asks as an analyst would: of the published copy, never of the warehouse. */

import * as z from 'zod';

import { openWarehouse } from '../warehouse/warehouse.ts';
import { tableText } from './table.ts';

/** Which networks earned back what they cost within 30 days of the install, counting only what can no longer change. */
export const DEMO_QUESTION = `select
    network,
    sum(installs) as installs,
    round(sum(cost), 2) as cost,
    round(sum(all_revenue_total_d30), 2) as revenue_d30,
    round(sum(all_revenue_total_d30) / sum(cost), 3) as returned
from network_daily_final
where all_revenue_total_d30 is not null
group by network
having sum(cost) > 0
order by sum(cost) desc
limit 5`;

const answerRow = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));

/** The answer as a table. Throws what opening the copy throws. */
export async function demoAnswer(copy: string): Promise<string> {
  const opened = await openWarehouse(copy, { mode: 'read', lockWaitMs: 0, emit: () => {} });
  try {
    const rows = await opened.rows(DEMO_QUESTION, [], answerRow);
    const names = Object.keys(rows.at(0) ?? {});
    return tableText(
      names.map((title, index) => ({ title, align: index === 0 ? 'left' : 'right' })),
      rows.map((row) => names.map((name) => String(row[name] ?? ''))),
    );
  } finally {
    await opened.close();
  }
}
