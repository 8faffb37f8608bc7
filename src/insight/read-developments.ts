/** The development triangles of a slice's metrics, read from the ledger and the totals as they are. */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import { count, dayShape } from '../warehouse/shapes.ts';
import { statement } from '../warehouse/statements.ts';
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
  /** Pairs of fetches of one period that follow each other. */
  readonly looks: readonly Look[];
}

const readingRow = z.object({
  metric: z.string(),
  start_day: dayShape,
  load_id: z.string(),
  is_held: z.boolean(),
  last_day: count,
  age: count,
  value: z.number(),
  is_final: z.boolean(),
});

type ReadingRow = z.infer<typeof readingRow>;

/** The triangle of each additive metric that becomes final, by its name; none of a slice without a date dimension. */
export async function readTriangles(warehouse: Warehouse, live: LiveTable): Promise<Map<string, Triangle>> {
  if (live.slice.grain === null || ripening(live).length === 0) return new Map();
  await warehouse.run(periodTotals(live));
  const parameters = [live.slice.name, live.fingerprint, HISTORY_DAYS];
  const rows = await warehouse.rows(statement('insight/readings'), parameters, readingRow);
  await warehouse.run(`drop table ${PERIOD_TOTALS}`);
  return new Map([...grouped(rows, ({ metric }) => metric)].map(([metric, of]) => [metric, triangleOf(of)]));
}

function triangleOf(rows: readonly ReadingRow[]): Triangle {
  const byPeriod = [...grouped(rows, ({ start_day: start }) => start).values()];
  const periods = byPeriod.map(heldOf);
  return {
    looks: byPeriod.flatMap(looksOf),
    development: periods.map(({ cohort }) => cohort),
    maturing: periods.filter(({ cohort, isHeld }) => isHeld && cohort.final === null),
  };
}

function looksOf(rows: readonly ReadingRow[]): Look[] {
  return rows.slice(1).flatMap((to, at): Look[] => {
    const from = rows[at];
    if (from === undefined || from.age >= to.age) return [];
    return [{ from: from.age, to: to.age, hasChanged: from.value !== to.value, wasFinal: from.is_final }];
  });
}

/** A period from its readings in the order of loads; of two at one age the later load counts. */
function heldOf(rows: readonly ReadingRow[]): Held & { readonly isHeld: boolean } {
  const [last] = rows.slice(-1);
  if (last === undefined) throw new RangeError('A period without a reading was grouped.');
  const byAge = new Map(rows.filter((row) => !row.is_final).map(({ age, value }) => [age, value]));
  const finalAge = rows.find((row) => row.is_final)?.age ?? null;
  const readings = [...byAge].map(([age, value]) => ({ age, value })).sort((a, b) => a.age - b.age);
  const final = finalAge === null ? null : { age: finalAge, value: last.value };
  return {
    period: last.start_day,
    loadId: last.load_id,
    isHeld: last.is_held,
    cohort: { lastDay: last.last_day, readings, final },
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
