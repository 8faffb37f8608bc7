/**
 * The warehouse held against the configuration: whether it can be used, what it keeps unasked, what a change will cost.
 */

import * as z from 'zod';

import type { Config } from '../config/config.ts';
import type { StatedSettings } from '../config/stated-settings.ts';
import { asFailure } from '../errors.ts';
import { refusalOf } from '../load/slice-table.ts';
import { liveTable } from '../load/target.ts';
import { keepWide } from '../load/target.ts';
import { meet } from '../model/calendar.ts';
import { capacityOf, formatColumnType, parseColumnType, widen } from '../model/column-type.ts';
import { coverageOf } from '../model/coverage.ts';
import { differInHeadersOnly, fingerprintOf } from '../model/fingerprint.ts';
import { carries, heldPeriods, tableOf, weekStartOf } from '../model/ledger.ts';
import type { LoadedPeriod, SliceLedger, SliceTable } from '../model/ledger.ts';
import type { Slice } from '../model/slice.ts';
import { refuseOccupant, visitorOf, type Visitor } from '../publish/occupants.ts';
import { countText } from '../terminal/measure.ts';
import { readSliceLedger } from '../warehouse/ledger.ts';
import { warehouseExists, withWarehouse } from '../warehouse/opening.ts';
import { heldColumnTypes, count, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { pathOf } from './checked-slice.ts';
import { type Finding, findingOf, placed, type Remark } from './finding.ts';

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
): Promise<Finding[]> {
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
      const isNew = ofWarehouse('note', `The warehouse ${path} did not exist yet; the first sync makes it.`);
      return [isNew, ...(await occupants({ own: { path, id: null }, tables: [], signal }))];
    }
    return await withWarehouse(path, { mode: 'read', lockWaitMs: NO_WAIT_MS, emit: () => {} }, async (warehouse) => [
      ...(await unconfiguredFindings(warehouse, slices, stated)),
      ...(await changeFindings(warehouse, slices, { at, stated })),
      ...(await occupants(await visitorOf(warehouse, signal))),
    ]);
  } catch (thrown) {
    signal.throwIfAborted();
    const failure = asFailure(thrown);
    if (failure.code === 'WAREHOUSE_OLDER') {
      return [{ ...ofWarehouse('note', `${failure.message} What it holds was not checked.`), hint: failure.hint }];
    }
    if (failure.code !== 'WAREHOUSE_LOCKED') return [findingOf(failure)];
    return [ofWarehouse('warning', `${failure.message} Its version and what it holds were not checked.`)];
  }
}

function ofWarehouse(severity: Finding['severity'], message: string): Finding {
  return { severity, code: null, slice: null, setting: null, place: null, message, hint: null };
}

const heldRow = z.object({ slice: z.string(), periods: count, rows: count });

async function unconfiguredFindings(
  warehouse: Warehouse,
  slices: readonly Slice[],
  stated: StatedSettings,
): Promise<Finding[]> {
  // One whose name cannot be read may be any of those that are held.
  if (slices.some((_, index) => !stated.isSound(['slices', index, 'name']))) return [];
  const configured = new Set(slices.map(({ name }) => name));
  const held = await warehouse.rows(statement('ledger/held_slices'), [], heldRow);
  return held.filter(({ slice }) => !configured.has(slice)).map(unconfigured);
}

function unconfigured({ slice, periods, rows }: z.output<typeof heldRow>): Finding {
  const held = `${countText(periods, 'period')}, ${countText(rows, 'row')}`;
  const said = ofWarehouse('warning', `it is not configured, but the warehouse keeps its table: ${held}`);
  const hint = `Configure it again under this name, or remove it: \`ripen drop --slice ${slice}\`.`;
  return { ...said, slice, hint };
}

async function changeFindings(
  warehouse: Warehouse,
  slices: readonly Slice[],
  { at, stated }: Pick<Checking, 'at' | 'stated'>,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [index, slice] of slices.entries()) {
    const path = pathOf({ slice, index, stated });
    if (!stated.isSound(path)) continue;
    const ledger = await readSliceLedger(warehouse, slice.name);
    const { live } = ledger;
    const refusal = await refusalOf(warehouse, slice, ledger);
    if (refusal !== null) findings.push(...placed([refused(refusal, path)], slice.name, stated));
    if (live === null) continue;
    // Of a service that cannot be read, nobody knows the headers.
    const isKnown = stated.isSound(['service']) || !differInHeadersOnly(live.fingerprint, fingerprintOf(slice));
    const remarks = [
      ...(refusal === null && isKnown ? changeRemarks(slice, path, { ...ledger, live }, at) : []),
      ...(carries(live.fingerprint, fingerprintOf(slice)) ? await typeRemarks(warehouse, slice, path) : []),
    ];
    findings.push(...placed(remarks, slice.name, stated));
  }
  return findings;
}

function refused(
  { setting, ...why }: Pick<Remark, 'message' | 'hint'> & { readonly setting: string },
  path: Remark['path'],
): Remark {
  return { ...why, severity: 'error', code: 'CONFIG_INVALID', path: [...path, setting] };
}

/** What the next sync asks for again because the slice is another one than was loaded. */
function changeRemarks(slice: Slice, path: Remark['path'], ledger: ServedLedger, at: Date): Remark[] {
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
    const message = `${why}: ${amountOf(wanted)} will be asked for again, beside the table that is served until they are complete`;
    const hint = `\`ripen plan\` shows the windows; the old ${kept} would keep the table.`;
    return [{ severity: 'warning', path, message, hint }];
  }
  const [first] = wanted;
  if (first === undefined) return [];
  const added = slice.metrics.filter((metric) => !first.metrics.includes(metric));
  const message = `metrics were added (${added.join(', ')}): ${amountOf(wanted)} will be asked for again`;
  return [{ severity: 'note', path: [...path, 'metrics'], message, hint: null }];
}

type ServedLedger = SliceLedger & { readonly live: SliceTable };

/** The periods of the live table that the slice still answers for: none that it lets go. */
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

/** A remark for each stated type that its column does not have, nor will have: `path` is the slice's. */
async function typeRemarks(warehouse: Warehouse, slice: Slice, path: Remark['path']): Promise<Remark[]> {
  const existing = await heldColumnTypes(warehouse, liveTable(slice.name), slice.name);
  return Object.entries(slice.types).flatMap(([metric, text]): Remark[] => {
    const stated = parseColumnType(text);
    const has = existing.get(metric);
    if (stated === null || has === undefined) return [];
    const kept = keepWide(stated, has);
    const keptText = formatColumnType(kept);
    if (keptText === formatColumnType(stated)) return [];
    const isHeld = kept.kind !== 'DOUBLE' && stated.kind !== 'DOUBLE' && widen(kept, capacityOf(stated)) === kept;
    const because = isHeld
      ? 'it holds what that would, and what was loaded'
      : 'what was loaded is never turned into a type that may not hold it';
    const message = `the column of ${metric} is not ${text}, as stated, but ${keptText === has ? 'stays' : 'becomes'} ${keptText}: ${because}`;
    const hint = `State ${keptText}, or load the slice anew: \`ripen drop --slice ${slice.name}\`, then \`ripen sync\`.`;
    return [{ severity: isHeld ? 'note' : 'warning', path: [...path, 'types', metric], message, hint }];
  });
}
