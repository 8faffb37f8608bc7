/** Reads what is fresh, final and restated from the ledger. Changes nothing. */

import { existsSync } from 'node:fs';

import * as z from 'zod';

import type { Config } from '../../config/config.ts';
import { Failure } from '../../errors.ts';
import type { Emit } from '../../events.ts';
import { LOCK_WAIT_MS } from '../../model/duration.ts';
import { metricFilterNames } from '../../model/catalog.ts';
import { controlName } from '../../model/control.ts';
import type { Slice } from '../../model/slice.ts';
import { hasStars, withStars } from '../../model/stars.ts';
import { loadedMetrics } from '../../warehouse/tables/slice-metrics.ts';
import { futureFetch } from '../../warehouse/ledger.ts';
import { warehouseExists, withWarehouse } from '../../warehouse/opening.ts';
import { controlEvidence } from '../../warehouse/tables/lost-apps.ts';
import { instant, jsonOf, statement, timestamp } from '../../warehouse/sql.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { readFailedStart } from './failed-start.ts';
import { healthOf } from './health.ts';
import { readStored, sliceStatus } from './slice-status.ts';
import {
  comparedTotals,
  newsItem,
  newsKinds,
  rejectedRows,
  runStatus,
  runWarning,
  type SliceStatus,
  type StatusReport,
} from './status-report.ts';

/**
 * Null is an empty warehouse. `snapshot` is the copy read in place of a locked one, `since` the instant after which things are news
 * (default: that of the night before the last).
 */
export async function readStatus(
  config: Config,
  warehouse: Warehouse | null,
  planAt: Date,
  {
    snapshot = null,
    since = null,
  }: { readonly snapshot?: string | null; readonly since?: Date | null } = {},
): Promise<StatusReport> {
  const listed =
    warehouse !== null && config.slices.some(hasStars) ? await listedMetrics(warehouse) : [];
  // Awaited together, they are read together.
  const configured = await Promise.all(
    config.slices.map(async (stated) => {
      const loaded = warehouse === null ? undefined : await loadedMetrics(warehouse, stated.name);
      return withStars(stated, listed, loaded);
    }),
  );
  const controls = await readControls(config, warehouse, configured, planAt);
  const ledger = await readStored(warehouse, configured, planAt);
  const slices: SliceStatus[] = [];
  for (const slice of configured)
    slices.push(await sliceStatus(ledger, slice, planAt, controls(slice)));
  const runs = warehouse === null ? noRuns : await readLastRuns(warehouse, snapshot !== null);
  const stored =
    (await warehouse?.rows(statement('publish/slices'), [], z.object({ slice: z.string() }))) ?? [];
  const names = new Set(config.slices.map(({ name }) => name));
  const unconfigured = stored.map(({ slice }) => slice).filter((name) => !names.has(name));
  const crawls =
    config.links === null
      ? []
      : ((await warehouse?.rows(statement('links/last_crawls'), [], crawlRow)) ?? []);
  const about = { as_of: planAt.toISOString(), warehouse: config.warehouse, snapshot };
  const news = warehouse === null ? noNews : await readNews(warehouse, planAt, since);
  const report = { ...about, news, slices, unconfigured, crawls, ...runs };
  const future = warehouse === null ? null : await futureFetch(warehouse, config.slices, planAt);
  return { ...report, health: healthOf(report, future, readFailedStart(config.warehouse)) };
}

/** Returns a function from a slice to how far its totals agree with the service's, or why that is not known. */
async function readControls(
  { controlMs }: Config,
  warehouse: Warehouse | null,
  slices: readonly Slice[],
  planAt: Date,
): Promise<(slice: Slice) => SliceStatus['control'] | string> {
  const asOf = [timestamp(planAt)];
  const rows = (await warehouse?.rows(statement('status/control'), asOf, comparedTotals)) ?? [];
  const evidence =
    warehouse === null || rows.length === 0
      ? null
      : await controlEvidence({ controlMs }, warehouse, slices, planAt);
  return (slice) => {
    const compared = rows.find((row) => row.slice === slice.name);
    if (compared !== undefined) {
      const moved = evidence?.get(slice.name)?.moved ?? [];
      const { read_at, totals } = compared;
      const finals = moved.filter(({ isFinal }) => isFinal);
      return { read_at, totals, moved: moved.length, moved_final: finals.length };
    }
    if (controlMs === null) return '`control` is off';
    if (slice.grain === null) return 'the slice has no date dimension';
    return controlName(slice) === null ? 'its filters allow none' : 'none could be read yet';
  };
}

const noNews = { since: null, items: [] };

async function readNews(
  warehouse: Warehouse,
  planAt: Date,
  since: Date | null,
): Promise<StatusReport['news']> {
  const sinceRow = z.object({ since: instant.nullable() });
  const [before] =
    since === null
      ? await warehouse.rows(statement('status/news_since'), [timestamp(planAt)], sinceRow)
      : [{ since }];
  const from = before?.since ?? null;
  const between = [timestamp(from ?? new Date(0)), timestamp(planAt), JSON.stringify(newsKinds)];
  const newsRow = z.object({ items: jsonOf(z.array(newsItem)) });
  const [news] = await warehouse.rows(statement('status/news'), between, newsRow);
  return { since: from?.toISOString() ?? null, items: news?.items ?? [] };
}

const crawlRow = z.object({
  app_token: z.string(),
  crawled_at: instant.transform((at) => at.toISOString()),
});

async function listedMetrics(warehouse: Warehouse): Promise<string[]> {
  const lists = JSON.stringify(metricFilterNames);
  const rows = await warehouse.rows(
    statement('status/listed_metrics'),
    [lists],
    z.object({ id: z.string() }),
  );
  return rows.map(({ id }) => id);
}

/** Returns the path of the first snapshot that exists. */
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
  const read = async (waitMs: number, copy: string | null): Promise<StatusReport> => {
    const options = { mode: 'read', lockWaitMs: waitMs, ...listening } as const;
    return withWarehouse(copy ?? config.warehouse, options, async (warehouse) =>
      readStatus(config, warehouse, planAt, { snapshot: copy, since }),
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

/** Two weeks of nights: enough to see a pattern. */
const RUNS = 14;

/** In a copy, which it made, the newest run has not ended. */
async function readLastRuns(
  warehouse: Warehouse,
  isCopy: boolean,
): Promise<Pick<StatusReport, 'runs' | 'warnings' | 'rejected_rows'>> {
  const found = await warehouse.rows(statement('status/runs'), [RUNS], runStatus);
  const [newest] = found;
  if (newest === undefined) return noRuns;
  // Its status before publishing.
  const asItStood = isCopy ? { ...newest, status: newest.refreshed ?? newest.status } : newest;
  return {
    runs: [asItStood, ...found.slice(1)],
    warnings: await warehouse.rows(statement('status/run_warnings'), [newest.run_id], runWarning),
    rejected_rows: await warehouse.rows(
      statement('status/run_rejected_rows'),
      [newest.run_id],
      rejectedRows,
    ),
  };
}

const noRuns = { runs: [], warnings: [], rejected_rows: [] };
