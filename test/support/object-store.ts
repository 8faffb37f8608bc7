/**
 * An S3 server on loopback with one empty bucket: a real one from npm, behind a script that counts and refuses requests.
 *
 * Hides what the server does not do by itself: it writes an object in place and answers before it is written, so here
 * requests take turns and an object is stored only once the whole of it came.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import crypto, { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';

import S3rver from 's3rver';
import { onTestFinished, vi } from 'vitest';
import * as z from 'zod';

import type { PublishTarget } from '../../src/config/config.ts';

const BUCKET = 'example-bucket';
/** The one pair of credentials the server knows; it checks every signature. */
export const CREDENTIALS = {
  AWS_ACCESS_KEY_ID: 'S3RVER',
  AWS_SECRET_ACCESS_KEY: 'S3RVER',
} as const;

export interface StoreRequest {
  readonly method: string;
  /** Without the bucket, decoded; empty for a listing. */
  readonly key: string;
  /** The digest the client stated for what it sent. */
  readonly md5: string | null;
  /** Whether it is to be put only where nothing is. */
  readonly isConditional: boolean;
}

/** What to answer instead of serving: a status and a body; status 0 closes the connection. */
export interface StoreRefusal {
  readonly status: number;
  readonly body: string;
}

export interface RunningStore {
  readonly url: string;
  /** Every request so far, refused ones too. */
  readonly requests: StoreRequest[];
  /** Most requests that were under way at once. */
  readonly peak: number;
  /** Asked before every request; null lets it through. */
  refuse: (request: StoreRequest) => StoreRefusal | null;
  /** Asked before every request that is served; true cuts the connection in the place of the answer. */
  isAnswerLost: (request: StoreRequest) => boolean;
  /** Delta tables in the bucket as a configuration states them. */
  tables(prefix: string, keepMs?: number): Extract<PublishTarget, { kind: 'delta' }>;
  /** A lake in the bucket as a configuration states it. */
  lake(prefix: string): Extract<PublishTarget, { kind: 'parquet' }>;
  /** The bucket's objects, by key. */
  objects(): Promise<Map<string, Buffer>>;
  /** Makes, replaces or, with null, removes an object behind everybody's back. */
  tamper(key: string, content: string | null): Promise<void>;
  /** Writes what lies under a prefix to a directory of this machine. */
  download(prefix: string, directory: string): Promise<void>;
}

/** What S3 says of an error, as XML. */
export function refusal(
  status: number,
  code: string,
  message = 'refused by the test',
): StoreRefusal {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  return { status, body };
}

/**
 * A store for the test that runs, begun in it or before each, with its credentials in the environment. Once the test is over it is
 * closed, and all that was stubbed of the environment is as before.
 */
export async function useObjectStore(): Promise<RunningStore> {
  for (const [name, value] of Object.entries(CREDENTIALS)) vi.stubEnv(name, value);
  // The client would warn of this Node once in every test file.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true';
  const directory = await mkdtemp(join(tmpdir(), 'ripen-store-'));
  const s3 = new S3rver({
    silent: true,
    directory,
    configureBuckets: [{ name: BUCKET, configs: [] }],
  });
  await s3.configureBuckets();
  storeWhole(s3);
  const serve = s3.callback();
  const requests: StoreRequest[] = [];
  const counted = { now: 0, peak: 0 };
  let turn: Promise<unknown> = Promise.resolve();
  const front = createServer((request, response) => {
    const requested = requestOf(request);
    requests.push(requested);
    counted.now += 1;
    counted.peak = Math.max(counted.peak, counted.now);
    response.on('close', () => {
      counted.now -= 1;
    });
    const refused = store.refuse(requested);
    if (refused !== null) {
      refuseWith(refused, request, response);
      return;
    }
    const before = turn;
    turn = (async () => {
      await before;
      if (response.destroyed) return;
      const done = once(response, 'close');
      // The server takes no notice of the condition.
      if (requested.isConditional && existsSync(join(root, `${requested.key}${OBJECT}`))) {
        refuseWith(refusal(412, 'PreconditionFailed'), request, response);
      } else if (store.isAnswerLost(requested)) {
        serve(request, lost(response));
      } else serve(request, response);
      await done;
    })();
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  const address = z.object({ port: z.number() }).parse(front.address());
  const url = `http://127.0.0.1:${address.port}`;
  const root = join(directory, BUCKET);
  const store: RunningStore = {
    url,
    requests,
    get peak() {
      return counted.peak;
    },
    refuse: () => null,
    isAnswerLost: () => false,
    tables: (prefix, keepMs = 3 * 86_400_000) => ({ ...store.lake(prefix), kind: 'delta', keepMs }),
    lake(prefix) {
      const place = { bucket: BUCKET, prefix, endpoint: url, region: null, pathStyle: true };
      return { kind: 'parquet', path: `s3://${BUCKET}/${prefix}`, mode: 0o644, store: place };
    },
    async objects() {
      const entries = await readdir(root, { recursive: true, withFileTypes: true });
      const found = new Map<string, Buffer>();
      for (const entry of entries.filter(({ name }) => name.endsWith(OBJECT))) {
        const path = join(entry.parentPath, entry.name);
        found.set(path.slice(root.length + 1, -OBJECT.length), await readFile(path));
      }
      return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
    },
    async tamper(key, content) {
      const path = join(root, `${key}${OBJECT}`);
      await rm(`${path}.md5`, { force: true });
      if (content === null) {
        await rm(path);
        return;
      }
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, content);
    },
    async download(prefix, target) {
      for (const [key, bytes] of await store.objects()) {
        if (!key.startsWith(`${prefix}/`)) continue;
        const path = join(target, key.slice(prefix.length + 1));
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, bytes);
      }
    },
  };
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    front.closeAllConnections();
    front.close();
    await rm(directory, { recursive: true, force: true });
  });
  return store;
}

/**
 * The server seals the place where a listing of more than 1,000 keys goes on with a cipher that this OpenSSL no longer has;
 * here it stays legible.
 */
const legible = {
  update: (text: string | Buffer) => Buffer.from(text),
  final: () => Buffer.alloc(0),
};
for (const name of ['createCipheriv', 'createDecipheriv'] as const) {
  const original = crypto[name];
  Reflect.set(crypto, name, (algorithm: string, ...others: readonly unknown[]): unknown => {
    if (algorithm === 'des') return legible;
    const cipher: unknown = Reflect.apply(original, crypto, [algorithm, ...others]);
    return cipher;
  });
}

/** How the server names the file an object is kept in. */
const OBJECT = '._S3rver_object';

function requestOf({ method = '', url = '', headers }: IncomingMessage): StoreRequest {
  const path = decodeURIComponent(new URL(url, 'http://store').pathname);
  const md5 = headers['content-md5'];
  const isConditional = headers['if-none-match'] === '*';
  return {
    method,
    key: path.slice(`/${BUCKET}/`.length),
    md5: typeof md5 === 'string' ? md5 : null,
    isConditional,
  };
}

function refuseWith(
  { status, body }: StoreRefusal,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  request.resume();
  if (status === 0) {
    request.socket.destroy();
    return;
  }
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(body);
}

/** The response as the server sees it: whatever it says, the connection is cut. */
function lost(response: ServerResponse): ServerResponse {
  response.writeHead = () => response.destroy();
  response.write = () => true;
  response.end = () => response.destroy();
  return response;
}

interface Incoming {
  readonly bucket: string;
  readonly key: string;
  readonly content: AsyncIterable<Uint8Array>;
  readonly metadata: unknown;
}

/** The part of the server's storage that is replaced, and what it needs. */
interface Shelf {
  getResourcePath(bucket: string, key: string, resource: string): string;
  putMetadata(bucket: string, key: string, metadata: unknown, md5: string): Promise<void>;
  putObject(object: Incoming): Promise<{ readonly size: number; readonly md5: string }>;
}

function isShelf(value: unknown): value is Shelf {
  return (
    typeof value === 'object' &&
    value !== null &&
    'putObject' in value &&
    'getResourcePath' in value
  );
}

function storeWhole(s3: S3rver): void {
  const shelf: unknown = Reflect.get(s3, 'store');
  if (!isShelf(shelf)) throw new Error('this version of s3rver keeps its objects elsewhere');
  shelf.putObject = async ({ bucket, key, content, metadata }) => {
    const bytes = await buffer(content);
    const path = shelf.getResourcePath(bucket, key, 'object');
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
    const md5 = createHash('md5').update(bytes).digest('hex');
    await shelf.putMetadata(bucket, key, metadata, md5);
    return { size: bytes.length, md5 };
  };
}
