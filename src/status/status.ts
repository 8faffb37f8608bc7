/**
 * What is fresh, what is final, what moved: read from the ledger, and held against the configured date periods.
 *
 * Asks the service nothing and changes nothing.
 */

import * as z from 'zod';

import type { Config } from '../config/config.ts';
import { MS_PER_DAY, lastDay } from '../model/calendar.ts';
import type { Slice } from '../model/slice.ts';
import { count, dayShape, instant, timestamp } from '../warehouse/shapes.ts';
import { statement } from '../warehouse/statements.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { periodStatuses, type HeldPeriod } from './coverage.ts';
import type {
  RejectedRows,
  RestatedMetric,
  RunStatus,
  RunWarning,
  SliceStatus,
  StatusReport,
} from './status-report.ts';

/** A week of nights: "what moved since last Monday". */
const RESTATED_DAYS = 7;
/** Enough to see a pattern, few enough for a screen. */
const RUNS = 5;

const heldPeriod = z.object({
  start_day: dayShape,
  end_day: dayShape,
  fetched_at: instant,
  rows: count,
  rejected: count,
  state: z.enum(['open', 'maturing', 'final']),
  next_refresh_at: instant.nullable(),
});

const tableState = z.object({
  week_starts_on: z.union([z.literal(0), z.literal(1)]).nullable(),
  is_live: z.boolean(),
  building_periods: count.nullable(),
});

const restatedMetric = z.object({ metric: z.string(), periods: count, oldest_period: z.string(), change: z.number() });

const isoInstant = instant.transform((at) => at.toISOString());

const runStatus = z.object({
  run_id: z.string(),
  command: z.string(),
  as_of: isoInstant,
  started_at: isoInstant,
  finished_at: isoInstant.nullable(),
  status: z.string(),
  exit_code: z.number().nullable(),
});

const runWarning = z
  .object({
    slice: z.string().nullable(),
    start_day: dayShape.nullable(),
    end_day: dayShape.nullable(),
    code: z.string(),
    message: z.string(),
  })
  .transform(({ slice, start_day: start, end_day: end, code, message }) => {
    const window = start === null || end === null ? null : `${start}:${lastDay({ start, end })}`;
    return { slice, window, code, message };
  });

const rejectedRows = z
  .object({ slice: z.string(), start_day: dayShape, end_day: dayShape, reason: z.string(), rows: count })
  .transform(({ slice, start_day: start, end_day: end, reason, rows }) => {
    return { slice, window: `${start}:${lastDay({ start, end })}`, reason, rows };
  });

/** The status at an instant; without a warehouse, that of one to which nothing was loaded yet. */
export async function readStatus(config: Config, warehouse: Warehouse | null, asOf: Date): Promise<StatusReport> {
  const runs = await readRuns(warehouse);
  const newest = runs.at(0)?.run_id ?? null;
  const slices: SliceStatus[] = [];
  for (const slice of config.slices) slices.push(await readSlice(warehouse, slice, asOf));
  return {
    as_of: asOf.toISOString(),
    warehouse: config.warehouse,
    slices,
    runs,
    warnings: await readWarnings(warehouse, newest),
    rejected_rows: await readRejectedRows(warehouse, newest),
  };
}

async function readSlice(warehouse: Warehouse | null, slice: Slice, asOf: Date): Promise<SliceStatus> {
  const held = await readHeldPeriods(warehouse, slice.name);
  const [table] = warehouse === null ? [] : await warehouse.rows(statement('status/table'), [slice.name], tableState);
  const ages = periodStatuses(slice, held, table?.week_starts_on ?? null, asOf);
  const standing = (state: (typeof ages)[number]['state']): number =>
    ages.filter((period) => period.state === state).length;
  const fetches = held.map((period) => period.fetched_at.getTime());
  return {
    name: slice.name,
    newest_period: held.findLast((period) => period.rows > 0)?.start_day ?? null,
    newest_fetch_at: fetches.length === 0 ? null : new Date(Math.max(...fetches)).toISOString(),
    rows: held.reduce((sum, period) => sum + period.rows, 0),
    periods: {
      expected: ages.length,
      loaded: ages.length - standing('missing'),
      missing: standing('missing'),
      open: standing('open'),
      maturing: standing('maturing'),
      final: standing('final'),
    },
    building_periods: table?.building_periods ?? null,
    restated: await readRestated(warehouse, slice.name, asOf),
    ages,
  };
}

async function readHeldPeriods(warehouse: Warehouse | null, slice: string): Promise<HeldPeriod[]> {
  return warehouse === null ? [] : warehouse.rows(statement('status/periods'), [slice], heldPeriod);
}

async function readRestated(warehouse: Warehouse | null, slice: string, asOf: Date): Promise<RestatedMetric[]> {
  const since = timestamp(new Date(asOf.getTime() - RESTATED_DAYS * MS_PER_DAY));
  return warehouse === null ? [] : warehouse.rows(statement('status/restatements'), [slice, since], restatedMetric);
}

async function readRuns(warehouse: Warehouse | null): Promise<RunStatus[]> {
  return warehouse === null ? [] : warehouse.rows(statement('status/runs'), [RUNS], runStatus);
}

async function readWarnings(warehouse: Warehouse | null, runId: string | null): Promise<RunWarning[]> {
  if (warehouse === null || runId === null) return [];
  return warehouse.rows(statement('status/run_warnings'), [runId], runWarning);
}

async function readRejectedRows(warehouse: Warehouse | null, runId: string | null): Promise<RejectedRows[]> {
  if (warehouse === null || runId === null) return [];
  return warehouse.rows(statement('status/run_rejected_rows'), [runId], rejectedRows);
}
