/** Finality of a single cell, from the laws of the model. */

import type { FetchedPeriod } from '../../src/model/ledger.ts';
import { finalMetrics } from '../../src/model/maturity.ts';
import type { Metric } from '../../src/model/metric.ts';
import { endOf, type Period } from '../../src/model/period.ts';
import type { Slice } from '../../src/model/slice.ts';

type Settling = Parameters<typeof finalMetrics>[2];

/** The instant from which a fetched value of a whole period is final. */
export function finalAt(
  period: Period,
  { horizonMs }: Metric,
  { utcOffset, settleMs }: Pick<Slice, 'utcOffset' | 'settleMs'>,
): Date | null {
  if (horizonMs === null) return null;
  return new Date(endOf(period, utcOffset).getTime() + horizonMs + settleMs);
}

export const isFinal = (fetched: FetchedPeriod, metric: Metric, slice: Settling): boolean =>
  finalMetrics(fetched, [metric], slice).length > 0;
