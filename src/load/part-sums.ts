/** What the metrics of each part of a window add up to, as the rows came: the evidence of the proof. */

import * as z from 'zod';

import type { Window } from '../model/window.ts';
import { count } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Rejects } from './stage.ts';
import { sumParts, sumWindow } from './sums-sql.ts';
import type { MetricColumn, Target } from './target.ts';
import { additiveOf } from './window-sql.ts';

/** A metric of the rows of one part of a window. */
export interface MetricSum {
  readonly metric: string;
  /** Exact sum over the rows, as text; null when no row had a value. */
  readonly sum: string | null;
  /** The same after identical duplicates collapsed. */
  readonly distinctSum: string | null;
  /** Sum of the magnitudes, for the bound below. */
  readonly magnitude: number;
  /** Values other than zero. */
  readonly nonZero: number;
  /** Whether the metric is a count, whatever its column has become: counts must agree exactly. */
  readonly isCount: boolean;
  /** Whether it is only assumed, from its name, that it adds up. */
  readonly isAssumed: boolean;
}

/** The exact sums of the additive metrics of each part of a window, of no rows too. */
export type PartSums = readonly (readonly MetricSum[])[];

/** What sets some windows of a batch apart. */
interface Peculiar {
  /** Rows that are not stored: their values are in the totals too, but for those of metrics whose texts are no numbers. */
  readonly rejects: ReadonlyMap<number, Rejects>;
  /** Windows in which identical rows occur: sums over distinct rows are looked for in these alone. */
  readonly repeating: ReadonlySet<number>;
}

/** By window, the sums of its parts. */
export async function sumsOf(
  warehouse: Warehouse,
  target: Target,
  windows: ReadonlyMap<number, Window>,
  { rejects, repeating }: Peculiar,
): Promise<Map<number, PartSums>> {
  const found = await readSums(warehouse, target, sumParts(target.columns));
  const sumOf = sumsFor(target);
  const sums = new Map<number, PartSums>();
  for (const [windowNo, window] of windows) {
    const rejected = rejects.get(windowNo);
    const withRejected = rejected !== undefined;
    const read = async (isDistinct: boolean): Promise<Map<string, RowSum[]>> =>
      readSums(warehouse, target, sumWindow(target.columns, { windowNo, isDistinct, withRejected }));
    const every = withRejected ? await read(false) : found;
    const single = withRejected || repeating.has(windowNo) ? await read(true) : every;
    sums.set(
      windowNo,
      window.parts.map((_, partNo) => {
        const key = `${windowNo} ${partNo}`;
        const all = every.get(key) ?? additiveOf(target.columns).map((metric) => sumOf(metric, null, 0, 0));
        const distinct = single.get(key) ?? all;
        return all
          .map((sum, at) => Object.assign({}, sum, { distinctSum: distinct[at]?.sum ?? null }))
          .filter(({ metric }) => rejected?.metrics.has(metric) !== true);
      }),
    );
  }
  return sums;
}

type RowSum = Omit<MetricSum, 'distinctSum'>;
type SumOf = (metric: MetricColumn, sum: string | null, magnitude: number, nonZero: number) => RowSum;

/** What a metric of a target sums up to. A count is one by its column, or by the catalog where the column was widened. */
function sumsFor({ metrics }: Pick<Target, 'metrics'>): SumOf {
  const counts = new Set(metrics.filter(({ type }) => type.kind === 'BIGINT').map(({ id }) => id));
  return ({ id, type, isAssumed }, sum, magnitude, nonZero) => {
    return { metric: id, sum, magnitude, nonZero, isCount: type.kind === 'BIGINT' || counts.has(id), isAssumed };
  };
}

const sumRow = z.object({
  window_no: z.number(),
  part_no: z.number(),
  sums: z.array(z.string().nullable()),
  magnitudes: z.array(z.number().nullable()),
  non_zero: z.array(count),
});

async function readSums(warehouse: Warehouse, target: Target, sql: string): Promise<Map<string, RowSum[]>> {
  const additive = additiveOf(target.columns);
  const sumOf = sumsFor(target);
  const rows = additive.length === 0 ? [] : await warehouse.rows(sql, [], sumRow);
  return new Map(
    rows.map(({ window_no: windowNo, part_no: partNo, sums, magnitudes, non_zero: nonZero }) => [
      `${windowNo} ${partNo}`,
      additive.map((metric, at) => sumOf(metric, sums[at] ?? null, magnitudes[at] ?? 0, nonZero[at] ?? 0)),
    ]),
  );
}
