/**
 * What may happen instead of an answer: the statuses and losses of a connection, how often each is tried, and its failure.
 *
 * Sources: service-interface "Errors". 422 and 410 are the usual siblings of 400 and 404. 408 means by definition: repeat the
 * request (RFC 9110). A proxy reports 499 if its client did not wait, a content network 524 if the server behind it took too
 * long. Other statuses are judged by class: 5xx, and 2xx without an answer, are tried again; the rest is `unexpected`.
 */

import { scrubEcho } from '../config/secret.ts';
import type { FailureCode } from '../errors.ts';
import type { CallResult } from './lane.ts';

interface Policy {
  readonly code: FailureCode;
  /** What it says about the service as a whole. */
  readonly result: CallResult;
  readonly hint: string;
  /** Most tries; 0 for a refusal, which no other try can change, and null if the request decides. */
  readonly tries: number | null;
  readonly statuses: readonly number[];
}

/** Most tries of one call that may fail, for whatever reason; a 429 is not counted as a failure. */
export const MAX_ATTEMPTS = 6;
/** Most tries that end with 429, each lowering the concurrency: 4 to 5 minutes, unless the service requests longer waits. */
const MAX_429_ATTEMPTS = 12;

const LATER = 'Run again later; what was loaded stays.';

const refusal = (code: FailureCode, statuses: readonly number[], hint: string): Policy => ({
  code,
  result: 'alive',
  hint,
  tries: 0,
  statuses,
});
const policy = (
  code: FailureCode,
  result: CallResult,
  { hint = LATER, tries = MAX_ATTEMPTS, statuses = [] }: Partial<Policy> = {},
): Policy => ({ code, result, hint, tries, statuses });

export const policies = {
  refused: refusal(
    'SOURCE_REFUSED',
    [400, 422],
    'Correct what the service names; `ripen check` finds every unknown name of a slice.',
  ),
  credentials: refusal(
    'CREDENTIALS_REFUSED',
    [401],
    'Check the credentials: a token becomes invalid as soon as it is reset.',
  ),
  forbidden: refusal(
    'ACCESS_FORBIDDEN',
    [403],
    'Ask for access to what was requested, or leave it out.',
  ),
  missing: refusal(
    'SOURCE_MISSING',
    [404, 410],
    'Check the addresses in the service section, and the requested app or link.',
  ),
  'too long': refusal(
    'SOURCE_REFUSED',
    [414, 431],
    'Set service.max_url_bytes below the length of this address, so that metrics are requested in smaller batches.',
  ),
  redirected: refusal(
    'SOURCE_REDIRECTED',
    [301, 302, 303, 307, 308],
    'Configure the address the service answers at; redirects are not followed.',
  ),
  unexpected: refusal(
    'SOURCE_REFUSED',
    [],
    'Check which server answers at the configured address.',
  ),
  /** A success without an answer. */
  'no answer': policy('SOURCE_UNAVAILABLE', 'alive', { statuses: [499] }),
  faulty: policy('SOURCE_UNAVAILABLE', 'outage', { statuses: [408] }),
  overload: policy('SOURCE_OVERLOADED', 'overloaded', {
    statuses: [429],
    tries: MAX_429_ATTEMPTS,
    hint: 'Keep other jobs off the account while this one runs, or lower service.max_concurrency.',
  }),
  'too heavy': policy('SOURCE_TOO_HEAVY', 'alive', {
    statuses: [504, 524],
    tries: null,
    hint: 'Request less at once: fewer dimensions, fewer metrics or a shorter period.',
  }),
  /** The deadline passed. */
  late: policy('SOURCE_TIMEOUT', 'unclear', {
    tries: null,
    hint: 'Request less at once, or raise service.request_timeout.',
  }),
  /** No connection was established; nothing was sent. */
  unsent: policy('SOURCE_UNAVAILABLE', 'outage', {
    hint: 'Check the address in the service section and the network, then run again.',
  }),
  /** The connection could not be trusted. */
  untrusted: policy('SOURCE_UNAVAILABLE', 'unclear', {
    tries: 1,
    hint: 'Set service.ca_file to the certificate authority of the address.',
  }),
  /** The connection was lost after sending and before an answer. */
  unanswered: policy('SOURCE_UNAVAILABLE', 'outage'),
  /** More headers than Node accepts. */
  'large headers': policy('SOURCE_GARBLED', 'alive', {
    tries: 1,
    hint: 'Set the environment variable NODE_OPTIONS=--max-http-header-size=65536, or find what adds the headers.',
  }),
  /** The connection was lost, or decoding failed, inside the body. */
  cut: policy('SOURCE_UNAVAILABLE', 'alive'),
  /** The body was complete, but its document was not. */
  truncated: policy('SOURCE_GARBLED', 'alive'),
  /** The answer was something other than what was requested. */
  garbled: policy('SOURCE_GARBLED', 'alive', {
    tries: 2,
    hint: 'Check what answers at the configured address: a proxy or a sign-in page may stand before it.',
  }),
} as const satisfies Readonly<Record<string, Policy>>;

export type SetbackKind = keyof typeof policies;

const isKind = (name: string): name is SetbackKind => Object.hasOwn(policies, name);

/** What a status other than 200, 201 and 204 means; by its class if it is not listed. */
export function kindOf(status: number): SetbackKind {
  const kinds = Object.keys(policies).filter(isKind);
  const listed = kinds.find((kind) => policies[kind].statuses.includes(status));
  if (listed !== undefined) return listed;
  // A server behind a content network may have received the request (520 …): no refusal.
  if (status >= 500) return 'faulty';
  return status >= 200 && status < 300 ? 'no answer' : 'unexpected';
}

/** After these a write had no effect: it was not sent, or was turned away. A 503 may follow an effect (from a proxy, say). */
export const SAFE_TO_REPEAT = [
  'unsent',
  'untrusted',
  'overload',
] as const satisfies readonly SetbackKind[];

interface SetbackDetails {
  /** Status of the answer; left out if there was none. */
  readonly status?: number;
  /** Milliseconds that the service requests to wait; null or left out if it requests none. */
  readonly retryAfterMs?: number | null;
  readonly cause?: unknown;
}

/** A failed try; the message completes "GET /path ". Never leaves the folder: the last one of a call becomes a `Failure`. */
export class Setback extends Error {
  override readonly name = 'Setback';
  readonly setback: SetbackKind;
  /** Reason for events: a status, an error code or a few words. */
  readonly because: string;
  readonly status: number | null;
  readonly retryAfterMs: number | null;

  constructor(
    setback: SetbackKind,
    because: string,
    message: string,
    details: SetbackDetails = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.setback = setback;
    this.because = because;
    this.status = details.status ?? null;
    this.retryAfterMs = details.retryAfterMs ?? null;
  }
}

const MAX_CHARACTERS = 200;

/** The first words of a foreign text, at most `maxCharacters` characters, without half a surrogate pair; empty for blank text. */
export function firstWords(text: string, maxCharacters = MAX_CHARACTERS): string {
  // Scrubbed before it is cut: half a token is still half a token.
  const clean = scrubEcho(text)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return (
    clean.length <= maxCharacters ? clean : `${clean.slice(0, maxCharacters - 1)}…`
  ).toWellFormed();
}

/** The origin of an address, as path and query may carry credentials; its first words if it has no origin. */
export const originWords = (url: URL): string =>
  url.origin === 'null' ? firstWords(url.href) : url.origin;
