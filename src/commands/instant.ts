/** What instants, days, durations and whole numbers mean as words of a command line; `USAGE_INVALID` naming the option for anything else. */

import { Failure } from '../errors.ts';
import { addDays, parseDay, type Day, type DayInterval } from '../model/calendar.ts';
import { parseDuration } from '../model/duration.ts';
import { LAST_DAY } from '../model/period.ts';

/** A date alone is refused: it would name another instant in every time zone. */
const instantForm =
  /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

const usage = (message: string, hint: string): Failure => new Failure('USAGE_INVALID', message, { hint });

/** An option's meaning; null where it was not given. */
export function given<T>(read: (text: string, option: string) => T, text: string | undefined, option: string) {
  return text === undefined ? null : read(text, option);
}

/** An ISO 8601 instant with its offset. */
export function instantOf(text: string, option: string): Date {
  if (parseDay(instantForm.exec(text)?.[1] ?? '') !== null) return new Date(text);
  const form = 'an ISO 8601 instant such as 2026-02-14T02:30:00Z or 2026-02-14T02:30:00+01:00';
  throw usage(`${option} was "${text}", which is no instant with an offset.`, `Write ${option} as ${form}.`);
}

/** Milliseconds of a duration such as `90m`. */
export function durationOf(text: string, option: string): number {
  const ms = parseDuration(text);
  if (ms !== null) return ms;
  const hint = `Write ${option} as a number and a unit, s m h d, such as 90m.`;
  throw usage(`${option} was "${text}", which is no duration.`, hint);
}

/** A whole number from 0 to `most`. */
export function wholeNumberOf(text: string, option: string, most: number): number {
  if (/^\d+$/.test(text) && Number(text) <= most) return Number(text);
  throw usage(`${option} was "${text}", which is no whole number from 0 to ${most}.`, `Write ${option} in digits.`);
}

/** A civil day. */
export function dayOf(text: string, option: string): Day {
  const parsed = parseDay(text);
  if (parsed !== null) return parsed;
  throw usage(`${option} was "${text}", which is no date.`, `Write ${option} as YYYY-MM-DD.`);
}

/** The days from the first to the last, both inclusive, as a half-open interval. */
export function dayRange(from: string, to: string): DayInterval {
  const [first, last] = [dayOf(from, '--from'), dayOf(to, '--to')];
  const hint = 'Give the first day as --from and the last day as --to.';
  if (last < first) throw usage(`--from ${first} was later than --to ${last}.`, hint);
  if (last <= LAST_DAY) return { start: first, end: addDays(last, 1) };
  throw usage(`--to was ${last}, later than the last day of all, ${LAST_DAY}.`, 'Correct the year of --to.');
}
