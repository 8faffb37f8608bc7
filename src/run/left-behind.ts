/** Days that failed and that a rolling date period has left since, before they were ever loaded: no run asks for them by itself. */

import * as z from 'zod';

import { addDays } from '../model/calendar.ts';
import { firstKeptDay } from '../model/coverage.ts';
import { labelOf } from '../model/window.ts';
import type { SlicePlan } from '../plan/plan.ts';
import { dayShape, statement } from '../warehouse/sql.ts';
import { type Run, warn } from './run.ts';

const failedRow = z.object({ slice: z.string(), first_day: dayShape, last_day: dayShape });

/** Tells what failed in the last sync and lies before the days that this one covers, once: the next one knows of other failures. */
export async function tellLeftBehind(plans: readonly SlicePlan[], run: Run): Promise<void> {
  if (run.request.command !== 'sync') return;
  const covered = plans.flatMap(({ slice, periods: [oldest] }) =>
    slice.grain === null || oldest === undefined ? [] : [{ slice: slice.name, start_day: oldest.asked.start }],
  );
  const about = [run.runId, JSON.stringify(covered)];
  const failed = await run.warehouse.rows(statement('ledger/failed_days'), about, failedRow);
  for (const { slice: name, first_day: first, last_day: last } of failed) {
    const plan = plans.find(({ slice }) => slice.name === name);
    const kept = plan === undefined ? null : firstKeptDay(plan.slice, plan.planAt, plan.weekStartsOn);
    if (kept !== null && last < kept) continue;
    const days = labelOf({ asked: { start: first, end: addDays(last, 1) } });
    const message = `The days ${days} failed in the last run, and \`date_period\` has left them before they were ever loaded: no run asks for them by itself. Load them with \`ripen backfill --slice ${name} --from ${first} --to ${last}\`.`;
    await warn({ code: 'DAYS_LEFT_BEHIND', message }, name, run);
  }
}
