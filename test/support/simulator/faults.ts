/** What can be scripted to go wrong, which of it affects a request, and how an answer is spoilt by it. */

import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

import {
  bareAnswer,
  bytesAnswer,
  documentAnswer,
  errorAnswer as ownAnswer,
  GZIP_LEVEL,
  plainBytes,
  type SimulatedAnswer,
} from '../../../src/simulator/answer.ts';
import { fraction, mix } from '../../../src/simulator/world/hash.ts';
import { bodyBytes } from './answer.ts';
import { byteEdits, type ReportMutation, rowsOf } from './mutations.ts';

const htmlPage = (message: string): string =>
  `<html>\n<head><title>${message}</title></head>\n<body><center><h1>${message}</h1></center></body>\n</html>\n`;

/** The forms in which the service, or a proxy before it, has been seen to word an error (observed: error bodies). */
const errorBodies = {
  error_code: (status: number, message: string) => ownAnswer(status, 'error_code', message),
  error: (status: number, message: string) => ownAnswer(status, 'error', message),
  detail: (status: number, message: string) =>
    documentAnswer({ detail: [{ loc: ['query'], msg: message, type: 'value_error' }] }, status),
  message: (status: number, message: string) => documentAnswer({ message }, status),
  text: (status: number, message: string) =>
    bytesAnswer(message, 'text/plain; charset=utf-8', status),
  html: (status: number, message: string) =>
    bytesAnswer(htmlPage(message), 'text/html; charset=utf-8', status),
  empty: (status: number) => bareAnswer(status),
} as const;

interface StatusFault {
  readonly kind: 'status';
  readonly status: number;
  /** One of the seen forms (default `error_code`), or any text. */
  readonly body?:
    | keyof typeof errorBodies
    | { readonly text: string; readonly contentType: string };
  readonly message?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Comes in place of an answer; the request has no effect. */
export type InsteadFault =
  | StatusFault
  | { readonly kind: 'redirect'; readonly origin: string }
  /** The connection is reset before the first byte. */
  | { readonly kind: 'reset' }
  /** Headers never come. */
  | { readonly kind: 'silence' };

/** Changes an answer that is otherwise delivered well. */
export type AnswerFault =
  | { readonly kind: 'report'; readonly mutate: ReportMutation }
  /** 504 when the report would have more rows than that. */
  | { readonly kind: 'too_heavy'; readonly maxRows: number }
  /** Bytes that are wrong under a correct length. */
  | { readonly kind: 'garbled'; readonly edit: keyof typeof byteEdits }
  /** The `Date` header off from the real clock. */
  | { readonly kind: 'date_skew'; readonly ms: number };

/** Changes how an answer's bytes travel. At most one applies to a request: the first. */
export type WireFault =
  /** The connection ends amid the body, whose length was not announced. */
  | { readonly kind: 'cut' }
  | { readonly kind: 'drip'; readonly bytes: number; readonly everyMs: number };

/** Affects some of the requests its rule matches. */
type ConditionalFault =
  /** Each with its own probability: 429, a body cut in half. The seed fixes the sequence. */
  | {
      readonly kind: 'random';
      readonly seed: number;
      readonly tooMany?: number;
      readonly cut?: number;
    }
  /** The first so many requests are answered, all later ones with a bare 401. */
  | { readonly kind: 'revoked_token'; readonly afterRequests: number };

type HappeningFault = InsteadFault | AnswerFault | WireFault;
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

interface Scripted {
  readonly match: FaultRule['match'];
  readonly happening: (request: FaultedRequest) => readonly HappeningFault[];
  left: number;
}

export function createFaultScript() {
  const rules = new Set<Scripted>();
  return {
    /** Adds a rule after those there are and returns what removes it. */
    add({ match, times, fault }: FaultRule): () => void {
      const rule: Scripted = { match, happening: decider(fault), left: times };
      rules.add(rule);
      return () => {
        rules.delete(rule);
      };
    },
    /** The faults of every rule that matches, in order; counts the request against each of them. */
    faultsFor(request: FaultedRequest): readonly HappeningFault[] {
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
  return fault.kind === 'cut' || fault.kind === 'drip';
}

export function isOfAnswer(fault: HappeningFault): fault is AnswerFault {
  return !isInstead(fault) && !isWire(fault);
}

/** What a proxy answers that waited too long. */
export const gatewayTimeout = (): SimulatedAnswer => errorBodies.html(504, '504 Gateway Time-out');

/** The answer in place of the real one. */
export function answerInstead(
  fault: StatusFault | Extract<InsteadFault, { kind: 'redirect' }>,
  address: URL,
): SimulatedAnswer {
  if (fault.kind === 'redirect') {
    const location = new URL(`${address.pathname}${address.search}`, fault.origin).href;
    return withHeaders(errorBodies.html(302, 'Moved'), { location });
  }
  const { status, body = 'error_code', message = `Scripted ${status}`, headers = {} } = fault;
  const answer =
    typeof body === 'string'
      ? errorBodies[body](status, message)
      : bytesAnswer(body.text, body.contentType, status);
  return withHeaders(answer, headers);
}

/** The answer with one fault in it; as it was where the fault does not apply. */
export function spoiltAnswer(answer: SimulatedAnswer, fault: AnswerFault): SimulatedAnswer {
  const { body } = answer;
  switch (fault.kind) {
    case 'report':
      if (body === null || Buffer.isBuffer(body)) break;
      return { ...answer, body: fault.mutate(body) };
    case 'too_heavy':
      if (body === null || Buffer.isBuffer(body) || rowsOf(body).length <= fault.maxRows) break;
      return gatewayTimeout();
    case 'garbled':
      if (body === null) break;
      return { ...answer, body: byteEdits[fault.edit](bodyBytes(body)) };
    case 'date_skew':
      return withHeaders(answer, { date: new Date(Date.now() + fault.ms).toUTCString() });
  }
  return answer;
}

const withHeaders = (
  answer: SimulatedAnswer,
  headers: Readonly<Record<string, string>>,
): SimulatedAnswer => ({
  ...answer,
  headers: { ...answer.headers, ...headers },
});

/** Sends an answer; rejects if the connection closes before its end. */
export async function deliverWithFault(
  response: ServerResponse,
  { status, headers: own, body }: SimulatedAnswer,
  {
    gzip,
    closed,
    fault,
  }: { readonly gzip: boolean; readonly fault: WireFault; readonly closed: AbortSignal },
): Promise<void> {
  const plain = plainBytes(body);
  const bytes = gzip ? gzipSync(plain, { level: GZIP_LEVEL }) : plain;
  response.writeHead(status, gzip ? { ...own, 'content-encoding': 'gzip' } : own);
  if (fault.kind === 'cut') {
    response.flushHeaders();
    response.write(bytes.subarray(0, bytes.length / 2));
    const { socket } = response;
    socket?.end(() => socket.destroy());
    return;
  }
  for (let at = 0; at < bytes.length; at += fault.bytes) {
    response.write(bytes.subarray(at, at + fault.bytes));
    await sleep(fault.everyMs, undefined, { signal: closed });
  }
  response.end();
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
  return () => [fault];
}

function randomFaults({
  seed,
  tooMany = 0,
  cut = 0,
}: Extract<Fault, { kind: 'random' }>): Scripted['happening'] {
  const choices: readonly (readonly [number, HappeningFault])[] = [
    [tooMany, { kind: 'status', status: 429 }],
    [cut, { kind: 'cut' }],
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
