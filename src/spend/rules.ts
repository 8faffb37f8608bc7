/**
 * The rules a line of ad spend must keep, each with the words for a line that breaks it. Pure.
 *
 * What one line says of another (the same Cost ID twice, or sent before) is judged where all lines are: `staging.ts`.
 */

import { createHash } from 'node:crypto';

import { MS_PER_DAY, parseDay } from '../model/calendar.ts';
import { digitsOf, formatDecimal, MAX_DIGITS, parseDecimal } from '../model/column-type.ts';

/** The columns every line must fill. */
export const requiredColumns = ['cost_id', 'cost_type', 'cost_currency', 'cost_amount', 'tag'] as const;

/** All columns that mean something, in the order they are documented; `engaged_at` is checked where it is given, never sent. */
export const spendColumns = [...requiredColumns, 'engaged_at'] as const;

type SpendColumn = (typeof spendColumns)[number];

/** What a rejects file adds; such a file can be corrected and sent as it is. */
export const rejectColumns: readonly string[] = ['line', 'reasons'];

export interface SpendRecord {
  /** Line of the file it begins on, counted from 1 as an editor does; in Parquet the row. */
  readonly line: number;
  /** Every column as given, by name; numbers are their own text. */
  readonly given: Readonly<Record<string, unknown>>;
  /** What is wrong with the form of the line itself. */
  readonly defects: readonly string[];
  /** The whole content of a line without a form; its columns are a guess then, and must not be shown as if they were meant. */
  readonly raw?: string | readonly string[];
}

/** What bytes become that are no UTF-8. */
const NOT_UTF8 = '\uFFFD';

/** service-interface: Limits. */
const COST_ID_CHARACTERS = { min: 12, max: 256 } as const;
const MAX_TAG_CHARACTERS = 128;
const ACCEPTED_FOR_DAYS = 7;

/**
 * The active codes of ISO 4217 (list one, with the amendments up to 2025), without XTS (tests) and XXX (no currency). Codes that
 * a country gave up lately (ANG, BGN) stay, as spend may still be booked in them; the service has the last word.
 */
const currencies: ReadonlySet<string> = new Set(
  `
  AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE
  CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD
  HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD
  MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR
  RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH
  UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XUA
  YER ZAR ZMW ZWG`
    .trim()
    .split(/\s+/),
);

/** The full set is not documented (service-interface: POST /cost). */
const costTypeForm = /^[a-z][a-z0-9_-]*$/;
const amountForm = /^\d+(?:\.\d+)?$/;
const instantForm =
  /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** A line, judged by its own rules. */
export interface JudgedLine {
  readonly line: number;
  /** The values of the columns that mean something; empty for what is absent, blank or no text. */
  readonly values: Readonly<Record<SpendColumn, string>>;
  /** Equal for lines that would send the same: an amount counts by its value, `1.50` being `1.5`. */
  readonly content: string;
  /** Every rule it breaks, in the order of the columns; of a line without a form of its own only what broke that. */
  readonly reasons: readonly string[];
  /** Why it is too late or too early to send it; of no concern to a line that was accepted in time. */
  readonly untimely: string | null;
}

/** A line and every rule it breaks, at an instant. */
export function judgeLine({ line, given, defects }: SpendRecord, now: Date): JudgedLine {
  const values = {
    cost_id: textOf(given['cost_id']),
    cost_type: textOf(given['cost_type']),
    cost_currency: textOf(given['cost_currency']).toUpperCase(),
    cost_amount: textOf(given['cost_amount']),
    tag: textOf(given['tag']),
    engaged_at: textOf(given['engaged_at']),
  };
  const engagement = engagementOf(values.engaged_at);
  // Of a line that fell apart the values are not the ones that were meant.
  const reasons = defects.length > 0 ? defects : brokenRules(given, values, engagement);
  const untimely = engagement === null ? null : timeReason(engagement, now);
  return { line, values, content: contentOf(values), reasons, untimely };
}

function brokenRules(
  given: SpendRecord['given'],
  values: JudgedLine['values'],
  engagement: Engagement | null,
): string[] {
  return [
    ...spendColumns.flatMap((column) => formOf(column, given[column]) ?? []),
    ...(values.cost_id === '' ? [] : costIdReasons(values.cost_id)),
    ...reasonIf(
      values.cost_type !== '' && !costTypeForm.test(values.cost_type),
      'cost_type was no lower-case word such as cpc or cpi',
    ),
    ...reasonIf(
      values.cost_currency !== '' && !currencies.has(values.cost_currency),
      'cost_currency was no ISO 4217 code',
    ),
    ...(values.cost_amount === '' ? [] : amountReasons(values.cost_amount)),
    ...tagReasons(values.tag),
    ...reasonIf(
      values.engaged_at !== '' && engagement === null,
      'engaged_at was neither an ISO 8601 instant with its zone nor a date',
    ),
  ];
}

const isBlank = (value: unknown): boolean => typeof value === 'string' && value.trim() === '';
const textOf = (value: unknown): string => (typeof value === 'string' && !isBlank(value) ? value : '');
const reasonIf = (isBroken: boolean, reason: string): string[] => (isBroken ? [reason] : []);
/** Code points, which is what services count as characters. */
const lengthOf = (text: string): number => Array.from(text).length;

/** What is wrong with a value before its meaning: absent, no text, not UTF-8. */
function formOf(column: SpendColumn, value: unknown): string | null {
  if (value === undefined || value === null || isBlank(value)) {
    return column === 'engaged_at' ? null : `${column} was empty`;
  }
  if (typeof value !== 'string') return `${column} was neither a text nor a number`;
  return value.includes(NOT_UTF8) ? `${column} was not UTF-8` : null;
}

function costIdReasons(costId: string): string[] {
  const { min, max } = COST_ID_CHARACTERS;
  const length = lengthOf(costId);
  return [
    ...reasonIf(length < min || length > max, `cost_id had ${length} characters, not ${min} to ${max}`),
    ...reasonIf(/\p{Cc}/u.test(costId), 'cost_id held a control character'),
    ...reasonIf(costId !== costId.trim(), 'cost_id began or ended with a blank'),
  ];
}

function amountReasons(amount: string): string[] {
  const decimal = amountForm.test(amount) ? parseDecimal(amount) : null;
  if (decimal === null) {
    return ['cost_amount was no plain number of at least 0, such as 0.25, without sign, exponent or separators'];
  }
  const { whole, fraction } = digitsOf(decimal);
  return reasonIf(whole + fraction > MAX_DIGITS, `cost_amount had ${whole + fraction} digits, more than ${MAX_DIGITS}`);
}

function tagReasons(tag: string): string[] {
  const length = lengthOf(tag);
  return [
    ...reasonIf(length > MAX_TAG_CHARACTERS, `tag had ${length} characters, more than ${MAX_TAG_CHARACTERS}`),
    ...reasonIf(tag.includes('\u0000'), 'tag held a NUL character'),
  ];
}

interface Engagement {
  readonly from: number;
  /** Exclusive for a day, the instant itself otherwise. */
  readonly to: number;
}

/** A date stands for its whole day in UTC: the engagement was at some time of it. */
function engagementOf(text: string): Engagement | null {
  const date = parseDay(text);
  if (date !== null) return { from: Date.parse(date), to: Date.parse(date) + MS_PER_DAY - 1 };
  const match = instantForm.exec(text);
  if (match === null || parseDay(match[1] ?? '') === null) return null;
  return { from: Date.parse(text), to: Date.parse(text) };
}

function timeReason({ from, to }: Engagement, now: Date): string | null {
  if (to < now.getTime() - ACCEPTED_FOR_DAYS * MS_PER_DAY) {
    return `engaged_at was more than ${ACCEPTED_FOR_DAYS} days before ${now.toISOString()}`;
  }
  return from > now.getTime() ? `engaged_at was later than ${now.toISOString()}` : null;
}

function contentOf({ cost_type, cost_currency, cost_amount, tag }: JudgedLine['values']): string {
  const decimal = amountForm.test(cost_amount) ? parseDecimal(cost_amount) : null;
  const amount = decimal === null ? cost_amount : formatDecimal(decimal);
  return createHash('sha256')
    .update(JSON.stringify([cost_type, cost_currency, amount, tag]))
    .digest('hex');
}
