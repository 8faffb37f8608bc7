/** What bringing a copy up to the warehouse took, or why it failed, for people and machines. */

import type { PublishTarget } from '../config/config.ts';
import { Failure, isOfStorage, storageFailed, textOf } from '../errors.ts';

export interface CopyReport {
  /** Files readers query that were written; 0 when the copy was up to date. */
  readonly files_written: number;
  /** Files of periods that are gone. */
  readonly files_removed: number;
  /** What stands beside the files and was written: the catalog, the manifest. */
  readonly also_written: readonly string[];
}

/** `3 files written, 1 removed; _manifest.json too`, or `up to date`. */
export function reportText({ files_written: written, files_removed: removed, also_written: also }: CopyReport): string {
  const done = [
    ...(written === 0 ? [] : [`${written} ${written === 1 ? 'file' : 'files'} written`]),
    ...(removed === 0 ? [] : [`${removed} removed`]),
  ];
  if (done.length === 0) return also.length === 0 ? 'up to date' : `${also.join(' and ')} written`;
  return `${done.join(', ')}${also.length === 0 ? '' : `; ${also.join(' and ')} too`}`;
}

/** Errors of the file system and of DuckDB about it become `STORAGE_FAILED`, any other `BUG`. */
export function asPublishFailure(target: PublishTarget, error: unknown): Failure {
  if (error instanceof Failure) return error;
  const text = textOf(error);
  if (!isOfStorage(error) && !text.startsWith('Out of Memory Error')) {
    return new Failure('BUG', `Publishing to ${target.path} met something unforeseen: ${text}`, {
      facts: { target: target.path },
      hint: 'Report it with the stack trace; `--verbose` prints one.',
      cause: error,
    });
  }
  return storageFailed(`Publishing to ${target.path} failed`, error, {
    facts: { target: target.path },
    hint: 'Check free space and permissions of the target; the next run completes what is missing.',
  });
}
