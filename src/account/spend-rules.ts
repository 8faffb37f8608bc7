/**
 * Reads spend files, CSV (RFC 4180) or newline-delimited JSON, and judges each line. A bad one is rejected alone, and no number
 * becomes a float: csv-parse and DuckDB fail at one or the other.
 */

import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';

import { parse } from 'lossless-json';
import * as z from 'zod';

import { Failure, storageFailed } from '../errors.ts';
import { MS_PER_DAY, parseDay, parseInstant } from '../model/calendar.ts';
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
  readonly defects: readonly string[];
}

const NOT_UTF8 = '\uFFFD';

/** service-interface: Limits. */
const [MIN_ID_CHARACTERS, MAX_ID_CHARACTERS] = [12, 256];
const MAX_TAG_CHARACTERS = 128;
const ACCEPTED_FOR_DAYS = 7;

/** The active codes of ISO 4217 (amendments up to 2025) without XTS and XXX, and the recently withdrawn ANG and BGN. */
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

export interface JudgedLine extends Pick<SpendRecord, 'line' | 'given'> {
  readonly values: Readonly<Record<SpendColumn, string>>;
  /** Equal for lines that would send the same. Amounts are compared by value: `1.50` equals `1.5`. */
  readonly content: string;
  /** The rules it breaks, or only its defects. */
  readonly reasons: readonly string[];
  /** Does not matter if it was accepted in time. */
  readonly untimely: string | null;
}

export function judgeLine({ line, given, defects }: SpendRecord, now: Date): JudgedLine {
  const text = (column: SpendColumn) => {
    const value = given[column];
    return typeof value === 'string' && value.trim() !== '' ? value : '';
  };
  const values = {
    cost_id: text('cost_id'),
    cost_type: text('cost_type'),
    cost_currency: text('cost_currency').toUpperCase(),
    cost_amount: text('cost_amount'),
    tag: text('tag'),
    engaged_at: text('engaged_at'),
  };
  const broken = spendColumns.flatMap((column) => {
    const [stated, value] = [given[column] ?? '', values[column]];
    if (typeof stated !== 'string') return [`${column} must be text or a number`];
    if (value === '') return column === 'engaged_at' ? [] : [`${column} was empty`];
    if (value.toWellFormed().includes(NOT_UTF8)) return [`${column} was not UTF-8`];
    const reasons = rules[column](value).filter((reason) => reason !== false);
    return reasons.map((reason) => `${column} ${reason}`);
  });
  const reasons = defects.length > 0 ? defects : broken;
  const engagement = engagementOf(values.engaged_at);
  let untimely: string | null = null;
  if (engagement !== null && engagement.to < now.getTime() - ACCEPTED_FOR_DAYS * MS_PER_DAY)
    untimely = `engaged_at was more than ${ACCEPTED_FOR_DAYS} days before ${now.toISOString()}`;
  else if (engagement !== null && engagement.from > now.getTime())
    untimely = `engaged_at was later than ${now.toISOString()}`;
  const decimal = amountOf(values.cost_amount);
  const amount = decimal === null ? values.cost_amount : formatDecimal(decimal);
  const sent = JSON.stringify([values.cost_type, values.cost_currency, amount, values.tag]);
  const content = createHash('sha256').update(sent).digest('hex');
  return { line, given, values, content, reasons, untimely };
}

/** Counts code points, as services do. */
const lengthOf = (text: string) => Array.from(text).length;

const rules: Readonly<Record<SpendColumn, (value: string) => readonly (string | false)[]>> = {
  cost_id: (value) => [
    (lengthOf(value) < MIN_ID_CHARACTERS || lengthOf(value) > MAX_ID_CHARACTERS) &&
      `had ${lengthOf(value)} characters, not ${MIN_ID_CHARACTERS} to ${MAX_ID_CHARACTERS}`,
    /\p{Cc}/u.test(value) && 'contains a control character',
    value !== value.trim() && 'begins or ends with a blank',
  ],
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

/** A date means the whole UTC day, up to its last millisecond. */
function engagementOf(text: string) {
  const date = parseDay(text);
  if (date !== null) return { from: Date.parse(date), to: Date.parse(date) + MS_PER_DAY - 1 };
  const instant = parseInstant(text);
  return instant === null ? null : { from: instant.getTime(), to: instant.getTime() };
}

/** Half a million short lines, which take hours to send, and memory: 600,000 took 1.2 GB (measured). */
const MAX_BYTES = 32 * 1024 * 1024;

/** A value of a CSV line: the quoted part, the closing quote, the unquoted part, the end. */
const CSV_VALUE = /(?:"([^"]*(?:""[^"]*)*)("|$))?([^,\n]*?)(,|\r?\n|\r?$)/gy;
/** A string or a bracket of a JSON line. A key is followed by its colon. */
const JSON_PART = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[[\]{}]/g;

/** Throws `USAGE_INVALID` for another file, and `SPEND_REJECTED` if a CSV header is wrong. */
export async function readSpendFile(file: string): Promise<SpendRecord[]> {
  const extension = extname(file).toLowerCase();
  const stats = await stat(file).catch(() => null);
  let problem: string | null = null;
  if (extension !== '.csv' && extension !== '.ndjson') problem = 'does not end in .csv or .ndjson';
  else if (stats === null) problem = 'was not found';
  // A pipe can be read only once and a device never ends; neither has a place for the rejects.
  else if (!stats.isFile()) problem = 'is not a regular file';
  else if (stats.size > MAX_BYTES) problem = `had ${stats.size} bytes, more than ${MAX_BYTES}`;
  if (problem !== null) {
    throw new Failure('USAGE_INVALID', `The spend file ${file} ${problem}.`, {
      facts: { file },
      hint: 'Use an existing .csv or .ndjson file, and send a larger one in parts.',
    });
  }
  // Invalid bytes become U+FFFD, which a rule finds.
  const content = await readFile(file, 'utf8').catch((cause: unknown) => {
    const hint = 'Check the permissions of the file.';
    throw storageFailed(`${file} could not be read`, cause, { facts: { file }, hint });
  });
  const text = content.replace(/^\uFEFF/, '');
  if (extension === '.csv') return csvRecords(file, text);
  return text
    .split('\n')
    .flatMap((raw, at) => (raw.trim() === '' ? [] : [{ line: at + 1, ...objectOf(raw.trim()) }]));
}

function csvRecords(file: string, text: string) {
  const lines = csvLines(text);
  const first = lines.next();
  const header = first.done === true ? [] : first.value.values;
  const twice = new Set(header.filter((name, at) => header.indexOf(name) !== at));
  const problems = [
    ...requiredColumns.filter((name) => !header.includes(name)).map((name) => `no ${name}`),
    ...[...twice].map((name) => `${JSON.stringify(name)} twice`),
  ];
  if (problems.length > 0) {
    const message = `The columns of ${file} were wrong: it had ${problems.join(', ')}.`;
    throw new Failure('SPEND_REJECTED', message, {
      facts: { file, problems: problems.length },
      hint: `Name the columns ${requiredColumns.join(', ')}, in lower case, separated by commas; nothing was sent.`,
    });
  }
  return Array.from(lines, ({ line, values, defect }) => {
    const defects = defect === null ? [] : [defect];
    if (values.length !== header.length)
      defects.unshift(`the line had ${values.length} values for ${header.length} columns`);
    // The columns of a malformed line are a guess.
    if (defects.length > 0) return { line, given: { raw: values }, defects };
    const given = Object.fromEntries(header.map((name, at) => [name, values[at]]));
    return { line, given, defects };
  });
}

interface CsvLine {
  readonly line: number;
  readonly values: string[];
  defect: string | null;
}

/** Yields no blank lines. A line break in quotes does not end a line. */
function* csvLines(text: string) {
  let line = 1;
  let started: CsvLine = { line, values: [], defect: null };
  for (const [whole, quoted, closing, bare = '', end] of text.matchAll(CSV_VALUE)) {
    started.values.push(`${quoted?.replaceAll('""', '"') ?? ''}${bare}`);
    if (closing === '')
      started.defect = 'a quote is never closed, so the rest was read as one value';
    else if (quoted !== undefined && bare !== '')
      started.defect = 'a value continues after its closing quote';
    line += whole.split('\n').length - 1;
    if (end === ',') continue;
    const isBlank = started.values.length === 1 && quoted === undefined && bare.trim() === '';
    if (!isBlank) yield started;
    started = { line, values: [], defect: null };
  }
}

const objectShape = z.record(z.string(), z.unknown());

/** Reads numbers as text. A repeated key, unless it is nested, is a defect: a parser would keep only the last. */
function objectOf(raw: string) {
  let defect = 'the line is not a JSON object';
  try {
    const keys: string[] = [];
    let depth = 0;
    for (const [part, text = '', colon] of raw.matchAll(JSON_PART)) {
      if (part === '{' || part === '[') depth += 1;
      else if (part === '}' || part === ']') depth -= 1;
      else if (depth === 1 && colon !== undefined) keys.push(String(JSON.parse(text)));
    }
    const twice = keys.find((key, at) => keys.indexOf(key) !== at);
    if (twice === undefined) {
      const given = objectShape.parse(parse(raw, null, { parseNumber: (number) => number }));
      return { given, defects: [] };
    }
    defect = `the line had the key ${JSON.stringify(twice)} twice`;
  } catch {
    // The defect states it.
  }
  return { given: { raw }, defects: [defect] };
}
