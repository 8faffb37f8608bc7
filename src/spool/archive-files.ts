/**
 * The archive's files: written so that a crash leaves whole ones or none, read so that a changed byte is noticed.
 *
 * Hides permissions, durability and compression; errors of the file system come out as they are.
 */

import { createReadStream, createWriteStream } from 'node:fs';
import { lstat, mkdir, open, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';

import { Failure } from '../errors.ts';
import type { SavedBody } from '../service/service.ts';
import { Measuring, type Measured } from './on-disk.ts';

/** Private: reports are the account's business. */
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/** Whole documents are compressed while the service waits for the next request; smaller is not worth the time. */
const GZIP = { level: constants.Z_BEST_SPEED };

/** A gzip copy of a body, byte for byte, at a path where nothing is; durable but for its directory. */
export async function compressBody(body: SavedBody, to: string): Promise<Measured> {
  const decoding = body.encoding === 'gzip' ? createGunzip() : new PassThrough();
  const measuring = new Measuring();
  const sink = createWriteStream(to, { flags: 'wx', mode: FILE_MODE });
  await pipeline(createReadStream(body.path), decoding, createGzip(GZIP), measuring, sink);
  await syncPath(to);
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

/** Writes a text whole or not at all, durably, in the place of what was there. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const unfinished = `${path}.part`;
  await writeFile(unfinished, text, { mode: FILE_MODE });
  await syncPath(unfinished);
  await rename(unfinished, path);
  await syncPath(dirname(path));
}

/** Makes a private directory with its parents, durably. */
export async function makePrivateDirectory(path: string): Promise<void> {
  const made = await mkdir(path, { recursive: true, mode: DIRECTORY_MODE });
  if (made !== undefined) for (const name of new Set([made, path])) await syncPath(dirname(name));
}

/** Throws `STORAGE_FAILED` for a symbolic link, which could lead out of the archive. */
export async function refuseLink(path: string): Promise<void> {
  if (!(await lstat(path)).isSymbolicLink()) return;
  throw new Failure('STORAGE_FAILED', `The directory ${path} was a symbolic link.`, {
    hint: 'Put a directory in its place; links inside the archive are not followed.',
  });
}

/** Makes a private directory that is new; false when something lies at the path. */
export async function makeNewDirectory(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: DIRECTORY_MODE });
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Makes what was written into a file, or the names in a directory, outlive a power cut. */
export async function syncPath(path: string): Promise<void> {
  const opened = await open(path, 'r');
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

/** For a promise's `catch`: null for what is not there; other errors are thrown on. */
export function nullWhenMissing(error: unknown): null {
  if (hasCode(error, 'ENOENT')) return null;
  throw error;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
