/** What a test may write into an answer, and an answer's bytes. */

import { type SimulatedAnswer, plainBytes } from '../../../src/simulator/answer.ts';

export { isRecord } from '../../../src/model/canonical-json.ts';
export { documentAnswer, type JsonDocument } from '../../../src/simulator/answer.ts';

const BARE_NUMBER = '\u0000number:';
const bareNumberInJson = /"\\u0000number:([^"]*)"/g;

/** A value that is written as exactly this number, unquoted, however many digits it has. */
export function bareNumber(text: string): string {
  return `${BARE_NUMBER}${text}`;
}

/** All of a body's bytes, bare numbers unquoted. */
export function bodyBytes(body: SimulatedAnswer['body']): Buffer {
  const bytes = plainBytes(body);
  if (Buffer.isBuffer(body) || !bytes.includes('\\u0000number:')) return bytes;
  return Buffer.from(bytes.toString().replaceAll(bareNumberInJson, '$1'));
}

/** The same answer as the bytes it is sent as. */
export function asBytes(answer: SimulatedAnswer): SimulatedAnswer {
  return answer.body === null ? answer : { ...answer, body: bodyBytes(answer.body) };
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
