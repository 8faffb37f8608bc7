/** The run's own files: errors as failures that say which folder they are about, size and checksum as bytes pass. */

import { createHash } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';

import { Failure } from '../errors.ts';

/** What the work returns; an error of the file system becomes `STORAGE_FAILED` about the place, any other is thrown on. */
export async function onDisk<T>(place: 'archive' | 'spool', path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new Failure('STORAGE_FAILED', `The ${place} at ${path} could not be used: ${error.message}`, {
      facts: { path },
      hint: `Check free space and permissions of the ${place} beside the warehouse.`,
      cause: error,
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
