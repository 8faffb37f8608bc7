/**
 * What is fresh, what is final, what moved: read from the ledger, and held against what the slices cover.
 *
 * Asks the service nothing and changes nothing; answers from the published copy while a run holds the warehouse.
 */

import { existsSync } from 'node:fs';

import * as z from 'zod';

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { fingerprintOf } from '../model/fingerprint.ts';
import { LOCK_WAIT_MS } from '../model/duration.ts';
import { periodStates as ledgerStates } from '../model/maturity.ts';
import type { Slice } from '../model/slice.ts';
import { hasStars, withStars } from '../model/stars.ts';
import { futureFetch } from '../warehouse/future-fetch.ts';
import { readListedMetrics } from '../warehouse/listed-metrics.ts';
import { refuseLinkToNowhere, withWarehouse } from '../warehouse/opening.ts';
import { parseWeekStart } from '../model/calendar.ts';
import { count, dayShape, instant, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { type HeldStretch, metricStatuses, summedCells } from './cells.ts';
import { expectedPeriods, nextRefreshAt } from './coverage.ts';
import { readFailedStart } from './failed-start.ts';
import { healthOf } from './health.ts';
import { noRuns, readLastRuns } from './last-runs.ts';
import { readMoney } from './money.ts';
import { nothingMeasured, readRipening, type Ripening } from './ripening.ts';
import { readUnmatched } from './unmatched.ts';
import { readRestated } from './restated.ts';
import { cellStates, type MoneyMetric, type SliceStatus, type StatusReport, type Unmatched } from './status-report.ts';

const heldPeriod = z.object({
  start_day: dayShape,
  end_day: dayShape,
  asked_start: dayShape,
  asked_end: dayShape,
  fetched_at: instant,
  rows: count,
  rejected: count,
  state: z.enum(ledgerStates),
  is_unproven: z.boolean(),
  next_refresh_at: instant.nullable(),
  // Null of a period whose load the ledger does not have.
  is_as_configured: z.boolean().nullable(),
});

const heldStretch = z.object({
  metric: z.string(),
  kind: z.string(),
  horizon_seconds: count.nullable(),
  state: z.enum(cellStates),
  first_day: z.string(),
  last_day: z.string(),
});

const tableState = z.object({
  week_starts_on: z.number().nullable().transform(parseWeekStart),
  is_live: z.boolean(),
  building_periods: count.nullable(),
});

/** What the ledger has of one slice; nothing of a slice that was never loaded. */
interface Held {
  readonly table: z.infer<typeof tableState> | null;
  readonly periods: readonly z.infer<typeof heldPeriod>[];
  readonly stretches: readonly HeldStretch[];
  readonly restated: Pick<SliceStatus, 'restated' | 'movers' | 'restated_nights'>;
  readonly ripening: Ripening;
  readonly money: readonly MoneyMetric[];
  readonly unmatched: Unmatched | null;
}

const nothingHeld: Held = {
  table: null,
  periods: [],
  stretches: [],
  restated: { restated: [], movers: [], restated_nights: [] },
  ripening: nothingMeasured,
  money: [],
  unmatched: null,
};

/**
 * The status at an instant; without a warehouse, that of one to which nothing was loaded yet. `snapshot` is the path of the
 * copy that stands for a warehouse somebody holds.
 */
export async function readStatus(
  config: Config,
  warehouse: Warehouse | null,
  planAt: Date,
  snapshot: string | null = null,
): Promise<StatusReport> {
  const slices: SliceStatus[] = [];
  const listed = warehouse !== null && config.slices.some(hasStars) ? await readListedMetrics(warehouse) : [];
  for (const stated of config.slices) {
    const slice = withStars(stated, listed);
    const held = warehouse === null ? nothingHeld : await readHeld(warehouse, slice, planAt);
    slices.push(sliceStatus(slice, held, planAt));
  }
  const runs = warehouse === null ? noRuns : await readLastRuns(warehouse, snapshot !== null);
  const unconfigured = warehouse === null ? [] : await unconfiguredSlices(config, warehouse);
  const report = { as_of: planAt.toISOString(), warehouse: config.warehouse, snapshot, slices, unconfigured, ...runs };
  const future = warehouse === null ? null : await futureFetch(warehouse, { slices: config.slices, planAt });
  return { ...report, health: healthOf(report, future, readFailedStart(config.warehouse)) };
}

/** The slices a warehouse holds that a configuration no longer has, in order of their names. */
async function unconfiguredSlices({ slices }: Pick<Config, 'slices'>, warehouse: Warehouse): Promise<string[]> {
  const held = await warehouse.rows(statement('publish/slices'), [], z.object({ slice: z.string() }));
  return held.map(({ slice }) => slice).filter((name) => slices.every((slice) => slice.name !== name));
}

async function readHeld(warehouse: Warehouse, of: Slice, planAt: Date): Promise<Held> {
  const slice = of.name;
  const configured = [fingerprintOf(of), JSON.stringify(of.metrics)];
  // A simulator's clock may stand later than the machine's.
  const now = new Date(Math.max(Date.now(), planAt.getTime()));
  const [table] = await warehouse.rows(statement('status/table'), [slice], tableState);
  return {
    table: table ?? null,
    periods: await warehouse.rows(statement('status/periods'), [slice, ...configured], heldPeriod),
    stretches: await warehouse.rows(statement('status/finality'), [slice], heldStretch),
    restated: await readRestated(warehouse, slice, planAt),
    ripening: await readRipening(warehouse, slice, planAt),
    money: table?.is_live === true ? await readMoney(warehouse, of, now) : [],
    unmatched: table?.is_live === true ? await readUnmatched(warehouse, of) : null,
  };
}

/** The status of one slice; pure. */
function sliceStatus(slice: Slice, held: Held, planAt: Date): SliceStatus {
  const expected = expectedPeriods(slice, held.periods, held.table?.week_starts_on ?? null, planAt);
  const ages = expected.map(({ status }) => status);
  const starts = expected.map(({ start }) => start);
  const metrics = metricStatuses(slice.metrics, ages, starts, held.stretches);
  const standing = (state: (typeof ages)[number]['state']): number =>
    ages.filter((period) => period.state === state).length;
  const fetches = held.periods.map((period) => period.fetched_at.getTime());
  return {
    name: slice.name,
    newest_period: held.periods.findLast((period) => period.rows > 0)?.start_day ?? null,
    newest_fetch_at: fetches.length === 0 ? null : new Date(Math.max(...fetches)).toISOString(),
    next_refresh_at: nextRefreshAt(slice, ages, planAt),
    rows: held.periods.reduce((sum, period) => sum + period.rows, 0),
    periods: {
      expected: ages.length,
      loaded: ages.length - standing('missing'),
      missing: standing('missing'),
      open: standing('open'),
      maturing: standing('maturing'),
      final: standing('final'),
      cut: standing('cut'),
      empty: standing('empty'),
    },
    cells: summedCells(metrics),
    unproven_periods: held.periods.filter((period) => period.is_unproven).length,
    building_periods: held.table?.building_periods ?? null,
    ...held.restated,
    ...held.ripening,
    money: held.money,
    unmatched: held.unmatched,
    metrics,
    ages,
  };
}

/**
 * The status report of a configuration's warehouse; while a run holds it, after the wait (null: none where there is a
 * snapshot), that of its published snapshot. Throws `WAREHOUSE_LOCKED` where there is none.
 */
export async function statusOf(
  config: Config,
  planAt: Date,
  lockWaitMs: number | null,
  told: { readonly emit: Emit; readonly signal?: AbortSignal },
): Promise<StatusReport> {
  refuseLinkToNowhere(config.warehouse);
  if (!existsSync(config.warehouse)) return readStatus(config, null, planAt);
  const snapshot = config.publish.find(({ kind, path }) => kind === 'duckdb' && existsSync(path))?.path ?? null;
  const read = async (path: string, waitMs: number, stands: string | null): Promise<StatusReport> =>
    withWarehouse(path, { mode: 'read', lockWaitMs: waitMs, ...told }, async (warehouse) =>
      readStatus(config, warehouse, planAt, stands),
    );
  try {
    return await read(config.warehouse, lockWaitMs ?? (snapshot === null ? LOCK_WAIT_MS : 0), null);
  } catch (held) {
    if (!(held instanceof Failure) || held.code !== 'WAREHOUSE_LOCKED' || snapshot === null) throw held;
    return await read(snapshot, 0, snapshot).catch((unread: unknown) => {
      throw withoutSnapshot(held, snapshot, unread);
    });
  }
}

/** That neither the warehouse nor its snapshot can be read; the run that brings both to a new version ends that by itself. */
function withoutSnapshot(held: Failure, snapshot: string, unread: unknown): Failure {
  if (!(unread instanceof Failure)) return held;
  const isOlder = unread.code === 'WAREHOUSE_OLDER';
  const because = isOlder ? 'was still of an earlier version of ripen.' : `could not be read: ${unread.message}`;
  return new Failure('WAREHOUSE_LOCKED', `${held.message} Its snapshot ${snapshot} ${because}`, {
    facts: { ...held.facts, snapshot },
    hint: isOlder
      ? 'Wait for the run that holds the warehouse: at its end it publishes a snapshot of this version.'
      : (held.hint ?? 'Wait for the other run.'),
    cause: held,
  });
}
