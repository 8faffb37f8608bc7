/**
 * Ways in which an answer can lie, as pure functions: on the report document, and on the bytes of any answer.
 *
 * Every function that makes a report mutation takes what to change and returns the change. A row number past the end
 * means the last row; a report without rows, or an answer that is no report, comes back as it was.
 */

import { bareNumber, isDocument, isList, type JsonDocument } from './answer.ts';

/** A change to a report; pure. */
export type ReportMutation = (report: JsonDocument) => JsonDocument;

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
    return totals === 'kept' || !Number.isFinite(difference) ? changed : withTotal(changed, key, difference);
  };
}

/** One row's metric written as a bare JSON number of exactly these digits, the total adjusted. */
export function bareMetric(row: number, metric: string, digits: string): ReportMutation {
  return combined(replacedValue(row, metric, digits), replacedValue(row, metric, bareNumber(digits), 'kept'));
}

/** Every row's value of a metric written as a JSON number instead of a string. */
export function metricAsNumber(metric: string): ReportMutation {
  return (report) =>
    withEachRow(report, (row) => {
      const value = row[metric];
      return typeof value === 'string' && Number.isFinite(numberOf(value))
        ? { ...row, [metric]: bareNumber(value) }
        : row;
    });
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
    return isDocument(totals) ? { ...changed, totals: without(totals, key) } : changed;
  };
}

/** A row said twice; with changes, the second one differs in these keys. The totals count one of them. */
export function duplicatedRow(row: number, changes: JsonDocument = {}): ReportMutation {
  return (report) => {
    const rows = rowsOf(report);
    const original = rows[rowIndex(report, row)];
    return original === undefined ? report : { ...report, rows: [...rows, { ...original, ...changes }] };
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

/** One more warning, under the envelope's own name for them. */
export function addedWarning(text: string): ReportMutation {
  return (report) => {
    const key = 'data_warnings' in report ? 'data_warnings' : 'warnings';
    const warnings = report[key];
    return isReport(report) ? { ...report, [key]: [...(isList(warnings) ? warnings : []), text] } : report;
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

/** How many rows a report has; 0 for any other document. */
export function rowCount(document: JsonDocument): number {
  return rowsOf(document).length;
}

export const byteEdits = {
  /** The second half missing. */
  truncated: (bytes: Buffer): Buffer => bytes.subarray(0, Math.floor(bytes.length / 2)),
  /** A byte order mark before the first brace. */
  bom: (bytes: Buffer): Buffer => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]),
  /** The same document once more, on a new line. */
  two_documents: (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.from('\n'), bytes]),
} as const satisfies Record<string, (bytes: Buffer) => Buffer>;

/** A complete gzip stream with one byte turned over: amid the compressed bytes, or in the checksum after all of them. */
export function corruptGzip(gzip: Buffer, where: 'middle' | 'checksum'): Buffer {
  /** CRC-32 and length, four bytes each, end a gzip stream (RFC 1952). */
  const checksumAt = gzip.length - 8;
  const at = where === 'checksum' ? checksumAt : Math.floor(checksumAt / 2);
  const corrupt = Buffer.from(gzip);
  corrupt.writeUInt8(gzip.readUInt8(at) ^ 0xff, at);
  return corrupt;
}

function isReport(document: JsonDocument): boolean {
  return isList(document['rows']);
}

/** The rows of a report; none for any other document. */
export function rowsOf(document: JsonDocument): readonly JsonDocument[] {
  const rows = document['rows'];
  return isList(rows) ? rows.filter((row) => isDocument(row)) : [];
}

function rowIndex(report: JsonDocument, row: number): number {
  return Math.min(row, rowsOf(report).length - 1);
}

/** Every row changed; a document without rows is returned as it is. */
export function withEachRow(report: JsonDocument, change: (row: JsonDocument) => JsonDocument): JsonDocument {
  return isReport(report) ? { ...report, rows: rowsOf(report).map((row) => change(row)) } : report;
}

function withRow(report: JsonDocument, row: number, change: (row: JsonDocument) => JsonDocument): JsonDocument {
  const index = rowIndex(report, row);
  return isReport(report)
    ? { ...report, rows: rowsOf(report).map((old, at) => (at === index ? change(old) : old)) }
    : report;
}

function withTotal(report: JsonDocument, key: string, by: number): JsonDocument {
  const totals = report['totals'];
  if (!isDocument(totals) || typeof totals[key] !== 'number') return report;
  return { ...report, totals: { ...totals, [key]: totals[key] + by } };
}

function without(record: JsonDocument, key: string): JsonDocument {
  return Object.fromEntries(Object.entries(record).filter(([name]) => name !== key));
}

function numberOf(value: unknown): number {
  return typeof value === 'number' || (typeof value === 'string' && value !== '') ? Number(value) : Number.NaN;
}
