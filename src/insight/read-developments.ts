/** The development triangles of a slice's metrics, read from the ledger and the totals as they are. */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import { runKeepingLittle } from '../warehouse/opening.ts';
import { columnTypes, count, dayShape, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Cohort, Development, Reading } from './development.ts';
import type { Look } from './horizon-evidence.ts';
import { PERIOD_TOTALS, periodTotals, ripening, type LiveTable } from './views-sql.ts';

/** Eight months: old ways of ripening say little of the newest periods, and the backtest is to end within the night. */
const HISTORY_DAYS = 240;

/** A maturing total as it is held. */
export interface Held {
  readonly period: Day;
  readonly loadId: string;
  readonly cohort: Cohort;
  readonly last: Reading;
}

export interface Triangle {
  readonly development: Development;
  /** The periods that are not final. */
  readonly maturing: readonly Held[];
  /** How many rows each period holds, by its last day. */
  readonly rows: ReadonlyMap<number, number>;
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
  rows: count,
  fetches: z.string().transform((text) => fetchesShape.parse(JSON.parse(text))),
});

type PeriodRow = z.infer<typeof periodRow>;
type Fetch = PeriodRow['fetches'][number];

/** The triangle of each additive metric that becomes final, by its name; none of a slice without a date dimension. */
export async function readTriangles(warehouse: Warehouse, live: LiveTable): Promise<Map<string, Triangle>> {
  if (live.slice.grain === null || ripening(live).length === 0) return new Map();
  const of = [live.slice.name, live.fingerprint];
  const [first] = await warehouse.rows(statement('insight/history_start'), [...of, HISTORY_DAYS], startRow);
  const since = first?.start_day ?? null;
  if (since === null) return new Map();
  await runKeepingLittle(warehouse, periodTotals(live, await columnTypes(warehouse, live.table), since));
  const rows = await warehouse.rows(statement('insight/readings'), [...of, since], periodRow);
  await warehouse.run(`drop table ${PERIOD_TOTALS}`);
  return new Map([...grouped(rows, ({ metric }) => metric)].map(([metric, periods]) => [metric, triangleOf(periods)]));
}

function triangleOf(rows: readonly PeriodRow[]): Triangle {
  const periods = rows.map(heldOf);
  return {
    rows: new Map(rows.map((row) => [row.last_day, row.rows])),
    looks: rows.flatMap(({ fetches }) => looksOf(fetches)),
    development: periods.map(({ cohort }) => cohort),
    maturing: periods.filter(({ cohort, isHeld }) => isHeld && cohort.final === null),
  };
}

function looksOf(fetches: readonly Fetch[]): Look[] {
  return fetches.slice(1).flatMap((to, at): Look[] => {
    const from = fetches[at];
    if (from === undefined || from.age >= to.age) return [];
    return [{ from: from.age, to: to.age, hasChanged: from.value !== to.value, wasFinal: from.is_final }];
  });
}

/** Of two fetches at one age the later load counts. */
function heldOf({ fetches, ...row }: PeriodRow): Held & { readonly isHeld: boolean } {
  const last = fetches.at(-1) ?? { age: 0, value: 0 };
  const byAge = new Map(fetches.filter((fetch) => !fetch.is_final).map(({ age, value }) => [age, value]));
  const finalAge = fetches.find((fetch) => fetch.is_final)?.age ?? null;
  const readings = [...byAge].map(([age, value]) => ({ age, value })).sort((a, b) => a.age - b.age);
  return {
    period: row.start_day,
    loadId: row.load_id,
    isHeld: row.is_held,
    cohort: {
      lastDay: row.last_day,
      readings,
      final: finalAge === null ? null : { age: finalAge, value: last.value },
    },
    last: { age: last.age, value: last.value },
  };
}

function grouped<T, K>(rows: readonly T[], keyOf: (row: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group === undefined) groups.set(keyOf(row), [row]);
    else group.push(row);
  }
  return groups;
}
