/**
 * Answers, judged before anything is deleted.
 *
 * An error object, `{"rows":null}` and an empty file all read as zero rows in silence; a replacement would then erase
 * the window. So every file must be exactly one document with rows, carrying every requested key, unpaged and without
 * a word of truncation.
 */

import { asFailure, Failure } from '../errors.ts';
import { subjectOf, type Window } from '../model/window.ts';
import { nextPageOf } from '../service/service.ts';
import { saysCut } from '../spool/beside-rows.ts';
import type { Spooled, SpooledAnswer } from '../spool/spool.ts';
import { maturityOf, type WindowMaturity } from './evidence.ts';
import type { LoadResult, LoadWarning } from './load-result.ts';
import type { AnswerPage, SoundPage } from './report-page.ts';

/** The answer to one request of a window, all its pages together. */
export interface JudgedAnswer extends Pick<SpooledAnswer, 'partNo'> {
  /** Those of the window that were requested, in its order. */
  readonly metrics: readonly string[];
  readonly rowCount: number;
  /** Per page, as the service wrote them; a page that stated nothing is left out. */
  readonly totals: readonly ReadonlyMap<string, string>[];
  /** Why further pages were not read, as a clause; null when there are none. */
  readonly unfollowed: string | null;
  /** Why the rows may not be all there are; null when nothing says so. */
  readonly doubt: Doubt | null;
}

export interface Doubt {
  readonly because: string;
  /** Whether totals that equal the rows' sums show that the rows are all there are. */
  readonly isRefutable: boolean;
}

/** Answers whose rows may be looked at. */
interface SoundAnswers {
  readonly answers: readonly JudgedAnswer[];
  readonly warnings: readonly LoadWarning[];
  readonly maturity: WindowMaturity;
}

/** A window whose answers are sound, and its number in the batch. */
export interface Sound extends SoundAnswers {
  readonly spooled: Spooled;
  readonly windowNo: number;
}

/** An answer with what inspection found for each of its pages. */
export interface InspectedAnswer extends Omit<SpooledAnswer, 'pages'> {
  readonly pages: readonly AnswerPage[];
}

/** Sound answers with their warnings, or what is to be done instead of loading. An answer without pages had no content. */
export function judgeAnswers(window: Window, inspected: readonly InspectedAnswer[]): SoundAnswers | LoadResult {
  const sound: SoundPage[] = [];
  const answers: JudgedAnswer[] = [];
  const missing = new Set<string>();
  for (const { pages, metrics, ...answer } of inspected) {
    const own: SoundPage[] = [];
    const requested = inOrder(window, metrics);
    for (const page of pages) {
      if ('because' in page) return brokenResult(window, page.because);
      const failure = lackingKeys(window, page, requested) ?? badLabel(window, page);
      if (failure !== null) return { kind: 'failed', window, failure };
      own.push(page);
      if (page.rowCount > 0)
        requested.filter((name) => !page.commonKeys.has(name)).forEach((name) => missing.add(name));
    }
    sound.push(...own);
    answers.push({ ...answer, metrics: requested, ...completenessOf(window, own, answer.unfollowed) });
  }
  const asked = new Set([...window.slice.dimensions, ...window.slice.metrics, 'attr_dependency']);
  const extra = [...new Set(sound.flatMap(({ keys }) => [...keys].filter((key) => !asked.has(key))))].sort();
  const maturity = maturityOf(
    window,
    sound.map((answer) => answer.maturity),
  );
  const unread = maturity.unread === null ? [] : [{ code: 'EVIDENCE_UNREAD' as const, message: maturity.unread }];
  return {
    answers,
    maturity,
    warnings: [...warningsOf(window, sound, extra, inOrder(window, [...missing])), ...unread],
  };
}

/** Those of a window's metrics that are among some. */
function inOrder({ slice }: Window, metrics: readonly string[]): readonly string[] {
  const some = new Set(metrics);
  return slice.metrics.filter((name) => some.has(name));
}

function warningsOf(
  { slice }: Window,
  sound: readonly SoundPage[],
  extra: readonly string[],
  missing: readonly string[],
): LoadWarning[] {
  const warnings: LoadWarning[] = [...new Set(sound.flatMap((answer) => answer.warnings))].map((message) => ({
    code: 'SERVICE_WARNING',
    message: `The service warned: ${message}`,
  }));
  if (extra.length > 0) {
    const names = extra.map((key) => (key === '' ? '""' : key)).join(', ');
    const kept = slice.cube === undefined ? 'kept in _extra' : 'left out, as a cube has no _extra';
    warnings.push({
      code: 'UNKNOWN_KEYS',
      message: `Rows carried keys that were not requested, ${kept}: ${names}.`,
    });
  }
  if (missing.length > 0) {
    warnings.push({
      code: 'MISSING_KEYS',
      message: `Some rows lacked a requested metric, which is NULL there: ${missing.join(', ')}.`,
    });
  }
  return warnings;
}

function brokenResult(window: Window, because: string): LoadResult {
  const failure = new Failure(
    'DATA_MALFORMED',
    `${subjectOf(window)}: the answer was not one whole report: ${because}.`,
    {
      hint: 'Run again later; nothing was loaded.',
    },
  );
  return { kind: 'ask again', window, failure };
}

function lackingKeys(window: Window, answer: SoundPage, metrics: readonly string[]): Failure | null {
  const { dimensions } = window.slice;
  const lost = answer.rowCount === 0 ? [] : dimensions.filter((name) => !answer.commonKeys.has(name));
  const missing = answer.rowCount === 0 ? [] : metrics.filter((name) => !answer.keys.has(name));
  if (lost.length === 0 && missing.length === 0) return null;
  const what = [
    ...(lost.length > 0 ? [`dimension ${lost.join(', ')}`] : []),
    ...(missing.length > 0 ? [`metric ${missing.join(', ')}`] : []),
  ].join(' and ');
  return new Failure('DATA_MALFORMED', `${subjectOf(window)}: the rows lacked the requested ${what}.`, {
    facts: { missing: [...lost, ...missing].join(', ') },
    hint: 'Run `ripen check` to see whether the service still knows the name, or take it out of the slice.',
  });
}

/** Why a window with a label that is no date cannot be loaded. */
function badLabel(window: Window, { badLabel: bad }: SoundPage): Failure | null {
  if (bad === null) return null;
  const { dimension, label } = bad;
  const message = `the ${dimension} ${JSON.stringify(label)} was not a date of the documented form`;
  return new Failure('DATA_MALFORMED', `${subjectOf(window)}: ${message}.`, {
    facts: { dimension, label },
    hint: 'Check that no proxy or extra parameter turns format_dates on.',
  });
}

function completenessOf(
  window: Window,
  pages: readonly SoundPage[],
  unfollowed: string | null,
): Omit<JudgedAnswer, 'partNo' | 'metrics'> {
  const rowCount = pages.reduce((sum, page) => sum + page.rowCount, 0);
  const totals = pages.filter((page) => page.rowCount > 0 || page.totals.size > 0).map((page) => page.totals);
  return {
    rowCount,
    totals,
    unfollowed: unfollowed ?? furtherPage(pages.at(-1)),
    doubt: doubtOf(window, pages, rowCount),
  };
}

function doubtOf(window: Window, pages: readonly SoundPage[], rowCount: number): Doubt | null {
  const limit = Number(window.slice.parameters['limit'] ?? Infinity);
  if (rowCount > 0 && rowCount >= limit) {
    return { because: `the answer had ${rowCount} rows, as many as the limit that was sent`, isRefutable: false };
  }
  const doubts = pages
    .flatMap((page) => page.warnings)
    .map((warning) => ({ warning, said: saysCut(warning, rowCount) }))
    .filter(({ said }) => said !== 'no');
  const plainest = doubts.find(({ said }) => said === 'exactly these rows') ?? doubts.at(0);
  if (plainest === undefined) return null;
  return { because: `the service warned: ${plainest.warning}`, isRefutable: plainest.said === 'words' };
}

/** Why a page that the last one names was not requested, or what it names is not known; null when it is the end. */
function furtherPage(last: SoundPage | undefined): string | null {
  try {
    return nextPageOf(last?.pagination ?? null) === null ? null : 'it named a further page that was not requested';
  } catch (error) {
    return asFailure(error).message;
  }
}
