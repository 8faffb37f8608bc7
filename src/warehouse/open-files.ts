/**
 * The DuckDB files that this process has open, each in one instance: DuckDB does not refuse a second, and what one committed
 * is lost when the other closes. A file is known by device and inode, and by its resolved path, as it may not exist yet.
 */

import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

import type { DuckDBInstance } from '@duckdb/node-api';

export type Mode = 'write' | 'read';

/** `holder` keeps the file from being opened. */
export type Attempt = { readonly instance: DuckDBInstance } | { readonly holder: string };

/** `release` may be called again. */
type Claim =
  | { readonly instance: DuckDBInstance; readonly release: () => void }
  | { readonly holder: string };

interface OpenFile {
  readonly end: string;
  readonly mode: Mode;
  /** Null until the file exists. */
  identity: string | null;
  readonly attempt: Promise<Attempt>;
  users: number;
}

const openFiles = new Set<OpenFile>();

/**
 * Opens a file. If this process has it open, readers share the instance, and any other caller gets the holder. Claims the file
 * before the first await, so that two callers cannot both find it free.
 */
export async function claimFile(
  path: string,
  mode: Mode,
  open: () => Promise<Attempt>,
): Promise<Claim> {
  const [end, identity] = [endOf(path), identityOf(path)];
  const others = [...openFiles].filter(
    (other) => other.end === end || isSame(other.identity, identity),
  );
  if (others.some((other) => other.mode === 'write' || mode === 'write'))
    return { holder: 'this process' };
  // A newly published copy has the path of the one before it, which others may still read.
  const shared = others.find((other) => isSame(other.identity, identity));
  const file = shared ?? { end, mode, identity, attempt: open(), users: 0 };
  openFiles.add(file);
  file.users += 1;
  let instance: DuckDBInstance | null = null;
  let isReleased = false;
  const release = (): void => {
    if (isReleased) return;
    isReleased = true;
    file.users -= 1;
    if (file.users > 0) return;
    openFiles.delete(file);
    instance?.closeSync();
  };
  try {
    const attempt = await file.attempt;
    file.identity ??= identityOf(path);
    if ('instance' in attempt) {
      ({ instance } = attempt);
      return { instance, release };
    }
    release();
    return attempt;
  } catch (error) {
    release();
    throw error;
  }
}

const isSame = (one: string | null, other: string | null): boolean => one !== null && one === other;

function identityOf(path: string): string | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev} ${stats.ino}`;
}

/** The path with every link followed, even if no file exists there yet. */
function endOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const folder = dirname(path);
  return existsSync(folder) ? join(realpathSync(folder), basename(path)) : resolve(path);
}
