/** Reads what is fresh, final and restated from the ledger. Changes nothing. */

import { existsSync } from 'node:fs';

import * as z from 'zod';

import type { Config } from '../../config/config.ts';
import { Failure, isOfToken } from '../../errors.ts';
import type { Emit } from '../../events.ts';
import { LOCK_WAIT_MS } from '../../model/duration.ts';
import { controlName } from '../../model/control.ts';
import { fingerprintOf, type Slice } from '../../model/slice.ts';
import { hasStars } from '../../model/stars.ts';
import { listedMetrics, starredAt } from '../../warehouse/tables/slice-metrics.ts';
import { futureFetch } from '../../warehouse/ledger.ts';
import { warehouseExists, withWarehouse } from '../../warehouse/opening.ts';
import {
  comparedTables,
  controlEvidence,
  keptPeriods,
  type KeptPeriods,
  readLostApps,
} from '../../warehouse/tables/lost-apps.ts';
import { count, instant, jsonOf, statement, timestamp } from '../../warehouse/sql.ts';
import type { Bindable, Warehouse } from '../../warehouse/warehouse.ts';
import { readFailedStart } from './failed-start.ts';
import { tokenHint } from './failure-groups.ts';
import { healthOf } from './health.ts';
import { readSlices } from './slice-status.ts';
import {
  newsItem,
  newsKinds,
  rejectedRows,
  runStatus,
  runWarning,
  type SliceStatus,
  type StatusReport,
} from './status-report.ts';

/**
 * Null is an empty warehouse. `snapshot` is the copy read in place of a locked one, `since` the start of the news (default: the
 * night before the last).
 */
export async function readStatus(
  config: Config,
  warehouse: Warehouse | null,
  planAt: Date,
  snapshot: string | null = null,
  since: Date | null = null,
): Promise<StatusReport> {
  const read = async <T>(
    name: string,
    parameters: readonly Bindable[],
    shape: z.ZodType<T>,
  ): Promise<T[]> => (await warehouse?.rows(statement(name), parameters, shape)) ?? [];
  const listed =
    warehouse !== null && config.slices.some(hasStars) ? await listedMetrics(warehouse) : [];
  const starred = await starredAt(warehouse, config.slices, listed, planAt);
  const configured = starred.map(({ slice }) => slice);
  const kept: KeptPeriods =
    warehouse === null
      ? new Map()
      : await keptPeriods(warehouse, configured, await readLostApps(warehouse));
  // Beside each other they take two thirds of the time (measured).
  const inSession = async <T>(work: (session: Warehouse | null) => Promise<T>): Promise<T> =>
    warehouse === null ? work(null) : warehouse.withSession(work);
  const agreement = inSession(async (session) =>
    readAgreement(config, session, configured, planAt, kept),
  );
  const reads = [
    readSlices(warehouse, configured, planAt, kept, agreement),
    inSession(async (session) => readNews(session, planAt, since)),
  ] as const;
  // A session must not be closed while it reads.
  await Promise.allSettled([agreement, ...reads]);
  const [slices, news] = await Promise.all(reads);
  const names = new Set(config.slices.map(({ name }) => name));
  const copies = JSON.stringify(config.publish.map(({ path }) => path));
  const readRuns = async (most: number) => read('status/runs', [most, snapshot, copies], runStatus);
  let runs = await readRuns(RUNS);
  const synced = new Set(runs.flatMap((run) => (run.command === 'sync' ? run.slices : [])));
  // Only of slices that are synced by themselves.
  if (runs.length === RUNS && configured.some(({ name }) => !synced.has(name)))
    runs = await readRuns(MAX_RUNS);
  // The service's answer does not name the setting.
  for (const { failures } of runs)
    for (const [at, failure] of failures.entries())
      if (isOfToken(failure)) failures[at] = { ...failure, hint: await tokenHint(config.file) };
  const [newest] = runs;
  const ofNewest = [newest?.run_id ?? null];
  const report = {
    as_of: planAt.toISOString(),
    warehouse: config.warehouse,
    snapshot,
    // A table that nobody asks for any more stays, and its totals are compared where others share them.
    news: {
      ...news,
      items: news.items.filter(({ slice }) => slice === null || names.has(slice)),
    },
    slices,
    unconfigured: warehouse === null ? [] : await readUnconfigured(warehouse, config.slices),
    crawls: config.links === null ? [] : await read('links/last_crawls', [], crawlRow),
    runs,
    warnings: await read('status/run_warnings', ofNewest, runWarning),
    rejected_rows: await read('status/run_rejected_rows', ofNewest, rejectedRows),
  };
  const wrongClock =
    warehouse === null ? null : await futureFetch(warehouse, config.slices, planAt);
  const health = healthOf(report, wrongClock, readFailedStart(config.warehouse));
  return { ...report, runs: runs.slice(0, RUNS), health };
}

/** Two weeks of nights: enough to see a pattern. */
const RUNS = 14;
/** In which a slice that runs seldom by itself is looked for. */
const MAX_RUNS = 200;

const sliceRow = z.object({ slice: z.string() }).transform(({ slice }) => slice);
const sinceRow = z.object({ since: instant.nullable() }).transform(({ since }) => since);
const newsRow = z.object({ items: jsonOf(z.array(newsItem)) }).transform(({ items }) => items);
const crawlRow = z.object({
  app_token: z.string(),
  crawled_at: instant.transform((at) => at.toISOString()),
});

async function readNews(warehouse: Warehouse | null, planAt: Date, since: Date | null) {
  if (warehouse === null) return { since: since?.toISOString() ?? null, items: [] };
  const asOf = timestamp(planAt);
  const from = since ?? (await warehouse.rows(statement('status/news_since'), [asOf], sinceRow))[0];
  const between = [timestamp(from ?? new Date(0)), asOf, JSON.stringify(newsKinds)];
  const [items = []] = await warehouse.rows(statement('status/news'), between, newsRow);
  return { since: from?.toISOString() ?? null, items };
}

export async function readUnconfigured(
  warehouse: Warehouse,
  slices: readonly Slice[],
): Promise<string[]> {
  const stored = await warehouse.rows(statement('publish/slices'), [], sliceRow);
  return stored.filter((name) => slices.every((slice) => slice.name !== name));
}

const comparedTotals = z.object({
  slice: z.string(),
  fingerprint: z.string(),
  read_at: z.string(),
  totals: count,
  differing: jsonOf(z.array(z.object({ start: z.string(), metric: z.string() }))),
});

/** Returns for a slice how far its totals agree with the service, or why that is not known. */
async function readAgreement(
  { controlMs }: Config,
  warehouse: Warehouse | null,
  slices: readonly Slice[],
  planAt: Date,
  kept: KeptPeriods,
): Promise<(slice: Slice) => SliceStatus['control'] | string> {
  if (controlMs === null) return () => '`control` is off';
  if (warehouse === null) return () => 'none could be read yet';
  const request = [timestamp(planAt), JSON.stringify(comparedTables(slices, kept))];
  const rows = await warehouse.rows(statement('status/control'), request, comparedTotals);
  // A value that still grew when its total was read has not moved.
  const readAtMs = Math.max(...rows.map(({ read_at: at }) => Date.parse(at)));
  const comparedAt = new Date(Math.min(planAt.getTime(), readAtMs));
  const evidence =
    rows.length === 0
      ? null
      : await controlEvidence({ controlMs }, warehouse, slices, comparedAt, kept);
  return (slice) => {
    const compared = rows.find((row) => row.slice === slice.name);
    if (compared === undefined) {
      if (slice.grain === null) return 'the slice has no date dimension';
      return controlName(slice) === null ? 'its filters allow none' : 'none could be read yet';
    }
    const { read_at, totals, fingerprint, differing: loaded } = compared;
    // What has moved is read of the configured meaning, whose table is not live yet.
    if (fingerprint !== fingerprintOf(slice))
      return { read_at, totals: 0, moved: 0, moved_final: 0 };
    const evident = evidence?.get(slice.name)?.moved ?? [];
    // Of a day several hours may have moved.
    const cellsOf = (values: readonly { readonly start: string; readonly metric: string }[]) =>
      new Set(values.map(({ start, metric }) => `${start} ${metric}`)).size;
    const known = evident.filter(({ isKnown }) => isKnown);
    return {
      read_at,
      totals: Math.max(0, totals - cellsOf(evident) + cellsOf(known)),
      moved: cellsOf([...known, ...loaded]),
      moved_final: cellsOf(known.filter(({ isFinal }) => isFinal)),
    };
  };
}

export const snapshotOf = ({ publish }: Pick<Config, 'publish'>): string | null =>
  publish.find(({ kind, path }) => kind === 'duckdb' && existsSync(path))?.path ?? null;

/**
 * Reads a published snapshot if a run still holds the warehouse after the wait. A wait of null is none if there is a snapshot,
 * or else the usual one. Throws `WAREHOUSE_LOCKED` if there is no snapshot.
 */
export async function statusOf(
  config: Config,
  planAt: Date,
  lockWaitMs: number | null,
  {
    since = null,
    ...listening
  }: { readonly emit: Emit; readonly signal?: AbortSignal; readonly since?: Date | null },
): Promise<StatusReport> {
  if (!warehouseExists(config.warehouse)) return readStatus(config, null, planAt);
  const snapshot = snapshotOf(config);
  const read = async (waitMs: number, copy: string | null) => {
    const options = { mode: 'read', lockWaitMs: waitMs, ...listening } as const;
    return withWarehouse(copy ?? config.warehouse, options, async (warehouse) =>
      readStatus(config, warehouse, planAt, copy, since),
    );
  };
  try {
    return await read(lockWaitMs ?? (snapshot === null ? LOCK_WAIT_MS : 0), null);
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'WAREHOUSE_LOCKED' || snapshot === null)
      throw error;
    return read(0, snapshot);
  }
}
