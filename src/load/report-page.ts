/**
 * What one body of an answer states: the page of a report, or why it is none; and what the pages of a window say of the maturity of its
 * own cells, by `immature_cohorts` and when they were computed (`debug.cached_at`).
 *
 * Which side of `immature_cohorts` is the metric and which the cohort's date is not documented, so both are taken.
 */

import * as z from 'zod';

import { scrub } from '../config/secret.ts';
import { addDays, bucketOf, type Day, type DayInterval, meet, parseDay } from '../model/calendar.ts';
import type { Evidence } from '../model/ledger.ts';
import type { Period } from '../model/period.ts';
import type { Window } from '../model/window.ts';
import { type BesideRows, besideRowsIn, errorIn, parsedOf, warningsIn } from '../spool/beside-rows.ts';
import type { Envelope } from '../spool/columns/reading.ts';

/** One page of an answer. */
export interface SoundPage extends Pick<Envelope, 'badLabel'> {
  readonly rowCount: number;
  /** Keys that occur in some row, and in every row. */
  readonly keys: ReadonlySet<string>;
  readonly commonKeys: ReadonlySet<string>;
  /** Total per metric as the service wrote it; empty when it sent none. */
  readonly totals: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
  readonly maturity: StatedMaturity;
}

/** A page, or why it is not one whole report document. */
export type AnswerPage = SoundPage | { readonly because: string };

/** Characters of what is no JSON that a message repeats. */
const MOST_SAID = 100;

/** What one body comes to. */
export function pageOf({ rows, members, keys, commonKeys, badLabel, because }: Envelope): AnswerPage {
  const beside = besideRowsIn(members);
  const error = errorIn(beside);
  if (error !== null) return { because: `the service said ${error}` };
  if (because !== null) return { because };
  const mangled = (['totals', 'warnings', 'data_warnings'] as const).find(
    (name) => parsedOf(beside[name]) === undefined,
  );
  if (mangled !== undefined) {
    return { because: `its member ${mangled} was no JSON: ${scrub(beside[mangled] ?? '').slice(0, MOST_SAID)}` };
  }
  return {
    rowCount: rows,
    keys: new Set(keys),
    commonKeys: new Set(commonKeys),
    badLabel,
    totals: totalsIn(beside.totals),
    warnings: warningsIn(beside),
    maturity: statedMaturity(beside),
  };
}

/** Numbers keep the text they were written with. */
function totalsIn(json: string | null): Map<string, string> {
  if (json === null || !z.record(z.string(), z.unknown()).safeParse(JSON.parse(json)).success) return new Map();
  const written = [...json.matchAll(/"((?:[^"\\]|\\.)*)":\s*(?:"([^"]*)"|(-?[0-9][0-9.eE+-]*))/g)];
  return new Map(
    written.map(([, key = '', text, number]) => [z.string().parse(JSON.parse(`"${key}"`)), text ?? number ?? '']),
  );
}

/** What one answer says. */
export interface StatedMaturity {
  readonly computedAt: Date | null;
  /** Pairs of a metric and a date, in either order. */
  readonly immature: readonly (readonly [string, string])[];
  /** Members in a form that is not known. */
  readonly unread: readonly string[];
}

const cohortsShape = z.record(z.string(), z.array(z.string())).nullable();
const debugShape = z.object({ cached_at: z.unknown() });
/** Without an offset it is UTC. */
const instantForm = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|[+-]\d{2}:?\d{2})?$/;

/** What stands beside the rows of an answer about their maturity. */
export function statedMaturity({ immature_cohorts: cohorts, debug }: BesideRows): StatedMaturity {
  const stated = cohortsShape.safeParse(parsedOf(cohorts));
  const cachedAt = debugShape.safeParse(parsedOf(debug)).data?.cached_at ?? null;
  const computedAt = typeof cachedAt === 'string' ? parseInstant(cachedAt) : null;
  return {
    computedAt,
    immature: Object.entries(stated.data ?? {}).flatMap(([key, items]) => items.map((item) => [key, item] as const)),
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

/** What the answers of a window say together. */
export interface WindowMaturity {
  /** When the oldest of them was computed; null where none says so. */
  readonly computedAt: Date | null;
  readonly immature: readonly { readonly metric: string; readonly days: DayInterval }[];
  /** What of it was ignored, in words; null for nothing. */
  readonly unread: string | null;
}

/** What the answers of all parts of a window say of the maturity of its cells. */
export function maturityOf({ slice }: Window, stated: readonly StatedMaturity[]): WindowMaturity {
  const unread = new Set(stated.flatMap((answer) => answer.unread));
  const pairs = new Map(stated.flatMap((answer) => answer.immature).map((pair) => [JSON.stringify(pair), pair]));
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

/** The days a date label names, of whichever grain; null for another text. */
function labelledDays(label: string): DayInterval | null {
  const [first = '', last = first] = label.split(' - ');
  const start = parseDay(first.slice(0, 10));
  if (start !== null && (first.length === 10 || first[10] === 'T')) {
    const end = parseDay(last.slice(0, 10));
    return end === null || end < start ? null : { start, end: addDays(end, 1) };
  }
  const [, quarter, year = '', month = '01'] = /^(?:Q([1-4]) )?(\d{4})(?:-(\d{2}))?$/.exec(label) ?? [];
  const bucket = quarter !== undefined ? 'quarter' : label.length === 4 ? 'year' : 'month';
  const within = quarter === undefined ? month : String(Number(quarter) * 3).padStart(2, '0');
  const day: Day | null = parseDay(`${year}-${within}-01`);
  return day === null ? null : bucketOf(day, bucket, 1);
}

/** What the answers say against the finality of a period's cells; nothing where they say nothing of the kind. */
export function evidenceOf(
  { computedAt, immature }: WindowMaturity,
  { bucket }: Period,
  fetchedAt: Date,
): { readonly evidence?: Evidence } {
  const metrics = [...new Set(immature.flatMap(({ metric, days }) => (meet(days, bucket) ? [metric] : [])))];
  const earlier = computedAt !== null && computedAt < fetchedAt ? computedAt : null;
  return earlier === null && metrics.length === 0 ? {} : { evidence: { computedAt: earlier, immature: metrics } };
}
