/** What the warehouse remembers of metrics from one run to the next: the longest horizons, and what was seen to add up. */

import * as z from 'zod';

import type { Metric, RememberedMetrics } from '../model/metric.ts';
import { longerHorizon } from '../model/metric.ts';
import { remembering } from '../warehouse/remembering.ts';
import { count, timestamp } from '../warehouse/shapes.ts';
import { statement } from '../warehouse/statements.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Target } from './target.ts';

const horizonRow = z.object({ metric: z.string(), horizon_seconds: count.nullable() });
const additivityRow = z.object({ metric: z.string(), adds_up: z.boolean() });

const readHorizons = remembering((warehouse) => warehouse.rows(statement('ledger/metric_horizons'), [], horizonRow));

/** What is remembered of the metrics of a slice; read once between two changes. */
export const readRemembered = remembering(async (warehouse, slice): Promise<RememberedMetrics> => {
  const horizons = await readHorizons(warehouse, '');
  const addsUp = await warehouse.rows(statement('ledger/additivity'), [slice], additivityRow);
  return {
    horizons: new Map(
      horizons.map(({ metric, horizon_seconds: seconds }) => [metric, seconds === null ? null : seconds * 1000]),
    ),
    addsUp: new Map(addsUp.map((row) => [row.metric, row.adds_up])),
  };
});

/** Remembers the horizons the catalog gives metrics where they are longer than what is remembered. */
export async function rememberHorizons(
  warehouse: Warehouse,
  given: readonly Metric[],
  { horizons }: RememberedMetrics,
): Promise<void> {
  const longer = given.filter(({ id, horizonMs }) => {
    const before = horizons.get(id);
    return before === undefined || longerHorizon(horizonMs, before) !== before;
  });
  if (longer.length === 0) return;
  const rows = longer.map(({ id, horizonMs }) => ({
    metric: id,
    horizon_seconds: horizonMs === null ? null : horizonMs / 1000,
  }));
  await warehouse.run(statement('ledger/forget_horizons'), [JSON.stringify(rows)]);
  await warehouse.run(statement('ledger/remember_horizons'), [JSON.stringify(rows)]);
}

/** Remembers of assumed metrics whether an answer's rows added up; returns the target that follows from it. */
export async function rememberAdditivity(
  warehouse: Warehouse,
  target: Target,
  { notAdditive, addsUp }: { readonly notAdditive: readonly string[]; readonly addsUp: readonly string[] },
  seenAt: Date,
): Promise<Target> {
  const odd = new Set(notAdditive);
  const seen = new Map([
    ...addsUp.filter((id) => !odd.has(id)).map((id) => [id, true] as const),
    ...[...odd].map((id) => [id, false] as const),
  ]);
  const news = target.metrics.filter(({ id, additivity }) => additivity === 'assumed' && seen.has(id));
  if (news.length === 0) return target;
  const rows = news.map(({ id }) => ({ metric: id, adds_up: seen.get(id) === true }));
  await warehouse.run(statement('ledger/remember_additivity'), [
    target.slice.name,
    timestamp(seenAt),
    JSON.stringify(rows),
  ]);
  await warehouse.run(statement('ledger/apply_additivity'), [target.slice.name, JSON.stringify(rows)]);
  const learned = new Map(rows.map((row) => [row.metric, row.adds_up]));
  return {
    ...target,
    metrics: target.metrics.map((metric) =>
      learned.has(metric.id) ? { ...metric, additive: learned.get(metric.id) === true, additivity: 'seen' } : metric,
    ),
    columns: {
      ...target.columns,
      metrics: target.columns.metrics.map((metric) =>
        learned.has(metric.id) ? { ...metric, additive: learned.get(metric.id) === true, isAssumed: false } : metric,
      ),
    },
  };
}
