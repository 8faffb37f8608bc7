/**
 * The spool: answers on disk, between the wire and the warehouse.
 *
 * Hides names and clean-up, and tells what a disk says as a failure that names the folder. File names are built from checked slice
 * names, dates and a counter alone, inside one private directory that belongs to the run lock's holder.
 */

import { createHash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform, type TransformCallback } from 'node:stream';

import { type Failure, storageFailed } from '../errors.ts';
import { labelOf, type Window } from '../model/window.ts';
import type { SavedBody } from '../service/service.ts';

/** All that the service answered to one question. */
export interface SpooledPages {
  /** In order; none: the service said there is nothing (204). */
  readonly pages: readonly SavedBody[];
  /** Why further pages were not followed, as a clause; null when there are none. */
  readonly unfollowed: string | null;
}

/** The answer to one request of a window. */
export interface SpooledAnswer extends SpooledPages {
  readonly partNo: number;
  /** Of the window's, those that were requested; the others are in other answers of the part. */
  readonly metrics: readonly string[];
}

/** What the service states of a window as a whole, or why that could not be had. */
export type WholeAnswer =
  | {
      /** By batch of metrics: totals, and a row a year. */
      readonly stated: readonly {
        readonly totals: ReadonlyMap<string, string>;
        readonly rows: readonly Readonly<Record<string, unknown>>[];
      }[];
      /** By dimension that divides the window, the values its rows have, NULL too; null where the service did not list them all. Only where no sums can tell what is missing. */
      readonly values: ReadonlyMap<string, ReadonlySet<string | null> | null>;
    }
  | { readonly failure: Failure };

/** A window's complete answer. */
export interface Spooled {
  readonly window: Window;
  /** How often an answer of this window was thrown away before. */
  readonly attempt: number;
  /** One per request of the window, in the order of its parts. */
  readonly answers: readonly SpooledAnswer[];
  /** Null for a window of one part, for one whose parts cannot be compared with it, and in the archive. */
  readonly whole: WholeAnswer | null;
  readonly requests: number;
  readonly requestedAt: Date;
  readonly receivedAt: Date;
}

/** Doors that return promises throw `STORAGE_FAILED` when the disk refuses. */
export interface Spool {
  /** Its directory. */
  readonly root: string;
  /** A fresh path for a window's answer. */
  pathFor(window: Window): string;
  /** Removes answers that nobody needs any more. */
  discard(spooled: { readonly answers: readonly Pick<SpooledPages, 'pages'>[] }): Promise<void>;
  /** Removes what can be removed, at the end of a run; the next one clears the rest, and complains when it cannot. */
  clear(): void;
}

/** Opens the spool beside a warehouse, emptied: what an earlier run left there was never loaded. */
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
        // What ended the run is worth more than this: thrown from here it would take its place.
      }
    },
  };
}

/** Removes a file of the spool, where it is there. Throws `STORAGE_FAILED`. */
export const removeSpooled = async (path: string): Promise<void> =>
  onDisk('spool', path, async () => rm(path, { force: true }));

/** What the work returns; an error of the file system becomes `STORAGE_FAILED` about the place, any other is thrown on. */
export async function onDisk<T>(place: 'archive' | 'spool', path: string, work: () => Promise<T>): Promise<T> {
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

/** What bytes are known again by. */
export interface Measured {
  /** Hexadecimal. */
  readonly sha256: string;
  readonly bytes: number;
}

/** Passes bytes on unchanged; measured once all of them came. */
export class Measuring extends Transform {
  readonly #hash = createHash('sha256');
  #bytes = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
    done(null, chunk);
  }

  /** To be asked once: it ends the checksum. */
  measured(): Measured {
    return { sha256: this.#hash.digest('hex'), bytes: this.#bytes };
  }
}

/** How large bodies are after decompression. */
export const plainBytesOf = (bodies: readonly Pick<SavedBody, 'plainBytes'>[]): number =>
  bodies.reduce((sum, { plainBytes }) => sum + plainBytes, 0);
