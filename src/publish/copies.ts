/** The kinds of publish targets. */

import type { PublishTarget } from '../config/config.ts';
import { deltaCopy } from './formats/delta.ts';
import { parquetCopy } from './formats/parquet.ts';
import { snapshotCopy } from './formats/snapshot.ts';
import type { Copy } from './target.ts';

/** Returns the copy at a target. */
export function copyAt(target: PublishTarget): Copy {
  if (target.kind === 'duckdb') return snapshotCopy(target);
  return target.kind === 'delta' ? deltaCopy(target) : parquetCopy(target);
}
