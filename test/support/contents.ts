/** What a warehouse holds, as text that two states can be compared by. */

import * as z from 'zod';

import type { Slice } from '../../src/model/slice.ts';
import { identifier } from '../../src/warehouse/sql.ts';
import type { Scenario } from './scenario.ts';
import { storedRows, truthRows } from './truth.ts';

const row = z.record(z.string(), z.unknown());

/** A scenario, or any other warehouse that can be opened. */
export type Readable = Pick<Scenario, 'inWarehouse'>;

/** The rows of a query, BIGINT, DECIMAL, dates and instants as text. */
export function query(scenario: Readable, sql: string): Promise<Record<string, unknown>[]> {
  return scenario.inWarehouse((warehouse) => warehouse.rows(sql, [], row));
}

/** The first column of a query, as text. */
export async function column(scenario: Readable, sql: string): Promise<string[]> {
  return (await query(scenario, sql)).map((each) => String(Object.values(each)[0]));
}

/** Every row of a table or view with every column, as sorted text. */
export async function contentOf(scenario: Readable, table: string): Promise<string[]> {
  return (await query(scenario, `select * from ${table}`))
    .map((each) => JSON.stringify(each))
    .sort();
}

/** A slice's table and all that the ledger says of it. */
export async function stateOf(
  scenario: Readable,
  slice: string,
): Promise<readonly (readonly string[])[]> {
  const parts = [
    `main.${identifier(slice)}`,
    'ripen.periods',
    'ripen.loads',
    'ripen.restatements',
    'ripen.slice_tables',
  ];
  const contents: string[][] = [];
  for (const part of parts) contents.push(await contentOf(scenario, part));
  return contents;
}

/** The newest entry of `ripen.runs`. */
export async function lastRun(
  scenario: Readable,
): Promise<{ status: unknown; exit_code: unknown }> {
  const [last] = await query(
    scenario,
    'select status, exit_code from ripen.runs order by run_number desc limit 1',
  );
  return { status: last?.['status'], exit_code: last?.['exit_code'] };
}

/** A slice's stored rows, and what the service says for the same days at an instant. */
export function storedAndTrue(
  scenario: Scenario,
  slice: Slice,
  days: string,
  now: Date,
): Promise<{ readonly stored: string[]; readonly truth: string[] }> {
  return scenario.inWarehouse(async (warehouse) => ({
    stored: await storedRows(warehouse, slice),
    truth: await truthRows(warehouse, scenario.simulator.world, slice, days, now),
  }));
}
