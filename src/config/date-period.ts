/** The setting `date_period`: two ends, or one of the service's words for a period. */

import { z } from 'zod';

import { parseDay } from '../model/calendar.ts';
import type { DateBound, DatePeriod } from '../model/slice.ts';
import { suggestion } from './config-problems.ts';
import { MOST_DAYS } from './setting-kinds.ts';

const today: DateBound = { daysAgo: 0 };
const yesterday: DateBound = { daysAgo: 1 };

const startOf = (bucket: 'week' | 'month', bucketsAgo = 0, daysBefore = 0): DateBound => ({
  startOf: bucket,
  bucketsAgo,
  daysBefore,
});

const endWords: ReadonlyMap<string, DateBound> = new Map([
  ['today', today],
  ['yesterday', yesterday],
  ['month_start', startOf('month')],
  ['week_start', startOf('week')],
]);

/** Words of the service (observed: date_period); what has not begun of a period is cut when it is resolved. */
const periodWords: ReadonlyMap<string, DatePeriod> = new Map([
  ['today', { first: today, last: today }],
  ['yesterday', { first: yesterday, last: yesterday }],
  ['this_week', { first: startOf('week'), last: today }],
  ['last_week', { first: startOf('week', 1), last: startOf('week', 0, 1) }],
  ['this_month', { first: startOf('month'), last: today }],
  ['last_month', { first: startOf('month', 1), last: startOf('month', 0, 1) }],
  ['this_month_until_yesterday', { first: startOf('month'), last: yesterday }],
]);

const A_PERIOD =
  `must be <start>:<end>, both inclusive, each an ISO date, ${[...endWords.keys()].join(', ')} or -Nd; ` +
  `or one of ${[...periodWords.keys()].join(', ')}`;

const END = [...endWords.keys(), String.raw`\d{4}-\d{2}-\d{2}`, String.raw`-\d+d`].join('|');

export const datePeriod = z
  .string({ error: A_PERIOD })
  .meta({ pattern: `^((${END}):(${END})|${[...periodWords.keys()].join('|')})$` })
  .transform((value, context): DatePeriod => {
    const parsed = periodWords.get(value) ?? endsOf(value);
    if (parsed === null) {
      const near = value.includes(':') ? '' : suggestion(value, periodWords.keys());
      context.addIssue({ code: 'custom', message: `is not a date period; ${A_PERIOD}${near}` });
      return z.NEVER;
    }
    if (isReversed(parsed)) context.addIssue({ code: 'custom', message: `ends before it starts; ${A_PERIOD}` });
    return parsed;
  });

function endsOf(value: string): DatePeriod | null {
  const [first = null, last = null, ...more] = value.split(':').map(parseEnd);
  return first === null || last === null || more.length > 0 ? null : { first, last };
}

function parseEnd(value: string): DateBound | null {
  const word = endWords.get(value);
  if (word !== undefined) return word;
  const count = /^-(\d{1,5})d$/.exec(value)?.[1];
  if (count !== undefined) return Number(count) <= MOST_DAYS ? { daysAgo: Number(count) } : null;
  const day = parseDay(value);
  return day === null ? null : { day };
}

/** Known only when both ends are absolute or both count days; of others it depends on the day. */
function isReversed({ first, last }: DatePeriod): boolean {
  if ('day' in first && 'day' in last) return last.day < first.day;
  return 'daysAgo' in first && 'daysAgo' in last && last.daysAgo > first.daysAgo;
}
