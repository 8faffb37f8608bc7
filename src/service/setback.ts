/**
 * What may happen instead of an answer (service-interface: Errors). 422 and 410 are the usual siblings of 400 and 404. 408
 * means: repeat the request, 307 and 308: send it elsewhere (RFC 9110). A proxy reports 499 if its client did not wait, a
 * content network 524 if the server behind it took too long.
 */

import type { FailureCode, Facts } from '../errors.ts';
import type { CallResult } from './lane.ts';

interface Policy {
  readonly code: FailureCode;
  readonly result: CallResult;
  readonly hint: string;
  /** Most tries that end this way. Null if the request decides. */
  readonly tries: number | null;
  readonly statuses: readonly number[];
  /** What a write may have done. A 503 may follow an effect, from a proxy for example. */
  readonly effect: 'none' | 'possible';
  /** The outcome of a line of ad spend (default: `unknown` if an effect is possible, or else not sent). */
  readonly spend?: 'rejected' | 'unknown';
}

/** Of a call, unless a policy states another number. */
const MAX_ATTEMPTS = 6;
/** They take 4 to 5 minutes, unless the service requests longer waits. Each lowers the concurrency. */
const MAX_429_ATTEMPTS = 12;

export const LATER = 'Run again later. Loaded data is kept.';

const policy = (code: FailureCode, result: CallResult, rest: Partial<Policy> = {}): Policy => ({
  code,
  result,
  hint: LATER,
  tries: MAX_ATTEMPTS,
  statuses: [],
  effect: 'possible',
  ...rest,
});

const refusal = (
  code: FailureCode,
  statuses: readonly number[],
  hint: string,
  rest: Partial<Policy> = {},
) => policy(code, 'alive', { hint, tries: 1, statuses, effect: 'none', ...rest });

const CORRECT = 'Remove or correct what the service refused; `ripen check` lists unknown names.';
const CHECK_SERVER = 'Check which server answers at the configured address.';
const CONFIGURE = 'Configure the address the service answers at; redirects are not followed.';

export const policies = {
  refused: refusal('SOURCE_REFUSED', [400], CORRECT, { spend: 'rejected' }),
  unprocessable: refusal('SOURCE_REFUSED', [422], CORRECT, { spend: 'unknown' }),
  credentials: refusal(
    'CREDENTIALS_REFUSED',
    [401],
    'Check the credentials: a token becomes invalid as soon as it is reset.',
  ),
  'proxy credentials': refusal(
    'CREDENTIALS_REFUSED',
    [],
    'Set the address in HTTPS_PROXY to http://<user>:<password>@<host>:<port>.',
  ),
  forbidden: refusal(
    'ACCESS_FORBIDDEN',
    [403],
    'Ask for access to what was requested, or leave it out.',
    { spend: 'rejected' },
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
    { spend: 'unknown' },
  ),
  redirected: refusal('SOURCE_REDIRECTED', [307, 308], CONFIGURE),
  moved: refusal('SOURCE_REDIRECTED', [301, 302, 303], CONFIGURE, { effect: 'possible' }),
  /** Any other 4xx: the request was not carried out (RFC 9110). A line of ad spend may be known already. */
  unexpected: refusal('SOURCE_REFUSED', [], CHECK_SERVER, { spend: 'unknown' }),
  other: refusal('SOURCE_REFUSED', [], CHECK_SERVER, { effect: 'possible' }),
  /** A success without an answer. */
  'no answer': policy('SOURCE_UNAVAILABLE', 'alive', { statuses: [499] }),
  /** Also any other 5xx: a server behind a content network may have received the request (520 …). */
  faulty: policy('SOURCE_UNAVAILABLE', 'outage', { statuses: [408] }),
  overload: policy('SOURCE_OVERLOADED', 'overloaded', {
    statuses: [429],
    tries: MAX_429_ATTEMPTS,
    effect: 'none',
    hint: 'Do not run other jobs on this account at the same time, or lower service.max_concurrency.',
  }),
  'too heavy': policy('SOURCE_TOO_HEAVY', 'alive', {
    statuses: [504, 524],
    tries: null,
    hint: 'Request less at once: fewer dimensions, fewer metrics or a shorter period.',
  }),
  late: policy('SOURCE_TIMEOUT', 'unclear', {
    tries: null,
    hint: 'Request less at once, or raise service.request_timeout.',
  }),
  unsent: policy('SOURCE_UNAVAILABLE', 'outage', {
    effect: 'none',
    hint: 'Check the address in the service section, the proxy of the environment and the network, then run again.',
  }),
  untrusted: policy('SOURCE_UNAVAILABLE', 'unclear', {
    tries: 1,
    effect: 'none',
    hint: 'Set service.ca_file to the certificate authority of the address, or of the proxy before it.',
  }),
  /** The connection was lost after sending. */
  unanswered: policy('SOURCE_UNAVAILABLE', 'outage'),
  'large headers': policy('SOURCE_GARBLED', 'alive', {
    tries: 1,
    hint: 'Set the environment variable NODE_OPTIONS=--max-http-header-size=65536, or find what adds the headers.',
  }),
  /** The connection was lost, or decoding failed, inside the body. */
  cut: policy('SOURCE_UNAVAILABLE', 'alive'),
  /** The body was complete, but not its document. */
  truncated: policy('SOURCE_GARBLED', 'alive'),
  garbled: policy('SOURCE_GARBLED', 'alive', {
    tries: 2,
    hint: 'Check what answers at the configured address: a proxy or a sign-in page may stand before it.',
  }),
} as const satisfies Readonly<Record<string, Policy>>;

export type SetbackKind = keyof typeof policies;

const isKind = (name: string): name is SetbackKind => Object.hasOwn(policies, name);

/** Goes by the class of a status that is not listed. */
export function kindOf(status: number): SetbackKind {
  const kinds = Object.keys(policies).filter(isKind);
  const listed = kinds.find((kind) => policies[kind].statuses.includes(status));
  if (listed !== undefined) return listed;
  if (status >= 400) return status >= 500 ? 'faulty' : 'unexpected';
  return status >= 200 && status < 300 ? 'no answer' : 'other';
}

/** Tells whether no try is left of the last kind, or of all kinds but overload together. */
export function areUsedUp(kinds: readonly SetbackKind[], triesWhenSlow: number): boolean {
  const triesOf = (kind: SetbackKind) => policies[kind].tries ?? triesWhenSlow;
  const last = kinds.at(-1);
  const alike = kinds.filter((kind) => kind === last);
  const failed = kinds.filter((kind) => policies[kind].result !== 'overloaded');
  const most = Math.max(MAX_ATTEMPTS, ...failed.map(triesOf));
  return failed.length >= most || (last !== undefined && alike.length >= triesOf(last));
}

interface SetbackDetails {
  readonly status?: number;
  readonly retryAfterMs?: number | null;
  readonly facts?: Facts;
  readonly cause?: unknown;
}

/** Its message completes "GET /path ". */
export class Setback extends Error {
  override readonly name = 'Setback';
  readonly kind: SetbackKind;
  /** The status or error code. */
  readonly because: string;
  readonly details: SetbackDetails;

  constructor(kind: SetbackKind, because: string, message: string, details: SetbackDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.because = because;
    this.details = details;
  }
}
