/** The milestones that are worth a request: those at which something moves by more than a tolerance; pure. */

import { MS_PER_DAY } from '../model/calendar.ts';
import { milestoneAges } from '../model/maturity.ts';
import type { Metric } from '../model/metric.ts';
import { quantile, valueAt, type Development } from './development.ts';

/** So many periods have to move by less; of the others `check` tells how far they did. */
const STILL_SHARE = 0.9;
/** With fewer final periods that were read at both ages nothing is said of the way between them. */
const FEWEST_PERIODS = 8;

/**
 * The milestones without those since whose last kept one every additive metric has moved by less than the tolerance, in nine of
 * ten periods, as a share of the final total: up or down, as moves both ways would cancel out in any average. An age of which
 * nothing is known is kept: what is skipped for long is looked at again, once the periods that were read at it have left the
 * history. When a metric becomes final it is fetched whatever this says.
 */
export function worthwhileAges(
  metrics: readonly Pick<Metric, 'id' | 'additive' | 'horizonMs'>[],
  known: ReadonlyMap<string, Development>,
  tolerance: number,
): number[] {
  const kept: number[] = [];
  for (const age of milestoneAges) {
    const last = kept.at(-1);
    const maturing = metrics.filter(({ additive, horizonMs }) => additive && age <= (horizonMs ?? 0) / MS_PER_DAY);
    const isStill = (since: number, id: string): boolean => {
      const moves = movesBetween(known.get(id) ?? [], since, age);
      return moves.length >= FEWEST_PERIODS && (quantile(moves, STILL_SHARE) ?? Infinity) < tolerance;
    };
    if (last === undefined || !maturing.every(({ id }) => isStill(last, id))) kept.push(age);
  }
  return kept;
}

/** How far each final total that was read at both ages moved between them, as a share of what it came to. */
function movesBetween(development: Development, before: number, now: number): number[] {
  return development.flatMap((cohort) => {
    const [from, to, final] = [valueAt(cohort, before), valueAt(cohort, now), cohort.final?.value ?? 0];
    return from === null || to === null || final <= 0 ? [] : [Math.abs(to - from) / final];
  });
}
