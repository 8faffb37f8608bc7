/**
 * The reports API: a report and filters-data, as the world states them (service-interface: Endpoints), and what a quirky
 * world says of its rows. Without quirks a report comes out as it went in.
 */

import { type Answer, bytesAnswer, documentAnswer, isDocument, type JsonDocument } from './answer.ts';
import { errorAnswer } from './error-body.ts';
import { addedWarning, rowsOf, withEachRow } from './mutations.ts';
import { pageOfReport } from './report-pages.ts';
import type { AskedReport, Quirks } from './world/quirks.ts';
import { RequestRefused, type World } from './world/world.ts';

/**
 * The report as of an instant, as the world's quirks have it answered; 204 for an empty one, the world's own refusal for a
 * question it does not take.
 */
export function answerReport(world: World, request: ReportRequest): Answer {
  const { quirks } = world;
  return answerOrRefusal(() => {
    const report = world.report(request.address.searchParams, request.now);
    if (report === null) {
      const document = emptyReport(quirks, request);
      return document === null ? errorAnswer(204, 'empty', '') : documentAnswer(document);
    }
    if (report.rows.length > (quirks.maxRows ?? Infinity)) return errorAnswer(504, 'html', '504 Gateway Time-out');
    const isAdditive = (metric: string): boolean => world.isAdditive(metric);
    return documentAnswer(quirkyReport({ ...report }, quirks, isAdditive, request));
  });
}

export function answerFiltersData(world: World, query: URLSearchParams, now: Date): Answer {
  return answerOrRefusal(() => documentAnswer({ ...world.filtersData(query, now) }));
}

function answerOrRefusal(answer: () => Answer): Answer {
  try {
    return answer();
  } catch (thrown) {
    if (!(thrown instanceof RequestRefused)) throw thrown;
    const { status, body } = thrown;
    if (isDocument(body)) return documentAnswer(body, status);
    return typeof body === 'string'
      ? bytesAnswer(body, 'text/plain; charset=utf-8', status)
      : errorAnswer(status, 'empty', '');
  }
}

export interface ReportRequest {
  /** The whole address; its origin is the one paging links carry. */
  readonly address: URL;
  readonly now: Date;
  /** 1 for the first request the simulator ever got. */
  readonly ordinal: number;
}

/** Whether a metric's rows add up to its total. */
type IsAdditive = (metric: string) => boolean;

/** The document that is answered in place of a report. */
export function quirkyReport(
  report: JsonDocument,
  quirks: Quirks,
  isAdditive: IsAdditive,
  request: ReportRequest,
): JsonDocument {
  const { rounding, cap, unasked, padding, pages } = quirks;
  const asked = { query: request.address.searchParams, now: request.now };
  let document = rounding === null ? report : rounded(report, rounding, isAdditive);
  if (cap !== null) document = capped(document, cap, isAdditive);
  if (unasked.size > 0) document = withEachRow(document, (row) => ({ ...row, ...Object.fromEntries(unasked) }));
  if (padding !== null) document = padded(document, padding);
  if (pages !== null) {
    const page = pageOfReport(document, pages, request);
    document = pages.totals === 'page' ? withTotalsOfRows(page, isAdditive) : page;
  }
  return withErrors(withStatedTotals(document, quirks, asked), quirks, asked);
}

/** The document of a report without rows; null where it has none and is answered 204. */
export function emptyReport({ emptied, besides }: Quirks, request: ReportRequest): JsonDocument | null {
  const asked = { query: request.address.searchParams, now: request.now };
  if (emptied === null || emptied.as === '204') return null;
  const document = emptied.as === 'no rows' ? { rows: [], totals: {} } : { rows: [] };
  return withErrors(document, { besides }, asked);
}

function rounded(
  report: JsonDocument,
  rounding: NonNullable<Quirks['rounding']>,
  isAdditive: IsAdditive,
): JsonDocument {
  const { rows: rowDigits, totals: totalDigits, totalsOf } = rounding;
  const cut =
    rowDigits === null ? report : withEachRow(report, (row) => mapped(row, (cell) => roundedText(cell, rowDigits)));
  const summed = totalsOf === 'rounded rows' ? withTotalsOfRows(cut, isAdditive) : cut;
  return totalDigits === null ? summed : withTotals(summed, (total) => Number(total.toFixed(totalDigits)));
}

function capped(report: JsonDocument, cap: NonNullable<Quirks['cap']>, isAdditive: IsAdditive): JsonDocument {
  const rows = rowsOf(report);
  if (rows.length <= cap.rows) return report;
  const left = { ...report, rows: rows.slice(0, cap.rows) };
  const told = cap.totals === 'cut' ? withTotalsOfRows(left, isAdditive) : left;
  return cap.warning === null ? told : addedWarning(cap.warning)(told);
}

function padded(report: JsonDocument, { perRow, perAnswer }: NonNullable<Quirks['padding']>): JsonDocument {
  const wide = perRow === 0 ? report : withEachRow(report, (row) => ({ ...row, padding: 'x'.repeat(perRow) }));
  return perAnswer === 0 ? wide : { ...wide, padding: 'x'.repeat(perAnswer) };
}

function withStatedTotals(report: JsonDocument, { totals: stated }: Quirks, asked: AskedReport): JsonDocument {
  if (stated === null || !isDocument(report['totals'])) return report;
  const left = Object.entries(report['totals']).filter(([metric]) => !stated.isMissing(metric, asked));
  return {
    ...report,
    totals: Object.fromEntries(stated.asText ? left.map(([id, total]) => [id, String(total)]) : left),
  };
}

function withErrors(report: JsonDocument, { besides }: Pick<Quirks, 'besides'>, asked: AskedReport): JsonDocument {
  return besides?.during(asked) === true ? { ...report, ...besides.keys } : report;
}

/** The totals of additive metrics as the sums of the rows, exact to a millionth; those of others as they were. */
function withTotalsOfRows(report: JsonDocument, isAdditive: IsAdditive): JsonDocument {
  const rows = rowsOf(report);
  const millionths = (cell: unknown): number => (cell === null ? 0 : Math.round(Number(cell) * 1_000_000));
  return withTotals(report, (total, metric) =>
    isAdditive(metric) ? rows.reduce((sum, row) => sum + millionths(row[metric] ?? null), 0) / 1_000_000 : total,
  );
}

function withTotals(report: JsonDocument, change: (total: number, metric: string) => number): JsonDocument {
  const totals = report['totals'];
  if (!isDocument(totals)) return report;
  return { ...report, totals: mapped(totals, (total, id) => (typeof total === 'number' ? change(total, id) : total)) };
}

function mapped(record: JsonDocument, change: (value: unknown, key: string) => unknown): JsonDocument {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));
}

/** A decimal with fewer digits; anything else, whole numbers too, as it is. */
function roundedText(cell: unknown, digits: number): unknown {
  const text = typeof cell === 'number' ? String(cell) : cell;
  if (typeof text !== 'string' || !/^-?\d+\.\d*[1-9]\d*$/.test(text)) return cell;
  return Number(text).toFixed(digits);
}
