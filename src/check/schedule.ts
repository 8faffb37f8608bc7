/** When a slice is asked for and when it is final, as far as its settings alone say that it cannot be meant so; pure. */

import { isMapping } from '../config/plain-values.ts';
import { addDays, dayAt, MS_PER_DAY, startOfDayAt, type Day } from '../model/calendar.ts';
import { formatDuration } from '../model/duration.ts';
import { globMatches, type Metric, unknownFormsText } from '../model/metric.ts';
import { resolveDatePeriod, reversedAt } from '../model/period.ts';
import type { DatePeriod, Slice } from '../model/slice.ts';
import { pathOf, settingPath, type CheckedSlice } from './checked-slice.ts';
import type { Remark } from './finding.ts';

/** More names make a message longer, not clearer. */
const MOST_NAMES = 3;

/** Everything odd about the dates of a slice at an instant; `metrics` are the slice's own, in order. */
export function scheduleRemarks(checked: CheckedSlice, metrics: readonly Metric[], planAt: Date): Remark[] {
  const { stated } = checked;
  const isSound = (key: string): boolean => stated.isSound([...pathOf(checked), key]);
  return [
    ...(isSound('date_period') ? periodRemarks(checked, planAt) : []),
    ...(isSound('date_period') && isSound('dimensions') ? datelessRemarks(checked) : []),
    ...horizonRemarks(checked),
    ...(isSound('metrics') ? [...ageRemarks(checked, metrics), ...retainRemarks(checked, metrics)] : []),
  ];
}

/** A date period that covers nothing yet, or nothing any more, unless it will every few days, as `month_start:yesterday` on the first. */
function periodRemarks(checked: CheckedSlice, planAt: Date): Remark[] {
  const { datePeriod, utcOffset } = checked.slice;
  const reversed = reversedAt(datePeriod, planAt, utcOffset);
  if (reversed !== null && 'day' in datePeriod.last && !('day' in datePeriod.first)) {
    const { first, last } = reversed;
    const message = `the date period begins on ${first}, as of today, and ended on ${last}; a slice that holds nothing yet never gets a day, and one that does gets none after that`;
    const hint = 'Begin with a date, or end with what moves on, such as yesterday.';
    return [{ severity: 'warning', path: settingPath(checked, 'date_period'), message, hint }];
  }
  if (!('day' in datePeriod.first) || resolveDatePeriod(datePeriod, planAt, utcOffset) !== null) return [];
  const today = dayAt(planAt, utcOffset);
  const begin = firstCovered(datePeriod, datePeriod.first.day, checked.slice, today);
  const message = `the date period covers no day before ${begin}, and today is ${today} in ${utcOffset}; no new period is asked for until then`;
  const hint = 'Let it begin earlier, if that is not meant.';
  return [{ severity: 'warning', path: settingPath(checked, 'date_period'), message, hint }];
}

/** A bucket that an end counts back to begins within so many days. */
const LONGEST_BUCKET_DAYS = 31;

/** The first day, from today on, at which a date period that begins on a given one covers something. */
function firstCovered({ last }: DatePeriod, first: Day, { utcOffset }: Slice, today: Day): Day {
  let begin = first > today ? first : today;
  if ('day' in last) return begin;
  if ('daysAgo' in last) return latest(begin, addDays(first, last.daysAgo));
  for (let days = 0; days <= LONGEST_BUCKET_DAYS; days += 1) {
    if (resolveDatePeriod({ first: { day: first }, last }, startOfDayAt(begin, utcOffset), utcOffset) !== null) break;
    begin = addDays(begin, 1);
  }
  return begin;
}

const latest = (one: Day, other: Day): Day => (one > other ? one : other);

/** One period, which is another one every day. */
function datelessRemarks(checked: CheckedSlice): Remark[] {
  const { grain, datePeriod } = checked.slice;
  if (grain !== null || ('day' in datePeriod.first && 'day' in datePeriod.last)) return [];
  const message =
    'the date period moves on and no dimension is a date, so that it is one period that becomes another as days pass, final only if it ends further back than its metrics change';
  const hint = 'Add a date dimension such as day, or give the date period two dates.';
  return [{ severity: 'warning', path: settingPath(checked, 'date_period'), message, hint }];
}

/** How long after a period ends the last look at a metric is worth while. */
const lookedAtMs = (metric: Metric, checked: CheckedSlice): number =>
  (metric.horizonMs ?? checked.slice.lifetimeMs) + checked.slice.settleMs;

/** The day after a period's last one has the age 1. */
const ageAt = (ms: number): number => Math.floor(ms / MS_PER_DAY) + 1;

/** Metrics that the service lists and of whose form nothing is documented. */
export function formRemarks(checked: CheckedSlice, metrics: readonly Metric[]): Remark[] {
  const message = unknownFormsText(metrics, checked.slice);
  const path = settingPath(checked, 'metrics');
  const hint = 'State under `horizons` how long after a period ends each may still change.';
  return message === null ? [] : [{ severity: 'warning', path, message: `METRIC_FORM_UNKNOWN: ${message}`, hint }];
}

function ageRemarks(checked: CheckedSlice, metrics: readonly Metric[]): Remark[] {
  const { refresh } = checked.slice;
  if (typeof refresh === 'string') return [];
  const lastAge = Math.max(...metrics.map((metric) => ageAt(lookedAtMs(metric, checked))));
  const beyond = refresh.filter((age) => age > lastAge);
  const [first] = beyond;
  if (first === undefined) return [];
  const message = `refresh names the age${beyond.length === 1 ? '' : 's'} ${beyond.join(', ')}, but at the age of ${lastAge} days every metric is final or at the end of its lifetime; nothing is fetched again then`;
  const hint = `Leave out what is beyond ${lastAge}, or raise the horizon of what still changes then.`;
  return [{ severity: 'warning', path: settingPath(checked, 'refresh', String(first)), message, hint }];
}

/** Horizons of the slice, and of the defaults, that are left nothing by one before them: the first that matches counts. */
function horizonRemarks(checked: CheckedSlice): Remark[] {
  return [pathOf(checked), ['defaults']].flatMap((level) => {
    const stated = checked.stated.valueAt([...level, 'horizons']);
    const patterns = Object.keys(isMapping(stated) ? stated : {}).filter(
      (key) => key !== 'settle' && key !== 'lifetime',
    );
    return patterns.flatMap((pattern, index): Remark[] => {
      const before = patterns.slice(0, index).find((earlier) => globMatches(earlier, pattern));
      if (before === undefined) return [];
      const message = `the horizon of ${pattern} has no effect, as ${before} stands before it and matches the same metrics`;
      const hint = `Put it before ${before}; the first that matches counts.`;
      return [{ severity: 'warning', path: [...level, 'horizons', pattern], at: 'key', message, hint }];
    });
  });
}

function retainRemarks(checked: CheckedSlice, metrics: readonly Metric[]): Remark[] {
  const { retainDays, settleMs } = checked.slice;
  if (retainDays === null) return [];
  const late = metrics.filter(({ horizonMs }) => horizonMs !== null && horizonMs + settleMs > retainDays * MS_PER_DAY);
  const longest = Math.max(...late.map(({ horizonMs }) => horizonMs ?? 0));
  if (late.length === 0) return [];
  const names = late.slice(0, MOST_NAMES).map(({ id }) => id);
  const more = late.length > MOST_NAMES ? ` and ${late.length - MOST_NAMES} more` : '';
  const message = `periods are let go after ${retainDays}d, but ${names.join(', ')}${more} may change for ${formatDuration(longest)}; they never become final`;
  const hint = `Raise retain above ${formatDuration(longest)}, or lower the horizon.`;
  return [{ severity: 'warning', path: settingPath(checked, 'retain'), message, hint }];
}
