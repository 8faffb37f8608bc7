/** The milestones that are worth a request: those at which something moves by more than a tolerance; pure. */

import { MS_PER_DAY } from '../model/calendar.ts';
import { milestoneAges } from '../model/maturity.ts';
import type { Metric } from '../model/metric.ts';
import type { Known } from './maturation.ts';

/**
 * The milestones without those since whose last kept one every additive metric has moved by less than the tolerance, at each
 * of its quartiles, as a share of the final total. An age of which nothing is known is kept: what is skipped for long is looked
 * at anew, once the periods that were read at it have left the history. When a metric becomes final it is fetched whatever this says.
 */
export function worthwhileAges(
  metrics: readonly Pick<Metric, 'id' | 'additive' | 'horizonMs'>[],
  known: ReadonlyMap<string, readonly Known[]>,
  tolerance: number,
): number[] {
  const kept: number[] = [];
  for (const age of milestoneAges) {
    const last = kept.at(-1);
    const maturing = metrics.filter(({ additive, horizonMs }) => additive && age <= (horizonMs ?? 0) / MS_PER_DAY);
    const isStill = (id: string): boolean => {
      const curve = known.get(id) ?? [];
      const [before, now] = [last, age].map((at) => curve.find((each) => each.age === at));
      if (before === undefined || now === undefined) return false;
      const moved = [now.q25 - before.q25, now.median - before.median, now.q75 - before.q75];
      return Math.max(...moved.map(Math.abs)) < tolerance;
    };
    if (last === undefined || !maturing.every(({ id }) => isStill(id))) kept.push(age);
  }
  return kept;
}
