/** Plain files where Delta tables are to lie, or the other way round: whoever reads the place would read both. */

import { lstat } from 'node:fs/promises';
import { join } from 'node:path';

import type { PublishTarget } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { FINALITY } from './lake-table.ts';
import { MANIFEST } from './manifest.ts';
import { isPrefixInUse } from './s3-lake.ts';

/** What tells, below a target of a kind, that the other kind lies there. */
const signs: ReadonlyMap<string, string> = new Map([
  ['delta', MANIFEST],
  ['parquet', `${FINALITY}/_delta_log/`],
]);

/** A `USAGE_INVALID` where a target's folder, or prefix of a bucket, holds the other kind; else null. Throws what looking in a bucket does. */
export async function otherKindAt(target: PublishTarget, signal: AbortSignal): Promise<Failure | null> {
  const { kind, path } = target;
  const store = kind === 'duckdb' ? undefined : target.store;
  const sign = signs.get(kind);
  if (store === undefined || sign === undefined) return otherKindIn(kind, path);
  return (await isPrefixInUse(store, sign, signal)) ? ofOtherKind(kind, path) : null;
}

/** The same of a folder of this machine; null for what is no folder. */
export async function otherKindIn(kind: string, path: string): Promise<Failure | null> {
  const sign = signs.get(kind);
  return sign !== undefined && (await exists(join(path, sign))) ? ofOtherKind(kind, path) : null;
}

function ofOtherKind(kind: string, path: string): Failure {
  const [wanted, found] = kind === 'parquet' ? ['plain files', 'Delta tables'] : ['Delta tables', 'plain files'];
  return new Failure(
    'USAGE_INVALID',
    `The folder ${path}, meant for ${wanted}, held ${found} of an earlier configuration.`,
    {
      facts: { path },
      hint: 'Publish to a folder of its own, or remove this one.',
    },
  );
}

const exists = async (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
