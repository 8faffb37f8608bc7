/**
 * What the service states of a window as a whole, when the window had to be divided by the values of dimensions.
 *
 * Parts that each agree with their own totals may still leave something out: a row whose value is missing is `in` no set and,
 * where the service reads filters as SQL does, `not in` none either. So the window is asked for once more without any of
 * those dimensions, by the date alone, which is as light as a report can be: its totals count, and where it states none its
 * rows. A row may have values in metrics alone that no sum shows: where there are such, the window is also asked for by the
 * date and each dimension that divides it, whose values tell; where no metric adds up, by these only.
 *
 * A filter of a metric looks at rows as they are grouped, so that no coarser report has the same rows. The whole is then asked
 * for without such a filter, and each part too: their totals tell whether a value is in no part.
 *
 * Of a window with pages that could not be followed the totals by the year are asked for, divided or not: they come in a row a
 * year, of which no page can lack one, and tell whether the rows that came are all there are.
 */

import { isDeepStrictEqual } from 'node:util';

import { asFailure, isPassing, isTooHeavy } from '../errors.ts';
import { addDays, daysBetween, type DayInterval } from '../model/calendar.ts';
import { filtersMetric, isDateDimension } from '../model/dimension.ts';
import { isFiltered, labelOf, type Part, reportParameters, type Window } from '../model/window.ts';
import { errorIn, saysCut, warningsIn } from '../spool/beside-rows.ts';
import type { Spool, SpooledAnswer, WholeAnswer } from '../spool/spool.ts';
import { readReport, type SavedReport } from './saved-report.ts';

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

/** How many reports the whole of a window is yet to be asked for with; none where nothing can be told by it, nor where it is undivided. */
export function wholeRequests(window: Window, whole: WholeAnswer | null, asking: Pick<AskingWhole, 'adding'>): number {
  if (window.parts.length < 2 || (whole !== null && 'because' in whole)) return 0;
  const unknown = dividedBy(window, asking).filter((dimension) => whole?.values.has(dimension) !== true);
  const parts = partsToAsk(window, asking).filter((part) => whole?.byPart?.has(part) !== true);
  return unknown.length + parts.length + (whole === null && isSummed(window, asking) ? 1 : 0);
}

/** How many reports a whole took. */
export function requestsOfWhole(
  window: Window,
  whole: WholeAnswer | null,
  asking: Pick<AskingWhole, 'adding'>,
): number {
  if (whole === null) return 0;
  if ('because' in whole) return 1;
  return whole.values.size + (whole.byPart?.size ?? 0) + (isSummed(window, asking) ? 1 : 0);
}

const isSummed = (window: Window, { adding }: Pick<AskingWhole, 'adding'>): boolean => adding(window) !== 'none';

/** The parts that are to be asked for as the whole is: their own rows are those that a filter of a metric left. */
const partsToAsk = (window: Window, asking: Pick<AskingWhole, 'adding'>): readonly Part[] =>
  isFiltered(window) && isSummed(window, asking) ? window.parts : [];

/** The whole, with what is known of it, or why it could not be had. Throws refused credentials, failures of the disk and the signal's reason. */
export async function askWhole(window: Window, known: WholeAnswer | null, asking: AskingWhole): Promise<WholeAnswer> {
  const [hasSums, dates] = [isSummed(window, asking), datesOf(window)];
  const within = { ...asking, window };
  const whole = known ?? (hasSums ? await askLighter({ dates }, within) : unsummed);
  if ('because' in whole) return whole;
  const values = new Map(whole.values);
  for (const dimension of dividedBy(window, asking)) {
    if (values.has(dimension)) continue;
    const asked = await askLighter({ dates, by: dimension }, within);
    if ('because' in asked) {
      // It may be too heavy like that; the sums tell of all rows but those without a value in any of them.
      if (!hasSums || (asked.failure !== undefined && isPassing(asked.failure))) return asked;
      values.set(dimension, new Set());
      continue;
    }
    const filled = asked.rows.filter((row) => window.slice.metrics.some((metric) => Number(row[metric] ?? 0) !== 0));
    values.set(dimension, new Set(filled.flatMap((row) => valueIn(row[dimension]))));
  }
  const parts = partsToAsk(window, asking);
  if (parts.length === 0) return { ...whole, values };
  const byPart = await Promise.all(
    parts.map(async (part) => [part, whole.byPart?.get(part) ?? (await askLighter({ dates, part }, within))] as const),
  );
  const lacking = byPart.map(([, asked]) => asked).find((asked) => 'because' in asked);
  return lacking ?? { ...whole, values, byPart: new Map(byPart) };
}

const unsummed: WholeAnswer = { totals: new Map(), rows: [], values: new Map() };

/** The dimensions that divide a window, where only their values can tell whether some rows are missing. */
function dividedBy(window: Window, { adding }: Pick<AskingWhole, 'adding'>): readonly string[] {
  // Of a filter's rows at another grain no value tells anything.
  if (isFiltered(window)) return [];
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
  const isTelling = !isFiltered(window) && isSummed(window, asking);
  return isTelling ? askBy({ dates: [COARSEST], days: window.asked }, { ...asking, window }) : null;
}

/** The dates a whole is grouped by. */
function datesOf({ slice }: Window): readonly string[] {
  const dates = slice.dimensions.filter(isDateDimension);
  return dates.length > 0 ? dates : [COARSEST];
}

interface Question {
  readonly dates: readonly string[];
  /** The dimension whose values are asked for. */
  readonly by?: string;
  readonly part?: Part;
  /** All of the window's where there are none. */
  readonly days?: DayInterval;
}

type AskingOf = AskingWhole & { readonly window: Window };

/**
 * Asks for a whole; where it is too heavy, by the year, then for half of its days at a time: the answer is then the rows of
 * both, without totals.
 */
async function askLighter(question: Question, asking: AskingOf): Promise<WholeAnswer> {
  const days = question.days ?? asking.window.asked;
  const answer = await askBy({ ...question, days }, asking);
  if (!('because' in answer) || answer.failure === undefined || !isTooHeavy(answer.failure)) return answer;
  if (question.dates.join() !== COARSEST) return askLighter({ ...question, dates: [COARSEST] }, asking);
  const length = daysBetween(days.start, days.end);
  if (length < 2) return answer;
  const middle = addDays(days.start, Math.ceil(length / 2));
  const rows: Readonly<Record<string, unknown>>[] = [];
  for (const half of [
    { start: days.start, end: middle },
    { start: middle, end: days.end },
  ]) {
    const asked = await askLighter({ ...question, days: half }, asking);
    if ('because' in asked) return asked;
    rows.push(...asked.rows);
  }
  return { totals: new Map(), rows, values: new Map() };
}

/** How often what is no answer is asked for again, as the report itself is. */
const MOST_REPEATS = 2;

async function askBy(question: Question, asking: AskingOf): Promise<WholeAnswer> {
  for (let repeats = 0; ; repeats += 1) {
    const { answer, isUsable } = await askOnce(question, asking);
    if (isUsable || repeats >= MOST_REPEATS) return answer;
  }
}

interface Tried {
  readonly answer: WholeAnswer;
  /** Whether it is an answer, or a failure that was met as often as it may be. */
  readonly isUsable: boolean;
}

async function askOnce({ dates, by, part, days }: Question, asking: AskingOf): Promise<Tried> {
  const { window, pagesOf, spool, signal } = asking;
  const dimensions = [...dates, ...(by === undefined ? [] : [by])].join(',');
  const asked = {
    ...reportParameters(window, part),
    dimensions,
    date_period: labelOf({ asked: days ?? window.asked }),
  };
  // Sorting and index may name a dimension that is not asked for here.
  const parameters = Object.fromEntries(
    Object.entries(asked).filter(([name]) => name !== 'sort' && name !== 'index' && !filtersMetric(name)),
  );
  try {
    const { pages, unfollowed } = await pagesOf(parameters);
    try {
      const reports: SavedReport[] = [];
      for (const page of pages) reports.push(await readReport(page));
      return stated(reports, unfollowed, by);
    } finally {
      await spool.discard({ answers: [{ pages }] });
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SyntaxError) {
      return { answer: { because: 'its answer was no whole JSON document' }, isUsable: false };
    }
    const failure = asFailure(error);
    if (failure.kind === 'storage' || failure.kind === 'bug' || failure.code === 'CREDENTIALS_REFUSED') throw failure;
    return { answer: { because: failure.message, failure }, isUsable: true };
  }
}

/**
 * What the pages of an answer state. Rows that are grouped by a dimension tell of its values only when they are all there;
 * without one they are at least so many, and totals count.
 */
function stated(reports: readonly SavedReport[], unfollowed: string | null, by: string | undefined): Tried {
  const rows = reports.flatMap((report) => report.rows);
  const [error] = reports.flatMap(({ beside }) => errorIn(beside) ?? []);
  if (error !== undefined) return { answer: { because: `the service said ${error}` }, isUsable: false };
  const cut = reports
    .flatMap(({ beside }) => warningsIn(beside))
    .find((warning) => saysCut(warning, rows.length) !== 'no');
  const lacking = unfollowed ?? (cut === undefined ? null : `the service warned: ${cut}`);
  if (by !== undefined && lacking !== null) {
    return { answer: { because: `by ${by} it was not complete: ${lacking}` }, isUsable: true };
  }
  const [totals = new Map(), ...others] = reports.map((report) => report.totals);
  // Pages that each state totals of their own state none of the whole.
  const isOfAll = others.every((other) => isDeepStrictEqual(other, totals));
  const answer = { totals: isOfAll ? totals : new Map(), rows, values: new Map() };
  // An answer without content, where the parts have rows mostly.
  return { answer, isUsable: reports.length > 0 };
}
