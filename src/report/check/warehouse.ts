/** Checks the warehouse and the places a run writes to, without writing. */

import { existsSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { Config } from '../../config/config.ts';
import { asFailure, type Failure } from '../../errors.ts';
import { timeoutSignal } from '../../model/duration.ts';
import { auditProblems } from '../../publish/audits.ts';
import { assertOwnTarget, copyAt } from '../../publish/copies.ts';
import { publisherOf } from '../../publish/places/database.ts';
import { unwritablePlaces } from '../../publish/places/destinations.ts';
import type { Publisher } from '../../publish/copy.ts';
import { explainPlan } from '../../run/plan-report.ts';
import { removalHint, UNCONFIGURED } from '../status/health.ts';
import { readUnconfigured } from '../status/status.ts';
import { MIN_FREE_BYTES } from '../terminal/failure-text.ts';
import { countText, namesText, sizeText, sumOf } from '../../model/measure.ts';
import { inTemporaryFolder } from '../../warehouse/directories.ts';
import { warehouseExists, withWarehouse } from '../../warehouse/opening.ts';
import { loadedMetrics } from '../../warehouse/tables/slice-metrics.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { type Checking, type Finding, finding, findingOf, placeOf } from './finding.ts';

const STORE_PATIENCE_MS = 10_000;
/** A check does not wait for a run of the night. */
const opening = { lockWaitMs: 0, emit: () => {} } as const;

export const reading = async <T>(
  path: string,
  use: (warehouse: Warehouse | null) => Promise<T>,
): Promise<T> =>
  warehouseExists(path) ? withWarehouse(path, { ...opening, mode: 'read' }, use) : use(null);

export async function placeFindings(config: Config, checking: Checking): Promise<Finding[]> {
  const findings = (await unwritablePlaces(config)).map((failure) => findingOf(failure));
  findings.push(...(await warehouseFindings(config, checking)));
  let folder = dirname(config.warehouse);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  const disk = await statfs(folder).catch(() => null);
  if (disk === null) {
    const untried = `the free space at ${folder}, which could not be read`;
    return [...findings, finding('untried', untried)];
  }
  const free = disk.bavail * disk.bsize;
  // Audits are asked of a copy.
  const isCopied = config.audits.length > 0 && existsSync(config.warehouse);
  const needed = MIN_FREE_BYTES + (isCopied ? statSync(config.warehouse).size : 0);
  const message = `The disk of ${folder} had ${sizeText(free)} free; a run needs ${sizeText(needed)}`;
  const space =
    free < needed
      ? finding('STORAGE_FAILED', message, `Free space on the disk of ${folder}.`)
      : finding('works', `${sizeText(free)} free`);
  return [...findings, space];
}

export async function warehouseFindings(config: Config, checking: Checking): Promise<Finding[]> {
  const { warehouse: path, publish, slices } = config;
  const { signal } = checking;
  try {
    if (!warehouseExists(path)) {
      const publisher = { path, id: null, publishes: [] };
      return [
        finding('works', `the first sync creates ${path}`),
        ...(await occupantFindings(publish, publisher, signal)),
        ...(await auditFindings(config, checking)),
      ];
    }
    const findings = [finding('works', 'warehouse readable')];
    const added = await withWarehouse(path, { ...opening, mode: 'read' }, async (warehouse) => {
      for (const slice of await readUnconfigured(warehouse, slices)) {
        const message = `it ${UNCONFIGURED}`;
        findings.push(finding('warning', message, removalHint(slice), { slice }));
      }
      const publisher = await publisherOf(warehouse, path);
      findings.push(...(await occupantFindings(publish, publisher, signal)));
      const ofSlices = slices.map(async ({ name, metrics }) => {
        const loaded = await loadedMetrics(warehouse, name);
        return [name, metrics.filter((metric) => !loaded.has(metric))] as const;
      });
      return new Map(await Promise.all(ofSlices));
    });
    findings.push(...(await changeFindings(config, checking, added)));
    return [...findings, ...(await auditFindings(config, checking))];
  } catch (thrown) {
    signal.throwIfAborted();
    const { code, message } = asFailure(thrown);
    if (code !== 'WAREHOUSE_LOCKED') return [findingOf(thrown)];
    return [finding('warning', `${message} Its version and content were not checked.`)];
  }
}

async function auditFindings({ audits, slices, warehouse }: Config, { stated, signal }: Checking) {
  if (audits.length === 0) return [];
  const problemsIn = async (path: string) => auditProblems({ audits, slices }, path, signal);
  const problems = warehouseExists(warehouse)
    ? await problemsIn(warehouse)
    : await inTemporaryFolder(async (folder) => {
        const empty = join(folder, 'warehouse.duckdb');
        await withWarehouse(empty, { ...opening, mode: 'write' }, async () => {});
        return problemsIn(empty);
      });
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

async function occupantFindings(publish: Config['publish'], own: Publisher, signal: AbortSignal) {
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

/** `added` are the metrics that are not stored, by slice. */
async function changeFindings(
  config: Config,
  { at: planAt, stated, signal }: Checking,
  added: ReadonlyMap<string, readonly string[]>,
) {
  const hint = '`ripen plan` shows the windows.';
  const findings: Finding[] = [];
  const placeAt = (slice: string) => {
    const index = config.slices.findIndex(({ name }) => name === slice);
    return placeOf(stated, ['slices', index], slice);
  };
  const refuse = (slice: string, failure: Failure) => {
    const place = failure.code === 'CONFIG_INVALID' ? placeAt(slice) : undefined;
    findings.push(findingOf(failure, place));
  };
  try {
    const request = { ...opening, planAt, slices: null, signal, refuse };
    const { slices } = await explainPlan(config, request);
    for (const { name, windows } of slices) {
      const again = windows.filter(
        ({ reasons }) => 'meaning changed' in reasons || 'metric added' in reasons,
      );
      if (again.length === 0) continue;
      // The batches of a cube's metrics are requested for the same periods.
      const byFirstDay = new Map(again.map((window) => [window.first_day, window.periods]));
      const periods = sumOf(byFirstDay.values());
      const rows = sumOf(again.map((window) => window.rows_expected ?? 0));
      const what = `${countText(periods, 'period')} with about ${countText(rows, 'row')} will be requested again`;
      const isChanged = again.some(({ reasons }) => 'meaning changed' in reasons);
      const message = isChanged
        ? `dimensions, filters, parameters or \`service.headers\` are not those it was loaded with: ${what}, beside the table that is served until they are complete`
        : `metrics were added (${namesText(added.get(name) ?? [])}): ${what}`;
      findings.push(finding(isChanged ? 'warning' : 'note', message, hint, placeAt(name)));
    }
  } catch (thrown) {
    signal.throwIfAborted();
    findings.push(findingOf(thrown));
  }
  return findings;
}
