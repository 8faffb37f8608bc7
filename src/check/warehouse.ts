/**
 * The places a run would write to, looked at without writing; and the warehouse compared with the configuration: whether it can be
 * used, what it keeps unconfigured, what a change will cost.
 */

import { existsSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

import * as z from 'zod';

import type { Config, PublishTarget } from '../config/config.ts';
import { asFailure, Failure } from '../errors.ts';
import { differInHeadersOnly, fingerprintOf, type Slice } from '../model/slice.ts';
import { releasedAt } from '../publish/delta/leaving.ts';
import { FINALITY } from '../publish/lake-table.ts';
import { withStore } from '../publish/open-store.ts';
import { publisherOf, type Publisher } from '../publish/other-database.ts';
import { refuseOccupant, unwritablePlaces } from '../publish/places.ts';
import { explainPlan } from '../run/plan-report.ts';
import { LEAST_FREE_BYTES } from '../terminal/failure-text.ts';
import { countText, sizeText } from '../terminal/measure.ts';
import { readSliceLedger } from '../warehouse/ledger.ts';
import { warehouseExists, withWarehouse } from '../warehouse/opening.ts';
import { count, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { type Finding, finding, findingOf, placeOf } from './finding.ts';
import type { Checking } from './service.ts';

/** A store that is there answers a list within this; a dead address keeps nobody longer. */
const BUCKET_PATIENCE_MS = 10_000;
/** A check does not wait for a nightly run. */
const opening = { lockWaitMs: 0, emit: () => {} } as const;

/** Destinations that could not be written, are another warehouse's or do not answer, and a warehouse that could not be used. */
export async function placeFindings(config: Config, checking: Checking): Promise<Finding[]> {
  const [unwritable, { findings, lastRunBytes }, ...buckets] = await Promise.all([
    unwritablePlaces(config),
    warehouseFindings(config, checking),
    ...config.publish.map(async (target) => bucketFindings(target, checking.signal)),
  ]);
  const space = await spaceFinding(config.warehouse, 2 * (lastRunBytes ?? 0));
  return [...unwritable.map((failure) => findingOf(failure)), ...findings, space, ...buckets.flat()];
}

/** Whether the disk of the warehouse has room for a run; `needed` is what the last one took, twice. */
async function spaceFinding(warehouse: string, needed: number): Promise<Finding> {
  let folder = dirname(warehouse);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  const disk = await statfs(folder).catch(() => null);
  if (disk === null) return finding('untried', `the free space at ${folder}, which could not be read`);
  const free = disk.bavail * disk.bsize;
  const least = Math.max(LEAST_FREE_BYTES, needed);
  if (free >= least) return finding('works', `${sizeText(free)} free`);
  const message = `The disk of ${folder} had ${sizeText(free)} free; a run needs ${sizeText(least)}`;
  return findingOf(new Failure('STORAGE_FAILED', message, { hint: `Free space on the disk of ${folder}.` }));
}

async function bucketFindings(target: PublishTarget, signal: AbortSignal): Promise<Finding[]> {
  if (target.kind === 'duckdb' || target.store === undefined) return [];
  const { path } = target;
  const patience = AbortSignal.timeout(BUCKET_PATIENCE_MS);
  try {
    const both = AbortSignal.any([signal, patience]);
    await withStore(target, null, both, async (store) => store.list(FINALITY));
    return [finding('works', `${path} answers`)];
  } catch (thrown) {
    signal.throwIfAborted();
    if (!patience.aborted) return [findingOf(thrown)];
    const message = `The object store of ${path} did not answer within ${BUCKET_PATIENCE_MS / 1000} s`;
    return [findingOf(new Failure('STORAGE_FAILED', message, { hint: 'Check the endpoint and the network.' }))];
  }
}

interface WarehouseFindings {
  readonly findings: readonly Finding[];
  readonly lastRunBytes: number | null;
}

/** What is wrong with the warehouse and with whose copies stand where it publishes, or odd about what it holds. */
export async function warehouseFindings(config: Config, checking: Checking): Promise<WarehouseFindings> {
  const { warehouse: path, slices, publish } = config;
  const { signal } = checking;
  try {
    if (!warehouseExists(path)) {
      const occupants = await occupantFindings(publish, { path, id: null, tables: [] }, signal);
      return { findings: [finding('works', `the first sync makes ${path}`), ...occupants], lastRunBytes: null };
    }
    const read = await withWarehouse(path, { ...opening, mode: 'read' }, async (warehouse) => ({
      kept: await unconfiguredFindings(warehouse, slices),
      occupants: await occupantFindings(publish, await publisherOf(warehouse), signal),
      keepers: await keeperFindings(publish, warehouse, signal),
      stored: {
        ofOtherHeaders: await slicesOfOtherHeaders(warehouse, slices),
        metrics: await storedMetrics(warehouse),
      },
      lastRunBytes: await receivedBytes(warehouse),
    }));
    const changes = await changeFindings(config, checking, read.stored);
    const readable = finding('works', 'warehouse readable');
    return {
      findings: [readable, ...read.kept, ...changes, ...read.occupants, ...read.keepers],
      lastRunBytes: read.lastRunBytes,
    };
  } catch (thrown) {
    signal.throwIfAborted();
    const failure = asFailure(thrown);
    const isLocked = failure.code === 'WAREHOUSE_LOCKED';
    const found = isLocked
      ? finding('warning', `${failure.message} Its version and content were not checked.`)
      : findingOf(failure);
    return { findings: [found], lastRunBytes: null };
  }
}

/** Targets that are another warehouse's, or hold what is not ripen's. */
async function occupantFindings(publish: Config['publish'], own: Publisher, signal: AbortSignal): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const target of publish) {
    await refuseOccupant(target, own, signal).catch((error: unknown) => {
      const found = findingOf(error);
      // Whether a store answers is found out apart.
      if (found.code !== 'STORAGE_FAILED' || target.kind === 'duckdb') findings.push(found);
    });
  }
  return findings;
}

/** How many periods targets with `keep_released` hold that the warehouse deleted, and the size of both. */
async function keeperFindings(
  publish: Config['publish'],
  warehouse: Warehouse,
  signal: AbortSignal,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const target of publish) {
    if (target.kind !== 'delta' || target.keepReleased !== true) continue;
    // A store that does not answer, or is another's, is reported apart.
    const kept = await withStore(target, null, signal, async (store) => releasedAt(store, warehouse)).catch(() => null);
    if (kept === null) continue;
    const bytes = statSync(warehouse.path, { throwIfNoEntry: false })?.size ?? 0;
    const own = `${target.path} keeps ${countText(kept.periods, 'released period')} (${sizeText(kept.bytes)})`;
    findings.push(finding('works', `${own}; the warehouse without them takes ${sizeText(bytes)}`));
  }
  return findings;
}

const receivedRow = z.object({ bytes: z.number().nullable() });

/** The bytes that the last run on record received; null before the first. */
async function receivedBytes(warehouse: Warehouse): Promise<number | null> {
  const sql = `select cast(summary ->> '$.service.bytes' as double) as bytes
from ripen.runs
where summary is not null
order by started_at desc
limit 1`;
  const [last] = await warehouse.rows(sql, [], receivedRow);
  return last?.bytes ?? null;
}

const storedRow = z.object({ slice: z.string(), periods: count, rows: count });

async function unconfiguredFindings(warehouse: Warehouse, slices: readonly Slice[]): Promise<Finding[]> {
  const configured = new Set(slices.map(({ name }) => name));
  const stored = await warehouse.rows(statement('ledger/held_slices'), [], storedRow);
  return stored
    .filter(({ slice }) => !configured.has(slice))
    .map(({ slice, periods, rows }) => {
      const amount = `${countText(periods, 'period')}, ${countText(rows, 'row')}`;
      const message = `it is not configured, but the warehouse keeps its table: ${amount}`;
      const hint = `Configure it again under this name, or remove it: \`ripen drop --slice ${slice}\`.`;
      return finding('warning', message, hint, { slice, setting: null, place: null });
    });
}

/** What the warehouse holds of slices, to tell why one is requested again. */
interface StoredSlices {
  readonly ofOtherHeaders: ReadonlySet<string>;
  /** By slice. */
  readonly metrics: ReadonlyMap<string, ReadonlySet<string>>;
}

const metricsRow = z.object({ slice: z.string(), metrics: z.array(z.string()) });

async function storedMetrics(warehouse: Warehouse): Promise<StoredSlices['metrics']> {
  const sql = 'select slice, list(metric) as metrics from ripen.slice_metrics group by slice';
  const rows = await warehouse.rows(sql, [], metricsRow);
  return new Map(rows.map(({ slice, metrics }) => [slice, new Set(metrics)]));
}

/** The slices whose live table differs from them in `service.headers` alone. */
async function slicesOfOtherHeaders(warehouse: Warehouse, slices: readonly Slice[]): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for (const slice of slices) {
    const { live } = await readSliceLedger(warehouse, slice.name);
    if (live !== null && differInHeadersOnly(live.fingerprint, fingerprintOf(slice))) names.add(slice.name);
  }
  return names;
}

/** What the next sync requests again because a slice differs from what was loaded, or why it would refuse the slice. */
async function changeFindings(
  config: Config,
  { at: planAt, stated, signal }: Checking,
  { ofOtherHeaders, metrics: stored }: StoredSlices,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [index, { name, metrics }] of config.slices.entries()) {
    const path = ['slices', index];
    try {
      const { slices } = await explainPlan(config, { ...opening, planAt, slices: [name], signal });
      for (const { windows, released_periods: released = 0 } of slices) {
        const again = windows.filter(({ reasons }) => 'meaning changed' in reasons || 'metric added' in reasons);
        if (again.length === 0) continue;
        const periods = again.reduce((sum, window) => sum + window.periods, 0);
        const rows = again.reduce((sum, window) => sum + (window.rows_expected ?? 0), 0);
        const what = `${countText(periods, 'period')} with about ${countText(rows, 'row')} will be requested again`;
        if (!again.some(({ reasons }) => 'meaning changed' in reasons)) {
          const place = placeOf(stated, [...path, 'metrics'], name);
          const added = metrics.filter((metric) => stored.get(name)?.has(metric) !== true);
          const named = added.length === 0 ? '' : ` (${added.join(', ')})`;
          findings.push(finding('note', `metrics were added${named}: ${what}`, null, place));
          continue;
        }
        const isOfHeaders = ofOtherHeaders.has(name);
        const why = isOfHeaders
          ? 'it was loaded with other `service.headers`, which may be those of another account'
          : 'it means something else than what was loaded';
        const lost =
          released === 0 ? '' : `; ${countText(released, 'period')} that Delta tables alone hold will go with it then`;
        const message = `${why}: ${what}, beside the table that is served until they are complete${lost}`;
        const old = isOfHeaders ? 'headers' : 'dimensions, filters, parameters and headers';
        const hint = `\`ripen plan\` shows the windows; the old ${old} would keep the table.`;
        findings.push(finding('warning', message, hint, placeOf(stated, path, name)));
      }
    } catch (thrown) {
      signal.throwIfAborted();
      const { code } = asFailure(thrown);
      findings.push(findingOf(thrown, code === 'CONFIG_INVALID' ? placeOf(stated, path, name) : undefined));
    }
  }
  return findings;
}
