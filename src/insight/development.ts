/** How the control totals of a metric grew: what they were at each age of each period. Pure. Days count from 1970. */

/** Some days and an instant: when their control totals were read, or of a whole period, when it ended. */
export interface Reading {
  readonly start: number;
  readonly end: number;
  /** Since 1970. */
  readonly seconds: number;
}

/** When a period was read after its end: seconds since then and ages, ascending. */
export interface Looks {
  readonly period: Reading;
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
  readonly start: number;
  readonly lastDay: number;
  /** Totals before the value was final, by age, ascending. */
  readonly readings: ReadonlyMap<number, number>;
  /** Totals since the value is final, by age, ascending: the first, and each that differs from the one before. */
  readonly finals: readonly { readonly age: number; readonly value: number }[];
  /** Ages of the first and the last reading. */
  readonly firstAge: number;
  readonly lastAge: number;
  /** The highest age at which a reading found another total than the one before, and the age of that one; null if none did. */
  readonly changed: { readonly from: number; readonly to: number } | null;
}

const SECONDS_PER_DAY = 86_400;
const ageAt = (seconds: number): number => Math.floor(seconds / SECONDS_PER_DAY) + 1;

/** Returns the periods that were read after their end. Of two readings at one age, the later counts. */
export function looksAt(
  periods: readonly Reading[],
  readings: readonly Reading[],
): readonly Looks[] {
  const ascending = readings.toSorted((one, other) => one.seconds - other.seconds);
  return periods.flatMap((period) => {
    const [seconds, ages]: [number[], number[]] = [[], []];
    for (const reading of ascending) {
      const since = Math.floor(reading.seconds - period.seconds);
      if (since < 0 || reading.start > period.start || reading.end < period.end) continue;
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
  looks: readonly Looks[],
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
  return looks.flatMap(({ period, seconds: times, ages }): Cohort[] => {
    const changes = byStart.get(period.start);
    const [firstAge, lastAge] = [ages.at(0), ages.at(-1)];
    if (changes?.some(({ value }) => value !== 0) !== true) return [];
    if (firstAge === undefined || lastAge === undefined) return [];
    changes.sort((one, other) => one.seconds - other.seconds);
    const readings = new Map<number, number>();
    const finals: { age: number; value: number }[] = [];
    let [next, value] = [0, 0];
    for (const [at, age] of ages.entries()) {
      const time = times[at] ?? 0;
      if (finalSeconds === null || finals.length > 0) break;
      for (; (changes[next]?.seconds ?? Infinity) <= time; next += 1)
        value = changes[next]?.value ?? 0;
      if (time < finalSeconds) readings.set(age, value);
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
    const { start, end } = period;
    return [{ start, lastDay: end - 1, readings, finals, firstAge, lastAge, changed }];
  });
}
