/** How an answer's bytes reach the wire with a fault on the way. */

import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { type SimulatedAnswer, GZIP_LEVEL, plainBytes } from '../../../src/simulator/answer.ts';
import type { WireFault } from './faults.ts';
import { corruptGzip } from './mutations.ts';

export interface Delivery {
  readonly gzip: boolean;
  readonly fault: WireFault;
  /** Aborted when the connection is closed, by whichever side. */
  readonly closed: AbortSignal;
}

type Headers = Readonly<Record<string, string>>;

/** Sends an answer; rejects if the connection closes before its end. */
export async function deliverWithFault(
  response: ServerResponse,
  { status, headers: own, body }: SimulatedAnswer,
  { gzip, closed, fault }: Delivery,
): Promise<void> {
  const plain = plainBytes(body);
  const zipped = (): Buffer => gzipSync(plain, { level: GZIP_LEVEL });
  const bytes = gzip ? zipped() : plain;
  const headers: Headers = gzip ? { ...own, 'content-encoding': 'gzip' } : own;
  switch (fault.kind) {
    case 'cut':
      cut(response, status, headers, bytes, fault);
      return;
    case 'wrong_length':
      response.writeHead(status, { ...headers, 'content-length': String(Math.max(0, bytes.length + fault.by)) });
      writeAndHangUp(response, bytes);
      return;
    case 'drip':
      response.writeHead(status, headers);
      await drip(response, bytes, fault, closed);
      return;
    case 'corrupt_gzip': {
      const corrupt = corruptGzip(zipped(), fault.where);
      response.writeHead(status, { ...own, 'content-encoding': 'gzip', 'content-length': String(corrupt.length) });
      response.end(corrupt);
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
