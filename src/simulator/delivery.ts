/**
 * How an answer's bytes reach the wire: streamed with backpressure, compressed where accepted, or with a fault on the
 * way.
 *
 * Promises that memory does not grow with a well delivered document; a wire fault holds the whole body, as it has to
 * know where the end is.
 */

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGzip, gzipSync } from 'node:zlib';
import { type Answer, bodyBytes, bodyChunks, GZIP_LEVEL } from './answer.ts';
import type { WireFault } from './faults.ts';
import { corruptGzip } from './mutations.ts';

export interface Delivery {
  readonly gzip: boolean;
  readonly wire: WireFault | null;
  /** Aborted when the connection is closed, by whichever side. */
  readonly closed: AbortSignal;
}

type Headers = Readonly<Record<string, string>>;

const BLANKS = Buffer.alloc(65_536, ' ');

/** One gzip member of the bomb: a mebibyte that compresses to about a kilobyte. */
const BOMB_MEMBER_BYTES = 1_048_576;

/** Sends an answer and resolves when its last byte was handed over; rejects when the connection closed before. */
export async function deliver(response: ServerResponse, answer: Answer, delivery: Delivery): Promise<void> {
  const { status, headers, body } = answer;
  if (body.kind === 'none') {
    response.writeHead(status, status === 204 ? headers : { ...headers, 'content-length': '0' }).end();
    return;
  }
  if (delivery.wire === null) await stream(response, answer, delivery.gzip);
  else await deliverWithFault(response, answer, delivery, delivery.wire);
}

async function stream(response: ServerResponse, { status, headers, body }: Answer, gzip: boolean): Promise<void> {
  if (gzip) {
    response.writeHead(status, { ...headers, 'content-encoding': 'gzip' });
    await pipeline(readable(bodyChunks(body)), createGzip({ level: GZIP_LEVEL }), response);
    return;
  }
  const chunks = bodyChunks(body);
  const first = chunks.next().value ?? Buffer.alloc(0);
  const second = chunks.next();
  if (second.done === true) {
    response.writeHead(status, { ...headers, 'content-length': String(first.length) }).end(first);
    return;
  }
  response.writeHead(status, headers);
  await pipeline(readable(inOrder(first, second.value, chunks)), response);
}

function* inOrder(first: Buffer, second: Buffer, rest: Iterable<Buffer>): Generator<Buffer, void> {
  yield first;
  yield second;
  yield* rest;
}

/** One chunk at a time: the default would hold sixteen. */
function readable(chunks: Iterable<Buffer>): Readable {
  return Readable.from(chunks, { highWaterMark: 1 });
}

async function deliverWithFault(
  response: ServerResponse,
  { status, headers: own, body }: Answer,
  { gzip, closed }: Delivery,
  fault: WireFault,
): Promise<void> {
  const headers: Headers = gzip ? { ...own, 'content-encoding': 'gzip' } : own;
  switch (fault.kind) {
    case 'cut':
      cut(response, status, headers, bodyBytes(body, gzip), fault);
      return;
    case 'wrong_length': {
      const bytes = bodyBytes(body, gzip);
      response.writeHead(status, { ...headers, 'content-length': String(Math.max(0, bytes.length + fault.by)) });
      writeAndHangUp(response, bytes);
      return;
    }
    case 'drip':
      response.writeHead(status, headers);
      await drip(response, bodyBytes(body, gzip), fault, closed);
      return;
    case 'endless_body':
      response.writeHead(status, own);
      response.write(bodyBytes(body, false).subarray(0, -1));
      await writeWithoutEnd(response, closed);
      return;
    case 'gzip_bomb':
      response.writeHead(status, { ...own, 'content-encoding': 'gzip' });
      await explode(response, fault.plainBytes, closed);
      return;
    case 'corrupt_gzip': {
      const bytes = corruptGzip(bodyBytes(body, true), fault.where);
      response.writeHead(status, { ...own, 'content-encoding': 'gzip', 'content-length': String(bytes.length) });
      response.end(bytes);
    }
  }
}

function cut(
  response: ServerResponse,
  status: number,
  headers: Headers,
  bytes: Buffer,
  { afterBytes, framing }: Extract<WireFault, { kind: 'cut' }>,
): void {
  const part = bytes.subarray(0, afterBytes === 'half' ? Math.floor(bytes.length / 2) : afterBytes);
  if (framing === 'close') {
    // Without a length and without chunks, HTTP/1.1 ends a body where the connection ends.
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
    response.writeHead(status, headers).end(part);
    return;
  }
  response.writeHead(status, framing === 'length' ? { ...headers, 'content-length': String(bytes.length) } : headers);
  writeAndHangUp(response, part);
}

function writeAndHangUp(response: ServerResponse, bytes: Buffer): void {
  response.flushHeaders();
  if (bytes.length > 0) response.write(bytes);
  const { socket } = response;
  socket?.end(() => socket.destroy());
}

async function drip(
  response: ServerResponse,
  bytes: Buffer,
  { bytes: size, everyMs }: Extract<WireFault, { kind: 'drip' }>,
  closed: AbortSignal,
): Promise<void> {
  for (let at = 0; at < bytes.length; at += size) {
    response.write(bytes.subarray(at, at + size));
    await sleep(everyMs, undefined, { signal: closed });
  }
  response.end();
}

/** Ends by the connection closing, as a rejection. */
async function writeWithoutEnd(response: ServerResponse, closed: AbortSignal): Promise<void> {
  for (;;) await writeWithBackpressure(response, BLANKS, closed);
}

/** Gzip members one after another, which a decoder must read as one stream (RFC 1952). */
async function explode(response: ServerResponse, plainBytes: number, closed: AbortSignal): Promise<void> {
  const member = gzipSync(Buffer.alloc(BOMB_MEMBER_BYTES, ' '));
  response.write(gzipSync('{"rows":['));
  for (let sent = 0; sent < plainBytes; sent += BOMB_MEMBER_BYTES) {
    await writeWithBackpressure(response, member, closed);
  }
  response.end(gzipSync(']}'));
}

async function writeWithBackpressure(response: ServerResponse, bytes: Buffer, closed: AbortSignal): Promise<void> {
  closed.throwIfAborted();
  if (!response.write(bytes)) await once(response, 'drain', { signal: closed });
}
