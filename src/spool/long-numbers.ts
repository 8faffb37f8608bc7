/**
 * Long numbers, saved from rounding.
 *
 * DuckDB parses a bare JSON number with a fraction or exponent as a double. Whoever writes more digits than a double
 * carries means them, so such numbers are put into quotes, as the service writes its metrics anyway; text is read
 * exactly. The answer is rewritten in one pass, with memory that does not grow with it.
 */

import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Transform, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';

import type { SavedBody } from '../service/service.ts';
import { Measuring } from './measuring.ts';
import { onDisk } from './on-disk.ts';

/** Significant digits every double carries. */
const SAFE_DIGITS = 15;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const isNumberByte = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || byte === 0x2b || byte === 0x2d || byte === 0x2e || byte === 0x45 || byte === 0x65;

/** Whether a bare number would be rounded by a reader that makes it a double. */
export function isLongNumber(text: string): boolean {
  if (!/[.eE]/.test(text)) return false;
  const digits = text
    .replace(/[eE].*$/, '')
    .replaceAll(/[-+.]/g, '')
    .replace(/^0+/, '');
  return digits.length > SAFE_DIGITS;
}

/** Copies JSON text, putting every long bare number into quotes; works on any division into chunks. */
export class LongNumberQuoter extends Transform {
  #insideText = false;
  #escaped = false;
  /** The bare number, or keyword letter run, that the last chunk ended in. */
  #pending = '';

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let out = '';
    const text = chunk.toString('latin1');
    for (let index = 0; index < text.length; index += 1) {
      const byte = text.charCodeAt(index);
      if (!this.#insideText && isNumberByte(byte)) {
        this.#pending += text[index];
        continue;
      }
      out += this.#takePending();
      out += text[index];
      this.#step(byte);
    }
    done(null, Buffer.from(out, 'latin1'));
  }

  override _flush(done: TransformCallback): void {
    done(null, Buffer.from(this.#takePending(), 'latin1'));
  }

  #step(byte: number): void {
    if (!this.#insideText) {
      this.#insideText = byte === QUOTE;
    } else if (this.#escaped) {
      this.#escaped = false;
    } else if (byte === BACKSLASH) {
      this.#escaped = true;
    } else if (byte === QUOTE) {
      this.#insideText = false;
    }
  }

  #takePending(): string {
    const text = this.#pending;
    this.#pending = '';
    return isLongNumber(text) ? `"${text}"` : text;
  }
}

/** The same answer with its long numbers in quotes, in place of the old file, uncompressed. Throws `STORAGE_FAILED`. */
export async function quoteLongNumbers(body: SavedBody): Promise<SavedBody> {
  return onDisk('spool', body.path, async () => rewritten(body));
}

async function rewritten(body: SavedBody): Promise<SavedBody> {
  const path = body.path.replace(/\.gz$/, '');
  const unfinished = `${path}.part`;
  const source = createReadStream(body.path);
  const sink = createWriteStream(unfinished, { mode: 0o600 });
  const [quoter, measuring] = [new LongNumberQuoter(), new Measuring()];
  if (body.encoding === 'gzip') await pipeline(source, createGunzip(), quoter, measuring, sink);
  else await pipeline(source, quoter, measuring, sink);
  await rename(unfinished, path);
  if (path !== body.path) await rm(body.path);
  const { bytes } = measuring.measured();
  return { path, encoding: 'identity', bytes, plainBytes: bytes, longNumbers: false };
}
