/** What instants, days, durations and whole numbers mean as words of a command line. */

import { Failure } from '../errors.ts';
import { addDays, parseDay, type Day, type DayInterval } from '../model/calendar.ts';
import { parseDuration } from '../model/duration.ts';
import { LAST_DAY } from '../model/period.ts';

/** A date alone is refused: it would name another instant in every time zone. */
const instantForm =
  /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** An ISO 8601 instant with its offset; `USAGE_INVALID` naming the option for anything else. */
export function instantOf(text: string, option: string): Date {
  const match = instantForm.exec(text);
  if (match === null || parseDay(match[1] ?? '') === null) {
    throw new Failure('USAGE_INVALID', `${option} was "${text}", which is no instant with an offset.`, {
      hint: `Write ${option} as an ISO 8601 instant such as 2026-02-14T02:30:00Z or 2026-02-14T02:30:00+01:00.`,
    });
  }
  return new Date(text);
}

/** Milliseconds of a duration such as `90m`; `USAGE_INVALID` naming the option for anything else. */
export function durationOf(text: string, option: string): number {
  const ms = parseDuration(text);
  if (ms === null) {
    throw new Failure('USAGE_INVALID', `${option} was "${text}", which is no duration.`, {
      hint: `Write ${option} as a number and a unit, s m h d, such as 90m.`,
    });
  }
  return ms;
}

/** A whole number from 0 to `most`; `USAGE_INVALID` naming the option for anything else. */
export function wholeNumberOf(text: string, option: string, most: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value <= most) return value;
  throw new Failure('USAGE_INVALID', `${option} was "${text}", which is no whole number from 0 to ${most}.`, {
    hint: `Write ${option} in digits.`,
  });
}

/** The days from the first to the last, both inclusive, as a half-open interval. */
export function dayRange(from: string, to: string): DayInterval {
  const [first, last] = [dayOf(from, '--from'), dayOf(to, '--to')];
  if (last < first) {
    throw new Failure('USAGE_INVALID', `--from ${first} was later than --to ${last}.`, {
      hint: 'Give the first day as --from and the last day as --to.',
    });
  }
  if (last > LAST_DAY) {
    throw new Failure(
      'USAGE_INVALID',
      `--to was ${last}, later than the last day that can be asked for, ${LAST_DAY}.`,
      {
        hint: 'Correct the year of --to.',
      },
    );
  }
  return { start: first, end: addDays(last, 1) };
}

/** A civil day; `USAGE_INVALID` naming the option for anything else. */
export function dayOf(text: string, option: string): Day {
  const parsed = parseDay(text);
  if (parsed === null) {
    throw new Failure('USAGE_INVALID', `${option} was "${text}", which is no date.`, {
      hint: `Write ${option} as YYYY-MM-DD.`,
    });
  }
  return parsed;
}
