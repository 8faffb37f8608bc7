/** Finds the reason in an error of any form: JSON of several shapes, a web page, plain text. */

import { scrubEcho } from '../config/secret.ts';
import { isRecord } from '../model/canonical-json.ts';

/** Returns one line, scrubbed. */
export function firstWords(text: string, maxCharacters = 200): string {
  // Scrubbed before it is cut: half a token is still half a token.
  const clean = scrubEcho(text)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  const isShort = clean.length <= maxCharacters;
  return (isShort ? clean : `${clean.slice(0, maxCharacters - 1)}…`).toWellFormed();
}

/** Path and query may carry credentials. */
export const originWords = (url: URL): string =>
  url.origin === 'null' ? firstWords(url.href) : url.origin;

/** Long enough for a list of refused metrics. */
const MAX_CHARACTERS = 500;
const PAGE = /^\s*<(?:!doctype|html|head|body|\?xml)/i;
const TITLE = /<title[^>]*>\s*([^<]*\S)\s*<\/title>/i;
const MARKUP = /<(script|style)[^>]*>[^]*?<\/\1>|<[^>]*>/gi;

export function serviceWords(body: string): string {
  const document = parsedJson(body);
  const page = PAGE.test(body) ? (TITLE.exec(body)?.[1] ?? body.replaceAll(MARKUP, ' ')) : body;
  return firstWords(isRecord(document) ? wordsOf(document) : page, MAX_CHARACTERS);
}

const FAILED_STATUS = /^(?:error|failed|failure|rejected|[45]\d\d)$/i;
const ERROR_WORD =
  /^[^\p{L}\p{N}{[]*(?:errors?|fail(?:s|ed|ure)?|invalid|denied|rejected|unauthori[sz]ed|forbidden|exception)(?!\p{L})/iu;
/** The levels searched for an error: a document, its `data`, a list in it, and the items of the list. */
const LEVELS = 4;

export function statedError(body: string): string | null {
  const document = parsedJson(body) ?? body;
  if (typeof document === 'string')
    return ERROR_WORD.test(document) ? firstWords(document, MAX_CHARACTERS) : null;
  return errorWords(document, LEVELS);
}

export function errorWords(document: unknown, levels: number): string | null {
  const record = errorIn(document, levels);
  return record === null ? null : firstWords(wordsOf(record), MAX_CHARACTERS);
}

function errorIn(document: unknown, levels: number): Readonly<Record<string, unknown>> | null {
  if (levels === 0 || typeof document !== 'object' || document === null) return null;
  if (isRecord(document)) {
    const { error, errors, error_code: code, error_desc: description, detail } = document;
    const { success, status } = document;
    const isStated = [error, errors, code, description, detail].some((value) => !isNothing(value));
    const isFailed = success === false || success === 'false' || FAILED_STATUS.test(String(status));
    if (isStated || isFailed) return document;
  }
  for (const [key, value] of Object.entries(document)) {
    const isWithin = Array.isArray(document) || Array.isArray(value) || key === 'data';
    const record = isWithin ? errorIn(value, levels - 1) : null;
    if (record !== null) return record;
  }
  return null;
}

const isNothing = (value: unknown) =>
  value === undefined || ['null', '{}', '""', '[]', 'false', '0'].includes(JSON.stringify(value));

function wordsOf(value: unknown): string {
  if (!isRecord(value)) return typeof value === 'string' ? value : JSON.stringify(value);
  const {
    error_code: code,
    error_desc: description,
    error_desc_details: details,
    detail,
    error,
    message,
  } = value;
  if (typeof description === 'string' && description !== '') {
    const prefix = typeof code === 'string' && code !== '' ? `${code}: ` : '';
    return `${prefix}${description}${isNothing(details) ? '' : ` ${JSON.stringify(details)}`}`;
  }
  const { loc, msg } = value;
  if (typeof msg === 'string') return Array.isArray(loc) ? `${loc.join('.')}: ${msg}` : msg;
  if (Array.isArray(detail)) return detail.map(wordsOf).join('; ');
  const reason = [detail, error, message, code].find(
    (each) => isRecord(each) || (typeof each === 'string' && each !== ''),
  );
  return reason === undefined ? JSON.stringify(value) : wordsOf(reason);
}

/** Returns undefined for what is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    // Trimming removes a byte order mark, too.
    return JSON.parse(text.trim());
  } catch {
    return undefined;
  }
}
