/** Rules for one line of ad spend. Rules between lines are in `send-spend.ts`. Pure. */

import { createHash } from 'node:crypto';

import { MS_PER_DAY, parseDay } from '../model/calendar.ts';
import { digitsOf, formatDecimal, MAX_DIGITS, parseDecimal } from '../model/column-type.ts';

export const requiredColumns = [
  'cost_id',
  'cost_type',
  'cost_currency',
  'cost_amount',
  'tag',
] as const;

/** `engaged_at` is checked, but never sent. */
export const spendColumns = [...requiredColumns, 'engaged_at'] as const;

type SpendColumn = (typeof spendColumns)[number];

export interface SpendRecord {
  /** Where it begins, from 1. */
  readonly line: number;
  /** By column, numbers as text. A line with defects is one column `raw`. */
  readonly given: Readonly<Record<string, unknown>>;
  /** What is wrong with the form of the line itself. */
  readonly defects: readonly string[];
}

const NOT_UTF8 = '\uFFFD';

/** service-interface: Limits. */
const COST_ID_CHARACTERS = { least: 12, most: 256 } as const;
const MAX_TAG_CHARACTERS = 128;
const ACCEPTED_FOR_DAYS = 7;

/**
 * The active codes of ISO 4217 (with the amendments up to 2025), without XTS and XXX, and those given up recently (ANG, BGN).
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

export interface JudgedLine extends Pick<SpendRecord, 'line' | 'given'> {
  readonly values: Readonly<Record<SpendColumn, string>>;
  /** Equal for lines that would send the same. Amounts are compared by value: `1.50` equals `1.5`. */
  readonly content: string;
  /** Every rule it breaks, or only its defects. */
  readonly reasons: readonly string[];
  /** Does not matter if it was accepted in time. */
  readonly untimely: string | null;
}

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
  const broken = spendColumns.flatMap((column) => reasonsOf(column, given[column], values[column]));
  const reasons = defects.length > 0 ? defects : broken;
  const untimely = engagement === null ? null : timeReason(engagement, now);
  return { line, given, values, content: contentOf(values), reasons, untimely };
}

const isBlank = (value: unknown): boolean => typeof value === 'string' && value.trim() === '';
const textOf = (value: unknown): string =>
  typeof value === 'string' && !isBlank(value) ? value : '';
/** Counts code points, as services do. */
const lengthOf = (text: string): number => Array.from(text).length;

function reasonsOf(column: SpendColumn, given: unknown, value: string): string[] {
  if (given === undefined || given === null || isBlank(given)) {
    return column === 'engaged_at' ? [] : [`${column} was empty`];
  }
  if (typeof given !== 'string') return [`${column} must be text or a number`];
  if (given.toWellFormed().includes(NOT_UTF8)) return [`${column} was not UTF-8`];
  return rules[column](value).flatMap((reason) =>
    reason === false ? [] : [`${column} ${reason}`],
  );
}

/** By column: how a text breaks each rule, or false. */
const rules: Readonly<Record<SpendColumn, (value: string) => readonly (string | false)[]>> = {
  cost_id: (value) => {
    const [{ least, most }, length] = [COST_ID_CHARACTERS, lengthOf(value)];
    return [
      (length < least || length > most) && `had ${length} characters, not ${least} to ${most}`,
      /\p{Cc}/u.test(value) && 'contains a control character',
      value !== value.trim() && 'begins or ends with a blank',
    ];
  },
  cost_type: (value) => [
    !costTypeForm.test(value) && 'must be a lower-case word such as cpc or cpi',
  ],
  cost_currency: (value) => [!currencies.has(value) && 'must be an ISO 4217 code'],
  cost_amount: (value) => {
    const decimal = amountOf(value);
    if (decimal === null) {
      return [
        'must be a plain number of at least 0, such as 0.25, without sign, exponent or separators',
      ];
    }
    const digits = digitsOf(decimal).whole + digitsOf(decimal).fraction;
    return [digits > MAX_DIGITS && `had ${digits} digits, more than ${MAX_DIGITS}`];
  },
  tag: (value) => [
    lengthOf(value) > MAX_TAG_CHARACTERS &&
      `had ${lengthOf(value)} characters, more than ${MAX_TAG_CHARACTERS}`,
    value.includes('\u0000') && 'contains a NUL character',
  ],
  engaged_at: (value) => [
    engagementOf(value) === null && 'must be a date, or an ISO 8601 instant with its zone',
  ],
};

const amountOf = (text: string) => (amountForm.test(text) ? parseDecimal(text) : null);

interface Engagement {
  readonly from: number;
  /** The last millisecond of a day, or the instant itself. */
  readonly to: number;
}

/** A date means the whole UTC day. */
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
  const decimal = amountOf(cost_amount);
  const amount = decimal === null ? cost_amount : formatDecimal(decimal);
  return createHash('sha256')
    .update(JSON.stringify([cost_type, cost_currency, amount, tag]))
    .digest('hex');
}
