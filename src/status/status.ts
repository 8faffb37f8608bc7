/**
 * What is fresh, what is final, what moved: read from the ledger, and compared with what the slices cover.
 *
 * Asks the service nothing and changes nothing; answers from the published copy while a run holds the warehouse.
 */

import { existsSync } from 'node:fs';

import * as z from 'zod';

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { lastDay } from '../model/calendar.ts';
import { LOCK_WAIT_MS } from '../model/duration.ts';
import { hasStars, withStars } from '../model/stars.ts';
import { futureFetch } from '../warehouse/future-fetch.ts';
import { readListedMetrics } from '../warehouse/listed-metrics.ts';
import { refuseLinkToNowhere, withWarehouse } from '../warehouse/opening.ts';
import { count, dayShape, instant, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { readFailedStart } from './failed-start.ts';
import { healthOf } from './health.ts';
import { sliceStatus } from './slice-status.ts';
import type { RejectedRows, RunStatus, RunWarning, SliceStatus, StatusReport } from './status-report.ts';

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
    slices.push(await sliceStatus(warehouse, withStars(stated, listed), planAt));
  }
  const runs = warehouse === null ? noRuns : await readLastRuns(warehouse, snapshot !== null);
  const unconfigured = warehouse === null ? [] : await unconfiguredSlices(config, warehouse);
  const crawls =
    warehouse === null || config.links === null
      ? []
      : await warehouse.rows(statement('links/last_crawls'), [], crawlRow);
  const about = { as_of: planAt.toISOString(), warehouse: config.warehouse, snapshot };
  const report = { ...about, slices, unconfigured, crawls, ...runs };
  const future = warehouse === null ? null : await futureFetch(warehouse, { slices: config.slices, planAt });
  return { ...report, health: healthOf(report, future, readFailedStart(config.warehouse)) };
}

/** The slices a warehouse holds that a configuration no longer has, in order of their names. */
async function unconfiguredSlices({ slices }: Pick<Config, 'slices'>, warehouse: Warehouse): Promise<string[]> {
  const held = await warehouse.rows(statement('publish/slices'), [], z.object({ slice: z.string() }));
  return held.map(({ slice }) => slice).filter((name) => slices.every((slice) => slice.name !== name));
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

/** Two weeks of nights: enough to see a pattern. */
const RUNS = 14;

const isoInstant = instant.transform((at) => at.toISOString());

const crawlRow = z.object({ app_token: z.string(), crawled_at: isoInstant });

/** What of a run's summary is shown; a summary that an earlier version wrote may lack it. */
const summaryShape = z
  .object({
    status: z.string(),
    slices: z.array(z.object({ rows: z.object({ loaded: z.number() }) })),
    service: z.object({ requests: z.number(), retries: z.number() }),
    failures: z.array(
      z.object({
        code: z.string(),
        slice: z.string().nullable(),
        window: z.string().nullable(),
        message: z.string(),
        hint: z.string().nullable(),
      }),
    ),
  })
  .nullable()
  .catch(null);

const runStatus = z
  .object({
    run_id: z.string(),
    command: z.string(),
    as_of: isoInstant,
    started_at: isoInstant,
    finished_at: isoInstant.nullable(),
    status: z.string(),
    exit_code: z.number().nullable(),
    summary: z.string().nullable(),
  })
  .transform(({ summary: text, ...run }): RunStatus => {
    const summary = summaryShape.parse(text === null ? null : JSON.parse(text));
    return {
      ...run,
      refreshed: summary?.status ?? null,
      rows_loaded: summary?.slices.reduce((sum, { rows }) => sum + rows.loaded, 0) ?? null,
      requests: summary?.service.requests ?? null,
      retries: summary?.service.retries ?? null,
      failures: summary?.failures ?? [],
    };
  });

const runWarning = z
  .object({
    slice: z.string().nullable(),
    start_day: dayShape.nullable(),
    end_day: dayShape.nullable(),
    code: z.string(),
    message: z.string(),
  })
  .transform(({ slice, start_day: start, end_day: end, code, message }): RunWarning => {
    const window = start === null || end === null ? null : `${start}:${lastDay({ start, end })}`;
    return { slice, window, code, message };
  });

const rejectedRows = z
  .object({ slice: z.string(), start_day: dayShape, end_day: dayShape, reason: z.string(), rows: count })
  .transform(({ slice, start_day: start, end_day: end, reason, rows }): RejectedRows => {
    return { slice, window: `${start}:${lastDay({ start, end })}`, reason, rows };
  });

type LastRuns = Pick<StatusReport, 'runs' | 'warnings' | 'rejected_rows'>;

/**
 * The newest runs, with the warnings and the rejected rows of the newest alone. In a copy the newest, which made it, had
 * not ended: there its status is that of what it had done until then.
 */
async function readLastRuns(warehouse: Warehouse, isCopy: boolean): Promise<LastRuns> {
  const found = await warehouse.rows(statement('status/runs'), [RUNS], runStatus);
  const runs = isCopy ? found.map((run, at) => (at === 0 ? asItStood(run) : run)) : found;
  const newest = runs.at(0)?.run_id;
  if (newest === undefined) return noRuns;
  return {
    runs,
    warnings: await warehouse.rows(statement('status/run_warnings'), [newest], runWarning),
    rejected_rows: await warehouse.rows(statement('status/run_rejected_rows'), [newest], rejectedRows),
  };
}

const asItStood = (run: RunStatus): RunStatus => ({ ...run, status: run.refreshed ?? run.status });

const noRuns: LastRuns = { runs: [], warnings: [], rejected_rows: [] };
