/** What can go wrong with a try that another one may put right, how often it is tried again, and what it is called when no try did. */

import { scrubEcho } from '../config/secret.ts';
import type { FailureCode } from '../errors.ts';
import type { Sign } from './lane.ts';

interface Policy {
  readonly code: FailureCode;
  /** What it says of the service as a whole. */
  readonly sign: Sign;
  readonly hint: string;
  /** Most tries; null leaves it to the ask. */
  readonly tries: number | null;
}

/** Tries of one call that may fail, in whatever ways; being turned away by 429 is not failing. */
export const FAILED_TRIES = 6;
/**
 * Tries of one call that may be turned away: more, as each lowers the concurrency until there is room again. They take four
 * to five minutes, unless the service asks for longer.
 */
const TURNED_AWAY_TRIES = 12;

const policy = (
  code: FailureCode,
  sign: Sign,
  hint = 'Run again later; what was loaded stays.',
  tries: number | null = FAILED_TRIES,
): Policy => ({ code, sign, hint, tries });

const CHECK_ADDRESS = 'Check the address in the service section and the network, then run again.';
const NAME_AUTHORITY = 'Name the certificate authority of the address in service.ca_file.';
const ALONE = 'Keep other jobs off the account while this one runs, or lower service.max_concurrency.';
const LOOK_AT_ADDRESS = 'Check what answers at the configured address: a proxy or a sign-in page may stand before it.';
const LESS = 'Ask for less at once: fewer dimensions, fewer metrics or a shorter period.';
const LESS_OR_LONGER = 'Ask for less at once, or raise service.request_timeout.';

export const policies = {
  /** No connection came about: nothing was sent. */
  unsent: policy('SOURCE_UNAVAILABLE', 'outage', CHECK_ADDRESS),
  /** The connection could not be trusted. */
  untrusted: policy('SOURCE_UNAVAILABLE', 'unclear', NAME_AUTHORITY, 1),
  /** The connection was lost after sending and before an answer. */
  unanswered: policy('SOURCE_UNAVAILABLE', 'outage'),
  /** A success without an answer: 202, 206 and their like. */
  'no answer': policy('SOURCE_UNAVAILABLE', 'alive'),
  /** 500, 502, 503 and their like. */
  faulty: policy('SOURCE_UNAVAILABLE', 'outage'),
  /** 429. */
  overload: policy('SOURCE_OVERLOADED', 'overloaded', ALONE, TURNED_AWAY_TRIES),
  /** The connection was lost inside the body. */
  cut: policy('SOURCE_UNAVAILABLE', 'alive'),
  /** The body was whole and its document was not. */
  truncated: policy('SOURCE_GARBLED', 'alive'),
  /** Something else was answered than what was requested. */
  garbled: policy('SOURCE_GARBLED', 'alive', LOOK_AT_ADDRESS, 2),
  /** 504, 524. */
  'too heavy': policy('SOURCE_TOO_HEAVY', 'alive', LESS, null),
  /** The deadline passed. */
  late: policy('SOURCE_TIMEOUT', 'unclear', LESS_OR_LONGER, null),
} as const satisfies Readonly<Record<string, Policy>>;

export type SetbackKind = keyof typeof policies;

/** After these a write had no effect: nothing was sent, or it was one too many. A 503 may come after it had (a proxy's, say). */
export const WITHOUT_EFFECT = ['unsent', 'untrusted', 'overload'] as const satisfies readonly SetbackKind[];

interface Circumstances {
  /** Of the answer, when one came. */
  readonly status?: number;
  /** What the service asked to wait. */
  readonly retryAfterMs?: number | null;
  readonly cause?: unknown;
}

/** A try that failed; the message completes "GET /path ". Never leaves the folder: the last one of a call becomes a `Failure`. */
export class Setback extends Error {
  override readonly name = 'Setback';
  readonly setback: SetbackKind;
  /** Status or error code, for events. */
  readonly because: string;
  readonly status: number | null;
  readonly retryAfterMs: number | null;

  constructor(setback: SetbackKind, because: string, message: string, circumstances: Circumstances = {}) {
    super(message, circumstances.cause === undefined ? undefined : { cause: circumstances.cause });
    this.setback = setback;
    this.because = because;
    this.status = circumstances.status ?? null;
    this.retryAfterMs = circumstances.retryAfterMs ?? null;
  }
}

const MAX_CHARACTERS = 200;

/** The first words of a foreign text, at most `maxCharacters`; empty for blank text. */
export function firstWords(text: string, maxCharacters = MAX_CHARACTERS): string {
  // Scrubbed before it is cut: half a token is still half a token.
  const clean = scrubEcho(text)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return clean.length <= maxCharacters ? clean : `${clean.slice(0, maxCharacters - 1)}…`;
}

/** Where an address leads, in words: its origin, as path and query may carry credentials; of one without an origin all of it. */
export const originWords = (url: URL): string => (url.origin === 'null' ? firstWords(url.href) : url.origin);
