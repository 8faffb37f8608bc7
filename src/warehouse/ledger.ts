/** The ledger of slices: the table of each fingerprint, its periods, and fetches dated in the future. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { lastDay, type Day } from '../model/calendar.ts';
import { countText } from '../model/measure.ts';
import type { Slice } from '../model/slice.ts';
import {
  type LearnedSize,
  periodColumns,
  type PeriodRecord,
  periodsTogether,
  sizesKeptSince,
  type SliceLedger,
  type SliceTable,
} from '../model/ledger.ts';
import { cachedReads } from './cached-reads.ts';
import { count, dayShape, instant, instantOf, jsonOf, statement, timestamp } from './sql.ts';
import type { Warehouse } from './warehouse.ts';

const valuesShape = z.object({ in: z.array(z.string()).nullable(), notIn: z.array(z.string()) });

const tableRow = z.object({
  slice: z.string(),
  fingerprint: z.string(),
  state: z.enum(['live', 'building']),
  control: z.string().nullable(),
  max_days: z.number().nullable(),
  parts: jsonOf(z.array(z.record(z.string(), valuesShape))).nullable(),
  sized_at: instant.nullable(),
});

/** The column of each field but days, as `fetched_at` of `fetchedAt`. */
const columnsOfFields = Object.keys(
  periodColumns.omit({ bucket: true, requested: true }).shape,
).map(
  (field) => [field, field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] as const,
);

/** `z.record` looks at every value, which took most of a plan's time (measured). */
const rowShape = z.custom<Readonly<Record<string, unknown>>>((row) => Object(row) === row);

export const periodsShape = jsonOf(z.array(rowShape)).transform((rows) => {
  // Most instants are those of other rows.
  const instants = new Map<string, Date>();
  return rows.map((row) => {
    const fields: Record<string, unknown> = {
      bucket: { start: row['start_day'], end: row['end_day'] },
      requested: { start: row['requested_start'], end: row['requested_end'] },
    };
    for (const [field, column] of columnsOfFields) {
      const value = row[column];
      if (column.endsWith('_at') && typeof value === 'string') {
        const at = instants.get(value) ?? instantOf(value);
        instants.set(value, at);
        fields[field] = at;
      } else fields[field] = value;
    }
    return periodColumns.parse(fields);
  });
});

const loadRow = z
  .object({ load_id: z.number(), requested_at: instant, metrics: z.array(z.string()) })
  .transform(({ load_id, requested_at: requestedAt, metrics }) => {
    return [load_id, { requestedAt, metrics }] as const;
  });

const periodsRow = z.object({
  slice: z.string(),
  fingerprint: z.string(),
  periods: periodsShape,
  loads: jsonOf(z.array(loadRow)),
});

const quarterRow = z.object({ slice: z.string(), quarter: z.string(), rows: count });

/** With three times as many, the engine ran out of memory (measured). */
const MAX_PERIODS = 30_000;

export const readSliceLedger = cachedReads(
  async (warehouse, slices): Promise<Map<string, SliceLedger>> => {
    const names = [JSON.stringify(slices)];
    const tables = await warehouse.rows(statement('ledger/slice_tables'), names, tableRow);
    const quarters = await warehouse.rows(statement('ledger/period_quarters'), names, quarterRow);
    const batches: (typeof quarters)[] = [];
    let room = 0;
    for (const quarter of quarters) {
      if (quarter.rows > room) {
        batches.push([]);
        room = MAX_PERIODS;
      }
      batches.at(-1)?.push(quarter);
      room -= quarter.rows;
    }
    const loaded: z.infer<typeof periodsRow>[] = [];
    for (const batch of batches) {
      const request = [JSON.stringify(batch)];
      loaded.push(
        ...(await warehouse.rows(statement('ledger/loaded_periods'), request, periodsRow)),
      );
    }
    const none: SliceLedger = { live: null, building: null };
    const ledgers = new Map(slices.map((slice) => [slice, none]));
    for (const row of tables) {
      const { slice, fingerprint, state, control, sized_at: learnedAt } = row;
      const { max_days: maxDays, parts } = row;
      const size = learnedAt === null ? null : { maxDays, parts, learnedAt };
      const stored = loaded.filter((of) => of.slice === slice && of.fingerprint === fingerprint);
      const loads = new Map(stored.flatMap((of) => of.loads));
      const ages = new Map<string, Map<Day, PeriodRecord>>();
      for (const period of stored.flatMap(({ periods }) => periods)) {
        const load = loads.get(period.loadId);
        if (load === undefined) continue;
        const periods = ages.get(period.age) ?? new Map<Day, PeriodRecord>();
        ages.set(period.age, periods.set(period.bucket.start, Object.assign(period, load)));
      }
      const undivided = ages.get('') ?? new Map<Day, PeriodRecord>();
      const isDivided = ages.size > 0 && undivided.size === 0;
      const table: SliceTable = {
        fingerprint,
        state,
        control,
        size,
        ...(isDivided ? { periods: periodsTogether(ages), ages } : { periods: undivided }),
      };
      ledgers.set(slice, { ...none, ...ledgers.get(slice), [state]: table });
    }
    return ledgers;
  },
);

export function periodRow(table: TableKey, period: PeriodRecord): Record<string, unknown> {
  const { bucket, requested } = period;
  const fields: Readonly<Record<string, unknown>> = { ...period };
  const row: Record<string, unknown> = {
    ...table,
    start_day: bucket.start,
    end_day: bucket.end,
    requested_start: requested.start,
    requested_end: requested.end,
  };
  for (const [field, column] of columnsOfFields) row[column] = fields[field];
  return row;
}

interface TableKey {
  readonly slice: string;
  readonly fingerprint: string;
}

/** Saves, for a week, how much one request may cover. */
export async function saveSize(
  warehouse: Warehouse,
  { slice, fingerprint }: TableKey,
  { maxDays = null, parts = null }: Partial<LearnedSize>,
  at: Date,
): Promise<void> {
  const size = [maxDays, parts && JSON.stringify(parts)];
  const instants = [timestamp(at), timestamp(sizesKeptSince(at))];
  await warehouse.run(statement('ledger/save_size'), [slice, fingerprint, ...size, ...instants]);
}

/** Returns the latest instant that does not count as future: clocks differ a little. */
export const tolerated = (now: Date): Date => new Date(now.getTime() + 5 * 60_000);

const futureRow = z.object({
  slice: z.string(),
  periods: count,
  start_day: dayShape,
  end_day: dayShape,
  fetched_at: instant,
});

/** Returns the failure for periods that were fetched in the future. Only configured slices can be loaded again. */
export async function futureFetch(
  warehouse: Warehouse,
  slices: readonly Slice[],
  planAt: Date,
): Promise<Failure | null> {
  // The planned instant may be later than the clock with the simulator.
  const now = new Date(Math.max(Date.now(), planAt.getTime()));
  const latest = [timestamp(tolerated(now))];
  const future = await warehouse.rows(statement('ledger/future_fetches'), latest, futureRow);
  if (future.length === 0) return null;
  const names = future.map(({ slice }) => slice).join(', ');
  const periods = future.reduce((sum, row) => sum + row.periods, 0);
  const at = new Date(Math.max(...future.map((row) => row.fetched_at.getTime()))).toISOString();
  const counted = `${countText(periods, 'period')} ${periods === 1 ? 'was' : 'were'}`;
  const message = `${future.length === 1 ? 'slice' : 'slices'} ${names}: ${counted} fetched in the future (up to ${at}; this machine's clock is at ${now.toISOString()}).`;
  const drops = future.map(({ slice }) => `\`ripen drop --slice ${slice}\``);
  const backfills = future.flatMap(({ slice, start_day: start, end_day: end }) => {
    const isDated = slices.some(({ name, grain }) => name === slice && grain !== null);
    const days = `--from ${start} --to ${lastDay({ start, end })}`;
    return isDated ? [`\`ripen backfill --slice ${slice} ${days}\``] : [];
  });
  const commands = [drops, backfills].flatMap((list) => (list.length > 0 ? list.join(', ') : []));
  return new Failure('FETCH_IN_FUTURE', message, {
    facts: { slices: names, periods, fetched_at: at },
    hint: `Set this machine's clock if it is behind. If an earlier run's clock was ahead, run ${commands.join(', then ')}.`,
  });
}

export async function assertNoFutureFetch(
  warehouse: Warehouse,
  slices: readonly Slice[],
  planAt: Date,
): Promise<void> {
  const failure = await futureFetch(warehouse, slices, planAt);
  if (failure !== null) throw failure;
}

const costsRow = z.object({
  loads: count,
  base_ms: z.number().nullable(),
  row_ms: z.number().nullable(),
});

/** The newest loads show what requests cost now. */
const MAX_TIMED_LOADS = 500;
const MIN_TIMED_LOADS = 20;

/** In milliseconds. Null before there are enough timings. */
export async function readRequestCosts(warehouse: Warehouse) {
  const timed = [MAX_TIMED_LOADS];
  const [costs] = await warehouse.rows(statement('ledger/request_costs'), timed, costsRow);
  const { loads = 0, base_ms: base = null, row_ms: row = null } = costs ?? {};
  return loads < MIN_TIMED_LOADS || base === null || row === null ? null : { base, row };
}
