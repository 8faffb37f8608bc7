/** Size and checksum of bytes as they pass. */

import { createHash } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';

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
