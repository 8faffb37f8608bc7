/** The ledger of slices: the table of each fingerprint, its periods, and fetches dated in the future. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { day, lastDay, type Day } from '../model/calendar.ts';
import { resolveDatePeriod } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import type { Part } from '../model/window.ts';
import {
  type PeriodRecord,
  periodsTogether,
  sizesKeptSince,
  type SliceLedger,
  type SliceTable,
  verdicts,
} from '../model/ledger.ts';
import { rememberingEach } from './remembering.ts';
import { count, dayShape, instant, instantOf, jsonOf, statement, timestamp } from './sql.ts';
import type { Warehouse } from './warehouse.ts';

const partsShape = z.array(
  z.record(
    z.string(),
    z.object({ in: z.array(z.string()).nullable(), notIn: z.array(z.string()) }),
  ),
);

const tableRow = z.object({
  slice: z.string(),
  fingerprint: z.string(),
  state: z.enum(['live', 'building']),
  max_days: z.number().nullable(),
  parts: jsonOf(partsShape).nullable(),
  sized_at: instant.nullable(),
});

/** Has no transforms: for thousands of periods, they would take most of a plan's time. */
const periodShape = z.object({
  age: z.string(),
  start_day: z.string(),
  end_day: z.string(),
  asked_start: z.string(),
  asked_end: z.string(),
  fetched_at: z.string(),
  requested_at: z.string(),
  rows: z.number(),
  rejected: z.number(),
  empty_runs: z.number(),
  verdict: z.enum(verdicts),
  computed_at: z.string().nullable(),
  immature: z.array(z.string()).nullable(),
  load_id: z.number(),
});

const periodsRow = z.object({
  slice: z.string(),
  fingerprint: z.string(),
  periods: jsonOf(z.array(periodShape)),
  loads: jsonOf(z.array(z.object({ load_id: z.number(), metrics: z.array(z.string()) }))),
});

export const readSliceLedger = rememberingEach(
  async (warehouse, slices): Promise<Map<string, SliceLedger>> => {
    const names = [JSON.stringify(slices)];
    const tables = await warehouse.rows(statement('ledger/slice_tables'), names, tableRow);
    const loaded = await warehouse.rows(statement('ledger/loaded_periods'), names, periodsRow);
    const none: SliceLedger = { live: null, building: null };
    const ledgers = new Map(slices.map((slice) => [slice, none]));
    for (const row of tables) {
      const { slice, fingerprint, state, max_days: maxDays, parts, sized_at: learnedAt } = row;
      const table: SliceTable = {
        fingerprint,
        state,
        size: learnedAt === null ? null : { maxDays, parts, learnedAt },
        ...periodsIn(loaded.find((of) => of.slice === slice && of.fingerprint === fingerprint)),
      };
      ledgers.set(slice, { ...none, ...ledgers.get(slice), [state]: table });
    }
    return ledgers;
  },
);

function periodsIn(loaded?: z.infer<typeof periodsRow>): Pick<SliceTable, 'periods' | 'ages'> {
  const metrics = new Map(loaded?.loads.map((load) => [load.load_id, load.metrics]));
  const ages = new Map<string, Map<Day, PeriodRecord>>();
  for (const row of loaded?.periods ?? []) {
    const start = day(row.start_day);
    const { computed_at: at, immature } = row;
    const computedAt = at === null ? null : instantOf(at);
    const periods = ages.get(row.age) ?? new Map<Day, PeriodRecord>();
    ages.set(row.age, periods);
    periods.set(start, {
      bucket: { start, end: day(row.end_day) },
      requested: { start: day(row.asked_start), end: day(row.asked_end) },
      fetchedAt: instantOf(row.fetched_at),
      requestedAt: instantOf(row.requested_at),
      metrics: metrics.get(row.load_id) ?? [],
      rows: row.rows,
      rejected: row.rejected,
      emptyRuns: row.empty_runs,
      verdict: row.verdict,
      ...(computedAt === null && immature === null
        ? {}
        : { evidence: { computedAt, immature: immature ?? [] } }),
    });
  }
  const undivided = ages.get('') ?? new Map<Day, PeriodRecord>();
  if (ages.size === 0 || undivided.size > 0) return { periods: undivided };
  return { periods: periodsTogether(ages), ages };
}

interface TableKey {
  readonly slice: string;
  readonly fingerprint: string;
}

/** Records, for a week, that more days than this were too heavy for one request. */
export async function saveMaxDays(
  warehouse: Warehouse,
  of: TableKey,
  maxDays: number,
  at: Date,
): Promise<void> {
  const size = [Math.max(1, maxDays), timestamp(at), timestamp(sizesKeptSince(at))];
  await warehouse.run(statement('ledger/save_max_days'), [of.slice, of.fingerprint, ...size]);
}

/** Records, for a week, the parts in which a single period was light enough. */
export async function saveParts(
  warehouse: Warehouse,
  of: TableKey,
  parts: readonly Part[],
  at: Date,
): Promise<void> {
  const size = [JSON.stringify(parts), timestamp(at), timestamp(sizesKeptSince(at))];
  await warehouse.run(statement('ledger/save_parts'), [of.slice, of.fingerprint, ...size]);
}

/** The clocks of two machines that write one warehouse may differ by this much. */
const TOLERANCE_MS = 5 * 60_000;

/** The latest instant that does not count as future. */
export const tolerated = (now: Date): Date => new Date(now.getTime() + TOLERANCE_MS);

/** The machine's clock, or the planned instant if it is later, as it may be with the simulator. */
const nowOf = (planAt: Date): Date => new Date(Math.max(Date.now(), planAt.getTime()));

const futureRow = z.object({
  slice: z.string(),
  periods: count,
  start_day: dayShape,
  end_day: dayShape,
  fetched_at: instant,
});

interface Looking {
  /** The configured slices, which can be loaded again. */
  readonly slices: readonly Slice[];
  readonly planAt: Date;
}

/** Returns the failure for periods that were recorded as fetched in the future. */
export async function futureFetch(
  warehouse: Warehouse,
  { slices, planAt }: Looking,
): Promise<Failure | null> {
  const now = nowOf(planAt);
  const latest = [timestamp(tolerated(now))];
  const [future] = await warehouse.rows(statement('ledger/future_fetches'), latest, futureRow);
  if (future === undefined) return null;
  const { slice: name, periods, start_day: start, end_day: end, fetched_at: fetchedAt } = future;
  const slice = slices.find((configured) => configured.name === name);
  const stored = { start, end };
  // A slice without a date dimension is loaded again for its current date period.
  const days = slice?.grain === null ? (resolveDatePeriod(slice, now) ?? stored) : stored;
  const backfill = `ripen backfill --slice ${name} --from ${days.start} --to ${lastDay(days)}`;
  const wayOut = slice === undefined ? `ripen drop --slice ${name}` : backfill;
  const [to, at] = [lastDay(stored), fetchedAt.toISOString()];
  const message = `slice ${name}: ${periods} of its periods, from ${start} to ${to}, were recorded as fetched up to ${at}, but this machine's clock says ${now.toISOString()}.`;
  return new Failure('FETCH_IN_FUTURE', message, {
    facts: { slice: name, periods, from: start, to, fetched_at: at },
    hint: `Set this machine's clock if it is behind; otherwise run \`${wayOut}\`, as they were recorded by a clock that was ahead.`,
  });
}

export async function assertNoFutureFetch(warehouse: Warehouse, looking: Looking): Promise<void> {
  const failure = await futureFetch(warehouse, looking);
  if (failure !== null) throw failure;
}

/**
 * Dates such fetches of a slice back to the start of their periods, so that each is replaced. Deletes such periods of any slice
 * that have no rows and have not begun.
 */
export async function backdateFutureFetches(
  warehouse: Warehouse,
  slice: string,
  planAt: Date,
): Promise<void> {
  const at = timestamp(tolerated(nowOf(planAt)));
  await warehouse.transact(async () => {
    await warehouse.run(statement('ledger/delete_unbegun'), [at]);
    await warehouse.run(statement('ledger/backdate_periods'), [slice, at]);
    await warehouse.run(statement('ledger/backdate_loads'), [slice, at]);
  });
}
