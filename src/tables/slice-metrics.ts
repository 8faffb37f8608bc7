/** The ledger of a slice's metrics: types, horizons, whether values add up, and the resulting state of each period. */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import { formatColumnType } from '../model/column-type.ts';
import { nextRefreshAt, stateOf } from '../model/maturity.ts';
import type { Metric, SeenAdditivity } from '../model/metric.ts';
import { ageIn, metricsByAge } from '../model/cube.ts';
import { tableOf } from '../model/ledger.ts';
import type { Window } from '../model/window.ts';
import { readSliceLedger } from '../warehouse/ledger.ts';
import { rememberingEach } from '../warehouse/remembering.ts';
import { dayShape, insertRows, statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Target } from './target.ts';

/** Records a slice's metrics if they changed, and the periods' states if horizons or the settle time did; makes none due. */
export async function recordMetrics(warehouse: Warehouse, target: Target): Promise<void> {
  const { slice } = target;
  const { metrics } = target.columns;
  const settleSeconds = slice.settleMs / 1000;
  const cohorts = new Map(cohortCells(metrics).map((cell) => [cell.id, cell]));
  const ageOf = ageIn(slice);
  const now = metrics.map((metric, position): RecordedMetric => {
    return {
      metric: metric.id,
      position,
      type: formatColumnType(metric.type),
      kind: metric.kind,
      horizon_from: metric.horizonFrom,
      additive: metric.additive,
      additivity: metric.additivity,
      horizon_seconds: metric.horizonMs === null ? null : metric.horizonMs / 1000,
      settle_seconds: settleSeconds,
      cohort_metric: cohorts.get(metric.id)?.name ?? null,
      age_days: cohorts.get(metric.id)?.ageDays ?? null,
      age: ageOf(metric.id),
    };
  });
  const before = await readRecorded(warehouse, slice.name);
  // Both have their keys in the order of the shape.
  if (JSON.stringify(before) === JSON.stringify(now)) return;
  await warehouse.run(statement('ledger/delete_metrics'), [slice.name]);
  const rows = now.map((metric) => ({ slice: slice.name, ...metric }));
  await insertRows(warehouse, 'ripen.slice_metrics', rows);
  if (ripeningOf(before) !== ripeningOf(now)) await recordStates(warehouse, target);
}

/** The metrics with an age, named without it. If two share name and days, as `d7` and `w1`, the later keeps its unit. */
export function cohortCells(metrics: readonly Metric[]) {
  const taken = new Set<string>();
  return metrics.flatMap(({ id, horizonMs, cohort, type }) => {
    if (cohort === null) return [];
    const { name, unit, days } = cohort;
    const isTaken = taken.has(`${name} ${days}`);
    taken.add(`${name} ${days}`);
    return [{ id, horizonMs, type, name: isTaken ? `${name}_${unit}` : name, ageDays: days }];
  });
}

/** A text that is equal for metrics with equal horizons and settle times. */
const ripeningOf = (metrics: readonly RecordedMetric[]): string =>
  metrics
    .map((each) => JSON.stringify([each.metric, each.horizon_seconds, each.settle_seconds]))
    .toSorted()
    .join();

const recordedRow = z.object({ slice: z.string(), metrics: z.string() });
const recordedMetric = z.object({
  metric: z.string(),
  position: z.number(),
  type: z.string(),
  kind: z.string(),
  horizon_from: z.string(),
  additive: z.boolean(),
  additivity: z.string(),
  horizon_seconds: z.number().nullable(),
  settle_seconds: z.number(),
  cohort_metric: z.string().nullable(),
  age_days: z.number().nullable(),
  age: z.string(),
});

type RecordedMetric = z.infer<typeof recordedMetric>;

/** The metrics of a slice as last recorded, in order; read once between two changes. */
const readRecorded = rememberingEach(
  async (warehouse, slices): Promise<Map<string, RecordedMetric[]>> => {
    const rows = await warehouse.rows(
      statement('ledger/recorded_metrics'),
      [JSON.stringify(slices)],
      recordedRow,
    );
    const found = new Map(
      rows.map(({ slice, metrics }) => [slice, z.array(recordedMetric).parse(JSON.parse(metrics))]),
    );
    return new Map(slices.map((slice) => [slice, found.get(slice) ?? []]));
  },
);

/** Returns the metrics that a slice's table has, as last recorded. */
export async function loadedMetrics(
  warehouse: Warehouse,
  slice: string,
): Promise<ReadonlySet<string>> {
  return new Set((await readRecorded(warehouse, slice)).map(({ metric }) => metric));
}

/** The metrics of a slice that were last recorded as having no documented form. */
export async function recordedUnknown(
  warehouse: Warehouse,
  slice: string,
): Promise<ReadonlySet<string>> {
  const recorded = await readRecorded(warehouse, slice);
  return new Set(recorded.filter(({ kind }) => kind === 'unknown').map(({ metric }) => metric));
}

const overdueRow = z.object({
  slice: z.string(),
  fingerprint: z.string(),
  start_day: dayShape,
  age: z.string(),
});

/** Records a later refresh of overdue periods that are not requested now: other ages have become worth a request since then. */
export async function recordPostponed(
  warehouse: Warehouse,
  planned: readonly { readonly target: Target; readonly windows: readonly Window[] }[],
  planAt: Date,
): Promise<void> {
  const overdue = await warehouse.rows(
    'select slice, fingerprint, start_day, age from ripen.periods where next_refresh_at <= $1::timestamp',
    [timestamp(planAt)],
    overdueRow,
  );
  const byTable = new Map<string, string[]>();
  for (const { slice, fingerprint, start_day: start, age } of overdue) {
    const key = `${slice} ${fingerprint}`;
    byTable.set(key, [...(byTable.get(key) ?? []), `${start} ${age}`]);
  }
  for (const { target, windows } of planned) {
    const cells = byTable.get(`${target.slice.name} ${target.fingerprint}`) ?? [];
    const due = new Set(windows.flatMap(cellsIn));
    const postponed = new Set(cells.filter((cell) => !due.has(cell)));
    if (postponed.size > 0)
      await recordStates(warehouse, target, (start, age) => postponed.has(`${start} ${age}`));
  }
}

function cellsIn({ slice, periods }: Window): string[] {
  const ages = [...new Set(slice.metrics.map(ageIn(slice)))];
  return periods.flatMap(({ period: { bucket } }) => ages.map((age) => `${bucket.start} ${age}`));
}

async function recordStates(
  warehouse: Warehouse,
  { slice, columns, fingerprint }: Target,
  isMeant: (start: Day, age: string) => boolean = () => true,
): Promise<void> {
  const table = tableOf(await readSliceLedger(warehouse, slice.name), fingerprint);
  const states = [...metricsByAge(slice, columns.metrics)].flatMap(([age, some]) => {
    const periods = age === '' ? table?.periods : table?.ages?.get(age);
    const meant = [...(periods?.values() ?? [])].filter(({ bucket }) => isMeant(bucket.start, age));
    return meant.map((stored) => {
      const next = nextRefreshAt(stored, some, slice, stored);
      return {
        age,
        start_day: stored.bucket.start,
        state: stateOf(stored, some, slice, stored),
        next_refresh_at: next === null ? null : timestamp(next),
      };
    });
  });
  if (states.length === 0) return;
  await warehouse.run(statement('ledger/record_states'), [
    slice.name,
    fingerprint,
    JSON.stringify(states),
  ]);
}

const additivityRow = z.object({ slice: z.string(), metric: z.string(), adds_up: z.boolean() });

/** Whether the rows of a slice's assumed metrics were seen to add up; read once between two changes. */
export const readAdditivity = rememberingEach(
  async (warehouse, slices): Promise<Map<string, SeenAdditivity>> => {
    const rows = await warehouse.rows(
      statement('ledger/additivity'),
      [JSON.stringify(slices)],
      additivityRow,
    );
    const of = (slice: string): SeenAdditivity =>
      new Map(rows.filter((row) => row.slice === slice).map((row) => [row.metric, row.adds_up]));
    return new Map(slices.map((slice) => [slice, of(slice)]));
  },
);

/**
 * Records whether an answer's rows of assumed metrics added up; returns the target with that knowledge. A metric that did not
 * add up once is no longer summed, even if it had added up before.
 */
export async function saveAdditivity(
  warehouse: Warehouse,
  target: Target,
  {
    notAdditive,
    addsUp,
  }: { readonly notAdditive: readonly string[]; readonly addsUp: readonly string[] },
  seenAt: Date,
): Promise<Target> {
  const seen = new Map([
    ...addsUp.map((id) => [id, true] as const),
    ...notAdditive.map((id) => [id, false] as const),
  ]);
  const assumed = target.columns.metrics.filter(
    ({ id, additivity }) =>
      (additivity === 'assumed' && seen.has(id)) ||
      (additivity === 'seen' && seen.get(id) === false),
  );
  if (assumed.length === 0) return target;
  const learned = new Map(assumed.map(({ id }) => [id, seen.get(id) === true]));
  const { name } = target.slice;
  const rows = [...learned].map(([metric, addsUp]) => {
    return { slice: name, metric, adds_up: addsUp, seen_at: timestamp(seenAt) };
  });
  await insertRows(warehouse, 'ripen_internal.additivity', rows);
  await warehouse.run(statement('ledger/apply_additivity'), [name, JSON.stringify(rows)]);
  const metrics = target.columns.metrics.map((metric) => {
    const additive = learned.get(metric.id);
    return additive === undefined ? metric : ({ ...metric, additive, additivity: 'seen' } as const);
  });
  return { ...target, columns: { ...target.columns, metrics } };
}
