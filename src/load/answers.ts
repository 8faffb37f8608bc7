/**
 * Judges answers before anything is deleted; reads what they state of their maturity (`immature_cohorts`, `debug.cached_at`).
 *
 * An error object, `{"rows":null}` and an empty file all silently read as zero rows; a replacement would then erase the window.
 * So every body must be exactly one document with rows that carry every requested key. A warning of truncation raises a doubt.
 */

import * as z from 'zod';

import { scrub } from '../config/secret.ts';
import { Failure } from '../errors.ts';
import {
  addDays,
  bucketOf,
  type Day,
  type DayInterval,
  meet,
  parseDay,
} from '../model/calendar.ts';
import type { Evidence } from '../model/ledger.ts';
import type { Period } from '../model/period.ts';
import { subjectOf, type Window } from '../model/window.ts';
import { namesNextPage } from '../service/paging.ts';
import {
  type BesideRows,
  besideRowsIn,
  errorIn,
  parsedOf,
  saysCut,
  warningsIn,
} from '../spool/beside-rows.ts';
import type { Envelope } from '../spool/columns/reading.ts';
import type { SpooledAnswer } from '../spool/spool.ts';
import type { LoadResult, LoadWarning } from './load-result.ts';

/** The answer to one request of a window, all its pages together. */
export interface JudgedAnswer extends Pick<SpooledAnswer, 'partNo' | 'unfollowed'> {
  /** The requested metrics, in the order of the window. */
  readonly metrics: readonly string[];
  readonly rowCount: number;
  /** Per page, as the service wrote them; without pages that have neither rows nor totals. */
  readonly totals: readonly ReadonlyMap<string, string>[];
  /** Why the rows may be incomplete; null if nothing says so. */
  readonly doubt: Doubt | null;
}

export interface Doubt {
  readonly because: string;
  /** Whether totals that equal the sums of the rows show that the rows are complete. */
  readonly isRefutable: boolean;
}

/** Answers whose rows may be staged and checked. */
export interface SoundAnswers {
  readonly answers: readonly JudgedAnswer[];
  readonly warnings: readonly LoadWarning[];
  readonly maturity: WindowMaturity;
}

/** An answer with its pages as they were judged. */
export interface InspectedAnswer extends Omit<SpooledAnswer, 'pages'> {
  readonly pages: readonly AnswerPage[];
}

/** Returns sound answers with their warnings, or what to do instead of loading. An answer without pages had no content. */
export function judgeAnswers(
  window: Window,
  inspected: readonly InspectedAnswer[],
): SoundAnswers | LoadResult {
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
      if (page.rowCount > 0)
        for (const name of metrics) if (!page.commonKeys.has(name)) lacked.add(name);
    }
    sound.push(...own);
    const rowCount = own.reduce((sum, page) => sum + page.rowCount, 0);
    const totals = own
      .filter((page) => page.rowCount > 0 || page.totals.size > 0)
      .map((page) => page.totals);
    const isCut = answer.unfollowed === null && own.at(-1)?.leadsOn === true;
    const unfollowed = isCut
      ? 'the last page named a further one, too far from its ends to be followed'
      : answer.unfollowed;
    answers.push({
      ...answer,
      unfollowed,
      metrics,
      rowCount,
      totals,
      doubt: doubtOf(window, own, rowCount),
    });
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
  const warnings = [...new Set(sound.flatMap((page) => page.warnings))].map(
    (words): LoadWarning => {
      return { code: 'SERVICE_WARNING', message: `The service warned: ${words}` };
    },
  );
  const requested = new Set([...slice.dimensions, ...slice.metrics, 'attr_dependency']);
  const unrequested = new Set(
    sound.flatMap(({ keys }) => [...keys].filter((key) => !requested.has(key))),
  );
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
  const message = `${subjectOf(window)}: the answer was not one complete report: ${because}.`;
  const failure = new Failure('DATA_MALFORMED', message, {
    hint: 'Run again later; nothing was loaded.',
  });
  return { kind: 'request again', window, failure };
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
  return new Failure(
    'DATA_MALFORMED',
    `${subjectOf(window)}: the rows lacked the requested ${what}.`,
    {
      facts: { missing: [...dimensions, ...missing].join(', ') },
      hint: 'Run `ripen check` to see whether the service still knows the name, or remove it from the slice.',
    },
  );
}

/** The failure of a page with a date label that is not a date; null if it has none. */
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
    return {
      because: `the answer had ${rowCount} rows, as many as the limit that was sent`,
      isRefutable: false,
    };
  }
  const doubts = pages
    .flatMap((page) => page.warnings)
    .map((warning) => ({ warning, cut: saysCut(warning, rowCount) }))
    .filter(({ cut }) => cut !== 'no');
  const plainest = doubts.find(({ cut }) => cut === 'exactly these rows') ?? doubts.at(0);
  if (plainest === undefined) return null;
  return {
    because: `the service warned: ${plainest.warning}`,
    isRefutable: plainest.cut === 'words',
  };
}

export interface SoundPage extends Pick<Envelope, 'badLabel'> {
  readonly rowCount: number;
  /** Keys that occur in at least one row; `commonKeys` occur in every row. */
  readonly keys: ReadonlySet<string>;
  readonly commonKeys: ReadonlySet<string>;
  /** Total per metric, as the service wrote it; empty if it sent none. */
  readonly totals: ReadonlyMap<string, string>;
  /** Whether its own pagination names a further page. */
  readonly leadsOn: boolean;
  readonly warnings: readonly string[];
  readonly maturity: StatedMaturity;
}

/** A page, or why it is not one whole report. */
export type AnswerPage = SoundPage | { readonly because: string };

/** Most characters of invalid JSON that a message quotes. */
const MAX_SAID = 100;

/** Judges one body of an answer. */
export function pageOf({
  rows,
  members,
  keys,
  commonKeys,
  badLabel,
  because,
}: Envelope): AnswerPage {
  const beside = besideRowsIn(members);
  const error = errorIn(beside);
  if (error !== null) return { because: `the service said ${error}` };
  if (because !== null) return { because };
  const mangled = (['totals', 'warnings', 'data_warnings'] as const).find(
    (name) => parsedOf(beside[name]) === undefined,
  );
  if (mangled !== undefined) {
    return {
      because: `its member ${mangled} was no JSON: ${scrub(beside[mangled] ?? '').slice(0, MAX_SAID)}`,
    };
  }
  return {
    rowCount: rows,
    keys: new Set(keys),
    commonKeys: new Set(commonKeys),
    badLabel,
    totals: totalsIn(beside.totals),
    leadsOn: namesNextPage(parsedOf(beside.pagination)),
    warnings: warningsIn(beside),
    maturity: statedMaturity(beside),
  };
}

/** Total by metric; numbers keep the text they were written with. Empty if the JSON is not an object. */
function totalsIn(json: string | null): Map<string, string> {
  if (json === null || !z.record(z.string(), z.unknown()).safeParse(JSON.parse(json)).success)
    return new Map();
  const written = [
    ...json.matchAll(/"((?:[^"\\]|\\.)*)"\s*:\s*(?:"([^"]*)"|(-?[0-9][0-9.eE+-]*))/g),
  ];
  return new Map(
    written.map(([, key = '', text, number]) => [
      z.string().parse(JSON.parse(`"${key}"`)),
      text ?? number ?? '',
    ]),
  );
}

/** What one page of an answer states about the maturity of its cells. */
export interface StatedMaturity {
  readonly computedAt: Date | null;
  /** Pairs of a metric and a date, in either order. */
  readonly immature: readonly (readonly [string, string])[];
  /** Names of members in an unknown form. */
  readonly unread: readonly string[];
}

const cohortsShape = z.record(z.string(), z.array(z.string())).nullable();
const debugShape = z.object({ cached_at: z.unknown() });
/** UTC if it has no offset. */
const instantForm =
  /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|[+-]\d{2}:?\d{2})?$/;

/** Reads what a page states beside its rows about their maturity. */
export function statedMaturity({ immature_cohorts: cohorts, debug }: BesideRows): StatedMaturity {
  const stated = cohortsShape.safeParse(parsedOf(cohorts));
  const cachedAt = debugShape.safeParse(parsedOf(debug)).data?.cached_at ?? null;
  const computedAt = typeof cachedAt === 'string' ? parseInstant(cachedAt) : null;
  return {
    computedAt,
    immature: Object.entries(stated.data ?? {}).flatMap(([key, items]) =>
      items.map((item) => [key, item] as const),
    ),
    unread: [
      ...(stated.success ? [] : ['immature_cohorts']),
      ...(cachedAt !== null && computedAt === null ? ['debug.cached_at'] : []),
    ],
  };
}

function parseInstant(text: string): Date | null {
  const [, date = '', time = '', offset = 'Z'] = instantForm.exec(text) ?? [];
  const at = new Date(`${date}T${time}${offset}`);
  return Number.isNaN(at.getTime()) ? null : at;
}

/** What all answers of a window state about the maturity of its cells. */
export interface WindowMaturity {
  /** When the oldest of them was computed; null if none states it. */
  readonly computedAt: Date | null;
  readonly immature: readonly { readonly metric: string; readonly days: DayInterval }[];
  /** A message about statements that were ignored; null if there are none. */
  readonly unread: string | null;
}

/** Combines what the pages of all parts of a window state. */
export function maturityOf({ slice }: Window, stated: readonly StatedMaturity[]): WindowMaturity {
  const unread = new Set(stated.flatMap((answer) => answer.unread));
  const pairs = new Map(
    stated.flatMap((answer) => answer.immature).map((pair) => [JSON.stringify(pair), pair]),
  );
  const immature = [...pairs.values()].flatMap(([key, item]) => {
    const [metric, label] = slice.metrics.includes(key) ? [key, item] : [item, key];
    const days = slice.metrics.includes(metric) ? labelledDays(label) : null;
    if (days !== null) return [{ metric, days }];
    unread.add(`immature_cohorts of ${key}: ${item}`);
    return [];
  });
  const [first] = unread;
  const computedMs = stated.flatMap(({ computedAt }) => computedAt?.getTime() ?? []);
  return {
    computedAt: computedMs.length === 0 ? null : new Date(Math.min(...computedMs)),
    immature,
    unread:
      first === undefined
        ? null
        : `What the answer says of its maturity was ignored in a form that is not known: ${first}${unread.size > 1 ? `, and ${unread.size - 1} more` : ''}.`,
  };
}

/** The days that a date label of any grain names; null for any other text. */
function labelledDays(label: string): DayInterval | null {
  const [first = '', last = first] = label.split(' - ');
  const start = parseDay(first.slice(0, 10));
  if (start !== null && (first.length === 10 || first[10] === 'T')) {
    const end = parseDay(last.slice(0, 10));
    return end === null || end < start ? null : { start, end: addDays(end, 1) };
  }
  const [, quarter, year = '', month = '01'] =
    /^(?:Q([1-4]) )?(\d{4})(?:-(\d{2}))?$/.exec(label) ?? [];
  const bucket = quarter !== undefined ? 'quarter' : label.length === 4 ? 'year' : 'month';
  const within = quarter === undefined ? month : String(Number(quarter) * 3).padStart(2, '0');
  const day: Day | null = parseDay(`${year}-${within}-01`);
  return day === null ? null : bucketOf(day, bucket, 1);
}

/** What the answers state against the finality of a period's cells; without `evidence` if they state nothing. */
export function evidenceOf(
  { computedAt, immature }: WindowMaturity,
  { bucket }: Period,
  fetchedAt: Date,
): { readonly evidence?: Evidence } {
  const metrics = [
    ...new Set(immature.flatMap(({ metric, days }) => (meet(days, bucket) ? [metric] : []))),
  ];
  const earlier = computedAt !== null && computedAt < fetchedAt ? computedAt : null;
  return earlier === null && metrics.length === 0
    ? {}
    : { evidence: { computedAt: earlier, immature: metrics } };
}
