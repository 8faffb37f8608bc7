/** How the control totals of a metric grew: what they were at each age of each period. Pure. Days count from 1970. */

/** A period with the instant of its end, or the days of a request for control totals with the instant of its answer. */
export interface TimedDays {
  readonly start: number;
  readonly end: number;
  /** Since 1970. */
  readonly seconds: number;
}

/** When the control totals of a period were read after its end: seconds since then and ages, ascending. */
export interface ReadPeriod {
  readonly period: TimedDays;
  readonly seconds: readonly number[];
  readonly ages: readonly number[];
}

/** Totals that replaced others, in any order: the first days of their periods, the seconds since these ended, and the totals. */
export interface Changes {
  readonly starts: readonly number[];
  readonly seconds: readonly number[];
  readonly values: readonly number[];
}

/** One period of one metric. An age is the number of days from the period's last day to a reading, in the slice's offset. */
export interface Cohort {
  readonly firstDay: number;
  readonly lastDay: number;
  /** Totals before the value was final, by age, ascending. */
  readonly maturing: ReadonlyMap<number, number>;
  /** Totals since the value is final, by age, ascending: the first, and each that differs from the one before. */
  readonly finals: readonly { readonly age: number; readonly value: number }[];
  /** Ages at which it was first and last read. */
  readonly firstAge: number;
  readonly lastAge: number;
  /** The highest age at which another total was read than before, and the age of the reading before. */
  readonly changed: { readonly from: number; readonly to: number } | null;
}

const SECONDS_PER_DAY = 86_400;
const ageAt = (seconds: number): number => Math.floor(seconds / SECONDS_PER_DAY) + 1;

/** Returns the periods that were read after their end. Of two answers at one age, the later counts. */
export function readPeriods(
  periods: readonly TimedDays[],
  answers: readonly TimedDays[],
): readonly ReadPeriod[] {
  const ascending = answers.toSorted((one, other) => one.seconds - other.seconds);
  return periods.flatMap((period) => {
    const [seconds, ages]: [number[], number[]] = [[], []];
    for (const answer of ascending) {
      const since = Math.floor(answer.seconds - period.seconds);
      if (since < 0 || answer.start > period.start || answer.end < period.end) continue;
      const at = ages.at(-1) === ageAt(since) ? ages.length - 1 : ages.length;
      seconds[at] = since;
      ages[at] = ageAt(since);
    }
    return ages.length === 0 ? [] : [{ period, seconds, ages }];
  });
}

/**
 * Returns the periods that ever had a total, oldest first. `finalSeconds` is how long after the end of a period its totals may
 * change. If that has no end (null), no totals by age are returned.
 */
export function developmentOf(
  read: readonly ReadPeriod[],
  { starts, seconds, values }: Changes,
  finalSeconds: number | null,
): Cohort[] {
  const byStart = new Map<number, { seconds: number; value: number }[]>();
  for (const [at, start] of starts.entries()) {
    const change = { seconds: seconds[at] ?? 0, value: values[at] ?? 0 };
    const changes = byStart.get(start);
    if (changes === undefined) byStart.set(start, [change]);
    else changes.push(change);
  }
  return read.flatMap(({ period, seconds: times, ages }): Cohort[] => {
    const changes = byStart.get(period.start);
    const [firstAge, lastAge] = [ages.at(0), ages.at(-1)];
    if (changes?.some(({ value }) => value !== 0) !== true) return [];
    if (firstAge === undefined || lastAge === undefined) return [];
    changes.sort((one, other) => one.seconds - other.seconds);
    const maturing = new Map<number, number>();
    const finals: { age: number; value: number }[] = [];
    let [next, value] = [0, 0];
    for (const [at, age] of ages.entries()) {
      const time = times[at] ?? 0;
      if (finalSeconds === null || finals.length > 0) break;
      for (; (changes[next]?.seconds ?? Infinity) <= time; next += 1)
        value = changes[next]?.value ?? 0;
      if (time < finalSeconds) maturing.set(age, value);
      else finals.push({ age, value });
    }
    let [before, to] = [0, 0];
    for (const [at, change] of changes.entries()) {
      if (change.value === before) continue;
      const age = ageAt(change.seconds);
      if (change.seconds > (times[0] ?? 0)) to = age;
      if (finals.length > 0 && at >= next) finals.push({ age, value: change.value });
      before = change.value;
    }
    const from = ages.findLast((age) => age < to);
    const changed = from === undefined ? null : { from, to };
    const [firstDay, lastDay] = [period.start, period.end - 1];
    return [{ firstDay, lastDay, maturing, finals, firstAge, lastAge, changed }];
  });
}
