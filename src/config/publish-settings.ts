/** The settings of a publish target: where a copy for readers goes, and in which form. */

import * as z from 'zod';

import { block } from './config-problems.ts';
import { duration, fileMode, text, webAddress } from './setting-kinds.ts';

export const localPath = text.refine((path) => !path.includes('://'), {
  error: 'is an address; must be a path of this machine',
});

/** Captures bucket and prefix. No step of a prefix is empty, `.` or `..`. */
const BUCKET = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/(?!\.{1,2}(?:\/|$))[^/]+)*)\/*$/;

const lakePath = text.refine((path) => !/^s3:|:\/\//i.test(path) || BUCKET.test(path), {
  error:
    'is not a place for a lake; must be a directory or s3://bucket/prefix, a bucket of 3 to 63 small letters, digits, dots and ' +
    'hyphens, a prefix without empty steps, . or ..',
});

const PUBLISHED_MODE = 0o644;

const lakeSettings = {
  mode: fileMode.optional().describe('Permissions of published files, octal text.'),
  endpoint: webAddress()
    .optional()
    .describe("Address of an S3-compatible store; the environment's, else Amazon's."),
  region: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,63}$/, { error: 'is not a region; must be a name such as us-east-1' })
    .optional()
    .describe("Region of the bucket; the environment's, or us-east-1 under an endpoint."),
  path_style: z
    .boolean()
    .optional()
    .describe('Whether the bucket is named in the path; true with endpoint.'),
} as const;

/** Null leaves a setting to the environment. */
export interface ObjectStore {
  readonly bucket: string;
  readonly prefix: string;
  readonly endpoint: string | null;
  readonly region: string | null;
  readonly pathStyle: boolean;
}

function lakeAt(
  path: string,
  lake: z.output<z.ZodObject<typeof lakeSettings>>,
  context: z.RefinementCtx,
) {
  const { mode = PUBLISHED_MODE, endpoint = null, region = null } = lake;
  const [, bucket, rest = ''] = BUCKET.exec(path) ?? [];
  const message =
    bucket === undefined
      ? 'is for s3://bucket/prefix alone; leave it out'
      : 'is for files; an object store has no file rights; leave it out';
  for (const key of Object.keys(lakeSettings)) {
    if (key in lake && (key === 'mode') === (bucket !== undefined))
      context.addIssue({ code: 'custom', path: [key], message });
  }
  if (bucket === undefined) return { path, mode };
  const store: ObjectStore = {
    bucket,
    prefix: rest.slice(1),
    endpoint,
    region,
    pathStyle: lake.path_style ?? endpoint !== null,
  };
  return { path: `s3://${bucket}${rest}`, mode, store };
}

export const publishTarget = z.union(
  [
    block({
      duckdb: localPath.describe('Path of a DuckDB snapshot for readers, replaced atomically.'),
      mode: fileMode.prefault('0644').describe('Permissions of published files, octal text.'),
    }).transform(({ duckdb: path, mode }) => ({ kind: 'duckdb' as const, path, mode })),
    block({
      delta: lakePath.describe('Directory of Delta tables, or s3://bucket/prefix.'),
      // A notebook left open on Friday can still read its version on Monday.
      keep: duration.prefault('3d').describe('How long older versions of Delta tables are kept.'),
      column_mapping: z
        .boolean()
        .default(false)
        .describe('Whether to map column names that some engines refuse.'),
      ...lakeSettings,
    }).transform((target, context) => ({
      kind: 'delta' as const,
      ...lakeAt(target.delta, target, context),
      keepMs: target.keep,
      ...(target.column_mapping ? { columnMapping: true } : {}),
    })),
    block({
      parquet: lakePath.describe('Directory of plain Parquet files, or s3://bucket/prefix.'),
      ...lakeSettings,
    }).transform((target, context) => ({
      kind: 'parquet' as const,
      ...lakeAt(target.parquet, target, context),
    })),
  ],
  { error: 'must name one destination, duckdb, delta or parquet' },
);
