/**
 * What changes an answer, as pure functions: on the report document, and on the bytes of any answer. A document that is no report
 * comes back as it was.
 */

import { isRecord, isList, type JsonDocument } from './answer.ts';

/** A change to a report; pure. */
export type ReportMutation = (report: JsonDocument) => JsonDocument;

/** One more warning, under the envelope's own name for them. */
export function addedWarning(text: string): ReportMutation {
  return (report) => {
    const key = 'data_warnings' in report ? 'data_warnings' : 'warnings';
    const warnings = report[key];
    return isReport(report)
      ? { ...report, [key]: [...(isList(warnings) ? warnings : []), text] }
      : report;
  };
}

export const byteEdits = {
  /** The second half missing. */
  truncated: (bytes: Buffer): Buffer => bytes.subarray(0, Math.floor(bytes.length / 2)),
  /** The same document once more, on a new line. */
  two_documents: (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.from('\n'), bytes]),
} as const satisfies Record<string, (bytes: Buffer) => Buffer>;

export function isReport(document: JsonDocument): boolean {
  return isList(document['rows']);
}

/** The rows of a report; none for any other document. */
export function rowsOf(document: JsonDocument): readonly JsonDocument[] {
  const rows = document['rows'];
  return isList(rows) ? rows.filter((row) => isRecord(row)) : [];
}

/** Every row changed; a document without rows is returned as it is. */
export function withEachRow(
  report: JsonDocument,
  change: (row: JsonDocument) => JsonDocument,
): JsonDocument {
  return isReport(report) ? { ...report, rows: rowsOf(report).map((row) => change(row)) } : report;
}
