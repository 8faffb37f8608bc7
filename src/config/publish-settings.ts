/** The settings of a publish target: where a copy for readers goes. What does not go together is checked apart. */

import * as z from 'zod';

import { block } from './config-problems.ts';
import { duration, fileMode, text, webAddress } from './setting-kinds.ts';

/** Readable by everyone, as published copies are for others. */
export const PUBLISHED_MODE = '0644';

/** A notebook left open on Friday still answers on Monday. */
export const KEPT = '3d';

/** A path of this machine. */
export const localPath = text.refine((path) => !path.includes('://'), {
  error: 'is an address; must be a path of this machine',
});

/** Bucket and prefix; names of buckets are those S3 allows. */
const BUCKET = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/+(.*))?$/;

const lakePath = text.superRefine((path, context) => {
  const message = lakeProblem(path);
  if (message !== null) context.addIssue({ code: 'custom', message });
});

function lakeProblem(path: string): string | null {
  if (!path.includes('://') && !/^s3:/i.test(path)) return null;
  if (!path.startsWith('s3://')) return 'is not a lake; must be a directory or s3://bucket/prefix';
  const problem = addressProblem(path);
  return problem === null ? null : `${problem}; must be s3://bucket/prefix`;
}

/** What is wrong with an `s3://` address, in words that follow its name; null for one that `bucketAndPrefix` takes. */
export function addressProblem(address: string): string | null {
  if (bucketAndPrefix(address) !== null) return null;
  return BUCKET.test(address)
    ? 'has an empty step, . or .. in its prefix'
    : 'names no bucket: such names have 3 to 63 small letters, digits, dots and hyphens, the first and the last a letter or a digit';
}

/** What an `s3://` address names, the prefix without slashes around it; null when it is none. */
export function bucketAndPrefix(address: string): { readonly bucket: string; readonly prefix: string } | null {
  const [, bucket, rest = ''] = BUCKET.exec(address) ?? [];
  const prefix = rest.replace(/\/+$/, '');
  const isPlain = !prefix.split('/').some((step, index) => step === '.' || step === '..' || (step === '' && index > 0));
  return bucket === undefined || !isPlain ? null : { bucket, prefix };
}

const endpoint = webAddress({
  allowed: 'must be an address such as https://minio.example.com',
  shown: 'the data',
  credentials: 'holds credentials; must not, the environment does',
});

const region = z.string().regex(/^[A-Za-z0-9-]{1,63}$/, { error: 'is not a region; must be a name such as us-east-1' });

/** Keys that say how to reach an object store, and mean nothing elsewhere. */
export const storeKeys = ['endpoint', 'region', 'path_style'] as const;

export const publishTarget = block({
  duckdb: localPath.optional().describe('Path of a DuckDB snapshot for readers, replaced atomically.'),
  delta: lakePath.optional().describe('Directory of Delta tables, or s3://bucket/prefix.'),
  parquet: lakePath.optional().describe('Directory of plain Parquet files, or s3://bucket/prefix.'),
  keep: duration.prefault(KEPT).describe('How long older versions of Delta tables are kept. "3d".'),
  keep_released: z
    .boolean()
    .prefault(false)
    .describe('Whether periods that retain deletes stay in these Delta tables.'),
  column_mapping: z
    .boolean()
    .prefault(false)
    .describe('Whether names of columns that engines refuse are mapped in these Delta tables.'),
  mode: fileMode.prefault(PUBLISHED_MODE).describe('File rights of what is published, octal text. "0644".'),
  endpoint: endpoint.optional().describe("Address of an S3-compatible store; the environment's, else Amazon's."),
  region: region.optional().describe("Region of the bucket; the environment's, or us-east-1 under an endpoint."),
  path_style: z.boolean().optional().describe('Whether the bucket is named in the path; true with endpoint.'),
});
