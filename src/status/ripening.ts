/** How a slice ripens, as the last run measured it, and whether final was final; read from the ledger. */

import * as z from 'zod';

import { MS_PER_DAY } from '../model/calendar.ts';
import { faultyShareBelow } from '../model/confidence.ts';
import { count, statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Audited, SliceStatus } from './status-report.ts';

/** Final cells count that were fetched again in so many days: older ones say little of the horizon that is configured now. */
export const AUDITED_DAYS = 90;

/** A row of `status/maturation`. */
const maturationRow = z.object({
  metric: z.string(),
  age_days: count,
  periods: count,
  share_q25: z.number(),
  share_median: z.number(),
  share_q75: z.number(),
});

const backtestRow = z.object({
  metric: z.string(),
  age_days: count,
  cohorts: count,
  median_abs_error: z.number().nullable(),
  median_abs_error_as_is: z.number().nullable(),
  coverage: z.number().nullable(),
  reason: z.string().nullable(),
});

const historyRow = z.object({
  metric: z.string(),
  horizon_days: z.number().nullable(),
  final_cells: count,
  final_changed: count,
  matured_periods: count.nullable(),
  most_at_one_age: count.nullable(),
  last_change_age: count.nullable(),
  later_looks: count.nullable(),
});

const auditsRow = z.object({
  periods: count,
  cells: count,
  changed: count,
  drawn_periods: count,
  drawn_changed: z.number(),
});

export type Ripening = Pick<SliceStatus, 'maturation' | 'backtest' | 'histories' | 'audited'>;

export const nothingMeasured: Ripening = { maturation: [], backtest: [], histories: [], audited: null };

/** What is measured of a slice at an instant. */
export async function readRipening(warehouse: Warehouse, slice: string, planAt: Date): Promise<Ripening> {
  const since = timestamp(new Date(planAt.getTime() - AUDITED_DAYS * MS_PER_DAY));
  const [audits] = await warehouse.rows(statement('status/audits'), [slice, since], auditsRow);
  return {
    maturation: await warehouse.rows(statement('status/maturation'), [slice], maturationRow),
    backtest: await warehouse.rows(statement('status/backtest'), [slice], backtestRow),
    histories: await warehouse.rows(statement('status/metric_histories'), [slice, since], historyRow),
    audited: audits === undefined || audits.cells === 0 ? null : auditedOf(audits),
  };
}

/**
 * A drawn period is one draw, however many cells it has, as these stand or fall together: with one of its metrics in two changed
 * it counts as half a wrong one, and the sum is rounded up.
 */
function auditedOf(audits: z.infer<typeof auditsRow>): Audited {
  const { drawn_periods: drawn, drawn_changed: changed } = audits;
  return { ...audits, wrong_share_below: drawn === 0 ? null : faultyShareBelow(Math.ceil(changed), drawn) };
}
