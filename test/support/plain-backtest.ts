/** The backtest in its plain form: what was known is copied for each day, and each choice made from the beginning. */

import { projected, type Choice } from '../../src/insight/backtest.ts';
import { climb, type Ladder } from '../../src/insight/chain-ladder.ts';
import { columnAges, median, valueAt, type Cohort, type Development } from '../../src/insight/development.ts';
import { AVERAGE_SHARE, MEAN_OF_BOTH, type Family, type Standing, type Trial } from '../../src/insight/trials.ts';

/** What was known of a triangle on a day, in days since 1970: later readings are left out, cohorts without one too. */
function knownOn(development: Development, day: number): Development {
  return development.flatMap(({ lastDay, readings, final }): Cohort[] => {
    const known = readings.filter(({ age }) => lastDay + age <= day);
    if (known.length === 0) return [];
    return [{ lastDay, readings: known, final: final !== null && lastDay + final.age <= day ? final : null }];
  });
}

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

function plainLadder(known: Development): Ladder {
  const ages = columnAges(known);
  const steps: Ladder[number][] = [];
  for (const [index, age] of ages.entries()) {
    const next = ages[index + 1];
    const pairs = known.flatMap((cohort) => {
      const from = valueAt(cohort, age);
      const inTime = cohort.final !== null && cohort.final.age <= (next ?? Infinity) ? cohort.final.value : null;
      const to = (next === undefined ? null : valueAt(cohort, next)) ?? inTime;
      return from === null || to === null || from <= 0 ? [] : [{ from, to }];
    });
    const sum = total(pairs.map(({ from }) => from));
    const factor = total(pairs.map(({ to }) => to)) / sum;
    const strayed = total(pairs.map(({ from, to }) => from * (to / from - factor) ** 2));
    const [before, last] = steps.slice(-2).map(({ variance }) => variance);
    const carried = before === 0 ? 0 : Math.min((last ?? 0) ** 2 / (before ?? 0), before ?? 0, last ?? 0);
    const borrowed = before === undefined || last === undefined ? null : carried;
    const variance = pairs.length > 1 ? strayed / (pairs.length - 1) : borrowed;
    if (variance === null || !(factor > 0)) return [];
    steps.push({ age, factor, variance, sum, cohorts: pairs.length });
  }
  return steps;
}

/** What `standingOn` answers. */
export function plainStanding({ own, lower }: Family, day: number): Standing {
  const known = knownOn(own, day);
  const ladder = plainLadder(known);
  const newest = known.slice(-28).flatMap(({ lastDay, readings, final }): Standing['newest'] => {
    if (final !== null) return [{ lastDay, value: final.value, share: 1 }];
    const { age = 0, value = 0 } = readings.at(-1) ?? {};
    const climbed = climb(ladder, age, value);
    return climbed === null ? [] : [{ lastDay, value, share: value / climbed.value }];
  });
  const under = [...lower].flatMap(([metric, development]) => {
    const below = knownOn(development, day);
    const ratio = plainRatio(known, below);
    return ratio === null ? [] : [{ metric, ladder: plainLadder(below), ratio }];
  });
  return { ladder, newest, shares: plainShares(known), lower: under };
}

function plainRatio(own: Development, lower: Development): Standing['lower'][number]['ratio'] | null {
  const pairs = own.flatMap(({ lastDay, final }) => {
    const below = lower.find((cohort) => cohort.lastDay === lastDay)?.final?.value ?? 0;
    return final === null || below <= 0 ? [] : [{ below, above: final.value }];
  });
  const sum = total(pairs.map(({ below }) => below));
  const value = total(pairs.map(({ above }) => above)) / sum;
  if (pairs.length < 3 || value <= 0) return null;
  const strayed = total(pairs.map(({ below, above }) => (below / sum) * (above / below / value - 1) ** 2));
  return { value, spread: Math.sqrt((strayed * pairs.length) / (pairs.length - 1)), cohorts: pairs.length };
}

function plainShares(known: Development): Map<number, number> {
  const ages = new Set(known.flatMap(({ readings }) => readings.map(({ age }) => age)));
  return new Map(
    [...ages].flatMap((age) => {
      const shares = known.flatMap((cohort) => {
        const value = valueAt(cohort, age);
        return value === null || cohort.final === null || cohort.final.value <= 0 ? [] : [value / cohort.final.value];
      });
      return total(shares) > 0 ? [[age, total(shares) / shares.length] as const] : [];
    }),
  );
}

/** What `choiceFrom` answers. */
export function plainChoice(judged: readonly Trial[]): Choice | null {
  const methods = [...new Set(judged.flatMap(({ expected }) => [...expected.keys()]))];
  const candidates = methods.flatMap((method) => {
    const misses = judged.flatMap(({ expected, final }) => {
      const of = expected.get(method);
      return of === undefined ? [] : [{ miss: Math.abs(Math.log(final / of.value)), error: of.error }];
    });
    return misses.length < 8 ? [] : [{ method, misses, mean: total(misses.map(({ miss }) => miss)) / misses.length }];
  });
  const [nearest] = candidates.toSorted((a, b) => a.mean - b.mean);
  const usual = candidates.find(({ method }) => method === MEAN_OF_BOTH) ?? nearest;
  if (nearest === undefined || usual === undefined) return null;
  const { method, misses } = nearest.mean <= 0.9 * usual.mean ? nearest : usual;
  const strays = misses.map(({ miss, error }) => (miss === 0 ? 0 : miss / error)).toSorted((a, b) => a - b);
  const rank = Math.min(strays.length, Math.ceil((strays.length + 1) * 0.8));
  return { method, width: strays[rank - 1] ?? Infinity };
}

/** What a score says of the trials of an age: of the average share alone where that was nearer by more than a tenth. */
export function plainScore(trials: readonly Trial[]) {
  const alone = trials.map((trial) => {
    return { ...trial, expected: new Map([...trial.expected].filter(([method]) => method === AVERAGE_SHARE)) };
  });
  const [chosen, simple] = [plainRecord(trials), plainRecord(alone)];
  const isFurther = (chosen.medianError ?? 0) > 1.1 * (chosen.byShare ?? Infinity);
  const { byShare: _, ...score } = isFurther && simple.cohorts >= 8 ? simple : chosen;
  return score;
}

function plainRecord(trials: readonly Trial[]) {
  const made = trials.flatMap((trial) => {
    const choice = plainChoice(trials.filter(({ judgedOn }) => judgedOn <= trial.madeOn));
    const projection = choice === null ? null : projected(trial.expected, choice);
    return projection === null ? [] : [{ final: trial.final, share: trial.byAverageShare, ...projection }];
  });
  const covered = made.filter(({ low, high, final }) => low <= final && final <= high);
  return {
    cohorts: made.length,
    medianError: median(made.map(({ value, final }) => Math.abs(value / final - 1))),
    byShare: median(made.flatMap(({ share, final }) => (share === null ? [] : [Math.abs(share / final - 1)]))),
    coverage: made.length === 0 ? null : covered.length / made.length,
  };
}
