/** The same nights through the real pipeline: HTTP, spool, DuckDB; and what the warehouse then calls final. */

import { randomUUID } from 'node:crypto';

import * as z from 'zod';

import { day, type Day } from '../../../src/model/calendar.ts';
import { finalAt } from '../../support/finality.ts';
import { periodsOf } from '../../../src/model/period.ts';
import type { Slice } from '../../../src/model/slice.ts';
import { identifier } from '../../../src/warehouse/sql.ts';
import type { Warehouse } from '../../../src/warehouse/warehouse.ts';
import { recordSlowRows } from '../../support/night.ts';
import { openScenario } from '../../support/scenario.ts';
import type { NightCount, Setting } from './pass-nights.ts';
import { differingRows, keyOf, noRows, type StoredRow } from './reported-rows.ts';
import { worldOptions } from './setting.ts';

export interface SyncedNights {
  readonly nights: readonly NightCount[];
  readonly failures: number;
  /** Cells the `_final` view shows, or must show … */
  readonly finalCells: number;
  /** … that differ from the truth, are missing, or are shown before their time. */
  readonly wrongFinalCells: number;
}

/** Syncs night by night into a fresh warehouse, whose ledger says that rows are slow (`SLOW_ROWS`). */
export async function syncNights(setting: Setting, nights: readonly Date[]): Promise<SyncedNights> {
  const scenario = await openScenario([setting.slice], { simulator: { world: worldOptions } });
  const last = nights.at(-1) ?? new Date(0);
  try {
    const counts: NightCount[] = [];
    let failures = 0;
    for (const asOf of nights) {
      const summary = await scenario.night(asOf);
      const [of] = summary.slices;
      counts.push({ requests: of?.requests ?? 0, rows: of?.rows.fetched ?? 0 });
      failures += summary.failures.length;
      await recordSlowRows(scenario);
    }
    const shown = await scenario.inWarehouse((warehouse) => finalRows(warehouse, setting.slice));
    return { nights: counts, failures, ...judge(shown, setting, last) };
  } finally {
    await scenario.close();
  }
}

/** What the `_final` view shows, by day; cells that are not final are null. */
async function finalRows(
  warehouse: Warehouse,
  slice: Slice,
): Promise<Map<Day, Map<string, StoredRow>>> {
  const names = [...slice.dimensions, ...slice.metrics, 'attr_dependency'];
  const rows = await warehouse.rows(
    `select ${names.map((name) => `${identifier(name)}::varchar as ${identifier(name)}`).join(', ')}
     from ${identifier(`${slice.name}_final`)}`,
    [],
    z.record(z.string(), z.string().nullable()),
  );
  const byDay = new Map<Day, Map<string, StoredRow>>();
  for (const { attr_dependency: dependency = null, ...cells } of rows) {
    const row: StoredRow = { ...cells, attr_dependency: JSON.parse(dependency ?? '{}') };
    const of = day(String(cells['day']));
    const known = byDay.get(of) ?? new Map<string, StoredRow>();
    // An unforeseen twin of a row must not hide behind it.
    byDay.set(of, known.set(known.has(keyOf(row, slice)) ? randomUUID() : keyOf(row, slice), row));
  }
  return byDay;
}

function judge(
  shown: ReadonlyMap<Day, ReadonlyMap<string, StoredRow>>,
  { slice, metrics, truth }: Setting,
  last: Date,
): Pick<SyncedNights, 'finalCells' | 'wrongFinalCells'> {
  let [finalCells, wrongFinalCells] = [0, 0];
  for (const [of, rows] of shown) {
    const [period] = periodsOf(
      { start: of, end: day(last.toISOString().slice(0, 10)) },
      slice.grain,
      1,
    );
    for (const metric of metrics) {
      const at = period === undefined ? null : finalAt(period, metric, slice);
      if (at !== null && at <= last) {
        finalCells += rows.size;
        wrongFinalCells += differingRows(rows, truth.get(of) ?? noRows, metric.id);
      } else {
        wrongFinalCells += [...rows.values()].filter((row) => row[metric.id] !== null).length;
      }
    }
  }
  return { finalCells, wrongFinalCells };
}
