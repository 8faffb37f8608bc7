/** Faults turned into answers: what comes instead of one, and how a good one is spoilt before it is sent. */

import type { SimulatedAnswer, JsonDocument } from '../../../src/simulator/answer.ts';
import { bodyBytes } from './answer.ts';
import { errorAnswer } from './error-body.ts';
import type { AnswerFault, InsteadFault } from './faults.ts';
import { byteEdits, rowCount } from './mutations.ts';
import { withNextLink } from './next-link.ts';

/** What a fault may need to know of the request it affects. */
export interface FaultedAddress {
  readonly address: URL;
  readonly ordinal: number;
}

/** The answer in place of the real one. */
export function answerInstead(
  fault: Extract<InsteadFault, { kind: 'status' | 'redirect' }>,
  address: URL,
): SimulatedAnswer {
  if (fault.kind === 'status') return statusAnswer(fault);
  const location = new URL(`${address.pathname}${address.search}`, fault.origin).href;
  return withHeaders(errorAnswer(fault.status ?? 302, 'html', 'Moved'), { location });
}

/** The answer with one fault in it; as it was where the fault does not apply. */
export function spoiltAnswer(
  answer: SimulatedAnswer,
  fault: AnswerFault,
  { address, ordinal }: FaultedAddress,
): SimulatedAnswer {
  const { body } = answer;
  switch (fault.kind) {
    case 'report':
      return withDocument(answer, fault.mutate);
    case 'next_link':
      return withDocument(answer, (document) => withNextLink(document, fault.link, address, ordinal));
    case 'too_heavy':
      if (body.kind !== 'document' || rowCount(body.document) <= fault.maxRows) break;
      return errorAnswer(504, 'html', '504 Gateway Time-out');
    case 'garbled':
      if (body.kind === 'none') break;
      return { ...answer, body: { kind: 'bytes', bytes: byteEdits[fault.edit](bodyBytes(body)) } };
    case 'content_type':
      return withHeaders(answer, { 'content-type': fault.contentType });
    case 'date_skew':
      return withHeaders(answer, { date: new Date(Date.now() + fault.ms).toUTCString() });
  }
  return answer;
}

function statusAnswer(fault: Extract<InsteadFault, { kind: 'status' }>): SimulatedAnswer {
  const form = fault.body ?? 'error_code';
  const answer: SimulatedAnswer =
    typeof form === 'string'
      ? errorAnswer(fault.status, form, fault.message ?? `Scripted ${fault.status}`)
      : {
          status: fault.status,
          headers: { 'content-type': form.contentType },
          body: { kind: 'bytes', bytes: Buffer.from(form.text) },
        };
  return withHeaders(answer, { ...retryAfterHeader(fault.retryAfter), ...fault.headers });
}

function retryAfterHeader(
  retryAfter: Extract<InsteadFault, { kind: 'status' }>['retryAfter'],
): Readonly<Record<string, string>> {
  if (retryAfter === undefined) return {};
  const { seconds, form } = retryAfter;
  return { 'retry-after': form === 'seconds' ? String(seconds) : new Date(Date.now() + seconds * 1000).toUTCString() };
}

function withDocument(answer: SimulatedAnswer, change: (document: JsonDocument) => JsonDocument): SimulatedAnswer {
  const { body } = answer;
  return body.kind === 'document' ? { ...answer, body: { kind: 'document', document: change(body.document) } } : answer;
}

function withHeaders(answer: SimulatedAnswer, headers: Readonly<Record<string, string>>): SimulatedAnswer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}
