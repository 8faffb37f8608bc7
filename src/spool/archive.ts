/**
 * The archive: the answers that were loaded, kept for a while so that they can be loaded again.
 *
 * It lies beside its warehouse, in `<warehouse>.archive/<slice>/`, and only the holder of the run lock touches it. An
 * answer is in it wholly or not at all: what a killed run left half written is removed by the next one that writes, and a
 * changed byte is noticed. No link of a slice's name is followed.
 */

import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { lstat, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';

import * as z from 'zod';

import { Failure } from '../errors.ts';
import type { Catalog } from '../model/catalog.ts';
import { longerHorizon, type RememberedMetrics } from '../model/metric.ts';
import type { SavedBody } from '../service/service.ts';
import {
  believedEntry,
  type BodyFile,
  bodyName,
  type Damage,
  documentText,
  type EntryName,
  entryStem,
  type Flaw,
  parseDocument,
  parseEntryName,
  parseSidecar,
  SIDECAR,
  sidecarText,
  UNFINISHED,
  unfinished,
} from './archive-entry.ts';
import { type Measured, Measuring, onDisk, type Spooled } from './spool.ts';

/** Where the archive of a warehouse lies. */
export function archiveRoot(warehousePath: string): string {
  return `${warehousePath}.archive`;
}

/** Where the answers of a slice lie in it. */
export const sliceFolder = (warehousePath: string, slice: string): string => join(archiveRoot(warehousePath), slice);

/** Whether a warehouse has an archive at all. */
export function archiveExists(warehousePath: string): boolean {
  return existsSync(archiveRoot(warehousePath));
}

/** Keeps a loaded window's answer; `asOf` stood for its fetch. Throws `STORAGE_FAILED` and leaves nothing behind then. */
export async function keepWindow(warehousePath: string, spooled: Spooled, asOf: Date | null): Promise<void> {
  const folder = sliceFolder(warehousePath, spooled.window.slice.name);
  await onDisk('archive', folder, async () => {
    await makePrivateDirectory(folder);
    await refuseLink(folder);
    const entry = await newEntry(folder, entryStem(spooled.window, spooled.requestedAt));
    try {
      await writeFile(join(entry, UNFINISHED), '', { mode: FILE_MODE });
      const bodies: (BodyFile | null)[] = [];
      for (const { pages } of spooled.answers) {
        for (const page of pages) {
          const kept = await compressBody(page, join(entry, bodyName(bodies.length)));
          bodies.push({ ...kept, plainBytes: page.plainBytes, encoding: 'gzip' });
        }
        if (pages.length === 0) bodies.push(null);
      }
      await writeDurably(join(entry, SIDECAR), sidecarText(spooled, asOf, bodies));
      await syncPath(folder);
    } catch (error) {
      await removeEntry(entry);
      throw error;
    }
  });
}

/** A directory of its own for an entry; two windows asked for in one millisecond get two numbers. */
async function newEntry(folder: string, stem: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const entry = join(folder, `${stem}.${number}`);
    if (await makeNewDirectory(entry)) return entry;
  }
}

/** Removes the entries that were asked for before an instant, and unfinished ones. Throws `STORAGE_FAILED`. */
export async function removeEntriesBefore(warehousePath: string, before: Date): Promise<void> {
  const root = archiveRoot(warehousePath);
  await onDisk('archive', root, async () => {
    for (const folder of await foldersIn(root)) {
      await removeUnfinished(folder);
      for (const { path, name } of await entriesIn(folder)) {
        if (name.requestedAt < before) await removeEntry(path);
      }
    }
  });
}

/**
 * Dates back the entries that a clock that was ahead has dated later than now, so that none is ever taken for the newest answer of
 * its days. Throws `STORAGE_FAILED`.
 */
export async function redateEntries(warehousePath: string, now: Date): Promise<void> {
  const root = archiveRoot(warehousePath);
  await onDisk('archive', root, async () => {
    for (const folder of await foldersIn(root)) {
      for (const { path, name } of await entriesIn(folder)) {
        if (name.isSetAside || name.requestedAt <= now) continue;
        const text = await readDocument(join(path, SIDECAR));
        const entry = typeof text === 'string' ? parseSidecar(text) : null;
        // What is broken is told by the replay that meets it.
        if (entry === null || 'because' in entry) continue;
        const believed = believedEntry(entry, now);
        if (believed !== entry) await writeDurably(join(path, SIDECAR), documentText(believed));
      }
    }
  });
}

/** When the answers to a slice were asked for that are in the archive as a whole, in milliseconds since 1970. Throws `STORAGE_FAILED`. */
export async function archivedInstants(warehousePath: string, slice: string): Promise<ReadonlySet<number>> {
  const folder = sliceFolder(warehousePath, slice);
  return onDisk('archive', folder, async () => {
    const entries = (await folderExists(folder)) ? await entriesIn(folder) : [];
    const whole: number[] = [];
    for (const { path, name } of entries) {
      if (!name.isSetAside && (await formOf(path)) === 'whole') whole.push(name.requestedAt.getTime());
    }
    return new Set(whole);
  });
}

/** How many entries there are of all slices, also set aside. Throws `STORAGE_FAILED`. */
export async function answersHeld(warehousePath: string): Promise<number> {
  const root = archiveRoot(warehousePath);
  return onDisk('archive', root, async () => {
    const counts = await Promise.all((await foldersIn(root)).map(async (folder) => (await entriesIn(folder)).length));
    return counts.reduce((sum, count) => sum + count, 0);
  });
}

/** The directories of slices; no links. */
async function foldersIn(root: string): Promise<string[]> {
  const found = (await readdir(root, { withFileTypes: true }).catch(nullWhenMissing)) ?? [];
  return found.filter((each) => each.isDirectory()).map(({ name }) => join(root, name));
}

/** Removes the entries of a slice's folder that a killed run did not finish; one that lost its sidecar otherwise stays. */
async function removeUnfinished(folder: string): Promise<void> {
  for (const { path, name } of await entriesIn(folder)) {
    if (!name.isSetAside && (await formOf(path)) === 'unfinished') await removeEntry(path);
  }
}

/** Whether an entry is whole, is what a killed run left, or has bodies of which nobody knows what they answer. */
export async function formOf(entry: string): Promise<'whole' | 'unfinished' | 'unknown'> {
  const names = await readdir(entry);
  if (names.includes(SIDECAR)) return 'whole';
  return names.length === 0 || names.includes(UNFINISHED) ? 'unfinished' : 'unknown';
}

/** The entries in a slice's folder, whole or not, and those set aside. */
export async function entriesIn(folder: string): Promise<{ readonly path: string; readonly name: EntryName }[]> {
  const found = await readdir(folder, { withFileTypes: true });
  return found.flatMap((each) => {
    const name = each.isDirectory() ? parseEntryName(each.name) : null;
    return name === null ? [] : [{ path: join(folder, each.name), name }];
  });
}

/** The sidecar first and its unfinished form last, so that an interrupted removal leaves an unfinished entry. */
export async function removeEntry(path: string): Promise<void> {
  await rename(join(path, SIDECAR), join(path, UNFINISHED)).catch(nullWhenMissing);
  for (const name of await readdir(path)) {
    if (name !== UNFINISHED) await rm(join(path, name), { recursive: true, force: true });
  }
  await rm(path, { recursive: true, force: true });
}

/** No slice can be named so: their folders have no dot. */
const CATALOG = 'catalog.json';

const catalogShape = z.object({
  seenAt: z.iso.datetime().transform((text) => new Date(text)),
  items: z.array(
    z.object({
      filter: z.string(),
      id: z.string(),
      name: z.string(),
      shortName: z.string(),
      section: z.string(),
      formatting: z.string(),
      description: z.string(),
      attributes: z.string().nullish(),
    }),
  ),
  /** In milliseconds, null: never final. Left out by an earlier version. */
  horizons: z.array(z.object({ metric: z.string(), ms: z.number().nullable() })).optional(),
});

/** A catalog, when the service listed it, and the longest horizons that earlier ones gave. */
interface SeenCatalog {
  readonly seenAt: Date;
  readonly items: Catalog;
  readonly horizons: RememberedMetrics['horizons'];
}

/**
 * Keeps a catalog in the place of the one before: without it, a new warehouse would have to guess the types that answers
 * were loaded with, and when they are final. Of horizons the longer one stays. Throws `STORAGE_FAILED`.
 */
export async function keepCatalog(warehousePath: string, { seenAt, items, horizons }: SeenCatalog): Promise<void> {
  const root = archiveRoot(warehousePath);
  await onDisk('archive', root, async () => {
    await makePrivateDirectory(root);
    const before = await readKeptCatalog(warehousePath);
    const longest = new Map(before === null || 'because' in before ? [] : before.horizons);
    for (const [id, ms] of horizons) longest.set(id, longerHorizon(ms, longest.get(id)));
    const kept = [...longest].map(([metric, ms]) => ({ metric, ms }));
    await writeDurably(join(root, CATALOG), documentText({ seenAt, items, horizons: kept }));
  });
}

/** The kept catalog, or what is wrong with it; null when there is none. Throws `STORAGE_FAILED`. */
export async function readKeptCatalog(warehousePath: string): Promise<SeenCatalog | Damage | null> {
  const path = join(archiveRoot(warehousePath), CATALOG);
  return onDisk('archive', path, async () => {
    const text = await readDocument(path);
    if (typeof text !== 'string') return text === null ? null : { path, ...text };
    const found = parseDocument(text, catalogShape, 'the catalog');
    if ('because' in found) return { path, ...found };
    return { ...found, horizons: new Map(found.horizons?.map(({ metric, ms }) => [metric, ms])) };
  });
}

/** Private: reports are the account's business. */
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/** Whole documents are compressed while the service waits for the next request; smaller is not worth the time. */
const GZIP = { level: constants.Z_BEST_SPEED };

/** A gzip copy of a body, byte for byte, at a path where nothing is; durable but for its directory. */
async function compressBody(body: SavedBody, to: string): Promise<Measured> {
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

/** The text of a document; null when it is missing, a flaw when it is a directory, a link, or anything else. */
export async function readDocument(path: string): Promise<string | Flaw | null> {
  const found = await lstat(path).catch(nullWhenMissing);
  if (found === null) return null;
  return found.isFile() ? readFile(path, 'utf8') : { because: `its ${basename(path)} was no file` };
}

/** Writes a text whole or not at all, durably, in the place of what was there. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const part = unfinished(path);
  await writeFile(part, text, { mode: FILE_MODE });
  await syncPath(part);
  await rename(part, path);
  await syncPath(dirname(path));
}

/** Makes a private directory with its parents, durably. */
async function makePrivateDirectory(path: string): Promise<void> {
  const made = await mkdir(path, { recursive: true, mode: DIRECTORY_MODE });
  if (made !== undefined) for (const name of new Set([made, path])) await syncPath(dirname(name));
}

/** Whether there is a directory. Throws `STORAGE_FAILED` for a symbolic link to one, as it could lead out of the archive. */
export async function folderExists(path: string): Promise<boolean> {
  if (!existsSync(path)) return false;
  await refuseLink(path);
  return true;
}

async function refuseLink(path: string): Promise<void> {
  if (!(await lstat(path)).isSymbolicLink()) return;
  throw new Failure('STORAGE_FAILED', `The directory ${path} was a symbolic link.`, {
    hint: 'Put a directory in its place; links inside the archive are not followed.',
  });
}

/** Makes a private directory that is new; false when something lies at the path. */
async function makeNewDirectory(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: DIRECTORY_MODE });
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Makes what was written into a file, or the names in a directory, outlive a power cut. */
async function syncPath(path: string): Promise<void> {
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

/** Whether an error of the file system has a code. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
