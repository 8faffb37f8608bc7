/**
 * Ways in which a report can lie, as pure functions on its document.
 *
 * Each takes what to change and returns the change. A row number past the end means the last row; a report without rows, or an
 * answer that is no report, comes back as it was.
 */

import { bareNumber, isRecord, type JsonDocument } from './simulator/answer.ts';
import {
  addedWarning,
  isReport,
  type ReportMutation,
  rowsOf,
  withEachRow,
} from './simulator/mutations.ts';

/** All of the changes, in order. */
export function combined(...mutations: readonly ReportMutation[]): ReportMutation {
  return (report) => mutations.reduce((changed, mutate) => mutate(changed), report);
}

/**
 * One row's value of one key (metric or dimension) replaced: any text for a metric, a day outside the window. With
 * totals `adjusted` (the default) the total moves by the difference where old and new are both numbers; with `kept` it
 * stays and then disagrees.
 */
export function replacedValue(
  row: number,
  key: string,
  value: unknown,
  totals: 'adjusted' | 'kept' = 'adjusted',
): ReportMutation {
  return (report) => {
    const before = rowsOf(report)[rowIndex(report, row)]?.[key];
    const changed = withRow(report, row, (old) => ({ ...old, [key]: value }));
    const difference = numberOf(value) - numberOf(before);
    return totals === 'kept' || !Number.isFinite(difference)
      ? changed
      : withTotal(changed, key, difference);
  };
}

/** One row's metric written as a bare JSON number of exactly these digits, the total adjusted. */
export function bareMetric(row: number, metric: string, digits: string): ReportMutation {
  return combined(
    replacedValue(row, metric, digits),
    replacedValue(row, metric, bareNumber(digits), 'kept'),
  );
}

/** A key the caller did not ask for, in every row. */
export function extraKey(key: string, value: unknown): ReportMutation {
  return (report) => withEachRow(report, (row) => ({ ...row, [key]: value }));
}

/** A requested metric or dimension missing from every row, and from the totals. */
export function missingKey(key: string): ReportMutation {
  return (report) => {
    const changed = withEachRow(report, (row) => without(row, key));
    const totals = report['totals'];
    return isRecord(totals) ? { ...changed, totals: without(totals, key) } : changed;
  };
}

/** A row said twice; with changes, the second one differs in these keys. The totals count one of them. */
export function duplicatedRow(row: number, changes: JsonDocument = {}): ReportMutation {
  return (report) => {
    const rows = rowsOf(report);
    const original = rows[rowIndex(report, row)];
    return original === undefined
      ? report
      : { ...report, rows: [...rows, { ...original, ...changes }] };
  };
}

/** The total of a metric off by a number. */
export function wrongTotal(metric: string, by: number): ReportMutation {
  return (report) => withTotal(report, metric, by);
}

/** Only the first rows, while the totals speak of all; with a warning or in silence. */
export function limitedRows(count: number, warning: string | null): ReportMutation {
  return (report) => {
    const rows = rowsOf(report);
    if (rows.length <= count) return report;
    const limited = { ...report, rows: rows.slice(0, count) };
    return warning === null ? limited : addedWarning(warning)(limited);
  };
}

/** A pagination that is not null. */
export function paginated(pagination: JsonDocument): ReportMutation {
  return (report) => (isReport(report) ? { ...report, pagination } : report);
}

/** `"rows": null` in place of the rows. */
export function nullRows(): ReportMutation {
  return (report) => (isReport(report) ? { ...report, rows: null } : report);
}

function rowIndex(report: JsonDocument, row: number): number {
  return Math.min(row, rowsOf(report).length - 1);
}

function withRow(
  report: JsonDocument,
  row: number,
  change: (row: JsonDocument) => JsonDocument,
): JsonDocument {
  const index = rowIndex(report, row);
  return isReport(report)
    ? { ...report, rows: rowsOf(report).map((old, at) => (at === index ? change(old) : old)) }
    : report;
}

function withTotal(report: JsonDocument, key: string, by: number): JsonDocument {
  const totals = report['totals'];
  if (!isRecord(totals) || typeof totals[key] !== 'number') return report;
  return { ...report, totals: { ...totals, [key]: totals[key] + by } };
}

function without(record: JsonDocument, key: string): JsonDocument {
  return Object.fromEntries(Object.entries(record).filter(([name]) => name !== key));
}

function numberOf(value: unknown): number {
  return typeof value === 'number' || (typeof value === 'string' && value !== '')
    ? Number(value)
    : Number.NaN;
}
