/** The kinds of setting values, as zod schemas. Their messages continue from the value: `is not a duration; must be …`. */

import * as z from 'zod';

import { MS_PER_DAY, parseInstant, parseUtcOffset } from '../model/calendar.ts';
import {
  columnTypeForm,
  columnTypeNames,
  formatColumnType,
  parseColumnType,
} from '../model/column-type.ts';
import { parseDuration } from '../model/duration.ts';

/** Null refuses a text, with what is wrong and allowed. */
export function parsedText<T>(
  parse: (text: string) => T | null,
  wrong: string,
  allowed: string,
  pattern?: RegExp,
) {
  const form = z.string({ error: allowed });
  const text = pattern === undefined ? form : form.meta({ pattern: pattern.source });
  return text.transform((value, context): T => {
    const result = parse(value);
    if (result !== null) return result;
    context.addIssue({ code: 'custom', message: `${wrong}; ${allowed}` });
    return z.NEVER;
  });
}

export const text = z.string().refine(isPrintable, {
  error: 'is empty or contains control characters; must be text on one line',
});

/** Contains no halves of surrogate pairs, either. */
function isPrintable(value: string) {
  return value !== '' && !/[\p{Cc}\p{Cs}]/u.test(value);
}

export const listedText = text.refine((value) => !value.includes(','), {
  error: 'contains a comma, for which the service has no escape; must be text without one',
});

export const hidden = <T extends z.ZodType>(kind: T): T => kind.meta({ writeOnly: true });

/** This machine, where plain http exposes nothing to a network. */
export const isLoopback = (host: string): boolean =>
  /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(host);

const AN_ADDRESS = 'must be an address such as https://reports.example.com';

export const webAddress = (mayHaveQuery = false) =>
  z
    .string({ error: AN_ADDRESS })
    .meta({ format: 'uri' })
    .transform((value, context) => {
      const refuse = (message: string): never => {
        context.addIssue({ code: 'custom', message });
        return z.NEVER;
      };
      const isWord = isPrintable(value) && !/\s/.test(value);
      const url = isWord && URL.canParse(value) ? new URL(value) : null;
      if (url === null || !/^https?:\/\//i.test(value))
        return refuse(`is not an address; ${AN_ADDRESS}`);
      if (url.protocol === 'http:' && !isLoopback(url.hostname))
        return refuse(
          'is plain http, which others on the network can read; must be https (http for loopback hosts only)',
        );
      if (url.username !== '' || url.password !== '')
        return refuse('contains credentials; must be an address without them');
      if (mayHaveQuery) return value;
      return /[?#]/.test(value)
        ? refuse('contains a query or a fragment; must be an origin and at most a path')
        : value.replace(/\/+$/, '');
    });

export const wholeNumber = (minimum: number, maximum?: number) => {
  const range = maximum === undefined ? ` of at least ${minimum}` : `, ${minimum} to ${maximum}`;
  const least = z.int({ error: `must be a whole number${range}` }).min(minimum);
  return maximum === undefined ? least : least.max(maximum);
};

/** A century: dates counted back by it stay on the calendar. */
export const MAX_DAYS = 36_600;
export const TOO_LONG = `is too long; must be at most ${MAX_DAYS}d`;

export const duration = parsedText(
  parseDuration,
  'is not a duration',
  'must be a number and a unit s, m, h or d, such as 90m or 30d',
  /^\d+(\.\d+)?[smhd]$/,
).refine((ms) => ms <= MAX_DAYS * MS_PER_DAY, { error: TOO_LONG });

export const wholeDays = parsedText(
  (value) => {
    const days = (parseDuration(value) ?? 0) / MS_PER_DAY;
    return Number.isInteger(days) && days >= 1 && days <= MAX_DAYS ? days : null;
  },
  'is not a number of whole days',
  `must be whole days, 1d to ${MAX_DAYS}d, such as 400d`,
  /^\d+[smhd]$/,
);

export const utcOffset = parsedText(
  parseUtcOffset,
  'is not an offset from UTC',
  'must be +HH:MM or -HH:MM, such as "+00:00" or "-03:30"',
  /^[+-]\d{2}:[0-5]\d$/,
);

const byteUnits: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

const A_SIZE = 'must be bytes, or text such as 500MB or 2GiB';

const byteText = parsedText(
  (value) => {
    const [, count, unit = ''] = /^(\d+(?:\.\d+)?) ?([KMG]i?B|B)$/.exec(value) ?? [];
    const bytes = Math.floor(Number(count) * (byteUnits[unit] ?? 0));
    return bytes >= 1 && Number.isSafeInteger(bytes) ? bytes : null;
  },
  'is not a size',
  A_SIZE,
);
export const byteSize = z.union([wholeNumber(1), byteText], { error: A_SIZE });

export const fileMode = parsedText(
  (value) => (/^(?:0o?)?[0-7]{3}$/.test(value) ? Number.parseInt(value.slice(-3), 8) : null),
  'is not a file mode',
  'must be octal text such as "0644"',
  /^(0o?)?[0-7]{3}$/,
);

/** Between these years no horizon and no offset leads off the calendar. */
const [FIRST_YEAR, LAST_YEAR] = [1970, 2999];

export const instant = parsedText(
  (value) => {
    const at = parseInstant(value);
    const year = at?.getUTCFullYear() ?? 0;
    return FIRST_YEAR <= year && year <= LAST_YEAR ? at : null;
  },
  'is not an instant',
  `must be a date and time with a zone, such as 2026-03-01T06:00:00Z, from ${FIRST_YEAR} to ${LAST_YEAR}`,
);

export const columnType = parsedText(
  (value) => {
    const type = parseColumnType(value);
    return type && formatColumnType(type);
  },
  'is not a column type',
  `must be ${columnTypeNames} with 1 <= p <= 38 and 0 <= s <= p`,
  columnTypeForm,
);

export const serviceName = (noun: string) =>
  z.string().refine(isServiceName, {
    error: `is not a ${noun} name; must be text without commas, control characters and blanks around it`,
  });

export function isServiceName(name: string): boolean {
  return isPrintable(name) && name.trim() === name && !name.includes(',');
}
