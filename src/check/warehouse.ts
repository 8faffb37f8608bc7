/**
 * The warehouse compared with the configuration: whether it can be used, what it keeps unconfigured, what a change will cost.
 */

import { statSync } from 'node:fs';

import * as z from 'zod';

import type { Config } from '../config/config.ts';
import type { StatedSettings } from '../config/read-config.ts';
import { asFailure } from '../errors.ts';
import { refusalOf } from '../load/slice-table.ts';
import { meet } from '../model/calendar.ts';
import { coverageOf } from '../model/coverage.ts';
import { differInHeadersOnly, fingerprintOf } from '../model/fingerprint.ts';
import { carries, heldPeriods, tableOf, weekStartOf } from '../model/ledger.ts';
import type { LoadedPeriod, SliceLedger, SliceTable } from '../model/ledger.ts';
import type { Slice } from '../model/slice.ts';
import { refuseOccupant, visitorOf, type Visitor } from '../publish/occupants.ts';
import { releasedAt } from '../publish/publish.ts';
import { countText, sizeText } from '../terminal/measure.ts';
import { countReleased, readSliceLedger } from '../warehouse/ledger.ts';
import { warehouseExists, withWarehouse } from '../warehouse/opening.ts';
import { count, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { type Finding, finding, findingOf, placed, type Remark } from './finding.ts';
import { pathOf } from './slice.ts';

/** A check does not wait for a nightly run. */
const NO_WAIT_MS = 0;

/** The instant a check plans for, where each setting stands, and what ends the check. */
export interface Checking {
  readonly at: Date;
  readonly stated: StatedSettings;
  readonly signal: AbortSignal;
}

/** What is wrong with the warehouse and with whose copies stand where it publishes, or odd about what it holds. */
export async function warehouseFindings(
  config: Pick<Config, 'warehouse' | 'slices' | 'publish'>,
  { at, stated, signal }: Checking,
): Promise<{ readonly findings: Finding[]; readonly lastRunBytes: number | null }> {
  const { warehouse: path, slices } = config;
  const occupants = async (visitor: Visitor): Promise<Finding[]> => {
    const refusals = config.publish.map(async (target): Promise<Finding[]> => {
      try {
        await refuseOccupant(target, visitor);
        return [];
      } catch (error) {
        const failure = asFailure(error);
        // Whether a store answers is found out apart.
        return failure.code === 'STORAGE_FAILED' && target.kind !== 'duckdb' ? [] : [findingOf(failure)];
      }
    });
    return (await Promise.all(refusals)).flat();
  };
  try {
    if (!warehouseExists(path)) {
      const isNew = finding('works', `the first sync makes ${path}`);
      return {
        findings: [isNew, ...(await occupants({ own: { path, id: null }, tables: [], signal }))],
        lastRunBytes: null,
      };
    }
    return await withWarehouse(path, { mode: 'read', lockWaitMs: NO_WAIT_MS, emit: () => {} }, async (warehouse) => ({
      findings: [
        finding('works', 'warehouse readable'),
        ...(await unconfiguredFindings(warehouse, slices)),
        ...(await changeFindings(warehouse, slices, { at, stated })),
        ...(await occupants(await visitorOf(warehouse, signal))),
        ...(await keeperFindings(config, warehouse, signal)),
      ],
      lastRunBytes: await receivedBytes(warehouse),
    }));
  } catch (thrown) {
    signal.throwIfAborted();
    const failure = asFailure(thrown);
    const isLocked = failure.code === 'WAREHOUSE_LOCKED';
    const locked = finding('warning', `${failure.message} Its version and content were not checked.`);
    return { findings: [isLocked ? locked : findingOf(failure)], lastRunBytes: null };
  }
}

/** How many periods targets with `keep_released` hold that the warehouse deleted, and the size of both. */
async function keeperFindings(
  { publish }: Pick<Config, 'publish'>,
  warehouse: Warehouse,
  signal: AbortSignal,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const target of publish) {
    // A store that does not answer, or is another's, is reported apart.
    const kept = await releasedAt(target, warehouse, signal).catch(() => null);
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

const heldRow = z.object({ slice: z.string(), periods: count, rows: count });

async function unconfiguredFindings(warehouse: Warehouse, slices: readonly Slice[]): Promise<Finding[]> {
  const configured = new Set(slices.map(({ name }) => name));
  const held = await warehouse.rows(statement('ledger/held_slices'), [], heldRow);
  return held.filter(({ slice }) => !configured.has(slice)).map(unconfigured);
}

function unconfigured({ slice, periods, rows }: z.output<typeof heldRow>): Finding {
  const held = `${countText(periods, 'period')}, ${countText(rows, 'row')}`;
  const message = `it is not configured, but the warehouse keeps its table: ${held}`;
  const hint = `Configure it again under this name, or remove it: \`ripen drop --slice ${slice}\`.`;
  return { ...finding('warning', message, hint), slice };
}

async function changeFindings(
  warehouse: Warehouse,
  slices: readonly Slice[],
  { at, stated }: Pick<Checking, 'at' | 'stated'>,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [index, slice] of slices.entries()) {
    const path = pathOf({ index });
    const ledger = await readSliceLedger(warehouse, slice.name);
    const { live } = ledger;
    const refusal = await refusalOf(warehouse, slice, ledger);
    if (refusal !== null) findings.push(...placed([refused(refusal, path)], slice.name, stated));
    if (live === null || refusal !== null) continue;
    const released = await countReleased(warehouse, slice.name);
    findings.push(...placed(changeRemarks({ slice, path, released }, { ...ledger, live }, at), slice.name, stated));
  }
  return findings;
}

function refused(
  { setting, ...why }: Pick<Remark, 'message' | 'hint'> & { readonly setting: string },
  path: Remark['path'],
): Remark {
  return { ...why, severity: 'error', code: 'CONFIG_INVALID', path: [...path, setting] };
}

/** What the next sync requests again because the slice differs from what was loaded. */
function changeRemarks(
  { slice, path, released }: { readonly slice: Slice; readonly path: Remark['path']; readonly released: number },
  ledger: ServedLedger,
  at: Date,
): Remark[] {
  const meaning = fingerprintOf(slice);
  const wanted = servedPeriods(slice, ledger, at).filter(
    (period) => !isHeldWith(slice.metrics, ledger, meaning, period),
  );
  if (!carries(ledger.live.fingerprint, meaning)) {
    const isOfHeaders = differInHeadersOnly(ledger.live.fingerprint, meaning);
    const why = isOfHeaders
      ? 'it was loaded with other `service.headers`, which may be those of another account, or before they were recorded'
      : 'it means something else than what was loaded';
    const kept = isOfHeaders ? 'headers' : 'dimensions, filters, parameters and headers';
    const message = `${why}: ${amountOf(wanted)} will be requested again, beside the table that is served until they are complete${released === 0 ? '' : `; ${countText(released, 'period')} that Delta tables alone hold will go with it then`}`;
    const hint = `\`ripen plan\` shows the windows; the old ${kept} would keep the table.`;
    return [{ severity: 'warning', path, message, hint }];
  }
  const [first] = wanted;
  if (first === undefined) return [];
  const added = slice.metrics.filter((metric) => !first.metrics.includes(metric));
  const message = `metrics were added (${added.join(', ')}): ${amountOf(wanted)} will be requested again`;
  return [{ severity: 'note', path: [...path, 'metrics'], message, hint: null }];
}

type ServedLedger = SliceLedger & { readonly live: SliceTable };

/** The periods of the live table that the slice still covers. */
function servedPeriods(slice: Slice, ledger: ServedLedger, at: Date): LoadedPeriod[] {
  const meaning = fingerprintOf(slice);
  const covered = coverageOf(slice, heldPeriods(ledger, meaning), at, weekStartOf(ledger, meaning));
  if (covered === null) return [];
  const served = [...ledger.live.periods.values()];
  return served.filter(({ asked }) => meet(asked, covered));
}

/** Whether the days of a period are held under a meaning, with all of these metrics. */
function isHeldWith(
  metrics: readonly string[],
  ledger: SliceLedger,
  meaning: string,
  { asked }: LoadedPeriod,
): boolean {
  const held = [...(tableOf(ledger, meaning)?.periods.values() ?? [])];
  return held.some(
    (period) =>
      period.asked.start <= asked.start &&
      asked.end <= period.asked.end &&
      metrics.every((metric) => period.metrics.includes(metric)),
  );
}

function amountOf(periods: readonly LoadedPeriod[]): string {
  const rows = periods.reduce((sum, period) => sum + period.rows, 0);
  return `${countText(periods.length, 'period')} with about ${countText(rows, 'row')}`;
}
