/** The one question the tour asks as an analyst would: of the published copy, never of the warehouse. */

import * as z from 'zod';

import { openWarehouse } from '../warehouse/opening.ts';
import { tableText } from '../terminal/table.ts';

export const DEMO_QUESTION =
  'Which networks earned back within 30 days of the install what they cost?\nOnly what can no longer change counts.';

/** The question in SQL; the final view leaves out what may still change. */
export const DEMO_QUERY = `select
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
    const rows = await opened.rows(DEMO_QUERY, [], answerRow);
    const names = Object.keys(rows.at(0) ?? {});
    return tableText(
      names.map((title, index) => ({ title, align: index === 0 ? 'left' : 'right' })),
      rows.map((row) => names.map((name, index) => (index === 0 ? String(row[name] ?? '') : figureText(row[name])))),
    );
  } finally {
    await opened.close();
  }
}

/** A number of the answer with commas, its decimals as the query rounded them. */
function figureText(figure: string | number | null | undefined): string {
  const [whole = '', decimals] = String(figure ?? '').split('.');
  const grouped = whole.replaceAll(/(?<=\d)(?=(?:\d{3})+$)/g, ',');
  return decimals === undefined ? grouped : `${grouped}.${decimals}`;
}
