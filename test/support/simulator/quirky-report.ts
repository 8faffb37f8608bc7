/** What a quirky world says of the rows of a report. Without quirks a report comes out as it went in. */

import { type SimulatedAnswer, documentAnswer, isDocument, type JsonDocument } from '../../../src/simulator/answer.ts';
import { errorAnswer } from './error-body.ts';
import { addedWarning, rowsOf, withEachRow } from './mutations.ts';
import { pageOfReport } from './report-pages.ts';
import type { AskedReport, Quirks } from './quirks.ts';

/** The service's answer to a report request as the quirks have it; a refusal is as it was. */
export function quirkyAnswer(
  answer: SimulatedAnswer,
  quirks: Quirks,
  isAdditive: IsAdditive,
  request: ReportRequest,
): SimulatedAnswer {
  const { body } = answer;
  if (answer.status === 204) {
    const document = emptyReport(quirks);
    return document === null ? answer : documentAnswer(document);
  }
  if (answer.status !== 200 || body.kind !== 'document') return answer;
  if (rowsOf(body.document).length > (quirks.maxRows ?? Infinity))
    return errorAnswer(504, 'html', '504 Gateway Time-out');
  return { ...answer, body: { kind: 'document', document: quirkyReport(body.document, quirks, isAdditive, request) } };
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
function quirkyReport(
  report: JsonDocument,
  quirks: Quirks,
  isAdditive: IsAdditive,
  request: ReportRequest,
): JsonDocument {
  const { rounding, cap, unasked, pages } = quirks;
  const asked = { query: request.address.searchParams, now: request.now };
  let document = rounding === null ? report : rounded(report, rounding, isAdditive);
  if (cap !== null) document = capped(document, cap, isAdditive);
  if (unasked.size > 0) document = withEachRow(document, (row) => ({ ...row, ...Object.fromEntries(unasked) }));
  if (pages !== null) {
    const page = pageOfReport(document, pages, request);
    document = pages.totals === 'page' ? withTotalsOfRows(page, isAdditive) : page;
  }
  return withStatedTotals(document, quirks, asked);
}

/** The document of a report without rows; null where it has none and is answered 204. */
function emptyReport({ emptied }: Quirks): JsonDocument | null {
  if (emptied === null || emptied.as === '204') return null;
  return emptied.as === 'no rows' ? { rows: [], totals: {} } : { rows: [] };
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

function withStatedTotals(report: JsonDocument, { totals: stated }: Quirks, asked: AskedReport): JsonDocument {
  if (stated === null || !isDocument(report['totals'])) return report;
  const left = Object.entries(report['totals']).filter(([metric]) => !stated.isMissing(metric, asked));
  return {
    ...report,
    totals: Object.fromEntries(stated.asText ? left.map(([id, total]) => [id, String(total)]) : left),
  };
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
