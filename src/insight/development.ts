/**
 * How the control totals of a metric grew: what they were at each age of each period, and what that shows of its horizon. Pure.
 * Days count from 1970.
 */

import { addDays, day } from '../model/calendar.ts';

/** A period with the instant of its end, or the days of a request for control totals with the instant of its answer. */
interface TimedDays {
  readonly start: number;
  readonly end: number;
  /** Since 1970. */
  readonly seconds: number;
}

/** When the control totals of a period were read, in seconds since its end, ascending. */
export interface ReadPeriod {
  readonly period: TimedDays;
  readonly readings: readonly number[];
  /** One reading for each age. */
  readonly readAfter: readonly number[];
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
  /** All readings and the totals that replaced others, in seconds since its end, ascending. */
  readonly readings: readonly number[];
  readonly changes: readonly { readonly seconds: number; readonly value: number }[];
}

const SECONDS_PER_DAY = 86_400;
export const ageAt = (seconds: number) => Math.floor(seconds / SECONDS_PER_DAY) + 1;

/** Returns the periods that were read after their end. Of two answers at one age, the later counts. */
export function readPeriods(
  periods: readonly TimedDays[],
  answers: readonly TimedDays[],
): readonly ReadPeriod[] {
  const ascending = answers.toSorted((one, other) => one.seconds - other.seconds);
  return periods.flatMap((period) => {
    const readings: number[] = [];
    for (const { start, end, seconds } of ascending) {
      const since = Math.floor(seconds - period.seconds);
      if (since >= 0 && start <= period.start && end >= period.end) readings.push(since);
    }
    const byAge = new Map(readings.map((since) => [ageAt(since), since]));
    return byAge.size === 0 ? [] : [{ period, readings, readAfter: [...byAge.values()] }];
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
    const changes = byStart.get(start) ?? [];
    changes.push({ seconds: seconds[at] ?? 0, value: values[at] ?? 0 });
    byStart.set(start, changes);
  }
  return read.flatMap(({ period, readings, readAfter }): Cohort[] => {
    const changes = byStart.get(period.start) ?? [];
    if (changes.every(({ value }) => value === 0)) return [];
    changes.sort((one, other) => one.seconds - other.seconds);
    const maturing = new Map<number, number>();
    const finals: { age: number; value: number }[] = [];
    let [next, value] = [0, 0];
    for (const time of readAfter) {
      if (finalSeconds === null || finals.length > 0) break;
      for (; (changes[next]?.seconds ?? Infinity) <= time; next += 1)
        value = changes[next]?.value ?? 0;
      if (time < finalSeconds) maturing.set(ageAt(time), value);
      else finals.push({ age: ageAt(time), value });
    }
    const [firstRead = 0, lastRead = firstRead] = [readAfter[0], readAfter.at(-1)];
    let [before, to] = [0, 0];
    for (const [at, change] of changes.entries()) {
      if (change.value === before) continue;
      const age = ageAt(change.seconds);
      if (change.seconds > firstRead) to = age;
      if (finals.length > 0 && at >= next) finals.push({ age, value: change.value });
      before = change.value;
    }
    const earlier = readAfter.findLast((time) => ageAt(time) < to);
    return [
      {
        firstDay: period.start,
        lastDay: period.end - 1,
        maturing,
        finals,
        firstAge: ageAt(firstRead),
        lastAge: ageAt(lastRead),
        changed: earlier === undefined ? null : { from: ageAt(earlier), to },
        readings,
        changes,
      },
    ];
  });
}

const SECONDS_PER_NIGHT = SECONDS_PER_DAY / 2;

/**
 * Returns the total of the reading nearest to a load, which was so many seconds after the end of the period. Null if none was
 * read on its night: rows are never compared with an earlier or later total.
 */
export function totalOfNight(
  { readings, changes }: Pick<Cohort, 'readings' | 'changes'>,
  loadedAfter: number,
): number | null {
  const before = readings.findLastIndex((reading) => reading <= loadedAfter);
  const [earlier = -Infinity, later = Infinity] = [readings[before], readings[before + 1]];
  const nearest = later - loadedAfter < loadedAfter - earlier ? later : earlier;
  if (loadedAfter < 0 || Math.abs(nearest - loadedAfter) > SECONDS_PER_NIGHT) return null;
  return changes.findLast(({ seconds }) => seconds <= nearest)?.value ?? 0;
}

/** Of 30 periods that did not move, fewer than a tenth would, with 95 % confidence (rule of three). */
const MIN_WATCHED = 30;
/** A total that was read for a week after it could have been final shows whether it moved. */
const WATCHED_DAYS = 7;
/** A share of moved totals up to this is corrections, which no longer horizon would prevent. */
const CORRECTED_SHARE = 0.05;

/** Returns the columns of `ripen_internal.horizon_evidence`, but for its key. Null is no horizon. */
export function horizonEvidence(development: readonly Cohort[], horizonDays: number | null) {
  const watched = development.filter(
    ({ finals: [final], lastAge }) => final && lastAge > final.age,
  );
  const moved = watched.filter(({ finals }) => finals.length > 1);
  const latest = (ages: readonly number[]) => (ages.length === 0 ? null : Math.max(...ages));
  const lastMoved = latest(moved.map(({ lastDay, finals }) => lastDay + (finals.at(-1)?.age ?? 0)));
  const supported = supportedHorizon(development, horizonDays);
  return {
    final_periods: watched.length,
    final_moved: moved.length,
    last_moved_day: lastMoved === null ? null : addDays(day('1970-01-01'), lastMoved),
    last_change_age: latest(development.flatMap(({ changed }) => changed?.to ?? [])),
    supported_days: supported?.days ?? null,
    supported_periods: supported?.periods ?? 0,
    supported_moved: supported?.moved ?? 0,
  };
}

/**
 * Returns the shortest horizon after which enough periods were watched and none moved, or from the configured one on only as
 * many as corrections would explain. A night reads a value as final one day after its horizon.
 */
function supportedHorizon(development: readonly Cohort[], horizonDays: number | null) {
  const longest = Math.max(0, ...development.map(({ lastAge }) => lastAge)) - WATCHED_DAYS - 1;
  for (let days = 1; days <= longest; days += 1) {
    let [periods, moved] = [0, 0];
    const finalAge = days + 1;
    for (const { firstAge, lastAge, changed } of development) {
      const hasMoved = changed !== null && changed.from >= finalAge;
      if (hasMoved) moved += 1;
      if (hasMoved || (firstAge <= finalAge && lastAge >= finalAge + WATCHED_DAYS)) periods += 1;
    }
    const isShorter = horizonDays !== null && days < horizonDays;
    if (periods >= MIN_WATCHED && moved <= (isShorter ? 0 : periods * CORRECTED_SHARE))
      return { days, periods, moved };
  }
  return null;
}
