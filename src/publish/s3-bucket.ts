/**
 * A bucket of an S3-compatible store; the one place that touches the AWS SDK, an optional dependency that is loaded when
 * a lake lies in a store and never before.
 *
 * Hides the SDK, which finds the credentials and retries, and its errors: what it gives up is a `Failure`. Nothing is requested
 * over plain http but on loopback, wherever the address came from.
 */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import * as z from 'zod';

import type { ObjectStore } from '../config/config.ts';
import { Secret } from '../config/secret.ts';
import { isLoopback } from '../config/setting-kinds.ts';
import { Failure } from '../errors.ts';
import { refusalOf, storeFailure } from './s3-refusal.ts';
import type { StoredFile } from './store.ts';

export interface Bucket {
  /** Every object whose key begins so, by key. */
  list(prefix: string): Promise<ReadonlyMap<string, StoredFile>>;
  /** The text of an object; null when there is none. */
  read(key: string): Promise<string | null>;
  /** Writes an object to a file of this machine. */
  download(key: string, file: string): Promise<void>;
  /** Puts a file of this machine, or a text, in the place of an object; readers meet the old one or the new. */
  put(key: string, content: Content): Promise<StoredFile>;
  /**
   * Puts a file or a text where no object is; false when there is one of other bytes. An answer that was lost is read
   * back: equal bytes are this put's own.
   */
  putNew(key: string, content: Content): Promise<boolean>;
  /** Removes an object, if it is there. */
  remove(key: string): Promise<void>;
  close(): void;
}

type Content = { readonly file: string } | { readonly text: string };

/** A larger file is streamed, which the SDK does not retry; 8 of these may be in memory at once. */
const MOST_HELD_BYTES = 32 * 1024 ** 2;
const MOST_TRIES = 5;
/** A store that takes no connection, or does not say a word, is as good as gone. */
const CONNECTION_TIMEOUT_MS = 10_000;
const IDLE_TIMEOUT_MS = 60_000;
/** The largest object at 5 MB/s. */
const REQUEST_TIMEOUT_MS = 1_000_000;
/** Where stores without regions of their own sign for (MinIO, Ceph, R2). */
const USUAL_REGION = 'us-east-1';

/**
 * Opens a bucket with the credentials of the environment. Throws `USAGE_INVALID` without the SDK, without credentials or
 * without a region; asks the store nothing.
 */
export async function openBucket(store: ObjectStore, signal: AbortSignal): Promise<Bucket> {
  const sdk = await loadSdk(store);
  const client = await connectedClient(sdk.S3Client, store);
  const Bucket = store.bucket;
  const asking = async <T>(what: string, send: () => Promise<T>): Promise<T> => {
    try {
      return await send();
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof Failure ? error : storeFailure(`${what} in ${Bucket}`, error);
    }
  };
  const options = { abortSignal: signal };
  const send = async (key: string, sent: Sent, condition: { readonly IfNoneMatch?: '*' }): Promise<StoredFile> => {
    const body = await sent.open();
    try {
      const put = new sdk.PutObjectCommand({
        ...condition,
        Bucket,
        Key: key,
        Body: body,
        ContentLength: sent.bytes,
        ContentMD5: sent.md5,
        ContentType: key.endsWith('.parquet') ? 'application/vnd.apache.parquet' : 'application/json',
      });
      return { bytes: sent.bytes, etag: (await client.send(put, options)).ETag ?? null, modifiedMs: Infinity };
    } finally {
      if (body instanceof Readable) body.destroy();
    }
  };
  const bytesOf = async (key: string): Promise<Uint8Array | null> => {
    try {
      const { Body } = await client.send(new sdk.GetObjectCommand({ Bucket, Key: key }), options);
      return (await Body?.transformToByteArray()) ?? new Uint8Array();
    } catch (error) {
      if (refusalOf(error).name === 'NoSuchKey') return null;
      throw error;
    }
  };
  return {
    async list(prefix) {
      const found = new Map<string, StoredFile>();
      let next: string | undefined;
      do {
        const page = await asking(`list ${prefix}`, () =>
          client.send(new sdk.ListObjectsV2Command({ Bucket, Prefix: prefix, ContinuationToken: next }), options),
        );
        for (const { Key, Size, ETag, LastModified } of page.Contents ?? []) {
          const modifiedMs = LastModified?.getTime() ?? Infinity;
          if (Key !== undefined) found.set(Key, { bytes: Size ?? 0, etag: ETag ?? null, modifiedMs });
        }
        next = page.IsTruncated === true ? page.NextContinuationToken : undefined;
        if (page.IsTruncated === true && !next) throw withoutRest(prefix, found.size);
      } while (next !== undefined);
      return found;
    },
    async read(key) {
      const bytes = await asking(`give ${key}`, async () => bytesOf(key));
      return bytes === null ? null : Buffer.from(bytes).toString('utf8');
    },
    async download(key, file) {
      await asking(`give ${key}`, async () => {
        const { Body } = await client.send(new sdk.GetObjectCommand({ Bucket, Key: key }), options);
        await writeFile(file, (await Body?.transformToByteArray()) ?? new Uint8Array());
      });
    },
    async put(key, content) {
      const sent = await sentOf(content);
      return asking(`take ${key}`, async () => send(key, sent, {}));
    },
    async putNew(key, content) {
      const sent = await sentOf(content);
      return asking(`take ${key}`, async () => {
        try {
          await send(key, sent, { IfNoneMatch: '*' });
          return true;
        } catch (error) {
          if (refusalOf(error).status !== 412) throw error;
          const lying = await bytesOf(key);
          return lying !== null && createHash('md5').update(lying).digest('base64') === sent.md5;
        }
      });
    },
    async remove(key) {
      await asking(`remove ${key}`, () => client.send(new sdk.DeleteObjectCommand({ Bucket, Key: key }), options));
    },
    close() {
      client.destroy();
    },
  };
}

function withoutRest(prefix: string, listed: number): Failure {
  return new Failure(
    'STORAGE_FAILED',
    `The store listed ${listed} objects below ${prefix} and not where the rest begin.`,
    {
      facts: { prefix, listed },
      hint: 'Use a store that gives a NextContinuationToken with each listing it cuts short.',
    },
  );
}

async function loadSdk({ bucket }: ObjectStore) {
  try {
    return await import('@aws-sdk/client-s3');
  } catch (cause) {
    throw new Failure('USAGE_INVALID', `The lake s3://${bucket} was not opened: @aws-sdk/client-s3 is not installed.`, {
      hint: 'Install it beside ripen: npm install @aws-sdk/client-s3',
      cause,
    });
  }
}

async function connectedClient(Client: typeof S3Client, store: ObjectStore): Promise<S3Client> {
  const { bucket, endpoint, pathStyle } = store;
  const open = (region: string | null): S3Client => {
    const client = new Client({ ...clientSettings, forcePathStyle: pathStyle, ...optional({ endpoint, region }) });
    client.middlewareStack.add(
      (next) => async (args) => {
        refusePlainHttp(args.request, bucket);
        return next(args);
      },
      { step: 'finalizeRequest', name: 'refusePlainHttp' },
    );
    return client;
  };
  const client = open(store.region);
  if (!(await hasRegion(client))) {
    client.destroy();
    if (endpoint !== null) return guarded(open(USUAL_REGION), bucket);
    throw new Failure('USAGE_INVALID', `The lake s3://${bucket} was not opened: no region was stated.`, {
      hint: 'Set region beside the target, or AWS_REGION.',
    });
  }
  return guarded(client, bucket);
}

const ignore = (): void => {};

const clientSettings = {
  // Whatever it has to say comes as an error too; without a logger it writes to the console.
  logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  maxAttempts: MOST_TRIES,
  // Older and compatible stores do not know the newer checksums; each PUT carries its MD5 instead.
  requestChecksumCalculation: 'WHEN_REQUIRED',
  responseChecksumValidation: 'WHEN_REQUIRED',
  requestHandler: {
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    socketTimeout: IDLE_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    throwOnRequestTimeout: true,
  },
} as const satisfies S3ClientConfig;

/** What is stated; the SDK looks for the rest in the environment. */
function optional({ endpoint, region }: { readonly endpoint: string | null; readonly region: string | null }) {
  return { ...(endpoint === null ? {} : { endpoint }), ...(region === null ? {} : { region }) };
}

async function hasRegion(client: S3Client): Promise<boolean> {
  return client.config.region().then(
    () => true,
    () => false,
  );
}

/** Lets the sinks know the credentials, so that they never show them. */
async function guarded(client: S3Client, bucket: string): Promise<S3Client> {
  try {
    const { secretAccessKey, sessionToken } = await client.config.credentials();
    for (const value of [secretAccessKey, sessionToken ?? '']) markSecret(value);
    return client;
  } catch (cause) {
    client.destroy();
    throw new Failure('USAGE_INVALID', `The lake s3://${bucket} was not opened: no credentials were found.`, {
      hint: 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the machine a role.',
      cause,
    });
  }
}

function markSecret(value: string): Secret {
  return new Secret(value);
}

const wireAddress = z.object({ protocol: z.string(), hostname: z.string() });

/** The address may also come from the environment or a profile, where nothing checked it. */
function refusePlainHttp(request: unknown, bucket: string): void {
  const { protocol, hostname } = wireAddress.parse(request);
  if (protocol === 'https:' || isLoopback(hostname)) return;
  throw new Failure('USAGE_INVALID', `The lake s3://${bucket} was not asked for over plain http from ${hostname}.`, {
    hint: 'Give an https endpoint, in the configuration or in AWS_ENDPOINT_URL_S3.',
  });
}

interface Sent {
  readonly bytes: number;
  readonly md5: string;
  open(): Promise<string | Buffer | Readable>;
}

async function sentOf(content: Content): Promise<Sent> {
  const hash = createHash('md5');
  if ('text' in content) {
    const { text } = content;
    return { bytes: Buffer.byteLength(text), md5: hash.update(text).digest('base64'), open: async () => text };
  }
  const { file } = content;
  await pipeline(createReadStream(file), hash);
  const bytes = (await stat(file)).size;
  const open = async (): Promise<Buffer | Readable> =>
    bytes > MOST_HELD_BYTES ? createReadStream(file) : readFile(file);
  return { bytes, md5: hash.digest('base64'), open };
}
