/**
 * What to do with an answer, by its status: a table, and nothing but the table. An answer to read passes, anything else is
 * thrown with the service's own words, which are found in every form of error body.
 *
 * Sources: service-interface "Errors"; 422 and 410 are the usual siblings of 400 and 404; 408 asks for a repetition by
 * its definition (RFC 9110); 499 is what a proxy says that was not waited for; 524 is what a content network says when the server behind it took too long. What is not
 * listed goes by its class: a server's failure may pass, a success that carries no answer too, and the rest halts as
 * `unexpected`.
 */

import { Failure, type FailureCode } from '../errors.ts';
import { retryAfterMs, toldAt } from './clock.ts';
import { type Answer, type Ask, endpointOf } from './exchange.ts';
import { firstWords, originWords, Setback, type SetbackKind } from './setback.ts';
import { readHead } from './plain-text.ts';

const verdicts = [
  /** Read it. */
  'answer',
  /** A valid answer without content. */
  'empty',
  /** Neither an answer nor a refusal: it is not there yet, is a part or a paraphrase of one, or could not be given just now. */
  'no answer',
  /** The service does not work at the moment. */
  'unavailable',
  /** The service failed on this request, or what stands before it did. */
  'faulty',
  /** Too many at once. */
  'later',
  /** A smaller question may succeed. */
  'too heavy',
  'refused',
  'credentials',
  'forbidden',
  'missing',
  'redirected',
  'unexpected',
] as const;

type Verdict = (typeof verdicts)[number];

const byStatus: ReadonlyMap<number, Verdict> = new Map<number, Verdict>([
  [200, 'answer'],
  [201, 'answer'],
  [204, 'empty'],
  [301, 'redirected'],
  [302, 'redirected'],
  [303, 'redirected'],
  [307, 'redirected'],
  [308, 'redirected'],
  [400, 'refused'],
  [401, 'credentials'],
  [403, 'forbidden'],
  [404, 'missing'],
  [408, 'faulty'],
  [410, 'missing'],
  [422, 'refused'],
  [429, 'later'],
  [499, 'no answer'],
  [500, 'faulty'],
  [502, 'faulty'],
  [503, 'unavailable'],
  [504, 'too heavy'],
  [524, 'too heavy'],
]);

/** By the first digit. What a server behind a content network may have received (520 …) must not pass for a refusal. */
const byClass: ReadonlyMap<number, Verdict> = new Map<number, Verdict>([
  [2, 'no answer'],
  [5, 'faulty'],
]);

/** The verdict on a status. */
export function verdictOn(status: number): Verdict {
  return byStatus.get(status) ?? byClass.get(Math.floor(status / 100)) ?? 'unexpected';
}

/**
 * What refuses a write says of a request that may be repeated that it came at the wrong moment, or by the wrong connection: a conflict,
 * a misdirected one, a lock, too early (RFC 9110, 4918, 8470).
 */
const PASSING: ReadonlySet<number> = new Set([409, 421, 423, 425]);

/** The same of what is sent once, and so was not carried out: a conflict stays one; the others pass. */
function refusalOfOnce(status: number): { readonly code: FailureCode; readonly hint: string } | null {
  if (!PASSING.has(status)) return null;
  return status === CONFLICT
    ? { code: 'SOURCE_REFUSED', hint: 'Look at what is there, with which it conflicts, before sending it again.' }
    : { code: 'SOURCE_UNAVAILABLE', hint: 'Send it again later; nothing was carried out.' };
}

const CONFLICT = 409;

/** Redirects that ask for the same request elsewhere; any other may follow one that was carried out (RFC 9110). */
const REDIRECTED_UNDONE: ReadonlySet<number> = new Set([307, 308]);

/** Whether a write that was redirected with this status may have been carried out. */
export function isRedirectedAfter(status: number): boolean {
  return verdictOn(status) === 'redirected' && !REDIRECTED_UNDONE.has(status);
}

/** No reason needs more; a proxy may send an endless page. */
export const MAX_ERROR_BODY_BYTES = 64 * 1024;

type Setbacks = Extract<Verdict, 'no answer' | 'unavailable' | 'faulty' | 'later' | 'too heavy'>;
type Refusals = Exclude<Verdict, Setbacks | 'answer' | 'empty' | 'redirected'>;

const setbacks: Readonly<Record<Setbacks, SetbackKind>> = {
  'no answer': 'no answer',
  unavailable: 'unavailable',
  faulty: 'faulty',
  later: 'overload',
  'too heavy': 'too heavy',
};

const refusals: Readonly<Record<Refusals, { readonly code: FailureCode; readonly hint: string }>> = {
  refused: {
    code: 'SOURCE_REFUSED',
    hint: 'Correct what the service names; of a slice `ripen check` finds every unknown name.',
  },
  credentials: { code: 'CREDENTIALS_REFUSED', hint: 'Check the credentials: a token that was reset is void at once.' },
  forbidden: { code: 'ACCESS_FORBIDDEN', hint: 'Ask for access to what was requested, or leave it out.' },
  missing: {
    code: 'SOURCE_MISSING',
    hint: 'Check the addresses in the service section, and the app or link that was asked for.',
  },
  unexpected: { code: 'SOURCE_REFUSED', hint: 'Check what answers at the configured address.' },
};

/**
 * Passes an answer to read, or an empty one. Throws a `Setback` for what may be tried again, else `SOURCE_REFUSED`,
 * `SOURCE_UNAVAILABLE`, `CREDENTIALS_REFUSED`, `ACCESS_FORBIDDEN`, `SOURCE_MISSING` or `SOURCE_REDIRECTED`.
 */
export async function judge(ask: Ask, answer: Answer, tries: number, now: number): Promise<'answer' | 'empty'> {
  const isPassing = ask.repeats === 'all' && PASSING.has(answer.status);
  const verdict = isPassing ? 'no answer' : verdictOn(answer.status);
  switch (verdict) {
    case 'answer':
    case 'empty':
      return verdict;
    case 'redirected':
      throw redirection(ask, answer, tries);
    case 'no answer':
    case 'unavailable':
    case 'faulty':
    case 'later':
    case 'too heavy':
      throw await setbackOf(setbacks[verdict], answer, now);
    case 'refused':
    case 'credentials':
    case 'forbidden':
    case 'missing':
    case 'unexpected':
      break;
  }
  const { code, hint } = refusalOfOnce(answer.status) ?? refusals[verdict];
  throw await refusal(code, hint, ask, answer, tries);
}

async function refusal(code: FailureCode, hint: string, ask: Ask, answer: Answer, tries: number): Promise<Failure> {
  const { said, parameter } = serviceWords(await readHead(answer, MAX_ERROR_BODY_BYTES));
  const { origin } = ask;
  const facts = { origin, endpoint: endpointOf(ask), status: answer.status, attempts: tries, said, parameter };
  return new Failure(code, `${endpointOf(ask)} was answered ${answer.status}${quoted(said)}`, { facts, hint });
}

async function setbackOf(kind: SetbackKind, answer: Answer, now: number): Promise<Setback> {
  const { said } = serviceWords(await readHead(answer, MAX_ERROR_BODY_BYTES));
  return new Setback(kind, String(answer.status), `was answered ${answer.status}${quoted(said)}`, {
    status: answer.status,
    retryAfterMs: retryAfterMs(
      answer.header('retry-after'),
      toldAt(answer.header('date'), answer.header('age')) ?? now,
    ),
  });
}

function redirection(ask: Ask, answer: Answer, tries: number): Failure {
  // Only the origin: path and query of a sign-in redirect may carry credentials.
  const target = originOf(answer.header('location') ?? '', ask.origin);
  return new Failure('SOURCE_REDIRECTED', `${endpointOf(ask)} was redirected to ${target} (${answer.status})`, {
    facts: { origin: ask.origin, endpoint: endpointOf(ask), status: answer.status, attempts: tries, target },
    hint: 'Configure the address the service answers at; redirects are not followed.',
  });
}

function originOf(location: string, base: string): string {
  if (location === '' || !URL.canParse(location, base)) return 'nowhere';
  return originWords(new URL(location, base));
}

function quoted(said: string): string {
  return said === '' ? ' without a reason' : `: ${said}`;
}

interface ServiceWords {
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

function blamedParameter(document: unknown, said: string): string | null {
  if (isRecord(document) && Array.isArray(document['detail'])) {
    const problem: unknown = document['detail'][0];
    const path: unknown = isRecord(problem) ? problem['loc'] : null;
    const last: unknown = Array.isArray(path) ? path.at(-1) : null;
    if (typeof last === 'string') return firstWords(last);
  }
  return /\bloc=([\w.-]+)/.exec(said)?.[1] ?? null;
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
