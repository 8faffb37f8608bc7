/** How a slice ripens, as the last run measured it, and whether final was final; read from the ledger. */

import * as z from 'zod';

import { count, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { faultyShareBelow } from '../model/confidence.ts';
import type { SliceStatus } from './status-report.ts';

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
  median_abs_error_average_share: z.number().nullable(),
  coverage: z.number().nullable(),
  method: z.string().nullable(),
  reason: z.string().nullable(),
});

const adaptiveRow = z.object({
  tolerance: z.number(),
  is_configured: z.boolean(),
  ages_left_out: z.array(z.number()),
  fetches: count,
  fetches_left_out: count,
  rows: count,
  rows_left_out: count,
  totals: count,
  totals_differed: count,
  most_differed: z.number().nullable(),
});

const auditsRow = z.object({ windows: count, periods: count, cells: count, changed: count });

export type Ripening = Pick<SliceStatus, 'maturation' | 'backtest' | 'adaptive' | 'audited'>;

export const nothingMeasured: Ripening = { maturation: [], backtest: [], adaptive: [], audited: null };

/** What is measured of a slice; `audited` is null before the first final cell was asked for again. */
export async function readRipening(warehouse: Warehouse, slice: string): Promise<Ripening> {
  const [audits] = await warehouse.rows(statement('status/audits'), [slice], auditsRow);
  const { cells = 0, changed = 0 } = audits ?? {};
  return {
    maturation: await warehouse.rows(statement('status/maturation'), [slice], maturationRow),
    backtest: await warehouse.rows(statement('status/backtest'), [slice], backtestRow),
    adaptive: await warehouse.rows(statement('status/adaptive_refreshes'), [slice], adaptiveRow),
    audited:
      audits === undefined || cells === 0 ? null : { ...audits, wrong_share_below: faultyShareBelow(changed, cells) },
  };
}
