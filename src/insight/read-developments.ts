/** The development triangles of a slice's metrics, read from the ledger and the totals as they are. */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import { runKeepingLittle } from '../warehouse/opening.ts';
import { columnTypes, count, dayShape, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Cohort, Development, Reading } from './development.ts';
import type { Look } from '../model/horizon-evidence.ts';
import { adding, PERIOD_TOTALS, periodTotals, type LiveTable } from './views-sql.ts';

/** Eight months: old ways of ripening say little of the newest periods, and the backtest is to end within the night. */
const HISTORY_DAYS = 240;

/** A maturing total as it is stored. */
export interface Maturing {
  readonly period: Day;
  readonly loadId: string;
  readonly last: Reading;
}

/** What is known of one metric. */
export interface MetricHistory {
  readonly development: Development;
  /** The periods that are not final. */
  readonly maturing: readonly Maturing[];
  /** Pairs of fetches of one period that follow each other. */
  readonly looks: readonly Look[];
}

/** Readings in the order of loads. */
const fetchesShape = z.array(z.object({ age: z.number(), value: z.number(), is_final: z.boolean() }));

const startRow = z.object({ start_day: dayShape.nullable() });

const periodRow = z.object({
  metric: z.string(),
  start_day: dayShape,
  load_id: z.string(),
  is_held: z.boolean(),
  last_day: count,
  fetches: z.string().transform((text) => fetchesShape.parse(JSON.parse(text))),
});

type PeriodRow = z.infer<typeof periodRow>;

/** The history of each additive metric, by its name; none of a slice without a date dimension. */
export async function readHistories(warehouse: Warehouse, live: LiveTable): Promise<Map<string, MetricHistory>> {
  if (live.slice.grain === null || adding(live).length === 0) return new Map();
  const of = [live.slice.name, live.fingerprint];
  const [first] = await warehouse.rows(statement('insight/history_start'), [...of, HISTORY_DAYS], startRow);
  const since = first?.start_day ?? null;
  if (since === null) return new Map();
  await runKeepingLittle(warehouse, periodTotals(live, await columnTypes(warehouse, live.table), since));
  const rows = await warehouse.rows(statement('insight/readings'), [...of, since], periodRow);
  await warehouse.run(`drop table ${PERIOD_TOTALS}`);
  const byMetric = new Map<string, PeriodRow[]>();
  for (const row of rows) byMetric.set(row.metric, [...(byMetric.get(row.metric) ?? []), row]);
  return new Map([...byMetric].map(([metric, periods]) => [metric, historyOf(periods)]));
}

function historyOf(rows: readonly PeriodRow[]): MetricHistory {
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
