/**
 * Stores tables in an S3-compatible bucket with the AWS SDK, an optional dependency, which finds the credentials and retries.
 * Plain http is refused except on loopback.
 */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import * as z from 'zod';

import type { ObjectStore } from '../../config/config.ts';
import { scrub, Secret } from '../../config/secret.ts';
import { isLoopback } from '../../config/setting-kinds.ts';
import { Failure, type FailureCode } from '../../errors.ts';
import type { LakeStore, StoredFile } from './store.ts';

/** Enough to hide the store's latency. */
const UPLOADS_AT_ONCE = 8;
/** Larger files are streamed, which the SDK does not retry. Smaller ones are in memory, up to `UPLOADS_AT_ONCE`. */
const MAX_HELD_BYTES = 32 * 1024 ** 2;
/** The region to sign for at stores without regions of their own (MinIO, Ceph, R2). */
const USUAL_REGION = 'us-east-1';

const ignore = () => {};

const clientSettings = {
  // What it logs is also thrown; without a logger it writes to the console.
  logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  maxAttempts: 5,
  // Older and compatible stores do not know the newer checksums; each PUT carries its MD5 instead.
  requestChecksumCalculation: 'WHEN_REQUIRED',
  responseChecksumValidation: 'WHEN_REQUIRED',
  // `requestTimeout` allows for the largest object at 5 MB/s.
  requestHandler: {
    connectionTimeout: 10_000,
    socketTimeout: 60_000,
    requestTimeout: 1_000_000,
    throwOnRequestTimeout: true,
  },
} as const satisfies S3ClientConfig;

/** Clears `drafts`, a local folder. Requests nothing yet. Throws `USAGE_INVALID` without the SDK, credentials or region. */
export async function openS3Store(
  root: string,
  { store, drafts }: { readonly store: ObjectStore; readonly drafts: string },
  signal: AbortSignal,
): Promise<LakeStore> {
  const { bucket: Bucket, prefix } = store;
  const sdk = await import('@aws-sdk/client-s3').catch((cause: unknown) => {
    const hint = 'Install it beside ripen: npm install @aws-sdk/client-s3';
    const message = `The lake s3://${Bucket} was not opened: @aws-sdk/client-s3 is not installed.`;
    throw new Failure('USAGE_INVALID', message, { hint, cause });
  });
  const client = await connectedClient(sdk.S3Client, store);
  const options = { abortSignal: signal };
  const removeDrafts = async () => rm(drafts, { recursive: true, force: true });
  await removeDrafts();
  const keyOf = (path: string) => (prefix === '' ? path : `${prefix}/${path}`);
  const draftOf = (path: string) => join(drafts, path.replaceAll('/', '.'));
  const draft = async (path: string) => {
    await mkdir(drafts, { recursive: true, mode: 0o700 });
    return draftOf(path);
  };
  const requesting = async <T>(what: string, send: () => Promise<T>): Promise<T> =>
    send().catch((error: unknown) => {
      signal.throwIfAborted();
      throw error instanceof Failure ? error : storeFailure(`${what} in ${Bucket}`, error);
    });
  const { secretAccessKey, sessionToken = '' } = await requesting('get credentials', async () =>
    client.config.credentials(),
  );
  // Scrubs all output of these values from here on.
  for (const value of [secretAccessKey, sessionToken]) void new Secret(value);
  const bytesOf = async (path: string): Promise<Uint8Array | null> => {
    const Key = keyOf(path);
    return requesting(`give ${Key}`, async () => {
      try {
        const { Body } = await client.send(new sdk.GetObjectCommand({ Bucket, Key }), options);
        return (await Body?.transformToByteArray()) ?? new Uint8Array();
      } catch (error) {
        if (refusalOf(error).name === 'NoSuchKey') return null;
        throw error;
      }
    });
  };
  const put = async (
    path: string,
    condition: { readonly IfNoneMatch?: '*' },
  ): Promise<StoredFile | null> => {
    const [file, Key] = [draftOf(path), keyOf(path)];
    const { size: bytes } = await stat(file);
    const md5 = createHash('md5');
    await pipeline(createReadStream(file), md5);
    const Body = bytes > MAX_HELD_BYTES ? createReadStream(file) : await readFile(file);
    const content = { Body, ContentLength: bytes, ContentMD5: md5.digest('base64') };
    const input = { ...condition, Bucket, Key, ...content };
    return requesting(`take ${Key}`, async () => {
      try {
        const { ETag: etag = null } = await client.send(new sdk.PutObjectCommand(input), options);
        return { bytes, etag, modifiedMs: Infinity };
      } catch (error) {
        if (refusalOf(error).status !== 412) throw error;
        // The response to an earlier try may have been lost: equal bytes are this upload's own.
        const stored = await bytesOf(path);
        const isOwn = stored !== null && (await readFile(file)).equals(stored);
        return isOwn ? { bytes, etag: null, modifiedMs: Infinity } : null;
      } finally {
        if ('destroy' in Body) Body.destroy();
        await rm(file, { force: true });
      }
    });
  };
  return {
    root,
    atOnce: UPLOADS_AT_ONCE,
    list: async (folder) =>
      requesting(`list ${keyOf(folder)}`, async () => {
        const files = new Map<string, StoredFile>();
        const input = { Bucket, Prefix: keyOf(folder === '' ? '' : `${folder}/`) };
        for await (const page of sdk.paginateListObjectsV2({ client }, input, options)) {
          for (const { Key = '', Size = 0, ETag = null, LastModified } of page.Contents ?? []) {
            const modifiedMs = LastModified?.getTime() ?? Infinity;
            files.set(Key.slice(keyOf('').length), { bytes: Size, etag: ETag, modifiedMs });
          }
        }
        return files;
      }),
    async read(path) {
      const bytes = await bytesOf(path);
      return bytes === null ? null : Buffer.from(bytes).toString('utf8');
    },
    async fetch(path) {
      const file = await draft(path);
      await writeFile(file, (await bytesOf(path)) ?? '');
      return file;
    },
    draft,
    place: async (path) => (await put(path, {})) ?? { bytes: 0, etag: null, modifiedMs: Infinity },
    placeNew: async (path) => (await put(path, { IfNoneMatch: '*' })) !== null,
    async remove(path) {
      const Key = keyOf(path);
      await requesting(`remove ${Key}`, () =>
        client.send(new sdk.DeleteObjectCommand({ Bucket, Key }), options),
      );
    },
    async close() {
      client.destroy();
      await removeDrafts();
    },
  };
}

const wireAddress = z.object({ protocol: z.string(), hostname: z.string() });

async function connectedClient(
  Client: typeof S3Client,
  { bucket, endpoint, region: configured, pathStyle }: ObjectStore,
) {
  const opened = (region: string | null): S3Client =>
    new Client({
      ...clientSettings,
      forcePathStyle: pathStyle,
      ...(endpoint === null ? {} : { endpoint }),
      ...(region === null ? {} : { region }),
    });
  const reading = opened(configured).config.region();
  const isRegionKnown = await reading.then(Boolean, () => false);
  const client = opened(isRegionKnown || endpoint === null ? configured : USUAL_REGION);
  // The SDK may take the address from the environment or a profile, which are not checked.
  client.middlewareStack.add(
    (next) => async (args) => {
      const { protocol, hostname } = wireAddress.parse(args.request);
      if (protocol === 'https:' || isLoopback(hostname)) return next(args);
      const message = `The lake s3://${bucket} was not requested over plain http from ${hostname}.`;
      throw new Failure('USAGE_INVALID', message, {
        hint: 'Use an https endpoint, in the configuration or in AWS_ENDPOINT_URL_S3.',
      });
    },
    { step: 'finalizeRequest', name: 'refusePlainHttp' },
  );
  return client;
}

const errorShape = z.object({
  /** S3's own code, such as `AccessDenied`, or the class of the error. */
  name: z.string().catch('Error'),
  message: z.string().catch(''),
  code: z.string().nullish().catch(null),
  $metadata: z
    .object({ httpStatusCode: z.number().nullish(), attempts: z.number().nullish() })
    .nullish()
    .catch(null),
  // The only place of the status if the response is not XML, such as a proxy's.
  $response: z.object({ statusCode: z.number().nullish() }).nullish().catch(null),
});

function refusalOf(error: unknown) {
  const { name, message, code, $metadata, $response } = errorShape.parse(Object(error));
  const status = $metadata?.httpStatusCode ?? $response?.statusCode ?? null;
  const tries = $metadata?.attempts ?? 1;
  return { name: name === 'Error' ? (code ?? name) : name, status, message, tries };
}

/** By status and name, or by name and message without a status. The first match counts. */
const remedies: readonly (readonly [refusal: RegExp, code: FailureCode, hint: string])[] = [
  [/NoSuchBucket/, 'STORAGE_FAILED', 'Make the bucket, or correct its name.'],
  [/Region is missing/, 'USAGE_INVALID', 'Set region beside the target, or AWS_REGION.'],
  [/^3/, 'STORAGE_FAILED', "Set the bucket's region beside the target."],
  [
    /Signature|AccessKey|Credentials|Token/,
    'USAGE_INVALID',
    'Correct the credentials in the environment.',
  ],
  [
    /^403/,
    'STORAGE_FAILED',
    'Allow s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject and s3:DeleteObject on its keys.',
  ],
];

const LATER =
  'Run `ripen publish` once the store answers; whole files are in place, it makes the others.';

function storeFailure(what: string, cause: unknown) {
  const { name, status, message, tries } = refusalOf(cause);
  const words = scrub(message).split('\n')[0] ?? '';
  const reason = status === null ? name : `${status} ${name}`;
  const text = status === null ? `${name} ${words}` : reason;
  const [, code = 'STORAGE_FAILED' as const, hint = LATER] =
    remedies.find(([refusal]) => refusal.test(text)) ?? [];
  const tried = tries === 1 ? '1 try' : `${tries} tries`;
  const sentence = `The store did not ${what} (${reason}, ${tried}): ${words}`;
  return new Failure(code, sentence, { facts: { status, name, tries }, hint, cause });
}
