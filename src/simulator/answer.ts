/**
 * An answer before it goes on the wire, and its bytes in chunks.
 *
 * Promises that a large document is never one string: its lists are written element by element, 64 KiB at a time.
 */

import { gzipSync } from 'node:zlib';

export type JsonDocument = Readonly<Record<string, unknown>>;

export type AnswerBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'document'; readonly document: JsonDocument }
  | { readonly kind: 'bytes'; readonly bytes: Buffer };

export interface Answer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AnswerBody;
}

/** Large enough that a chunk is worth a write, small enough that many answers at once stay small. */
const CHUNK_CHARACTERS = 65_536;

/** The fastest: the simulator shares its machine with what is being tested. */
export const GZIP_LEVEL = 1;

const JSON_TYPE = 'application/json; charset=utf-8';
const BARE_NUMBER = '\u0000number:';
const bareNumberInJson = /"\\u0000number:([^"]*)"/g;

export function documentAnswer(document: JsonDocument, status = 200): Answer {
  return { status, headers: { 'content-type': JSON_TYPE }, body: { kind: 'document', document } };
}

export function bytesAnswer(bytes: Buffer | string, contentType: string, status = 200): Answer {
  return {
    status,
    headers: { 'content-type': contentType },
    body: { kind: 'bytes', bytes: typeof bytes === 'string' ? Buffer.from(bytes) : bytes },
  };
}

/** A value that is written as this very number, unquoted, however many digits it has. */
export function bareNumber(text: string): string {
  return `${BARE_NUMBER}${text}`;
}

/** A body's bytes in order, never empty chunks; a body of none has no chunks. */
export function* bodyChunks(body: AnswerBody): Generator<Buffer, void> {
  if (body.kind === 'bytes' && body.bytes.length > 0) yield body.bytes;
  if (body.kind !== 'document') return;
  for (const text of jsonChunks(body.document)) yield Buffer.from(text);
}

/** All of a body's bytes at once, compressed when asked; for faults that must know where the end is. */
export function bodyBytes(body: AnswerBody, gzip: boolean): Buffer {
  const plain = Buffer.concat([...bodyChunks(body)]);
  return gzip ? gzipSync(plain, { level: GZIP_LEVEL }) : plain;
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

export function isDocument(value: unknown): value is JsonDocument {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function* jsonChunks(document: JsonDocument): Generator<string, void> {
  let pending = '{';
  let keySeparator = '';
  for (const [key, value] of Object.entries(document)) {
    pending += `${keySeparator}${JSON.stringify(key)}:`;
    keySeparator = ',';
    if (!isList(value)) {
      pending += jsonText(value);
      continue;
    }
    let separator = '[';
    for (const element of value) {
      pending += separator + jsonText(element);
      separator = ',';
      if (pending.length < CHUNK_CHARACTERS) continue;
      yield pending;
      pending = '';
    }
    pending += value.length === 0 ? '[]' : ']';
  }
  yield `${pending}}`;
}

function jsonText(value: unknown): string {
  const text = JSON.stringify(value ?? null);
  return text.includes('\\u0000') ? text.replaceAll(bareNumberInJson, '$1') : text;
}
