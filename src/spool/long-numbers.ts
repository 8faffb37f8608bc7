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
import { Measuring, onDisk } from './spool.ts';

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

/**
 * A bare number of 16 or more characters, hence every one with 16 or more significant digits, which a double may not
 * carry. Matches inside strings too: a false alarm costs a slower load, a miss costs digits.
 */
const LONG_NUMBER_LENGTH = 16;

/** 1 for the characters of a number, 2 for blanks, 4 for what a bare number can stand behind. */
const NUMBER = 1;
const BLANK = 2;
const OPENER = 4;
const kinds = new Uint8Array(256);
for (const character of Buffer.from('0123456789.eE+-')) kinds[character] = NUMBER;
for (const character of Buffer.from(' \t\r\n')) kinds[character] = BLANK;
for (const character of Buffer.from(':,[')) kinds[character] = OPENER;
/** A number begins with a digit, or with a sign before one. */
const isStart = (byte: number, next: number): boolean => isDigit(byte) || (byte === MINUS && isDigit(next));
const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
const MINUS = 0x2d;

/** Looks for bare numbers that may be long in JSON that flows by, whatever chunks it comes in. */
export class LongNumberSearch {
  #hasFound = false;
  /** The end of the last chunk, from what may stand before a number that it cut. */
  #carry: Buffer = Buffer.alloc(0);

  /** Whether one occurred so far. */
  get hasFound(): boolean {
    return this.#hasFound;
  }

  /** Takes the next bytes. */
  see(chunk: Buffer): void {
    if (this.#hasFound) return;
    const bytes = this.#carry.length === 0 ? chunk : Buffer.concat([this.#carry, chunk]);
    this.#hasFound = hasLongNumber(bytes);
    this.#carry = this.#hasFound ? Buffer.alloc(0) : Buffer.from(unfinishedNumber(bytes));
  }
}

/** Looks at one byte in so many, as every run of that many bytes holds one of them. */
function hasLongNumber(bytes: Buffer): boolean {
  for (let at = LONG_NUMBER_LENGTH - 1; at < bytes.length; at += LONG_NUMBER_LENGTH) {
    if (kinds[bytes[at] ?? 0] !== NUMBER) continue;
    const start = skipBack(bytes, at, NUMBER);
    let end = at + 1;
    while (end < bytes.length && kinds[bytes[end] ?? 0] === NUMBER) end += 1;
    if (end - start >= LONG_NUMBER_LENGTH && isBareNumber(bytes, start)) return true;
    // The next byte to look at is the first that this run does not hold.
    at += Math.floor((end - at - 1) / LONG_NUMBER_LENGTH) * LONG_NUMBER_LENGTH;
  }
  return false;
}

function isBareNumber(bytes: Buffer, start: number): boolean {
  const before = skipBack(bytes, start, BLANK);
  return kinds[bytes[before - 1] ?? 0] === OPENER && isStart(bytes[start] ?? 0, bytes[start + 1] ?? 0);
}

/** The number that the end of the bytes may have cut, from the character before it on. */
function unfinishedNumber(bytes: Buffer): Buffer {
  const before = skipBack(bytes, skipBack(bytes, bytes.length, NUMBER), BLANK);
  return kinds[bytes[before - 1] ?? 0] === OPENER ? bytes.subarray(before - 1) : bytes.subarray(bytes.length);
}

/** The position after the last byte before `end` that is not of a kind; 0 when all are. */
function skipBack(bytes: Buffer, end: number, kind: number): number {
  let position = end;
  while (position > 0 && kinds[bytes[position - 1] ?? 0] === kind) position -= 1;
  return position;
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

/** The same answer with its long numbers in quotes, if it has any, uncompressed in place of the old file. Throws `STORAGE_FAILED`. */
export async function quoteLongNumbers(body: SavedBody): Promise<SavedBody> {
  return onDisk('spool', body.path, async () => ((await mayHaveLongNumbers(body)) ? rewritten(body) : body));
}

async function mayHaveLongNumbers({ path, encoding }: SavedBody): Promise<boolean> {
  const search = new LongNumberSearch();
  const look = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks) search.see(chunk);
  };
  if (encoding === 'gzip') await pipeline(createReadStream(path), createGunzip(), look);
  else await pipeline(createReadStream(path), look);
  return search.hasFound;
}

async function rewritten(body: SavedBody): Promise<SavedBody> {
  const path = body.path.replace(/\.gz$/, '');
  const unfinished = `${path}.part`;
  const quoted = await written(body, unfinished);
  await rename(unfinished, path);
  if (path !== body.path) await rm(body.path);
  return { ...quoted, path };
}

/** A copy of the answer with its long numbers in quotes, uncompressed, beside the file it leaves as it is. Throws `STORAGE_FAILED`. */
export async function quotedCopy(body: SavedBody): Promise<SavedBody> {
  return onDisk('spool', body.path, async () => written(body, body.path.replace(/(\.json)?(\.gz)?$/, '.quoted.json')));
}

async function written(body: SavedBody, path: string): Promise<SavedBody> {
  const source = createReadStream(body.path);
  const sink = createWriteStream(path, { mode: 0o600 });
  const [quoter, measuring] = [new LongNumberQuoter(), new Measuring()];
  if (body.encoding === 'gzip') await pipeline(source, createGunzip(), quoter, measuring, sink);
  else await pipeline(source, quoter, measuring, sink);
  const { bytes } = measuring.measured();
  return { ...body, path, encoding: 'identity', bytes, plainBytes: bytes };
}
