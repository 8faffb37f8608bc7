/** Setbacks of a try that another try may fix: how often each is retried, and the failure it becomes if no try succeeds. */

import { scrubEcho } from '../config/secret.ts';
import type { FailureCode } from '../errors.ts';
import type { CallResult } from './lane.ts';

interface Policy {
  readonly code: FailureCode;
  /** What the setback says about the service as a whole. */
  readonly result: CallResult;
  readonly hint: string;
  /** Most tries; null if the request decides. */
  readonly tries: number | null;
}

/** Most tries of one call that may fail, for whatever reason; a 429 is not counted as a failure. */
export const MAX_ATTEMPTS = 6;
/** Most tries that end with 429, each lowering the concurrency: 4 to 5 minutes, unless the service requests longer waits. */
const MAX_429_ATTEMPTS = 12;

const policy = (
  code: FailureCode,
  result: CallResult,
  hint = 'Run again later; what was loaded stays.',
  tries: number | null = MAX_ATTEMPTS,
): Policy => ({ code, result, hint, tries });

const CHECK_ADDRESS = 'Check the address in the service section and the network, then run again.';
const NAME_AUTHORITY = 'Set service.ca_file to the certificate authority of the address.';
const ALONE =
  'Keep other jobs off the account while this one runs, or lower service.max_concurrency.';
const LOOK_AT_ADDRESS =
  'Check what answers at the configured address: a proxy or a sign-in page may stand before it.';
const ALLOW_HEADERS =
  'Set the environment variable NODE_OPTIONS=--max-http-header-size=65536, or find what adds the headers.';
const LESS = 'Request less at once: fewer dimensions, fewer metrics or a shorter period.';
const LESS_OR_LONGER = 'Request less at once, or raise service.request_timeout.';

export const policies = {
  /** No connection was established; nothing was sent. */
  unsent: policy('SOURCE_UNAVAILABLE', 'outage', CHECK_ADDRESS),
  /** The connection could not be trusted. */
  untrusted: policy('SOURCE_UNAVAILABLE', 'unclear', NAME_AUTHORITY, 1),
  /** The connection was lost after sending and before an answer. */
  unanswered: policy('SOURCE_UNAVAILABLE', 'outage'),
  /** A success without an answer: 202, 206 and the like; also 499. */
  'no answer': policy('SOURCE_UNAVAILABLE', 'alive'),
  /** 408, 500, 502, 503 and the like. */
  faulty: policy('SOURCE_UNAVAILABLE', 'outage'),
  /** 429. */
  overload: policy('SOURCE_OVERLOADED', 'overloaded', ALONE, MAX_429_ATTEMPTS),
  /** The connection was lost, or decoding failed, inside the body. */
  cut: policy('SOURCE_UNAVAILABLE', 'alive'),
  /** The body was complete, but its document was not. */
  truncated: policy('SOURCE_GARBLED', 'alive'),
  /** The answer was something other than what was requested. */
  garbled: policy('SOURCE_GARBLED', 'alive', LOOK_AT_ADDRESS, 2),
  /** More headers than Node accepts. */
  'large headers': policy('SOURCE_GARBLED', 'alive', ALLOW_HEADERS, 1),
  /** 504, 524. */
  'too heavy': policy('SOURCE_TOO_HEAVY', 'alive', LESS, null),
  /** The deadline passed. */
  late: policy('SOURCE_TIMEOUT', 'unclear', LESS_OR_LONGER, null),
} as const satisfies Readonly<Record<string, Policy>>;

export type SetbackKind = keyof typeof policies;

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
