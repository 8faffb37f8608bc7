/** What moved in a slice: by metric, by night, and the totals that moved most; read from the ledger. */

import * as z from 'zod';

import { MS_PER_DAY } from '../model/calendar.ts';
import { count, statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { RestatedNight, SliceStatus } from './status-report.ts';

/** A week of nights: "what moved since last Monday". */
const RESTATED_DAYS = 7;
/** A month of nights shows whether a week is unusual. */
const NIGHTS_DAYS = 30;
/** Enough for a look; `ripen.restatements` has them all. */
const MOVERS = 10;

const restatedMetric = z.object({
  metric: z.string(),
  periods: count,
  first_values: count,
  oldest_period: z.string(),
  before: z.number().nullable(),
  after: z.number().nullable(),
  change: z.number(),
});

const mover = z.object({
  metric: z.string(),
  period: z.string(),
  before: z.number().nullable(),
  after: z.number().nullable(),
  change: z.number(),
});

const restatedNight = z.object({ seen_day: z.string(), metric: z.string(), periods: count, change: z.number() });

/** What moved up to an instant, over a week and over a month. */
export async function readRestated(
  warehouse: Warehouse,
  slice: string,
  planAt: Date,
): Promise<Pick<SliceStatus, 'restated' | 'movers' | 'restated_nights'>> {
  const daysAgo = (days: number): string => timestamp(new Date(planAt.getTime() - days * MS_PER_DAY));
  const week = daysAgo(RESTATED_DAYS);
  const nights = await warehouse.rows(
    statement('status/restated_nights'),
    [slice, daysAgo(NIGHTS_DAYS)],
    restatedNight,
  );
  return {
    restated: await warehouse.rows(statement('status/restatements'), [slice, week], restatedMetric),
    movers: await warehouse.rows(statement('status/movers'), [slice, week, MOVERS], mover),
    restated_nights: nightsOf(nights),
  };
}

function nightsOf(rows: readonly z.infer<typeof restatedNight>[]): RestatedNight[] {
  const days = [...new Set(rows.map(({ seen_day: day }) => day))];
  return days.map((day) => ({
    seen_day: day,
    metrics: rows
      .filter((row) => row.seen_day === day)
      .map(({ metric, periods, change }) => ({ metric, periods, change })),
  }));
}
