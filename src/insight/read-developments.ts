/** The development triangles of a slice's metrics, read from the ledger and the totals as they are. */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import { columnTypes, count, dayShape, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Cohort, Development, Reading } from './development.ts';
import type { Look } from '../model/sampling.ts';
import { PERIOD_TOTALS, periodTotals, type LiveTable } from './views-sql.ts';

/** A maturing total as it is stored. */
export interface Maturing {
  readonly period: Day;
  readonly loadId: string;
  readonly last: Reading;
}

/** What is known of one metric. */
export interface RipeningHistory {
  readonly development: Development;
  /** The periods that are not final. */
  readonly maturing: readonly Maturing[];
  /** Pairs of fetches of one period that follow each other. */
  readonly looks: readonly Look[];
}

/** Readings in the order of loads. */
const fetchesShape = z.array(z.object({ age: z.number(), value: z.number(), is_final: z.boolean() }));

const periodRow = z.object({
  metric: z.string(),
  start_day: dayShape,
  load_id: z.string(),
  is_held: z.boolean(),
  last_day: count,
  fetches: z.string().transform((text) => fetchesShape.parse(JSON.parse(text))),
});

type PeriodRow = z.infer<typeof periodRow>;

/** The history since a day of each additive metric, by its name; the slice has a date dimension and additive metrics. */
export async function readHistories(
  warehouse: Warehouse,
  live: LiveTable,
  since: Day,
): Promise<Map<string, RipeningHistory>> {
  await warehouse.run(periodTotals(live, since, await columnTypes(warehouse, live.table)));
  const rows = await warehouse.rows(
    statement('insight/readings'),
    [live.slice.name, live.fingerprint, since],
    periodRow,
  );
  await warehouse.run(`drop table ${PERIOD_TOTALS}`);
  const groups = new Map<string, PeriodRow[]>();
  for (const row of rows) {
    const group = groups.get(row.metric);
    if (group === undefined) groups.set(row.metric, [row]);
    else group.push(row);
  }
  return new Map([...groups].map(([metric, periods]) => [metric, historyOf(periods)]));
}

function historyOf(rows: readonly PeriodRow[]): RipeningHistory {
  return {
    development: rows.map(cohortOf),
    maturing: rows.flatMap((row) => {
      const last = row.fetches.at(-1);
      if (!row.is_held || last === undefined || row.fetches.some((fetch) => fetch.is_final)) return [];
      return [{ period: row.start_day, loadId: row.load_id, last }];
    }),
    looks: rows.flatMap(({ fetches }) =>
      fetches.slice(1).flatMap((to, at): Look[] => {
        const from = fetches[at];
        if (from === undefined || from.age >= to.age) return [];
        return [{ from: from.age, to: to.age, hasChanged: from.value !== to.value }];
      }),
    ),
  };
}

/** Of two fetches at one age the later load counts. */
function cohortOf({ last_day: lastDay, fetches }: PeriodRow): Cohort {
  const ascending = (isFinal: boolean): [number, number][] => {
    const byAge = new Map(fetches.filter((each) => each.is_final === isFinal).map(({ age, value }) => [age, value]));
    return [...byAge].sort(([one], [other]) => one - other);
  };
  const finals = ascending(true).map(([age, value]) => ({ age, value }));
  return {
    lastDay,
    readings: new Map(ascending(false)),
    finals: finals.filter(({ value }, at) => value !== finals[at - 1]?.value),
  };
}
