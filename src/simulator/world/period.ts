/** The `date_period` parameter: which days a query asks for, resolved on the day it is asked. */

import { addDays, bucketOf, daysBetween, parseDay } from '../../model/calendar.ts';
import type { Bucket, Day, DayInterval, WeekStart } from '../../model/calendar.ts';
import { invalid } from './refusal.ts';

/** Logical periods the simulated service knows; it refuses other plausible ones, as the real one does. */
const logicalPeriods = ['today', 'yesterday', 'this_week', 'last_week', 'this_month', 'last_month'] as const;

type LogicalPeriod = (typeof logicalPeriods)[number];

const isLogical = (text: string): text is LogicalPeriod => logicalPeriods.some((known) => known === text);

function resolveLogical(period: LogicalPeriod, today: Day, weekStartsOn: WeekStart): DayInterval {
  if (period === 'today') return { start: today, end: addDays(today, 1) };
  if (period === 'yesterday') return { start: addDays(today, -1), end: today };
  const bucket: Bucket = period.endsWith('week') ? 'week' : 'month';
  const current = bucketOf(today, bucket, weekStartsOn);
  return period.startsWith('this') ? current : bucketOf(addDays(current.start, -1), bucket, weekStartsOn);
}

function resolveEnd(text: string, today: Day): Day | null {
  const relative = /^-(\d{1,4})d$/.exec(text);
  return relative === null ? parseDay(text) : addDays(today, -Number(relative[1]));
}

/**
 * The days of a `date_period`: absolute `2026-01-31:2026-02-28` (both inclusive), relative `-10d:-3d`, or a logical
 * name. Throws RequestRefused for anything else, and for a period that ends before it starts.
 */
export function resolvePeriod(text: string, today: Day, weekStartsOn: WeekStart): DayInterval {
  if (isLogical(text)) return resolveLogical(text, today, weekStartsOn);
  const [first = '', last = '', ...rest] = text.split(':');
  const start = resolveEnd(first, today);
  const lastDay = resolveEnd(last, today);
  if (start === null || lastDay === null || rest.length > 0) throw invalid('date_period', 'is not a valid date period');
  if (daysBetween(start, lastDay) < 0) throw invalid('date_period', 'start date is after end date');
  return { start, end: addDays(lastDay, 1) };
}
