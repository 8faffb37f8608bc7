/** Bytes with every known secret replaced, whatever chunks they come in. */

import { Transform, type TransformCallback } from 'node:stream';

import { longestSecret, scrub } from '../config/secret.ts';

/** Passes bytes on, secrets that a service said back as `***`. Secrets are header values, and so ASCII. */
export class Scrubbing extends Transform {
  /** The end of what came, in which a secret may have begun. */
  #pending = '';

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const clean = scrub(this.#pending + chunk.toString('latin1'));
    const kept = Math.max(0, clean.length - Math.max(0, longestSecret() - 1));
    this.#pending = clean.slice(kept);
    done(null, Buffer.from(clean.slice(0, kept), 'latin1'));
  }

  override _flush(done: TransformCallback): void {
    done(null, Buffer.from(this.#pending, 'latin1'));
  }
}
