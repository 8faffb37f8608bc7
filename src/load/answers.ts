/**
 * Answers, judged before anything is deleted.
 *
 * An error object, `{"rows":null}` and an empty file all read as zero rows in silence; a replacement would then erase
 * the window. So every body must be exactly one document with rows, carrying every requested key, without a word of truncation.
 */

import { Failure } from '../errors.ts';
import { subjectOf, type Window } from '../model/window.ts';
import { saysCut } from '../spool/beside-rows.ts';
import type { SpooledAnswer } from '../spool/spool.ts';
import type { LoadResult, LoadWarning } from './load-result.ts';
import { type AnswerPage, maturityOf, type SoundPage, type WindowMaturity } from './report-page.ts';

/** The answer to one request of a window, all its pages together. */
export interface JudgedAnswer extends Pick<SpooledAnswer, 'partNo' | 'unfollowed'> {
  /** Those of the window that were requested, in its order. */
  readonly metrics: readonly string[];
  readonly rowCount: number;
  /** Per page, as the service wrote them; a page that stated nothing is left out. */
  readonly totals: readonly ReadonlyMap<string, string>[];
  /** Why the rows may not be all there are; null when nothing says so. */
  readonly doubt: Doubt | null;
}

export interface Doubt {
  readonly because: string;
  /** Whether totals that equal the rows' sums show that the rows are all there are. */
  readonly isRefutable: boolean;
}

/** Answers whose rows may be looked at. */
export interface SoundAnswers {
  readonly answers: readonly JudgedAnswer[];
  readonly warnings: readonly LoadWarning[];
  readonly maturity: WindowMaturity;
}

/** An answer with what its pages came to. */
export interface InspectedAnswer extends Omit<SpooledAnswer, 'pages'> {
  readonly pages: readonly AnswerPage[];
}

/** Sound answers with their warnings, or what is to be done instead of loading. An answer without pages had no content. */
export function judgeAnswers(window: Window, inspected: readonly InspectedAnswer[]): SoundAnswers | LoadResult {
  const sound: SoundPage[] = [];
  const answers: JudgedAnswer[] = [];
  const lacked = new Set<string>();
  for (const { pages, metrics: all, ...answer } of inspected) {
    const metrics = window.slice.metrics.filter((name) => all.includes(name));
    const own: SoundPage[] = [];
    for (const page of pages) {
      if ('because' in page) return notWhole(window, page.because);
      const failure = lackingKeys(window, page, metrics) ?? badLabel(window, page);
      if (failure !== null) return { kind: 'failed', window, failure };
      own.push(page);
      if (page.rowCount > 0) for (const name of metrics) if (!page.commonKeys.has(name)) lacked.add(name);
    }
    sound.push(...own);
    const rowCount = own.reduce((sum, page) => sum + page.rowCount, 0);
    const totals = own.filter((page) => page.rowCount > 0 || page.totals.size > 0).map((page) => page.totals);
    answers.push({ ...answer, metrics, rowCount, totals, doubt: doubtOf(window, own, rowCount) });
  }
  const maturity = maturityOf(
    window,
    sound.map((page) => page.maturity),
  );
  return { answers, maturity, warnings: warningsOf(window, sound, lacked, maturity) };
}

function warningsOf(
  { slice }: Window,
  sound: readonly SoundPage[],
  lacked: ReadonlySet<string>,
  { unread }: WindowMaturity,
): LoadWarning[] {
  const warnings = [...new Set(sound.flatMap((page) => page.warnings))].map((said): LoadWarning => {
    return { code: 'SERVICE_WARNING', message: `The service warned: ${said}` };
  });
  const requested = new Set([...slice.dimensions, ...slice.metrics, 'attr_dependency']);
  const unrequested = new Set(sound.flatMap(({ keys }) => [...keys].filter((key) => !requested.has(key))));
  if (unrequested.size > 0) {
    const names = [...unrequested].sort().map((key) => (key === '' ? '""' : key));
    const kept = slice.cube === undefined ? 'kept in _extra' : 'left out, as a cube has no _extra';
    const message = `Rows carried keys that were not requested, ${kept}: ${names.join(', ')}.`;
    warnings.push({ code: 'UNKNOWN_KEYS', message });
  }
  if (lacked.size > 0) {
    const names = slice.metrics.filter((name) => lacked.has(name)).join(', ');
    const message = `Some rows lacked a requested metric, which is NULL there: ${names}.`;
    warnings.push({ code: 'MISSING_KEYS', message });
  }
  if (unread !== null) warnings.push({ code: 'EVIDENCE_UNREAD', message: unread });
  return warnings;
}

function notWhole(window: Window, because: string): LoadResult {
  const message = `${subjectOf(window)}: the answer was not one whole report: ${because}.`;
  const failure = new Failure('DATA_MALFORMED', message, { hint: 'Run again later; nothing was loaded.' });
  return { kind: 'ask again', window, failure };
}

function lackingKeys(window: Window, page: SoundPage, metrics: readonly string[]): Failure | null {
  if (page.rowCount === 0) return null;
  const dimensions = window.slice.dimensions.filter((name) => !page.commonKeys.has(name));
  const missing = metrics.filter((name) => !page.keys.has(name));
  const what = [
    ...(dimensions.length > 0 ? [`dimension ${dimensions.join(', ')}`] : []),
    ...(missing.length > 0 ? [`metric ${missing.join(', ')}`] : []),
  ].join(' and ');
  if (what === '') return null;
  return new Failure('DATA_MALFORMED', `${subjectOf(window)}: the rows lacked the requested ${what}.`, {
    facts: { missing: [...dimensions, ...missing].join(', ') },
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

function doubtOf(window: Window, pages: readonly SoundPage[], rowCount: number): Doubt | null {
  const limit = Number(window.slice.parameters['limit'] ?? Infinity);
  if (rowCount > 0 && rowCount >= limit) {
    return { because: `the answer had ${rowCount} rows, as many as the limit that was sent`, isRefutable: false };
  }
  const doubts = pages
    .flatMap((page) => page.warnings)
    .map((warning) => ({ warning, cut: saysCut(warning, rowCount) }))
    .filter(({ cut }) => cut !== 'no');
  const plainest = doubts.find(({ cut }) => cut === 'exactly these rows') ?? doubts.at(0);
  if (plainest === undefined) return null;
  return { because: `the service warned: ${plainest.warning}`, isRefutable: plainest.cut === 'words' };
}
