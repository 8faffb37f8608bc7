/**
 * Requests what the service states for a whole window, if the window was divided by the values of dimensions.
 *
 * Parts that each agree with their own totals may still leave something out: a row whose value is missing is `in` no set and,
 * if the service reads filters as SQL does, matches no `not in` either. So the totals of the undivided window are requested
 * once, by year, which is the lightest possible report. A row may have values only in metrics that do not add up. If the slice
 * has such metrics, the values of each dividing dimension are requested too.
 *
 * A filter of a metric applies to rows as they are grouped, so no coarser report has the same rows: such a window has no whole.
 */

import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

import * as z from 'zod';

import { asFailure, Failure, isPassing, isTooHeavy } from '../errors.ts';
import { isCertain, type Metric } from '../model/metric.ts';
import {
  isFiltered,
  type PartRequest,
  reportParameters,
  requestsOf,
  subjectOf,
  type Window,
} from '../model/window.ts';
import { parseJson } from '../service/body.ts';
import type { SavedBody } from '../service/service.ts';
import {
  type BesideRows,
  besideRowsOf,
  errorIn,
  saysCut,
  warningsIn,
} from '../spool/beside-rows.ts';
import { onDisk, type Spool, type SpooledPages, type WholeAnswer } from '../spool/spool.ts';

export interface WholeContext {
  /** Requests every page of a report. */
  readonly pagesOf: (parameters: Readonly<Record<string, string>>) => Promise<SpooledPages>;
  readonly spool: Pick<Spool, 'discard'>;
  readonly signal: AbortSignal;
  readonly adding: Adding;
}

/** How many of a slice's metrics certainly add up, so that their sums show missing rows. */
export type Adding = 'all' | 'some' | 'none';

export function addingAmong(metrics: readonly Pick<Metric, 'additive' | 'additivity'>[]): Adding {
  const adding = metrics.filter((metric) => metric.additive && isCertain(metric));
  if (adding.length === 0) return 'none';
  return adding.length === metrics.length ? 'all' : 'some';
}

/** Whether the parts of a window are compared with its whole. */
export const hasWhole = (window: Window): boolean => window.parts.length > 1 && !isFiltered(window);

/** How many requests the whole of a window takes, without what is already known of it. */
export function wholeRequests(
  window: Window,
  adding: Adding,
  whole: WholeAnswer | null = null,
): number {
  if (!hasWhole(window)) return 0;
  const before = whole === null || 'failure' in whole ? null : whole;
  const unknown = dividing(window, adding).filter(
    (dimension) => before?.values.has(dimension) !== true,
  );
  return (
    batchesIn(window).length * (unknown.length + (adding === 'none' || before !== null ? 0 : 1))
  );
}

/** The requests that the undivided window would take. */
const batchesIn = ({ slice }: Window): ReturnType<typeof requestsOf> =>
  requestsOf({ slice, parts: [{}] });

/** The dimensions that divide a window; empty if the sums of its metrics show all missing rows. */
const dividing = (window: Window, adding: Adding): readonly string[] =>
  adding === 'all' ? [] : [...new Set(window.parts.flatMap((part) => Object.keys(part)))];

/** Requests what is unknown of the whole, or returns the failure. Throws refused credentials, disk failures, bugs, aborts. */
export async function requestWhole(
  window: Window,
  before: WholeAnswer | null,
  pending: WholeContext,
): Promise<WholeAnswer> {
  const { adding } = pending;
  const known = before === null || 'failure' in before ? null : before;
  const values = new Map(known?.values);
  try {
    const stated =
      known?.stated ?? (adding === 'none' ? [] : await requestBatches([COARSEST], window, pending));
    for (const dimension of dividing(window, adding)) {
      if (values.has(dimension)) continue;
      try {
        const responses = await requestBatches([COARSEST, dimension], window, pending);
        const rows = responses.flatMap((each) => each.rows);
        const filled = rows.filter((row) =>
          window.slice.metrics.some((metric) => Number(row[metric] ?? 0) !== 0),
        );
        values.set(dimension, new Set(filled.flatMap((row) => valueIn(row[dimension]))));
      } catch (error) {
        const failure = failureIn(error, pending);
        // It may be too heavy; the sums still show missing rows, except those without a value in any metric that adds up.
        if (adding === 'none' || isPassing(failure)) throw failure;
        values.set(dimension, null);
      }
    }
    return { stated, values };
  } catch (error) {
    return { failure: failureIn(error, pending) };
  }
}

/** A report needs a dimension, and every report can be grouped by year. */
const COARSEST = 'year';

/** The thrown error as a failure of this request; rethrows it if it affects more than this request. */
function failureIn(error: unknown, { signal }: Pick<WholeContext, 'signal'>): Failure {
  signal.throwIfAborted();
  const failure = asFailure(error);
  if (
    failure.kind === 'storage' ||
    failure.kind === 'bug' ||
    failure.code === 'CREDENTIALS_REFUSED'
  )
    throw failure;
  return failure;
}

/** A value as a row of a part holds it; empty for a fraction, which may have lost digits. */
function valueIn(value: unknown): (string | null)[] {
  if (typeof value === 'number' && !Number.isInteger(value)) return [];
  return [
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
      ? String(value)
      : null,
  ];
}

/** Most retries of an unusable answer, as for the report itself. */
const MAX_REPEATS = 2;

type Stated = Pick<SavedReport, 'totals' | 'rows'>;

async function requestBatches(
  dimensions: readonly string[],
  window: Window,
  pending: WholeContext,
): Promise<Stated[]> {
  const stated: Stated[] = [];
  for (const batch of batchesIn(window))
    stated.push(await requestBy(dimensions, { window, batch }, pending));
  return stated;
}

async function requestBy(
  dimensions: readonly string[],
  { window, batch }: { readonly window: Window; readonly batch: PartRequest },
  pending: WholeContext,
): Promise<Stated> {
  const { pagesOf, spool } = pending;
  // Sorting and index may name a dimension that is not requested here.
  const parameters = Object.fromEntries(
    Object.entries({ ...reportParameters(window, batch), dimensions: dimensions.join(',') }).filter(
      ([name]) => name !== 'sort' && name !== 'index',
    ),
  );
  for (let repeats = 0; ; repeats += 1) {
    try {
      const { pages, unfollowed } = await pagesOf(parameters);
      const reports = await readAll(pages, spool);
      const error = reports
        .map(({ beside }) => errorIn(beside))
        .find((responses) => responses !== null);
      if (error !== undefined) throw unusable(window, `the service said ${error}`);
      // Retries an answer without content: the parts usually have rows.
      if (reports.length > 0 || repeats >= MAX_REPEATS)
        return statedIn(reports, unfollowed, window);
    } catch (error) {
      const failure =
        error instanceof SyntaxError
          ? unusable(window, 'it was not a complete JSON document')
          : asFailure(error);
      // No request is lighter than the totals by year: a slow answer may have been slow only for a moment.
      const isWorthIt =
        failure.code === 'DATA_MALFORMED' || (isTooHeavy(failure) && dimensions.length === 1);
      if (!isWorthIt || repeats >= MAX_REPEATS) throw failure;
    }
  }
}

/** Reads pages and removes them. */
async function readAll(
  pages: readonly SavedBody[],
  spool: WholeContext['spool'],
): Promise<SavedReport[]> {
  try {
    const reports: SavedReport[] = [];
    for (const page of pages) reports.push(await readReport(page));
    return reports;
  } finally {
    await spool.discard({ answers: [{ pages }] });
  }
}

/** What the pages of an answer state; no totals if there are several pages. Throws `DATA_INCOMPLETE` if rows may be missing. */
function statedIn(
  reports: readonly SavedReport[],
  unfollowed: string | null,
  window: Window,
): Stated {
  const rows = reports.flatMap((report) => report.rows);
  const cut = reports
    .flatMap(({ beside }) => warningsIn(beside))
    .find((warning) => saysCut(warning, rows.length) !== 'no');
  const because = unfollowed ?? (cut === undefined ? null : `the service warned: ${cut}`);
  if (because !== null) {
    throw new Failure(
      'DATA_INCOMPLETE',
      `${subjectOf(window)}: the answer for the whole was not complete: ${because}.`,
    );
  }
  const [first] = reports;
  return { totals: reports.length === 1 && first !== undefined ? first.totals : new Map(), rows };
}

function unusable(window: Window, because: string): Failure {
  return new Failure(
    'DATA_MALFORMED',
    `${subjectOf(window)}: the answer for the undivided window was unusable: ${because}.`,
  );
}

interface SavedReport {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** By metric, as text. */
  readonly totals: ReadonlyMap<string, string>;
  readonly beside: BesideRows;
}

/** The object itself, as it was parsed: a copy would lack a metric named `__proto__`. */
const record = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);

const rowsShape = z.array(record).catch([]);

/** Reads a body of few rows; empty if it is not a report. Throws a `SyntaxError` if it is not JSON, and `STORAGE_FAILED`. */
async function readReport({ path, encoding }: SavedBody): Promise<SavedReport> {
  const bytes = await onDisk('spool', path, async () => readFile(path));
  const plain = encoding === 'gzip' ? await promisify(gunzip)(bytes) : bytes;
  const document = record.catch({}).parse(parseJson(plain.toString('utf8')));
  return {
    rows: rowsShape.parse(document['rows']),
    totals: textsIn(record.catch({}).parse(document['totals'])),
    beside: besideRowsOf(document),
  };
}

/** Numbers and texts as texts; any other value is skipped. */
function textsIn(totals: Readonly<Record<string, unknown>>): Map<string, string> {
  return new Map(
    Object.entries(totals).flatMap(([metric, total]): [string, string][] =>
      typeof total === 'number' || typeof total === 'string' ? [[metric, String(total)]] : [],
    ),
  );
}
