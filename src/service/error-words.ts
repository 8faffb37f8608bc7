/** What a service says of an error, in whatever form: JSON of several shapes, a web page, plain text. */

import { firstWords } from './setback.ts';

/** Long enough for a list of refused metrics. */
const MAX_CHARACTERS = 500;
const HTML = /^\s*<(?:!doctype|html|head|body|\?xml)/i;

/** The reason in an error body: one line without secrets; empty where it says nothing. */
export function serviceWords(body: string): string {
  const document = parsed(body);
  const said = HTML.test(body) ? htmlWords(body) : isRecord(document) ? recordWords(document) : body;
  return firstWords(said, MAX_CHARACTERS);
}

/** What `status` says in an answer that is an error, besides the codes of HTTP. */
const FAILED_STATUS = /^(?:error|failed|failure|rejected|[45]\d\d)$/i;
/** What plain text begins with that is an error. */
const ERROR_WORD =
  /^[^\p{L}\p{N}{[]*(?:errors?|fail(?:s|ed|ure)?|invalid|denied|rejected|unauthori[sz]ed|forbidden|exception)(?!\p{L})/iu;
/** Of a document, its `data`, a list there, and the items of that. */
const LEVELS = 4;

/** The error that a body states whatever its status, in its own words; null where it states none. */
export function statedError(body: string): string | null {
  const document = parsed(body);
  if (document === null || typeof document === 'string') {
    return ERROR_WORD.test(document ?? body) ? firstWords(document ?? body, MAX_CHARACTERS) : null;
  }
  const found = errorIn(document, LEVELS);
  return found === null ? null : firstWords(recordWords(found), MAX_CHARACTERS);
}

/** The record that states an error: the document, its `data`, or an item of a list. */
function errorIn(document: unknown, levels: number): Readonly<Record<string, unknown>> | null {
  if (levels === 0) return null;
  if (isRecord(document) && statesError(document)) return document;
  const within: readonly unknown[] = Array.isArray(document)
    ? document
    : isRecord(document)
      ? Object.entries(document).flatMap(([key, value]) => (key === 'data' || Array.isArray(value) ? [value] : []))
      : [];
  for (const part of within) {
    const found = errorIn(part, levels - 1);
    if (found !== null) return found;
  }
  return null;
}

function statesError(record: Readonly<Record<string, unknown>>): boolean {
  const { success, status } = record;
  return (
    ['error', 'errors', 'error_code', 'error_desc', 'detail'].some((key) => !isNothing(record[key])) ||
    success === false ||
    success === 'false' ||
    FAILED_STATUS.test(String(status))
  );
}

const isNothing = (value: unknown): boolean =>
  value === undefined || ['null', '{}', '""', '[]', 'false', '0'].includes(JSON.stringify(value));

function recordWords(document: Readonly<Record<string, unknown>>): string {
  const { error_code: code, error_desc: description, error_desc_details: details, detail, error, message } = document;
  if (typeof description === 'string' && description !== '') {
    const prefix = typeof code === 'string' && code !== '' ? `${code}: ` : '';
    return `${prefix}${description}${details === null || details === undefined ? '' : ` ${JSON.stringify(details)}`}`;
  }
  if (Array.isArray(detail)) return detail.map((problem: unknown) => problemWords(problem)).join('; ');
  for (const candidate of [detail, error, message, code]) {
    if (typeof candidate === 'string' && candidate !== '') return candidate;
    if (isRecord(candidate)) return recordWords(candidate);
  }
  return JSON.stringify(document);
}

function problemWords(problem: unknown): string {
  if (!isRecord(problem)) return typeof problem === 'string' ? problem : JSON.stringify(problem);
  const { loc, msg } = problem;
  if (typeof msg !== 'string') return recordWords(problem);
  return Array.isArray(loc) ? `${loc.join('.')}: ${msg}` : msg;
}

function htmlWords(body: string): string {
  const title = /<title[^>]*>([^<]+)<\/title>/i.exec(body)?.[1]?.trim() ?? '';
  if (title !== '') return title;
  return body.replaceAll(/<(script|style)[^>]*>[^]*?<\/\1>/gi, ' ').replaceAll(/<[^>]*>/g, ' ');
}

/** The JSON value that a body is, a byte order mark or not; null for none. */
export function parsed(body: string): unknown {
  try {
    // Trimming takes the mark, too.
    return JSON.parse(body.trim());
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
