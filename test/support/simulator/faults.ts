/**
 * What can be scripted to go wrong, and which of it affects a given request.
 *
 * Every fault of a server is one member of `Fault`. Conditional ones (by chance, after so many requests, by query) are
 * decided here, so that the rest of the simulator only sees faults that do happen.
 */

import { fraction, mix } from '../../../src/simulator/world/hash.ts';
import type { ErrorBodyForm } from './error-body.ts';
import type { byteEdits, ReportMutation } from './mutations.ts';
import type { NextLink } from './next-link.ts';

/** Comes in place of an answer; the request has no effect, except where `effect` says so. */
export type InsteadFault =
  | {
      readonly kind: 'status';
      readonly status: number;
      /** A form the service or a proxy has been seen to use (default `error_code`), or any text. */
      readonly body?: ErrorBodyForm | { readonly text: string; readonly contentType: string };
      readonly message?: string;
      readonly headers?: Readonly<Record<string, string>>;
      /** `Retry-After`, in seconds from now, written as a number or as an HTTP date. */
      readonly retryAfter?: { readonly seconds: number; readonly form: 'seconds' | 'date' };
    }
  | { readonly kind: 'redirect'; readonly origin: string; readonly status?: 301 | 302 | 303 | 307 | 308 }
  /** The connection is reset before the first byte; with `effect`, after the request was carried out. */
  | { readonly kind: 'reset'; readonly effect?: boolean }
  /** Headers never come. */
  | { readonly kind: 'silence' };

/** Changes an answer that is otherwise delivered well. */
export type AnswerFault =
  | { readonly kind: 'report'; readonly mutate: ReportMutation }
  | { readonly kind: 'next_link'; readonly link: NextLink }
  /** 504 when the report would have more rows than that. */
  | { readonly kind: 'too_heavy'; readonly maxRows: number }
  /** Bytes that are wrong under a correct length. */
  | { readonly kind: 'garbled'; readonly edit: keyof typeof byteEdits }
  | { readonly kind: 'content_type'; readonly contentType: string }
  /** The `Date` header off from the real clock. */
  | { readonly kind: 'date_skew'; readonly ms: number };

/** Changes how an answer's bytes travel. At most one applies to a request: the first. */
export type WireFault =
  /** The connection ends after so many bytes. The length was announced (`length`) or not (`chunked`). */
  | { readonly kind: 'cut'; readonly afterBytes: number | 'half'; readonly framing: 'length' | 'chunked' }
  /** A Content-Length that is off by so many bytes; then the connection ends. */
  | { readonly kind: 'wrong_length'; readonly by: number }
  | { readonly kind: 'drip'; readonly bytes: number; readonly everyMs: number }
  | { readonly kind: 'corrupt_gzip'; readonly where: 'middle' | 'checksum' };

/** Affects some of the requests its rule matches. */
export type ConditionalFault =
  /** Each with its own probability: 429, a body cut in half. The seed fixes the sequence. */
  | {
      readonly kind: 'random';
      readonly seed: number;
      readonly tooMany?: number;
      readonly cut?: number;
    }
  /** The first so many requests are answered, all later ones with a bare 401. */
  | { readonly kind: 'revoked_token'; readonly afterRequests: number }
  /** 403 for a query in which some decoded `name=value` contains this. */
  | { readonly kind: 'forbidden'; readonly queryContains: string };

export type HappeningFault = InsteadFault | AnswerFault | WireFault;
export type Fault = HappeningFault | ConditionalFault;

export interface FaultedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** 1 for the first request the simulator ever got. */
  readonly ordinal: number;
}

export interface FaultRule {
  readonly match: (request: FaultedRequest) => boolean;
  /** How many matching requests it is for. */
  readonly times: number;
  readonly fault: Fault;
}

export interface FaultScript {
  /** Adds a rule after those there are and returns what removes it. */
  add(rule: FaultRule): () => void;
  /** The faults of every rule that matches, in order; counts the request against each of them. */
  faultsFor(request: FaultedRequest): readonly HappeningFault[];
}

interface Scripted {
  readonly match: FaultRule['match'];
  readonly happening: (request: FaultedRequest) => readonly HappeningFault[];
  left: number;
}

export function createFaultScript(): FaultScript {
  const rules = new Set<Scripted>();
  return {
    add({ match, times, fault }) {
      const rule: Scripted = { match, happening: decider(fault), left: times };
      rules.add(rule);
      return () => {
        rules.delete(rule);
      };
    },
    faultsFor(request) {
      const matching = [...rules].filter((rule) => rule.left > 0 && rule.match(request));
      for (const rule of matching) {
        rule.left -= 1;
        if (rule.left <= 0) rules.delete(rule);
      }
      return matching.flatMap((rule) => rule.happening(request));
    },
  };
}

export function isInstead(fault: HappeningFault): fault is InsteadFault {
  return ['status', 'redirect', 'reset', 'silence'].includes(fault.kind);
}

export function isWire(fault: HappeningFault): fault is WireFault {
  return ['cut', 'wrong_length', 'drip', 'corrupt_gzip'].includes(fault.kind);
}

export function isOfAnswer(fault: HappeningFault): fault is AnswerFault {
  return !isInstead(fault) && !isWire(fault);
}

function decider(fault: Fault): Scripted['happening'] {
  if (fault.kind === 'random') return randomFaults(fault);
  if (fault.kind === 'revoked_token') {
    let answered = 0;
    return () => {
      answered += 1;
      return answered > fault.afterRequests ? [{ kind: 'status', status: 401, body: 'empty' }] : [];
    };
  }
  if (fault.kind === 'forbidden') {
    const { queryContains } = fault;
    return ({ query }) =>
      [...query].some(([name, value]) => `${name}=${value}`.includes(queryContains))
        ? [{ kind: 'status', status: 403, message: `Not permitted: ${queryContains}` }]
        : [];
  }
  return () => [fault];
}

function randomFaults({ seed, tooMany = 0, cut = 0 }: Extract<Fault, { kind: 'random' }>): Scripted['happening'] {
  const choices: readonly (readonly [number, HappeningFault])[] = [
    [tooMany, { kind: 'status', status: 429 }],
    [cut, { kind: 'cut', afterBytes: 'half', framing: 'chunked' }],
  ];
  let drawn = 0;
  return () => {
    drawn += 1;
    let left = fraction(mix(seed, drawn));
    for (const [probability, chosen] of choices) {
      if (left < probability) return [chosen];
      left -= probability;
    }
    return [];
  };
}
