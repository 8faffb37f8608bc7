/**
 * The spool: answers on disk, between the wire and the warehouse.
 *
 * Hides names and clean-up; reports disk errors as failures that name the folder. File names consist only of checked slice
 * names, dates and a counter, in one private directory that belongs to the holder of the run lock.
 */

import { createHash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform, type TransformCallback } from 'node:stream';

import { type Failure, storageFailed } from '../errors.ts';
import { labelOf, type Window } from '../model/window.ts';
import type { SavedBody } from '../service/service.ts';

/** All that the service answered to one request. */
export interface SpooledPages {
  /** In order; empty if the service answered that there is nothing (204). */
  readonly pages: readonly SavedBody[];
  /** Why further pages were not followed, as a clause; null if there are none. */
  readonly unfollowed: string | null;
}

/** The answer to one request of a window. */
export interface SpooledAnswer extends SpooledPages {
  readonly partNo: number;
  /** The requested ones of the window's metrics; the others are in other answers of the part. */
  readonly metrics: readonly string[];
}

/** What the service states of a window as a whole, or why that is not known. */
export type WholeAnswer =
  | {
      /** By batch of metrics: totals, and one row per year. */
      readonly stated: readonly {
        readonly totals: ReadonlyMap<string, string>;
        readonly rows: readonly Readonly<Record<string, unknown>>[];
      }[];
      /**
       * By dimension that divides the window: the values of its rows, NULL included; null if the service did not list them all.
       * Empty if sums show what is missing.
       */
      readonly values: ReadonlyMap<string, ReadonlySet<string | null> | null>;
    }
  | { readonly failure: Failure };

/** A window's complete answer. */
export interface Spooled {
  readonly window: Window;
  /** How many answers of this window were discarded before. */
  readonly attempt: number;
  /** Whether this answer confirms or refutes one that would have lost settled rows. */
  readonly isDoubted: boolean;
  /** One per request of the window, in the order of its parts. */
  readonly answers: readonly SpooledAnswer[];
  /** null for a window of one part, for one whose parts cannot be compared with it, and in the archive. */
  readonly whole: WholeAnswer | null;
  readonly requests: number;
  readonly requestedAt: Date;
  readonly receivedAt: Date;
}

/** Functions that return promises throw `STORAGE_FAILED` if the disk fails. */
export interface Spool {
  readonly root: string;
  /** A new path for a window's answer. */
  pathFor(window: Window): string;
  /** Removes answers that are no longer needed. */
  discard(spooled: { readonly answers: readonly Pick<SpooledPages, 'pages'>[] }): Promise<void>;
  /** Removes what it can, at the end of a run. The next run removes the rest, and fails if it cannot. */
  clear(): void;
}

/** Opens a spool beside a warehouse and empties it: what is there was never loaded. Throws `STORAGE_FAILED`. */
export function openSpool(warehousePath: string): Spool {
  const root = `${warehousePath}.spool`;
  const removeAll = (): void => rmSync(root, { recursive: true, force: true });
  try {
    removeAll();
    mkdirSync(root, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw storageFailed(`The spool ${root} could not be made`, error, {
      hint: 'Check permissions and free space of the warehouse directory.',
    });
  }
  let made = 0;
  return {
    root,
    pathFor(window) {
      made += 1;
      return join(root, `${window.slice.name}.${labelOf(window).replace(':', '_')}.${made}`);
    },
    async discard(spooled) {
      const paths = spooled.answers.flatMap(({ pages }) => pages.map(({ path }) => path));
      await Promise.all(paths.map(removeSpooled));
    },
    clear() {
      try {
        removeAll();
      } catch {
        // An error thrown here would hide the one that ended the run, which matters more.
      }
    },
  };
}

/** Removes a file of the spool, if it exists. Throws `STORAGE_FAILED`. */
export const removeSpooled = async (path: string): Promise<void> =>
  onDisk('spool', path, async () => rm(path, { force: true }));

/** Returns the work's result. File system errors become `STORAGE_FAILED` about the place; others are thrown on. */
export async function onDisk<T>(
  place: 'archive' | 'spool',
  path: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw storageFailed(`The ${place} at ${path} could not be used`, error, {
      facts: { path },
      hint: `Check free space and permissions of the ${place} beside the warehouse.`,
    });
  }
}

/** The measurements that identify bytes. */
export interface Measured {
  /** Hexadecimal. */
  readonly sha256: string;
  readonly bytes: number;
}

/** Passes bytes on unchanged; measured once all of them have passed. */
export class Measuring extends Transform {
  readonly #hash = createHash('sha256');
  #bytes = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
    done(null, chunk);
  }

  /** May be called only once: it ends the checksum. */
  measured(): Measured {
    return { sha256: this.#hash.digest('hex'), bytes: this.#bytes };
  }
}

/** The total size of bodies after decompression. */
export const plainBytesOf = (bodies: readonly Pick<SavedBody, 'plainBytes'>[]): number =>
  bodies.reduce((sum, { plainBytes }) => sum + plainBytes, 0);
