/** The archive's files: private, durable, compressed and measured. */

import { createReadStream, createWriteStream } from 'node:fs';
import { lstat, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';

import type { SavedBody } from '../service/service.ts';
import { type Measured, Measuring } from '../spool/spool.ts';
import { makeDurable } from '../warehouse/directories.ts';

/** Reports are the account's business. */
export const PRIVATE = { file: 0o600, folder: 0o700 } as const;

/** How the name of what is not whole yet, or not any more, ends. */
export const PART = '.part';

/** Whole documents are compressed while the service waits for the next request; smaller is not worth the time. */
const GZIP = { level: constants.Z_BEST_SPEED };

/** A gzip copy of a body, byte for byte, at a path where nothing is; durable but for its directory. */
export async function compressBody(body: SavedBody, to: string): Promise<Measured> {
  const decoding = body.encoding === 'gzip' ? createGunzip() : new PassThrough();
  const measuring = new Measuring();
  const sink = createWriteStream(to, { flags: 'wx', mode: PRIVATE.file });
  await pipeline(createReadStream(body.path), decoding, createGzip(GZIP), measuring, sink);
  await makeDurable(to);
  return measuring.measured();
}

/** SHA-256 and size of a file as it lies there; null when it is missing or no file. */
export async function measureFile(path: string): Promise<Measured | null> {
  const found = await lstat(path).catch(nullWhenMissing);
  if (found?.isFile() !== true) return null;
  const measuring = new Measuring();
  measuring.resume();
  await pipeline(createReadStream(path), measuring);
  return measuring.measured();
}

/** The text of a document; null when it is missing, a directory, a link, or anything else that is no file. */
export async function readDocument(path: string): Promise<string | null> {
  const found = await lstat(path).catch(nullWhenMissing);
  return found?.isFile() === true ? readFile(path, 'utf8') : null;
}

/** Writes a text whole or not at all, durably, in the place of what was there. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const part = `${path}${PART}`;
  await writeFile(part, text, { mode: PRIVATE.file });
  await makeDurable(part);
  await rename(part, path);
  await makeDurable(dirname(path));
}

/** Makes a private directory with its parents, durably. */
export async function makePrivateDirectory(path: string): Promise<void> {
  const made = await mkdir(path, { recursive: true, mode: PRIVATE.folder });
  if (made !== undefined) for (const name of new Set([made, path])) await makeDurable(dirname(name));
}

/** For a promise's `catch`: null for what is not there; other errors are thrown on. */
export function nullWhenMissing(error: unknown): null {
  if (hasCode(error, 'ENOENT')) return null;
  throw error;
}

/** Whether an error of the file system has a code. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
