/** The ledger of a slice's metrics and the resulting state of each period. */

import * as z from 'zod';

import { MS_PER_DAY } from '../../model/calendar.ts';
import { formatColumnType } from '../../model/column-type.ts';
import { metricFilterNames } from '../../model/catalog.ts';
import { recordOf } from '../../model/maturity.ts';
import { isCertain, type Metric, type SeenAdditivity } from '../../model/metric.ts';
import { ageIn, metricsByAge } from '../../model/cube.ts';
import { tableOf } from '../../model/ledger.ts';
import type { Slice } from '../../model/slice.ts';
import { hasStars, starsOf, withStars } from '../../model/stars.ts';
import { periodRow, readSliceLedger } from '../ledger.ts';
import { cachedReads } from '../cached-reads.ts';
import { insertRows, jsonOf, statement, timestamp } from '../sql.ts';
import type { Warehouse } from '../warehouse.ts';
import type { Target } from './target.ts';

/** Records metrics that changed, and the states of periods if horizons, the settle time or the schedule did. */
export async function recordMetrics(
  warehouse: Warehouse,
  targets: readonly Target[],
): Promise<void> {
  const stored = await Promise.all(
    targets.map(async ({ slice }) => readRecorded(warehouse, slice.name)),
  );
  const changed = targets.flatMap((target, at) => {
    const [before, now] = [stored[at] ?? [], metricRows(target)];
    const isSame = (metric: object, position: number) =>
      Object.entries(metric).every(([name, value]) => before[position]?.[name] === value);
    return before.length === now.length && now.every(isSame) ? [] : [{ target, before, now }];
  });
  if (changed.length === 0) return;
  const names = changed.map(({ target }) => target.slice.name);
  await warehouse.run(statement('ledger/delete_metrics'), [JSON.stringify(names)]);
  const rows = changed.flatMap(({ now }) => now);
  await insertRows(warehouse, 'ripen.slice_metrics', rows);
  const ripeningOf = (metrics: readonly RecordedMetric[]) =>
    metrics
      .map(({ metric, horizon_seconds: horizon, settle_seconds: settle, schedule }) =>
        JSON.stringify([metric, horizon, settle, schedule]),
      )
      .toSorted()
      .join();
  const ripening = changed.filter(({ before, now }) => ripeningOf(before) !== ripeningOf(now));
  const states = await Promise.all(
    ripening.map(async ({ target: { slice, columns, fingerprint } }) => {
      const table = tableOf(await readSliceLedger(warehouse, slice.name), fingerprint);
      return [...metricsByAge(slice, columns.metrics)].flatMap(([age, metrics]) => {
        const periods = age === '' ? table?.periods : table?.ages?.get(age);
        return [...(periods?.values() ?? [])].map((period) =>
          periodRow({ slice: slice.name, fingerprint }, recordOf(period, metrics, slice)),
        );
      });
    }),
  );
  const recorded = states.flat();
  if (recorded.length > 0)
    await warehouse.run(statement('ledger/record_states'), [JSON.stringify(recorded)]);
}

function metricRows({ slice, columns: { metrics } }: Target) {
  const cohorts = new Map(cohortCells(metrics).map((cell) => [cell.id, cell]));
  const ageOf = ageIn(slice);
  return metrics.map(
    ({ id, type, kind, horizonFrom, additive, additivity, horizonMs, comparableMs }, position) => {
      const { name = null, ageDays = null } = cohorts.get(id) ?? {};
      return {
        slice: slice.name,
        metric: id,
        position,
        type: formatColumnType(type),
        kind,
        horizon_from: horizonFrom,
        additive,
        additivity,
        horizon_seconds: horizonMs === null ? null : horizonMs / 1000,
        settle_seconds: slice.settleMs / 1000,
        schedule: JSON.stringify([slice.refresh, slice.lifetimeMs]),
        comparable_seconds: comparableMs === null ? null : comparableMs / 1000,
        cohort_metric: name,
        age_days: ageDays,
        age: ageOf(id),
      };
    },
  );
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

const recordedMetric = z.looseObject({
  metric: z.string(),
  kind: z.string(),
  horizon_seconds: z.number().nullable(),
  settle_seconds: z.number(),
  schedule: z.string(),
});

type RecordedMetric = z.infer<typeof recordedMetric>;

const recordedRow = z.object({ slice: z.string(), metrics: jsonOf(z.array(recordedMetric)) });

const readRecorded = cachedReads(
  async (warehouse, slices): Promise<Map<string, RecordedMetric[]>> => {
    const names = [JSON.stringify(slices)];
    const rows = await warehouse.rows(statement('ledger/recorded_metrics'), names, recordedRow);
    const recorded = new Map(rows.map(({ slice, metrics }) => [slice, metrics]));
    return new Map(slices.map((slice) => [slice, recorded.get(slice) ?? []]));
  },
);

export async function loadedMetrics(
  warehouse: Warehouse,
  slice: string,
): Promise<ReadonlySet<string>> {
  return new Set((await readRecorded(warehouse, slice)).map(({ metric }) => metric));
}

export async function recordedUnknown(
  warehouse: Warehouse,
  slice: string,
): Promise<ReadonlySet<string>> {
  const recorded = await readRecorded(warehouse, slice);
  return new Set(recorded.filter(({ kind }) => kind === 'unknown').map(({ metric }) => metric));
}

const additivityRow = z.object({ slice: z.string(), metric: z.string(), adds_up: z.boolean() });

export const readAdditivity = cachedReads(
  async (warehouse, slices): Promise<Map<string, SeenAdditivity>> => {
    const names = [JSON.stringify(slices)];
    const rows = await warehouse.rows(statement('ledger/additivity'), names, additivityRow);
    const bySlice = new Map(slices.map((slice) => [slice, new Map<string, boolean>()]));
    for (const { slice, metric, adds_up: addsUp } of rows) bySlice.get(slice)?.set(metric, addsUp);
    return bySlice;
  },
);

export async function saveAdditivity(
  warehouse: Warehouse,
  target: Target,
  seen: { readonly notAdditive: readonly string[]; readonly addsUp: readonly string[] },
  seenAt: Date,
): Promise<Target> {
  const { name: slice } = target.slice;
  const rows: object[] = [];
  const metrics = target.columns.metrics.map((metric): Metric => {
    const { id, additivity } = metric;
    const isDenied = seen.notAdditive.includes(id) && !isCertain(metric);
    const isConfirmed = additivity === 'assumed' && seen.addsUp.includes(id);
    if (!isDenied && !isConfirmed) return metric;
    rows.push({ slice, metric: id, adds_up: !isDenied, seen_at: timestamp(seenAt) });
    return { ...metric, additive: !isDenied, additivity: 'seen' };
  });
  if (rows.length === 0) return target;
  await insertRows(warehouse, 'ripen_internal.additivity', rows);
  await warehouse.run(statement('ledger/apply_additivity'), [slice, JSON.stringify(rows)]);
  return { ...target, columns: { ...target.columns, metrics } };
}

/** Words the warning `METRIC_REFUSED`, by which later runs know the metric. */
export const refusedText = (metric: string): string =>
  `The service lists ${metric}, and refuses reports with it. Only a pattern of the slice stands for it, so that it is left out.`;

const REFUSED_DAYS = 30;

const refusedRow = z.object({
  slice: z.string(),
  message: z.string(),
  loaded: z.array(z.string()),
});

const listedRow = z.object({ id: z.string() }).transform(({ id }) => id);

export async function listedMetrics(warehouse: Warehouse): Promise<string[]> {
  const filters = [JSON.stringify(metricFilterNames)];
  return warehouse.rows(statement('status/listed_metrics'), filters, listedRow);
}

/** Returns slices with what their stars stand for at an instant: listed metrics but for those that the service refused. */
export async function starredAt(
  warehouse: Warehouse | null,
  slices: readonly Slice[],
  listed: readonly string[],
  at: Date,
) {
  const since = timestamp(new Date(at.getTime() - REFUSED_DAYS * MS_PER_DAY));
  const refused =
    warehouse === null || !slices.some(hasStars)
      ? []
      : await warehouse.rows(statement('ledger/refused_metrics'), [since], refusedRow);
  return Promise.all(
    slices.map(async (slice) => {
      if (!hasStars(slice)) return { slice, stars: [] };
      const ofSlice = refused.filter((row) => row.slice === slice.name);
      const metricIds = listed.filter((id) =>
        ofSlice.every(({ message, loaded }) => loaded.includes(id) || message !== refusedText(id)),
      );
      const loaded = warehouse === null ? undefined : await loadedMetrics(warehouse, slice.name);
      const stars = starsOf(slice, metricIds, loaded);
      return { slice: withStars(slice, stars), stars };
    }),
  );
}
