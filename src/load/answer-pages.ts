/**
 * Judges the pages of one answer. An error object, `{"rows":null}` and an empty file would read as zero rows, which erase a
 * window: every body must be one document whose rows have every requested key. A warning of truncation raises a doubt.
 */

import { Failure, type WarningCode } from '../errors.ts';
import { addDays, bucketOf, type DayInterval, parseDay } from '../model/calendar.ts';
import { sumOf } from '../model/measure.ts';
import type { Slice } from '../model/slice.ts';
import { type Box, reportParameters, subjectOf, type Window } from '../model/window.ts';
import type { BodyRead } from '../extract/columns/reading.ts';
import {
  type Envelope,
  parseEnvelope,
  saysCut,
  type StatedMaturity,
  unusable,
} from '../extract/envelope.ts';

export interface AnswerPages {
  readonly rows: number;
  readonly failure: Failure | null;
  readonly doubt: Doubt | null;
  /** Per page with rows or totals, as the service wrote them. */
  readonly totals: readonly ReadonlyMap<string, string>[];
  readonly warnings: readonly string[];
  /** Requested metrics that some rows lack, and keys of rows that were not requested. */
  readonly lackedMetrics: readonly string[];
  readonly otherKeys: readonly string[];
  readonly maturity: readonly StatedMaturity[];
}

/** Why rows may be missing. */
export interface Doubt {
  readonly because: string;
  /** Whether totals that equal the sums of the rows refute it. */
  readonly isRefutable: boolean;
}

export interface LoadWarning {
  readonly code: WarningCode;
  readonly message: string;
}

/** An answer without pages had no content. */
export function judgePages(window: Window, box: Box, bodies: readonly BodyRead[]): AnswerPages {
  const { slice } = window;
  // An archived answer may have more metrics than are loaded again.
  const metrics = slice.metrics.filter((id) => box.metrics.includes(id));
  const dimensions = box.control ?? slice.dimensions;
  const requested = new Set([...dimensions, ...box.metrics, 'attr_dependency']);
  const rows = sumOf(bodies.map((body) => body.rows));
  const envelopes = bodies.flatMap(({ members }): Envelope[] => {
    const envelope = parseEnvelope(members);
    return typeof envelope === 'string' ? [] : [envelope];
  });
  const warnings = envelopes.flatMap((envelope) => envelope.warnings);
  const filled = bodies.filter((body) => body.rows > 0);
  const limit = Number(reportParameters(window, box)['limit'] ?? Infinity);
  const cuts = warnings
    .map((warning) => ({ warning, cut: saysCut(warning, rows) }))
    .filter(({ cut }) => cut !== 'no');
  const plainest = cuts.find(({ cut }) => cut === 'exactly these rows') ?? cuts.at(0);
  let doubt: Doubt | null = null;
  if (rows > 0 && rows >= limit) {
    const because = `the answer had ${rows} rows, as many as the limit that was sent`;
    doubt = { because, isRefutable: false };
  } else if (plainest !== undefined) {
    const because = `the service warned: ${plainest.warning}`;
    doubt = { because, isRefutable: plainest.cut === 'words' };
  }
  return {
    rows,
    failure: malformed(window, bodies, envelopes, { dimensions, metrics }),
    doubt,
    totals: envelopes
      .filter(({ totals }, at) => totals.size > 0 || (bodies[at]?.rows ?? 0) > 0)
      .map(({ totals }) => totals),
    warnings,
    lackedMetrics: metrics.filter((id) =>
      filled.some(({ commonKeys }) => !commonKeys.includes(id)),
    ),
    otherKeys: bodies.flatMap(({ keys }) => keys.filter((key) => !requested.has(key))),
    maturity: envelopes.map(({ maturity }) => maturity),
  };
}

function malformed(
  window: Window,
  bodies: readonly BodyRead[],
  envelopes: readonly Envelope[],
  { dimensions, metrics }: Pick<Slice, 'dimensions' | 'metrics'>,
): Failure | null {
  const fail = (clause: string, hint: string): Failure =>
    new Failure('DATA_MALFORMED', `${subjectOf(window)}: ${clause}.`, { hint });
  const reason = unusable(bodies);
  if (reason !== null)
    return fail(
      `the answer was not one complete report: ${reason}`,
      'Run again later. Nothing was loaded.',
    );
  const filled = bodies.filter(({ rows }) => rows > 0);
  const lackedDimensions = dimensions.filter((name) =>
    filled.some(({ commonKeys }) => !commonKeys.includes(name)),
  );
  // A page whose rows have no value of a metric may lack its key.
  const lackedMetrics = metrics.filter(
    (name) => filled.length > 0 && filled.every(({ keys }) => !keys.includes(name)),
  );
  const lacked = Object.entries({ dimension: lackedDimensions, metric: lackedMetrics })
    .filter(([, names]) => names.length > 0)
    .map(([noun, names]) => `${noun} ${names.join(', ')}`);
  if (lacked.length > 0)
    return fail(
      `the rows lacked the requested ${lacked.join(' and ')}`,
      'Run `ripen check` to see whether the service still knows the name, or remove it from the slice.',
    );
  const bad = bodies.find((body) => body.badLabel !== null)?.badLabel ?? null;
  if (bad !== null) {
    const { dimension, label } = bad;
    return fail(
      `the ${dimension} ${JSON.stringify(label)} was not a date of the documented form`,
      'Check that no proxy or extra parameter turns format_dates on.',
    );
  }
  const requested = window.slice.parameters['currency']?.toUpperCase();
  if (requested === undefined) return null;
  const other = envelopes.find(
    ({ currencies }) => currencies.length > 0 && !currencies.includes(requested),
  );
  if (other === undefined) return null;
  const names = [...new Set(other.currencies)].join(', ');
  return fail(
    `the answer was in ${names}; ${requested} was requested`,
    'Run `ripen check` to see which currencies the service knows.',
  );
}

export function pageWarnings(
  { slice }: Window,
  answers: readonly AnswerPages[],
  { unread }: WindowMaturity,
): LoadWarning[] {
  const warnings: LoadWarning[] = [];
  for (const words of new Set(answers.flatMap((answer) => answer.warnings)))
    warnings.push({ code: 'SERVICE_WARNING', message: `The service warned: ${words}` });
  const otherKeys = new Set(answers.flatMap((answer) => answer.otherKeys));
  if (otherKeys.size > 0) {
    const names = [...otherKeys].sort().map((key) => (key === '' ? '""' : key));
    const place = slice.cube === undefined ? 'kept in _extra' : 'left out, as a cube has no _extra';
    const message = `Rows carried keys that were not requested, ${place}: ${names.join(', ')}.`;
    warnings.push({ code: 'UNKNOWN_KEYS', message });
  }
  const lacked = new Set(answers.flatMap((answer) => answer.lackedMetrics));
  if (lacked.size > 0) {
    const names = slice.metrics.filter((name) => lacked.has(name)).join(', ');
    const message = `Some rows lacked a requested metric, which is NULL there: ${names}.`;
    warnings.push({ code: 'MISSING_KEYS', message });
  }
  if (unread !== null) warnings.push({ code: 'EVIDENCE_UNREAD', message: unread });
  return warnings;
}

export interface WindowMaturity {
  readonly computedAt: Date | null;
  readonly immature: readonly { readonly metric: string; readonly days: DayInterval }[];
  /** A message about statements that were ignored. */
  readonly unread: string | null;
}

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
  const more = unread.size > 1 ? `, and ${unread.size - 1} more` : '';
  return {
    computedAt: computedMs.length === 0 ? null : new Date(Math.min(...computedMs)),
    immature,
    unread:
      first === undefined
        ? null
        : `Ignored maturity information in an unknown format: ${first}${more}.`,
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
  const day = parseDay(`${year}-${within}-01`);
  return day === null ? null : bucketOf(day, bucket, 1);
}
