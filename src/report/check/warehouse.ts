/** Checks the warehouse and the places a run writes to, without writing. */

import { existsSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import * as z from 'zod';

import { readCatalog } from '../../account/stored-catalog.ts';
import type { Config } from '../../config/config.ts';
import { asFailure } from '../../errors.ts';
import { timeoutSignal } from '../../model/duration.ts';
import { isMetricItem } from '../../model/metric.ts';
import { auditProblems } from '../../publish/audits.ts';
import { assertOwnTarget, copyAt } from '../../publish/copies.ts';
import { publisherOf } from '../../publish/places/database.ts';
import { unwritablePlaces } from '../../publish/places/destinations.ts';
import type { Publisher } from '../../publish/copy.ts';
import { explainPlan } from '../../run/plan-report.ts';
import { MIN_FREE_BYTES } from '../terminal/failure-text.ts';
import { countText, namesText, sizeText } from '../../model/measure.ts';
import { inTemporaryFolder } from '../../warehouse/directories.ts';
import { warehouseExists, withWarehouse } from '../../warehouse/opening.ts';
import { count, statement } from '../../warehouse/sql.ts';
import { leftOutMetrics } from '../../warehouse/tables/slice-metrics.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { type Finding, finding, findingOf, placeOf } from './finding.ts';
import type { Checking } from './service.ts';

/** A dead address is not waited for longer. */
const STORE_PATIENCE_MS = 10_000;
/** A check does not wait for a nightly run. */
const opening = { lockWaitMs: 0, emit: () => {} } as const;

export const placeFindings = async (config: Config, checking: Checking): Promise<Finding[]> => [
  ...(await unwritablePlaces(config)).map((failure) => findingOf(failure)),
  ...(await warehouseFindings(config, checking)),
  await spaceFinding(config),
];

async function spaceFinding({ warehouse, audits }: Config): Promise<Finding> {
  let folder = dirname(warehouse);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  const disk = await statfs(folder).catch(() => null);
  if (disk === null)
    return finding('untried', `the free space at ${folder}, which could not be read`);
  const free = disk.bavail * disk.bsize;
  const [last] = warehouseExists(warehouse)
    ? await withWarehouse(warehouse, { ...opening, mode: 'read' }, async (opened) =>
        opened.rows(statement('ledger/received_bytes'), [], receivedRow),
      ).catch(() => [])
    : [];
  const received = Math.max(MIN_FREE_BYTES, 2 * (last?.bytes ?? 0));
  // Audits are asked of a copy.
  const copied = audits.length > 0 && existsSync(warehouse) ? statSync(warehouse).size : 0;
  const needed = received + copied;
  if (free >= needed) return finding('works', `${sizeText(free)} free`);
  const message = `The disk of ${folder} had ${sizeText(free)} free; a run needs ${sizeText(needed)}`;
  return finding('STORAGE_FAILED', message, `Free space on the disk of ${folder}.`);
}

const receivedRow = z.object({ bytes: z.number() });

export async function warehouseFindings(config: Config, checking: Checking): Promise<Finding[]> {
  const { warehouse: path, publish } = config;
  const { signal } = checking;
  try {
    if (!warehouseExists(path)) {
      const publisher = { path, id: null, publishes: [] };
      const occupants = await occupantFindings(publish, publisher, signal);
      const audited = await inTemporaryFolder(async (folder) => {
        const empty = join(folder, 'warehouse.duckdb');
        await withWarehouse(empty, { ...opening, mode: 'write' }, async () => {});
        return auditFindings({ ...config, warehouse: empty }, checking);
      });
      return [finding('works', `the first sync creates ${path}`), ...occupants, ...audited];
    }
    const findings = [finding('works', 'warehouse readable')];
    const metrics = await withWarehouse(path, { ...opening, mode: 'read' }, async (warehouse) => {
      findings.push(...(await unconfiguredFindings(config, warehouse)));
      const publisher = await publisherOf(warehouse, path);
      findings.push(...(await occupantFindings(publish, publisher, signal)));
      return storedMetrics(warehouse);
    });
    findings.push(...(await changeFindings(config, checking, metrics)));
    return [...findings, ...(await auditFindings(config, checking))];
  } catch (thrown) {
    signal.throwIfAborted();
    const { code, message } = asFailure(thrown);
    if (code !== 'WAREHOUSE_LOCKED') return [findingOf(thrown)];
    return [finding('warning', `${message} Its version and content were not checked.`)];
  }
}

/** Prepares the audits. The warehouse must not be open in this process. */
async function auditFindings(
  { audits, slices, warehouse }: Config,
  { stated, signal }: Checking,
): Promise<Finding[]> {
  if (audits.length === 0) return [];
  const problems = await auditProblems({ audits, slices }, warehouse, signal);
  const works = countText(audits.length - problems.length, 'audit');
  return [
    finding('works', `${works} prepared`),
    ...problems.map(({ name, message, isWaiting }) => {
      const index = audits.findIndex((audit) => audit.name === name);
      const place = placeOf(stated, ['audits', index, 'sql']);
      if (isWaiting) return finding('note', `audit ${name}: ${message}`, null, place);
      const hint = 'Correct its SQL; the tables are named as in a published DuckDB file.';
      return finding('CONFIG_INVALID', `audit ${name}: ${message}`, hint, place);
    }),
  ];
}

async function occupantFindings(
  publish: Config['publish'],
  own: Publisher,
  signal: AbortSignal,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const target of publish) {
    const patience = timeoutSignal(STORE_PATIENCE_MS);
    await assertOwnTarget(target, own, AbortSignal.any([signal, patience])).catch(
      (thrown: unknown) => {
        signal.throwIfAborted();
        const message = `The object store of ${target.path} did not answer within ${STORE_PATIENCE_MS / 1000} s`;
        const failure = patience.aborted
          ? finding('STORAGE_FAILED', message, 'Check the endpoint and the network.')
          : findingOf(thrown);
        // An unusable folder is already reported as a place that cannot be written.
        if (failure.code !== 'STORAGE_FAILED' || copyAt(target).form !== 'folder')
          findings.push(failure);
      },
    );
  }
  return findings;
}

const storedRow = z.object({ slice: z.string(), periods: count, rows: count });

async function unconfiguredFindings(config: Config, warehouse: Warehouse): Promise<Finding[]> {
  const stored = await warehouse.rows(statement('ledger/stored_slices'), [], storedRow);
  return stored.flatMap(({ slice, periods, rows }) => {
    if (config.slices.some(({ name }) => name === slice)) return [];
    const amount = `${countText(periods, 'period')}, ${countText(rows, 'row')}`;
    const message = `it is not configured, but the warehouse keeps its table: ${amount}`;
    const hint = `Configure it again under this name, or remove it: \`ripen drop --slice ${slice}\`.`;
    return finding('warning', message, hint, { slice });
  });
}

const metricsRow = z.object({ slice: z.string(), metrics: z.array(z.string()) });

/** Returns the metrics of the catalog last seen, those loaded by slice, and whether a star stands for one no more. */
export async function storedMetricsAt(
  path: string,
  at: Date,
): Promise<{
  readonly listed: readonly string[];
  readonly loaded: ReadonlyMap<string, ReadonlySet<string>>;
  readonly isLeftOut: (slice: string, metric: string) => boolean;
}> {
  if (!warehouseExists(path)) return { listed: [], loaded: new Map(), isLeftOut: () => false };
  return withWarehouse(path, { ...opening, mode: 'read' }, async (warehouse) => {
    const listed = (await readCatalog(warehouse)).filter(isMetricItem).map(({ id }) => id);
    const isLeftOut = await leftOutMetrics(warehouse, at);
    return { listed, loaded: await storedMetrics(warehouse), isLeftOut };
  });
}

async function storedMetrics(warehouse: Warehouse): Promise<Map<string, ReadonlySet<string>>> {
  const sql = 'select slice, list(metric) as metrics from ripen.slice_metrics group by slice';
  const rows = await warehouse.rows(sql, [], metricsRow);
  return new Map(rows.map(({ slice, metrics }) => [slice, new Set(metrics)]));
}

const CHANGED =
  'dimensions, filters, parameters or `service.headers` are not those it was loaded with';
const SERVED = 'beside the table that is served until they are complete';

/** Finds what the next sync requests again, or why it would refuse a slice. */
async function changeFindings(
  config: Config,
  { at: planAt, stated, signal }: Checking,
  stored: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<Finding[]> {
  const hint = '`ripen plan` shows the windows.';
  const findings: Finding[] = [];
  for (const [index, { name, metrics }] of config.slices.entries()) {
    const place = placeOf(stated, ['slices', index], name);
    try {
      const { slices } = await explainPlan(config, { ...opening, planAt, slices: [name], signal });
      const again = slices.flatMap(({ windows }) =>
        windows.filter(({ reasons }) => 'meaning changed' in reasons || 'metric added' in reasons),
      );
      if (again.length === 0) continue;
      // The batches of a cube's metrics are requested for the same periods.
      const byFirstDay = new Map(again.map((window) => [window.first_day, window.periods]));
      const periods = [...byFirstDay.values()].reduce((sum, each) => sum + each, 0);
      const rows = again.reduce((sum, window) => sum + (window.rows_expected ?? 0), 0);
      const what = `${countText(periods, 'period')} with about ${countText(rows, 'row')} will be requested again`;
      const added = metrics.filter((metric) => stored.get(name)?.has(metric) !== true);
      findings.push(
        again.some(({ reasons }) => 'meaning changed' in reasons)
          ? finding('warning', `${CHANGED}: ${what}, ${SERVED}`, hint, place)
          : finding('note', `metrics were added (${namesText(added)}): ${what}`, hint, place),
      );
    } catch (thrown) {
      signal.throwIfAborted();
      const isOfSlice = asFailure(thrown).code === 'CONFIG_INVALID';
      findings.push(findingOf(thrown, isOfSlice ? place : undefined));
    }
  }
  return findings;
}
