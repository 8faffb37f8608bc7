/** The guard of settled windows: an answer that would take most of their rows is not believed at once. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { MS_PER_DAY, startOfDayAt } from '../model/calendar.ts';
import { labelOf, type Window } from '../model/window.ts';
import { count } from '../warehouse/shapes.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { subjectOf } from './check.ts';
import type { Target } from './target.ts';

/** Younger windows may lose rows to late rejections. */
const SETTLED_AFTER_MS = 7 * MS_PER_DAY;
/** A settled window keeps at least this share of its rows. */
const LEAST_SHARE = 0.5;

/** The failure of a window that would lose more than half of its rows although it settled long ago, else null. */
export async function isShrinking(
  warehouse: Warehouse,
  target: Target,
  window: Window,
  rows: number,
  fetchedAt: Date,
): Promise<Failure | null> {
  const endedAt = startOfDayAt(window.replaced.end, window.slice.utcOffset);
  if (fetchedAt.getTime() - endedAt.getTime() <= SETTLED_AFTER_MS) return null;
  const [held] = await warehouse.rows(
    `select coalesce(sum(rows), 0) as rows from ripen.periods
     where slice = $1 and fingerprint = $2 and start_day >= $3::date and start_day < $4::date`,
    [window.slice.name, target.fingerprint, window.replaced.start, window.replaced.end],
    z.object({ rows: count }),
  );
  const before = held?.rows ?? 0;
  if (rows >= before * LEAST_SHARE) return null;
  const { start } = window.asked;
  const last = labelOf(window).slice(start.length + 1);
  return new Failure(
    'DATA_SHRUNK',
    `${subjectOf(window)}: the service answered ${rows} rows where ${before} were loaded before.`,
    {
      facts: { rows, before },
      hint: `If that is right, run \`ripen backfill --slice ${window.slice.name} --from ${start} --to ${last} --accept-loss\`.`,
    },
  );
}
