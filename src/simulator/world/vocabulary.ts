/** The names a world's reports know, dimensions and metrics, and what a lane says for a dimension. */

import { dateDimensions, textDimensions } from '../../model/dimension.ts';
import { choose, hashText, mix } from './hash.ts';
import type { Lane, LaneDimension } from './lanes.ts';
import { allRevenue, cost, installs, sessions } from './measures.ts';
import { counted, money, price, ratio } from './metric.ts';
import type { Metric } from './metric.ts';
import { metrics } from './metrics.ts';
import type { Quirks, StrangeMetric } from './quirks.ts';

export interface Vocabulary {
  /** Every dimension, those of the interface document first. */
  readonly dimensions: readonly string[];
  /** Every metric by its id, in the order the catalog lists them. */
  readonly metrics: ReadonlyMap<string, Metric>;
  /** What a lane says for a text dimension other than the currency; null where the service has no value. */
  textOf(lane: Lane, dimension: string): string | null;
  /** Whether a row leaves out a dimension that has no value. */
  leavesOut(dimension: string): boolean;
}

const isOfLane = (name: string): name is LaneDimension => textDimensions.some((known) => known === name);

export function createVocabulary({ dimensions, metrics: strange, nulls }: Quirks): Vocabulary {
  return {
    dimensions: [...dateDimensions, ...textDimensions, ...dimensions.keys()],
    metrics:
      strange.length === 0 ? metrics : new Map([...metrics, ...strange.map((each) => [each.id, made(each)] as const)]),
    textOf(lane, dimension) {
      const values = dimensions.get(dimension) ?? [];
      const seed = mix(hashText(dimension), lane.index);
      const text = isOfLane(dimension) ? lane.texts[dimension] : (values[choose(seed, values.length)] ?? '');
      return nulls.get(dimension)?.values.includes(text) === true ? null : text;
    },
    leavesOut: (dimension) => nulls.get(dimension)?.as === 'absent',
  };
}

function made({ id, formatting, kind, listed }: StrangeMetric): Metric {
  const entry = { id, name: id, section: 'Conversion', filter: listed, formatting };
  if (kind === 'count') return counted(entry, sessions);
  if (kind === 'money') return money(entry, allRevenue);
  return formatting.startsWith('money') ? price(entry, allRevenue, installs) : ratio(entry, allRevenue, cost);
}
