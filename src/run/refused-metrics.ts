/**
 * Metrics that only a star stands for, and that the service lists but refuses in reports, by name: they cost their slice no
 * night. It is loaded without them, which is told, and stays so for a month. One that was loaded before is no such metric: its
 * values stay, and the refusal fails the window.
 */

import * as z from 'zod';

import type { Failure } from '../errors.ts';
import type { Slice } from '../model/slice.ts';
import { type Window, windowOf } from '../model/window.ts';
import { statement } from '../warehouse/sql.ts';
import { namesMetric } from '../warehouse/tables/slice-metrics.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

const loadedRow = z.object({ metric: z.string() });

/** Returns the metrics of a window that the refusal names, that its slice does not, and that were never loaded. */
export async function refusedMetrics(
  warehouse: Warehouse,
  { slice, fingerprint }: Window,
  { code, message }: Failure,
  configured: Slice,
): Promise<readonly string[]> {
  if (code !== 'SOURCE_REFUSED') return [];
  const table = [slice.name, fingerprint];
  const loaded = await warehouse.rows(statement('load/loaded_metrics'), table, loadedRow);
  const kept = new Set([...configured.metrics, ...loaded.map(({ metric }) => metric)]);
  const refused = slice.metrics.filter((id) => namesMetric(message, id) && !kept.has(id));
  return refused.length < slice.metrics.length ? refused : [];
}

/** Returns a window without some metrics; null if it was due for a metric alone, or has no other. */
export function withoutMetrics(window: Window, refused: ReadonlySet<string>): Window | null {
  const { slice, fingerprint, periods, parts } = window;
  const metrics = slice.metrics.filter((id) => !refused.has(id));
  if (metrics.length === slice.metrics.length) return window;
  const isDue = periods.some(({ reason }) => reason !== 'metric added' && reason !== 'between');
  return isDue && metrics.length > 0
    ? windowOf({ ...slice, metrics }, fingerprint, periods, parts)
    : null;
}

export const refusedText = (refused: readonly string[]): string =>
  `The service lists ${refused.join(', ')}, and refuses reports with it. Only a pattern of the slice stands for it, so that it is left out.`;
