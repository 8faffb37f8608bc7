/** Fetches on record that lie in the future: the clock of the machine that recorded them was ahead, or this one is behind. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { lastDay } from '../model/calendar.ts';
import { resolveDatePeriod } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import { count, dayShape, instant, statement, timestamp } from './sql.ts';
import type { Warehouse } from './warehouse.ts';

/** Two machines that write one warehouse may differ by as much. */
const TOLERANCE_MS = 5 * 60_000;

const futureRow = z.object({
  slice: z.string(),
  periods: count,
  start_day: dayShape,
  end_day: dayShape,
  fetched_at: instant,
});

interface Looking {
  /** The configured slices: they can be loaded again. */
  readonly slices: readonly Slice[];
  /** The instant the work plans for; a simulator's clock may stand later than the machine's. */
  readonly planAt: Date;
}

/** The refusal to rely on periods that were fetched in the future, with the way out; null where there are none. */
export async function futureFetch(warehouse: Warehouse, { slices, planAt }: Looking): Promise<Failure | null> {
  const now = latest(new Date(), planAt);
  const [found] = await warehouse.rows(statement('ledger/future_fetches'), [timestamp(tolerated(now))], futureRow);
  if (found === undefined) return null;
  const { slice: name, periods, fetched_at: fetchedAt } = found;
  const slice = slices.find((each) => each.name === name);
  const held = { start: found.start_day, end: found.end_day };
  // A slice without a date dimension is loaded again as its date period is by now.
  const days = slice?.grain === null ? (resolveDatePeriod(slice.datePeriod, now, slice.utcOffset) ?? held) : held;
  const backfill = `ripen backfill --slice ${name} --from ${days.start} --to ${lastDay(days)}`;
  const wayOut = slice === undefined ? `ripen drop --slice ${name}` : backfill;
  return new Failure(
    'FETCH_IN_FUTURE',
    `slice ${name}: ${periods} of its periods, from ${held.start} to ${lastDay(held)}, were recorded as fetched up to ${fetchedAt.toISOString()}, but this machine's clock says ${now.toISOString()}.`,
    {
      facts: { slice: name, periods, from: held.start, to: lastDay(held), fetched_at: fetchedAt.toISOString() },
      hint: `Set this machine's clock if it is behind; otherwise run \`${wayOut}\`, as a clock that was ahead recorded them.`,
    },
  );
}

/**
 * Throws `FETCH_IN_FUTURE` where there are such periods; those of days that have not begun are forgotten, as nothing is known of
 * them.
 */
export async function refuseFutureFetch(warehouse: Warehouse, looking: Looking): Promise<void> {
  if ((await futureFetch(warehouse, looking)) === null) return;
  const at = [timestamp(tolerated(latest(new Date(), looking.planAt)))];
  await warehouse.transact(async () => {
    await warehouse.run(statement('ledger/forget_unbegun'), at);
    const failure = await futureFetch(warehouse, looking);
    if (failure !== null) throw failure;
  });
}

/** Makes a slice's periods of that kind count as fetched when they began, so that nothing of them is final and each is replaced. */
export async function disownFutureFetch(warehouse: Warehouse, slice: string, planAt: Date): Promise<void> {
  const at = timestamp(tolerated(latest(new Date(), planAt)));
  await warehouse.transact(async () => {
    await warehouse.run(statement('ledger/forget_unbegun'), [at]);
    await warehouse.run(statement('ledger/disown_periods'), [slice, at]);
    await warehouse.run(statement('ledger/disown_loads'), [slice, at]);
  });
}

const latest = (one: Date, other: Date): Date => (one > other ? one : other);

/** The latest instant that counts as one of the past. */
export const tolerated = (now: Date): Date => new Date(now.getTime() + TOLERANCE_MS);
