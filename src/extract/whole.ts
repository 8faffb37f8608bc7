/**
 * What the service states of a window as a whole, when the window had to be divided by the values of dimensions.
 *
 * Parts that each agree with their own totals may still leave something out: a row whose value is missing is `in` no set and,
 * where the service reads filters as SQL does, `not in` none either. So the window is asked for once more without any of
 * those dimensions, by the date alone, which is as light as a report can be: its totals count, and where it states none its
 * rows. A row may have values in metrics alone that no sum shows: where there are such, the window is also asked for by the
 * date and each dimension that divides it, whose values tell; where no metric adds up, by these only.
 *
 * Of a window with pages that could not be followed the totals by the year are asked for, divided or not: they come in a row a
 * year, of which no page can lack one, and tell whether the rows that came are all there are.
 */

import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual, promisify } from 'node:util';
import { gunzip } from 'node:zlib';

import * as z from 'zod';

import { asFailure } from '../errors.ts';
import { filtersMetric, isDateDimension } from '../model/dimension.ts';
import { reportParameters, type Window } from '../model/window.ts';
import { parseJson } from '../service/body.ts';
import type { SavedBody } from '../service/service.ts';
import { besideRowsOf, errorIn, saysCut, warningsIn } from '../spool/beside-rows.ts';
import { onDisk, type Spool, type SpooledAnswer, type WholeAnswer } from '../spool/spool.ts';

export interface AskingWhole {
  /** Every page of a report. */
  readonly pagesOf: (parameters: Readonly<Record<string, string>>) => Promise<Pages>;
  readonly spool: Pick<Spool, 'discard'>;
  readonly signal: AbortSignal;
  /** Which of a window's metrics add up, and so show by their sums that rows are missing. */
  readonly adding: (window: Window) => Adding;
}

type Adding = 'all' | 'some' | 'none';

/** Which of some metrics add up for certain. */
export function addingAmong(metrics: readonly { readonly additive: boolean; readonly isAssumed: boolean }[]): Adding {
  const adding = metrics.filter(({ additive, isAssumed }) => additive && !isAssumed);
  if (adding.length === 0) return 'none';
  return adding.length === metrics.length ? 'all' : 'some';
}

/** The pages of an answer as they were saved, and why others were not followed, as a clause. */
export type Pages = Pick<SpooledAnswer, 'pages' | 'unfollowed'>;

/** A report needs a dimension, and every report can be grouped by the year. */
const COARSEST = 'year';

/**
 * How many reports the whole of a window is yet to be asked for with; none where its parts cannot be compared with it, nor
 * where it is undivided.
 */
export function wholeRequests(window: Window, whole: WholeAnswer | null, asking: Pick<AskingWhole, 'adding'>): number {
  if (window.parts.length < 2 || !isComparable(window) || (whole !== null && 'because' in whole)) return 0;
  const unknown = dividedBy(window, asking).filter((dimension) => whole?.values.has(dimension) !== true);
  return unknown.length + (whole === null && asking.adding(window) !== 'none' ? 1 : 0);
}

/** How many reports a whole took. */
export function requestsOfWhole(
  window: Window,
  whole: WholeAnswer | null,
  asking: Pick<AskingWhole, 'adding'>,
): number {
  if (whole === null) return 0;
  if ('because' in whole) return 1;
  return whole.values.size + (asking.adding(window) === 'none' ? 0 : 1);
}

/** Whether the parts of a window can be held against the whole: a metric's filter looks at rows as grouped. */
function isComparable({ slice }: Window): boolean {
  return !Object.keys(slice.parameters).some(filtersMetric);
}

/** The whole, with what is known of it, or why it could not be had. Throws refused credentials, failures of the disk and the signal's reason. */
export async function askWhole(window: Window, known: WholeAnswer | null, asking: AskingWhole): Promise<WholeAnswer> {
  const hasSums = asking.adding(window) !== 'none';
  const whole = known ?? (hasSums ? await askBy(datesOf(window), [], { ...asking, window }) : unsummed);
  if ('because' in whole) return whole;
  const values = new Map(whole.values);
  for (const dimension of dividedBy(window, asking)) {
    if (values.has(dimension)) continue;
    const asked = await askBy(datesOf(window), [dimension], { ...asking, window });
    if ('because' in asked) {
      // It may be too heavy like that; the sums tell of all rows but those without a value in any of them.
      if (!hasSums) return asked;
      values.set(dimension, new Set());
      continue;
    }
    const filled = asked.rows.filter((row) => window.slice.metrics.some((metric) => Number(row[metric] ?? 0) !== 0));
    values.set(dimension, new Set(filled.flatMap((row) => valueIn(row[dimension]))));
  }
  return { ...whole, values };
}

const unsummed: WholeAnswer = { totals: new Map(), rows: [], values: new Map() };

/** The dimensions that divide a window, where only their values can tell whether some rows are missing. */
function dividedBy(window: Window, { adding }: Pick<AskingWhole, 'adding'>): readonly string[] {
  return adding(window) === 'all' ? [] : [...new Set(window.parts.flatMap((part) => Object.keys(part)))];
}

/** A value as a row of a part holds it; none of a fraction, of whose digits some may be lost. */
function valueIn(value: unknown): (string | null)[] {
  if (typeof value === 'number' && !Number.isInteger(value)) return [];
  return [typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : null];
}

/**
 * The whole by the year, for a window with pages that could not be followed; null where its sums cannot be held against it.
 * Throws as `askWhole` does.
 */
export async function askByYear(window: Window, asking: AskingWhole): Promise<WholeAnswer | null> {
  const isTelling = isComparable(window) && asking.adding(window) !== 'none';
  return isTelling ? askBy([COARSEST], [], { ...asking, window }) : null;
}

/** The dates a whole is grouped by. */
function datesOf({ slice }: Window): readonly string[] {
  const dates = slice.dimensions.filter(isDateDimension);
  return dates.length > 0 ? dates : [COARSEST];
}

async function askBy(
  dates: readonly string[],
  by: readonly string[],
  { window, pagesOf, spool, signal }: AskingWhole & { readonly window: Window },
): Promise<WholeAnswer> {
  const dimensions = [...dates, ...by].join(',');
  // They may name a dimension that is not asked for here.
  const parameters = Object.fromEntries(
    Object.entries({ ...reportParameters(window), dimensions }).filter(([name]) => name !== 'sort' && name !== 'index'),
  );
  try {
    const { pages, unfollowed } = await pagesOf(parameters);
    try {
      const documents: unknown[] = [];
      for (const page of pages) documents.push(await readBody(page));
      return stated(documents, unfollowed, by);
    } finally {
      await spool.discard({ answers: [{ pages }] });
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SyntaxError) return { because: 'its answer was no whole JSON document' };
    const failure = asFailure(error);
    if (failure.kind === 'storage' || failure.kind === 'bug' || failure.code === 'CREDENTIALS_REFUSED') throw failure;
    return { because: failure.message };
  }
}

async function readBody({ path, encoding }: SavedBody): Promise<unknown> {
  const bytes = await onDisk('spool', path, async () => readFile(path));
  const plain = encoding === 'gzip' ? await promisify(gunzip)(bytes) : bytes;
  return parseJson(plain.toString('utf8'));
}

/** Totals and warnings, with hundreds of metrics; longer bodies have rows. */
const MOST_BYTES_WITHOUT_ROWS = 65_536;

/** Whether a body brings rows; one that is no document is found to be none when it is loaded. */
export async function hasRows(saved: SavedBody): Promise<boolean> {
  if (saved.plainBytes > MOST_BYTES_WITHOUT_ROWS) return true;
  try {
    return answerShape.parse(await readBody(saved)).rows.length > 0;
  } catch (error) {
    if (error instanceof SyntaxError) return true;
    throw error;
  }
}

/**
 * What the pages of an answer state. Rows that are grouped by a dimension tell of its values only when they are all there;
 * without one they are at least so many, and totals count.
 */
function stated(documents: readonly unknown[], unfollowed: string | null, by: readonly string[]): WholeAnswer {
  const answers = documents.map((document) => answerShape.parse(document));
  const rows = answers.flatMap((answer) => answer.rows);
  const beside = documents.map((document) => besideRowsOf(record.catch({}).parse(document)));
  const [error] = beside.flatMap((each) => errorIn(each) ?? []);
  if (error !== undefined) return { because: `the service said ${error}` };
  const cut = beside.flatMap(warningsIn).find((warning) => saysCut(warning, rows.length) !== 'no');
  const lacking = unfollowed ?? (cut === undefined ? null : `the service warned: ${cut}`);
  if (by.length > 0 && lacking !== null) return { because: `by ${by.join(', ')} it was not complete: ${lacking}` };
  const [totals = new Map(), ...others] = answers.map((answer) => textsIn(answer.totals));
  // Pages that each state totals of their own state none of the whole.
  const isOfAll = others.every((other) => isDeepStrictEqual(other, totals));
  return { totals: isOfAll ? totals : new Map(), rows, values: new Map() };
}

/** Numbers and texts as texts; what is neither states nothing. */
function textsIn(totals: Readonly<Record<string, unknown>>): Map<string, string> {
  return new Map(
    Object.entries(totals).flatMap(([metric, total]): [string, string][] =>
      typeof total === 'number' || typeof total === 'string' ? [[metric, String(total)]] : [],
    ),
  );
}

/** As it was parsed: a copy would lack a metric named `__proto__`. */
const record = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);

const answerShape = z
  .object({ totals: record.catch({}), rows: z.array(record).catch([]) })
  .catch({ totals: {}, rows: [] });
