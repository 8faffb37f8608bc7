/** The ledger of slices: the table of each fingerprint, and what is known of each period; also fetches dated in the future. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { day, lastDay, type Day } from '../model/calendar.ts';
import { resolveDatePeriod } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import type { Part } from '../model/window.ts';
import {
  type Evidence,
  type PeriodRecord,
  periodsTogether,
  sizesKeptSince,
  type SliceLedger,
  type SliceTable,
  verdicts,
} from '../model/ledger.ts';
import { rememberingEach } from './remembering.ts';
import { count, dayShape, instant, instantOf, statement, timestamp } from './sql.ts';
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
  parts: z
    .string()
    .transform((text) => partsShape.parse(JSON.parse(text)))
    .nullable(),
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

const loadShape = z.object({ load_id: z.number(), metrics: z.array(z.string()) });
const periodsRow = z.object({
  slice: z.string(),
  fingerprint: z.string(),
  periods: z.string(),
  loads: z.string(),
});

/** What the ledger knows of a slice; read once between two changes of the warehouse. */
export const readSliceLedger = rememberingEach(
  async (warehouse, slices): Promise<Map<string, SliceLedger>> => {
    const rows = await warehouse.rows(
      statement('ledger/slice_tables'),
      [JSON.stringify(slices)],
      tableRow,
    );
    const loaded = await warehouse.rows(
      statement('ledger/loaded_periods'),
      [JSON.stringify(slices)],
      periodsRow,
    );
    const ledgers = new Map<string, SliceLedger>(
      slices.map((slice) => [slice, { live: null, building: null }]),
    );
    for (const row of rows) {
      const { slice, fingerprint, state } = row;
      const found = loaded.find((each) => each.slice === slice && each.fingerprint === fingerprint);
      const table: SliceTable = {
        fingerprint,
        state,
        size:
          row.sized_at === null
            ? null
            : { maxDays: row.max_days, parts: row.parts, learnedAt: row.sized_at },
        ...periodsIn(found?.periods ?? '[]', found?.loads ?? '[]'),
      };
      ledgers.set(slice, { live: null, building: null, ...ledgers.get(slice), [state]: table });
    }
    return ledgers;
  },
);

/** The periods of one table by first day of the bucket; for a cube also by age. */
function periodsIn(json: string, loadsJson: string): Pick<SliceTable, 'periods' | 'ages'> {
  const rows = z.array(periodShape).parse(JSON.parse(json));
  const loads = z.array(loadShape).parse(JSON.parse(loadsJson));
  const metrics = new Map(loads.map((load) => [load.load_id, load.metrics]));
  const ages = new Map<string, Map<Day, PeriodRecord>>();
  for (const row of rows) {
    const start = day(row.start_day);
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
      ...(row.computed_at === null && row.immature === null ? {} : { evidence: evidenceOf(row) }),
    });
  }
  const undivided = ages.get('') ?? new Map<Day, PeriodRecord>();
  if (ages.size === 0 || undivided.size > 0) return { periods: undivided };
  return { periods: periodsTogether(ages), ages };
}

const evidenceOf = ({ computed_at: at, immature }: z.infer<typeof periodShape>): Evidence => ({
  computedAt: at === null ? null : instantOf(at),
  immature: immature ?? [],
});

interface TableKey {
  readonly slice: string;
  readonly fingerprint: string;
}

/** Records, for a week, that requests for more days than this were too heavy. */
export async function saveMaxDays(
  warehouse: Warehouse,
  of: TableKey,
  maxDays: number,
  at: Date,
): Promise<void> {
  const learned = [
    of.slice,
    of.fingerprint,
    Math.max(1, maxDays),
    timestamp(at),
    timestamp(sizesKeptSince(at)),
  ];
  await warehouse.run(statement('ledger/save_max_days'), learned);
}

/** Records, for a week, the parts in which a single period was light enough; they replace those of an earlier load. */
export async function saveParts(
  warehouse: Warehouse,
  of: TableKey,
  parts: readonly Part[],
  at: Date,
): Promise<void> {
  const learned = [
    of.slice,
    of.fingerprint,
    JSON.stringify(parts),
    timestamp(at),
    timestamp(sizesKeptSince(at)),
  ];
  await warehouse.run(statement('ledger/save_parts'), learned);
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

/** The failure for periods that were recorded as fetched in the future, with the remedy; null if there are none. */
export async function futureFetch(
  warehouse: Warehouse,
  { slices, planAt }: Looking,
): Promise<Failure | null> {
  const now = nowOf(planAt);
  const [found] = await warehouse.rows(
    statement('ledger/future_fetches'),
    [timestamp(tolerated(now))],
    futureRow,
  );
  if (found === undefined) return null;
  const { slice: name, periods, fetched_at: fetchedAt } = found;
  const slice = slices.find((each) => each.name === name);
  const stored = { start: found.start_day, end: found.end_day };
  // A slice without a date dimension is loaded again for its current date period.
  const days = slice?.grain === null ? (resolveDatePeriod(slice, now) ?? stored) : stored;
  const backfill = `ripen backfill --slice ${name} --from ${days.start} --to ${lastDay(days)}`;
  const wayOut = slice === undefined ? `ripen drop --slice ${name}` : backfill;
  const facts = {
    slice: name,
    periods,
    from: stored.start,
    to: lastDay(stored),
    fetched_at: fetchedAt.toISOString(),
  };
  return new Failure(
    'FETCH_IN_FUTURE',
    `slice ${name}: ${periods} of its periods, from ${facts.from} to ${facts.to}, were recorded as fetched up to ${facts.fetched_at}, but this machine's clock says ${now.toISOString()}.`,
    {
      facts,
      hint: `Set this machine's clock if it is behind; otherwise run \`${wayOut}\`, as they were recorded by a clock that was ahead.`,
    },
  );
}

/** Throws `FETCH_IN_FUTURE` if there are such periods. */
export async function assertNoFutureFetch(warehouse: Warehouse, looking: Looking): Promise<void> {
  const failure = await futureFetch(warehouse, looking);
  if (failure !== null) throw failure;
}

/**
 * Dates such fetches of a slice back to the start of their periods: none of these is final then, and each is replaced. Forgets
 * such periods of any slice that have no rows and have not begun, as nothing is known of them.
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
