/**
 * The kinds of value a setting can have: text, duration, date period …
 *
 * Each is a zod schema whose message reads on from the value: `is not a duration; must be …`. What a kind turns its
 * text into is its output; what editors complete and check is its input.
 */

import { z } from 'zod';

import { parseDay, parseUtcOffset } from '../model/calendar.ts';
import { formatColumnType, parseColumnType } from '../model/column-type.ts';
import { parseDuration } from '../model/duration.ts';
import type { DateBound, DatePeriod } from '../model/slice.ts';

/**
 * A text that a function understands, as what it returns. Null from the function refuses it: with what is `wrong`,
 * such as `is not a duration`, and what is `allowed`, such as `must be …`.
 */
export function understood<T>(parse: (text: string) => T | null, wrong: string, allowed: string, pattern?: RegExp) {
  const form = z.string({ error: allowed });
  const text = pattern === undefined ? form : form.meta({ pattern: pattern.source });
  return text.transform((value, context): T => {
    const result = parse(value);
    if (result !== null) return result;
    context.addIssue({ code: 'custom', message: `${wrong}; ${allowed}` });
    return z.NEVER;
  });
}

/** Text of at least one character, none of them a control character (a line break is one). */
export const text = z
  .string()
  .refine(isPrintable, { error: 'is empty or holds control characters; must be text on one line' });

export function isPrintable(value: string): boolean {
  return value !== '' && !/\p{Cc}/u.test(value);
}

/** Text that can stand in a comma-separated list of the service, which has no escape for a comma. */
export const listedText = text.refine((value) => !value.includes(','), {
  error: 'holds a comma, for which the service has no escape; must be text without one',
});

/** One of a closed set of names. */
export const choice = <const Names extends readonly [string, ...string[]]>(names: Names) => z.enum(names);

export const wholeNumber = (minimum: number, maximum?: number) => {
  if (maximum === undefined) return z.int({ error: `must be a whole number of at least ${minimum}` }).min(minimum);
  return z
    .int({ error: `must be a whole number, ${minimum} to ${maximum}` })
    .min(minimum)
    .max(maximum);
};

export const duration = understood(
  parseDuration,
  'is not a duration',
  'must be a number and a unit s, m, h or d, such as 90m or 30d',
  /^\d+(\.\d+)?[smhd]$/,
);

export const utcOffset = understood(
  parseUtcOffset,
  'is not an offset from UTC',
  'must be +HH:MM or -HH:MM, such as "+00:00" or "-03:30"',
  /^[+-]\d{2}:[0-5]\d$/,
);

const byteUnits = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const;

/** Bytes, as a number or as text such as `500MB` or `2GiB`. */
export const byteSize = z.union(
  [wholeNumber(1), understood(parseByteSize, 'is not a size', 'must be bytes, or text such as 500MB or 2GiB')],
  { error: 'must be a number of bytes, or text such as 500MB or 2GiB' },
);

function parseByteSize(value: string): number | null {
  const match = /^(\d+(?:\.\d+)?) ?([KMG]i?B|B)$/.exec(value);
  const unit = Object.entries(byteUnits).find(([name]) => name === match?.[2]);
  const bytes = unit === undefined ? 0 : Math.floor(Number(match?.[1]) * unit[1]);
  return bytes >= 1 && Number.isSafeInteger(bytes) ? bytes : null;
}

/** File permissions as octal text, `"0644"`. */
export const fileMode = understood(
  (value) => (/^(?:0o?)?[0-7]{3}$/.test(value) ? Number.parseInt(value.slice(-3), 8) : null),
  'is not a file mode',
  'must be octal text such as "0644"',
  /^(0o?)?[0-7]{3}$/,
);

/** An instant with its zone, `2026-03-01T06:00:00Z`. */
export const instant = understood(
  (value) => {
    const isWhole = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/.test(value);
    const at = new Date(value);
    return isWhole && parseDay(value.slice(0, 10)) !== null && !Number.isNaN(at.getTime()) ? at : null;
  },
  'is not an instant',
  'must be a date and time with a zone, such as 2026-03-01T06:00:00Z',
);

/** The SQL type of a metric's column, normalised. */
export const columnType = understood(
  (value) => {
    const type = parseColumnType(value);
    return type === null ? null : formatColumnType(type);
  },
  'is not a column type',
  'must be BIGINT, DOUBLE or DECIMAL(p,s) with 1 <= p <= 38 and 0 <= s <= p',
  /^(BIGINT|DOUBLE|DECIMAL\(\d{1,2}, ?\d{1,2}\))$/,
);

const A_PERIOD = 'must be <start>:<end>, both inclusive, each an ISO date, today, yesterday or -Nd';

const BOUND = String.raw`\d{4}-\d{2}-\d{2}|today|yesterday|-\d+d`;

/** `<start>:<end>`, both inclusive. */
export const datePeriod = z
  .string({ error: A_PERIOD })
  .meta({ pattern: `^(${BOUND}):(${BOUND})$` })
  .transform((value, context): DatePeriod => {
    const [first = null, last = null, ...more] = value.split(':').map(parseBound);
    if (first === null || last === null || more.length > 0) {
      context.addIssue({ code: 'custom', message: `is not a date period; ${A_PERIOD}` });
      return z.NEVER;
    }
    if (isReversed(first, last)) context.addIssue({ code: 'custom', message: `ends before it starts; ${A_PERIOD}` });
    return { first, last };
  });

/** More days than any report reaches back; also keeps day arithmetic inside the calendar. */
const MAX_DAYS_AGO = 36_600;

function parseBound(value: string): DateBound | null {
  if (value === 'today') return { daysAgo: 0 };
  if (value === 'yesterday') return { daysAgo: 1 };
  const count = /^-(\d{1,5})d$/.exec(value)?.[1];
  if (count !== undefined) return Number(count) <= MAX_DAYS_AGO ? { daysAgo: Number(count) } : null;
  const day = parseDay(value);
  return day === null ? null : { day };
}

/** Known only when both ends are absolute or both relative. */
function isReversed(first: DateBound, last: DateBound): boolean {
  if ('day' in first) return 'day' in last && last.day < first.day;
  return !('day' in last) && last.daysAgo > first.daysAgo;
}
