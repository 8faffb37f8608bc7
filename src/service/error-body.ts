/**
 * The service's own words, from any form of error body it is known to use (observed: error bodies).
 *
 * Hides the forms; promises to find something sayable in whatever comes, and never to throw: this is read when things
 * have gone wrong already.
 */

import { firstWords } from './words.ts';

export interface ServiceWords {
  /** One line without secrets; empty when the service said nothing. */
  readonly said: string;
  /** The request parameter it blames, when it names one. */
  readonly parameter: string | null;
}

/** Long enough for a list of refused metrics. */
const MAX_CHARACTERS = 500;
const HTML = /^\s*<(?:!doctype|html|head|body|\?xml)/i;

/** Reads the reason out of an error body. */
export function serviceWords(body: string): ServiceWords {
  const document = parsed(body);
  const said = HTML.test(body) ? htmlWords(body) : isRecord(document) ? recordWords(document) : body;
  return { said: firstWords(said, MAX_CHARACTERS), parameter: blamedParameter(document, said) };
}

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

function blamedParameter(document: unknown, said: string): string | null {
  if (isRecord(document) && Array.isArray(document['detail'])) {
    const problem: unknown = document['detail'][0];
    const path: unknown = isRecord(problem) ? problem['loc'] : null;
    const last: unknown = Array.isArray(path) ? path.at(-1) : null;
    if (typeof last === 'string') return firstWords(last);
  }
  return /\bloc=([\w.-]+)/.exec(said)?.[1] ?? null;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
