/**
 * A metric that only a star stands for, and that the service lists but refuses in reports: the slice is loaded without it for
 * a month. If it was loaded before, its values stay, and the refusal fails the window.
 */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import type { Slice } from '../model/slice.ts';
import { type Window, windowOf } from '../model/window.ts';
import { statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

const loadedRow = z.object({ metric: z.string() });

export async function refusedMetric(
  warehouse: Warehouse,
  { slice }: Window,
  { code, message }: Failure,
  configured: Slice,
): Promise<{ readonly metric: string; readonly loaded: ReadonlySet<string> } | null> {
  if (code !== 'SOURCE_REFUSED') return null;
  const named = slice.metrics.filter((id) => namesMetric(message, id));
  // Of `my purchase_events` and `purchase_events`, only the longer one is named. A refusal may also repeat the whole request.
  const [metric, ...others] = named.filter(
    (id) => !named.some((longer) => longer !== id && namesMetric(longer, id)),
  );
  if (metric === undefined || others.length > 0 || slice.metrics.length === 1) return null;
  if (configured.metrics.includes(metric)) return null;
  const ofSlice = [slice.name, null];
  const loaded = await warehouse.rows(statement('load/loaded_metrics'), ofSlice, loadedRow);
  return { metric, loaded: new Set(loaded.map((row) => row.metric)) };
}

export const withoutStar = ({ code, message }: Failure, metric: string): Failure =>
  new Failure(code, message, {
    hint: `If the service will not serve ${metric} again, replace the \`*\` that stands for it by the other names, which \`ripen check --resolved\` prints. \`ripen export\` keeps its values.`,
  });

export interface Refused {
  readonly metrics: ReadonlySet<string>;
  /** Those that the slice had loaded before the first refusal. */
  readonly loaded: ReadonlySet<string>;
}

/** Returns a window without refused metrics; null if it was due for them alone, or has no other. */
export function withoutMetrics(
  window: Window,
  { metrics: refused, loaded }: Refused,
): Window | null {
  const { slice, fingerprint, periods, parts } = window;
  const metrics = slice.metrics.filter((id) => !refused.has(id));
  if (metrics.length === slice.metrics.length) return window;
  const isDue =
    metrics.some((id) => !loaded.has(id)) ||
    periods.some(({ reason }) => reason !== 'metric added' && reason !== 'between');
  return isDue && metrics.length > 0
    ? windowOf({ ...slice, metrics }, fingerprint, periods, parts)
    : null;
}

const wordsOf = (text: string) => ` ${text.replaceAll(/[^\p{L}\p{N}_]+/gu, ' ').trim()} `;

const namesMetric = (text: string, metric: string) => wordsOf(text).includes(wordsOf(metric));
