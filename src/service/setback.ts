/** What can go wrong with a try that another one may put right, how often it is tried again, and what it is called when no try did. */

import { scrubEcho } from '../config/secret.ts';
import type { FailureCode } from '../errors.ts';
import type { Sign } from './lane.ts';

const setbackKinds = [
  /** No connection came about: nothing was sent. */
  'unsent',
  /** The connection could not be trusted. */
  'untrusted',
  /** The connection was lost after sending and before an answer. */
  'unanswered',
  /** A success without an answer: 202, 206 and their like; what comes at the wrong moment: 409, 425 and theirs. */
  'no answer',
  /** 503. */
  'unavailable',
  /** 500, 502 and their like. */
  'faulty',
  /** 429. */
  'overload',
  /** The connection was lost inside the body. */
  'cut',
  /** The body came whole and its document did not. */
  'truncated',
  /** Something else came than what was asked for. */
  'garbled',
  /** 504, 524. */
  'too heavy',
  /** The deadline passed. */
  'late',
] as const;

export type SetbackKind = (typeof setbackKinds)[number];

interface Policy {
  /** Most tries; null leaves it to the ask. */
  readonly tries: number | null;
  readonly code: FailureCode;
  /** What it says of the service as a whole. */
  readonly sign: Sign;
  readonly hint: string;
}

/** Tries of one call that may fail, in whatever ways; being turned away by 429 is not failing. */
export const FAILED_TRIES = 6;
/**
 * Tries of one call that may be turned away: more, as each lowers the concurrency until there is room again. They take four
 * to five minutes, unless the service asks for longer.
 */
const TURNED_AWAY_TRIES = 12;
const AGAIN_LATER = 'Run again later; what was loaded stays.';
const LOOK_AT_ADDRESS = 'Check what answers at the configured address: a proxy or a sign-in page may stand before it.';

export const policies: Readonly<Record<SetbackKind, Policy>> = {
  unsent: {
    tries: FAILED_TRIES,
    code: 'SOURCE_UNAVAILABLE',
    sign: 'outage',
    hint: 'Check the address in the service section and the network, then run again.',
  },
  untrusted: {
    tries: 1,
    code: 'SOURCE_UNAVAILABLE',
    sign: 'unclear',
    hint: 'Name the certificate authority of the address in service.ca_file.',
  },
  unanswered: { tries: FAILED_TRIES, code: 'SOURCE_UNAVAILABLE', sign: 'outage', hint: AGAIN_LATER },
  'no answer': { tries: FAILED_TRIES, code: 'SOURCE_UNAVAILABLE', sign: 'alive', hint: AGAIN_LATER },
  unavailable: { tries: FAILED_TRIES, code: 'SOURCE_UNAVAILABLE', sign: 'outage', hint: AGAIN_LATER },
  faulty: { tries: FAILED_TRIES, code: 'SOURCE_UNAVAILABLE', sign: 'outage', hint: AGAIN_LATER },
  overload: {
    tries: TURNED_AWAY_TRIES,
    code: 'SOURCE_OVERLOADED',
    sign: 'overloaded',
    hint: 'Keep other jobs off the account while this one runs, or lower service.max_concurrency.',
  },
  cut: { tries: FAILED_TRIES, code: 'SOURCE_UNAVAILABLE', sign: 'alive', hint: AGAIN_LATER },
  truncated: { tries: FAILED_TRIES, code: 'SOURCE_GARBLED', sign: 'alive', hint: AGAIN_LATER },
  garbled: { tries: 2, code: 'SOURCE_GARBLED', sign: 'alive', hint: LOOK_AT_ADDRESS },
  'too heavy': {
    tries: null,
    code: 'SOURCE_TOO_HEAVY',
    sign: 'alive',
    hint: 'Ask for less at once: fewer dimensions, fewer metrics or a shorter period.',
  },
  late: {
    tries: null,
    code: 'SOURCE_TIMEOUT',
    sign: 'unclear',
    hint: 'Ask for less at once, or raise service.request_timeout.',
  },
};

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
