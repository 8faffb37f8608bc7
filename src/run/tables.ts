/** The tables of a run's slices. */

import { isDeepStrictEqual } from 'node:util';

import * as z from 'zod';

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { declareViews } from '../insight/views.ts';
import { lostAppsIn } from '../load/lost-apps.ts';
import {
  controlEvidence,
  keptPeriods,
  type LostApps,
  mayHaveApp,
  readLostApps,
  rowsOfLost,
} from '../warehouse/tables/lost-apps.ts';
import { recordedUnknown, starredAt } from '../warehouse/tables/slice-metrics.ts';
import { deleteOld, prepareTables, swapTables } from '../warehouse/tables/slice-table.ts';
import { liveTable, type Target } from '../warehouse/tables/target.ts';
import { unionOf } from '../model/calendar.ts';
import type { Catalog } from '../model/catalog.ts';
import { dateDimensions } from '../model/dimension.ts';
import { countText, namesText } from '../model/measure.ts';
import { isMetricItem, unknownFormsText } from '../model/metric.ts';
import { headersIn, type Slice } from '../model/slice.ts';
import { sliceRefusal } from '../model/slice-refusal.ts';
import { twinsText } from '../model/stars.ts';
import { planSlice, type SlicePlan } from '../plan/plan.ts';
import { acceptanceText, guardedPeriods, swapBlockedBy } from '../plan/swap.ts';
import { fail, type Run, type RunRequest, warn } from './run.ts';
import type { Targets } from './source.ts';
import { refreshJoins } from '../account/joins.ts';
import { completePartners } from '../account/refresh-partners.ts';
import { storedRows } from '../account/replace-rows.ts';
import { reportMoved } from './controls.ts';
import { boundedCost, DEFAULT_COST } from '../plan/cover.ts';
import { readRequestCosts, readSliceLedger } from '../warehouse/ledger.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import {
  count,
  dayShape,
  identifier,
  jsonOf,
  statement,
  storedColumnTypes,
} from '../warehouse/sql.ts';

/** Replaces stars by the catalog's metrics. Leaves out, and calls `refuse` with, what cannot be loaded as configured. */
export async function loadableSlices(
  { warehouse, planAt }: Pick<Run, 'warehouse' | 'planAt'>,
  slices: readonly Slice[],
  catalog: Catalog,
  refuse: (slice: string, failure: Failure) => void,
) {
  const loadable = slices.filter((slice) => {
    const refusal = sliceRefusal(slice, catalog);
    if (refusal === null) return true;
    const message = `slice ${slice.name}: ${refusal.message}.`;
    refuse(slice.name, new Failure('CONFIG_INVALID', message, refusal));
    return false;
  });
  const listed = catalog.filter(isMetricItem).map(({ id }) => id);
  return starredAt(warehouse, loadable, listed, planAt);
}

export async function starredSlices(
  run: Run,
  slices: readonly Slice[],
  catalog: Catalog,
): Promise<Slice[]> {
  const starred = await loadableSlices(run, slices, catalog, (slice, failure) =>
    fail(failure, slice, run),
  );
  return starred.map(({ slice, stars }) => {
    const twins = twinsText(stars);
    if (twins !== null) warn('METRIC_CASE_TWIN', `${twins}.`, slice.name, run);
    return slice;
  });
}

export async function prepareTargets(
  run: Run,
  slices: readonly Slice[],
  catalog: Catalog,
  targets: Targets,
): Promise<void> {
  const recorded = await Promise.all(
    slices.map(async ({ name }) => recordedUnknown(run.warehouse, name)),
  );
  const prepared = await prepareTables(run.warehouse, slices, catalog, run.runId);
  for (const [at, slice] of slices.entries()) {
    const target = prepared.get(slice.name);
    if (target === undefined || target instanceof Failure) {
      targets.delete(slice.name);
      if (target !== undefined) fail(target, slice.name, run);
      continue;
    }
    targets.set(slice.name, target);
    // Only the first run that has a metric in its slice warns of it.
    const added = target.columns.metrics.filter(({ id }) => recorded[at]?.has(id) === false);
    const message = unknownFormsText(added, slice);
    if (message !== null) warn('METRIC_FORM_UNKNOWN', `${message}.`, slice.name, run);
  }
}

export async function plannedSlices(
  { controlMs }: Pick<Config, 'controlMs'>,
  warehouse: Warehouse,
  slices: readonly Pick<SlicePlan, 'slice' | 'metrics'>[],
  { planAt, forced }: Pick<Run, 'planAt'> & Pick<RunRequest, 'forced'>,
) {
  const named = slices.map(({ slice }) => slice);
  const keptBySlice = await keptPeriods(warehouse, named, await readLostApps(warehouse));
  const evidence = await controlEvidence({ controlMs }, warehouse, named, planAt, keptBySlice);
  const costs = await readRequestCosts(warehouse);
  const cost = costs === null ? DEFAULT_COST : boundedCost(costs.base, costs.row);
  return Promise.all(
    slices.map(async ({ slice, metrics }) => {
      const ledger = await readSliceLedger(warehouse, slice.name);
      const control = evidence.get(slice.name);
      const kept = keptBySlice.get(slice.name);
      const plan = planSlice({ slice, metrics, ledger, planAt, forced, control, kept, cost });
      return { plan, ledger, control };
    }),
  );
}

export async function planTargets(run: Run, targets: readonly Target[]): Promise<SlicePlan[]> {
  const { config, request, warehouse, planAt } = run;
  const slices = targets.map(({ slice, columns }) => ({ slice, metrics: columns.metrics }));
  // What a replay loads is no news of the service.
  const controlMs = request.command === 'replay' ? null : config.controlMs;
  const range = { planAt, forced: request.forced };
  const planned = await plannedSlices({ controlMs }, warehouse, slices, range);
  for (const { plan, control } of planned)
    if (control !== undefined) await reportMoved(run, plan, control);
  return planned.map(({ plan }) => plan);
}

/** Gives tables the types of a catalog that came after they were prepared. Answers are read into them meanwhile. */
export async function adoptCatalog(run: Run, targets: Targets, catalog: Catalog): Promise<void> {
  const stale = [...targets.values()].filter((target) => target.catalog !== catalog);
  const slices = stale.map(({ slice }) => slice);
  await prepareTargets(run, slices, catalog, targets);
}

/** Returns the tables after the loads. A table may have been swapped, or loads may have shown which of its metrics add up. */
export async function currentTargets(
  run: Run,
  targets: Targets,
  before: Targets,
  lost: LostApps,
): Promise<Target[]> {
  const changed: Slice[] = [];
  for (const target of targets.values()) {
    const { slice, state, columns } = target;
    if (state === 'building') await swapIfComplete(run, target, lost);
    if (state === 'building' || !isDeepStrictEqual(before.get(slice.name)?.columns, columns))
      changed.push(slice);
  }
  const [first] = targets.values();
  if (first === undefined) return [];
  const prepared = await prepareTables(run.warehouse, changed, first.catalog, run.runId);
  for (const [name, target] of prepared) {
    if (target instanceof Failure) throw target;
    targets.set(name, target);
  }
  return [...targets.values()];
}

/** Updates the views of live tables: a rebuilt one lacks them if the run ended before it was measured. */
export async function declareLive({ warehouse }: Run, targets: Targets): Promise<void> {
  const live = [...targets.values()].filter(({ state }) => state === 'live');
  await warehouse.transact(async () => declareViews(warehouse, live));
}

/** With the columns and the grain of its live table, whose meaning may be another. */
async function asLive(warehouse: Warehouse, slice: Slice): Promise<Slice> {
  const stored = await storedColumnTypes(warehouse, liveTable(slice.name), slice.name);
  const grain = dateDimensions.find((name) => stored.has(name)) ?? null;
  return { ...slice, dimensions: [...stored.keys()], grain, metrics: [] };
}

const parametersRow = z
  .object({ parameters: jsonOf(z.record(z.string(), z.string())) })
  .transform(({ parameters }) => parameters);

const startRow = z.object({ start_day: dayShape }).transform(({ start_day: start }) => start);

const acceptedRow = z
  .object({ start_day: dayShape, end_day: dayShape })
  .transform(({ start_day: start, end_day: end }) => ({ start, end }));

/** Swaps a complete new table in, or warns why not yet: nothing can fetch rows of a lost app again. */
async function swapIfComplete(run: Run, target: Target, lost: LostApps) {
  const { slice } = target;
  const { warehouse, planAt, request } = run;
  const ledger = await readSliceLedger(warehouse, slice.name);
  const { live } = ledger;
  const key = [slice.name, target.fingerprint];
  if (request.acceptLoss) await warehouse.run(statement('load/accept_loss'), [...key, run.runId]);
  const accepted = await warehouse.rows(statement('load/accepted_days'), key, acceptedRow);
  const of = [slice.name, live?.fingerprint ?? ''];
  const requested = await warehouse.rows(statement('ledger/parameters'), of, parametersRow);
  const swap = { slice, ledger, planAt, requested, accepted };
  let reason = swapBlockedBy(swap);
  // Of an app that the new table is not to have, nothing is lost.
  const isSameAccount = headersIn(live?.fingerprint ?? '') === headersIn(target.fingerprint);
  const wanted = [...lost].filter(([token]) => isSameAccount && mayHaveApp(slice, token));
  if (reason === null && live !== null && wanted.length > 0) {
    const table = liveTable(slice.name);
    const old = await asLive(warehouse, slice);
    const { grain } = old;
    const guarded = guardedPeriods(swap);
    const inside = unionOf(guarded.map(({ bucket }) => bucket));
    const missed: LostApps = new Map(wanted);
    const apps = await lostAppsIn(warehouse, { ...live, slice: old, table }, missed, inside);
    if (apps.length > 0) {
      const condition = rowsOfLost(missed, old) ?? 'false';
      const sql = `select distinct ${identifier(grain ?? '')}::date as start_day from ${table} where ${condition}`;
      const starts = grain === null ? [] : await warehouse.rows(sql, [], startRow);
      const ofApps = guarded.filter(({ bucket }) => starts.includes(bucket.start));
      const advice = acceptanceText(slice, ofApps.length > 0 ? ofApps : guarded);
      reason = `the apps ${apps.join(', ')} are no longer listed, and only the old one has their values; if these may go, ${advice}`;
    }
  }
  if (reason === null) await swapTables(warehouse, target, run.runId);
  if (reason === null || live === null) return;
  const message = `The new definition is not complete yet: ${reason}. Readers still see the old table, which is no longer refreshed.`;
  warn('MEANING_HELD_BACK', message, slice.name, run);
}

/** Deletes what `retain` no longer keeps, also of the table that readers see until a new one is complete. */
export async function deleteOldPeriods(run: Run, targets: readonly Target[]): Promise<void> {
  const { warehouse, planAt, emit } = run;
  for (const target of targets) {
    const { slice, state } = target;
    const tables = [target];
    if (state === 'building' && slice.retainDays !== null) {
      const { live } = await readSliceLedger(warehouse, slice.name);
      if (live !== null) {
        const [old, table] = [await asLive(warehouse, slice), liveTable(slice.name)];
        tables.push({ ...target, slice: old, state: 'live', fingerprint: live.fingerprint, table });
      }
    }
    for (const table of tables) {
      const deleted = await deleteOld(warehouse, table, planAt);
      if (deleted !== null) emit({ type: 'periods_deleted', slice: slice.name, ...deleted });
    }
  }
}

const changedRow = z.object({
  slice: z.string(),
  metrics: z.array(z.string()),
  totals: count,
  periods: count,
  newest: z.array(z.string()),
  horizon_days: z.number(),
  last_age: count,
});

/** Warns, once a slice, of changed final totals that this run found, or runs that ended before they could warn. */
export async function warnOfChangedFinals(run: Run): Promise<void> {
  const sql = statement('insight/changed_after_final');
  const changed = await run.warehouse.rows(sql, [], changedRow);
  for (const { slice, metrics, totals, periods, newest, horizon_days, last_age } of changed) {
    const days = newest.join(', ') + (periods > newest.length ? ', …' : '');
    const horizons = metrics.length === 1 ? 'the horizon of' : 'horizons of up to';
    const message = `${countText(totals, 'final total')} of ${namesText(metrics)} changed after ${horizons} ${horizon_days}d, the last at age ${last_age} days: ${days}.`;
    warn('FINAL_CHANGED', message, slice, run);
  }
}

export async function warnOfLostApps(
  run: Run,
  targets: readonly Target[],
  lost: LostApps,
): Promise<void> {
  const slices = new Map<string, string[]>();
  for (const target of targets) {
    for (const app of await lostAppsIn(run.warehouse, target, lost))
      slices.set(app, [...(slices.get(app) ?? []), target.slice.name]);
  }
  const named = targets.map(({ slice }) => slice);
  const kept = await keptPeriods(run.warehouse, named, lost);
  const still = [...kept].map(([name, days]) => `${countText(days.size, 'period')} of ${name}`);
  const frozen = still.length === 0 ? '' : ` No app is refreshed in ${still.join(', ')}.`;
  for (const [app, names] of slices) {
    const message = `The app ${app} is no longer listed and has no new rows; its stored values are kept in ${names.join(', ')}.${frozen}`;
    warn('ACCESS_LOST', message, null, run);
  }
}

/** Adds partners that only loaded rows name, and rebuilds the joining views. */
export async function completeDimensions({ config, warehouse, emit, planAt }: Run): Promise<void> {
  if (config.partners) await completePartners(warehouse, planAt);
  const partners = await storedRows(warehouse, 'partners');
  const links = config.links === null ? 0 : await storedRows(warehouse, 'links');
  emit({ type: 'dimensions_stored', partners, links });
  await refreshJoins(warehouse);
}
