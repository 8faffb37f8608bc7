/**
 * The archive: the answers that were loaded, kept for a while so that they can be loaded again.
 *
 * It lies beside its warehouse, in `<warehouse>.archive/<slice>/`, and only the holder of the run lock touches it. An entry is
 * written, and removed, under a name that ends in `.part`: under its own name it is whole. No link of a slice's name is followed.
 */

import { existsSync } from 'node:fs';
import { lstat, mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { basename, join } from 'node:path';

import * as z from 'zod';

import { Failure } from '../errors.ts';
import type { Day } from '../model/calendar.ts';
import type { Catalog } from '../model/catalog.ts';
import { onDisk, type Spooled } from '../spool/spool.ts';
import { makeDurable } from '../warehouse/directories.ts';
import {
  type ArchivedWindow,
  type BodyFile,
  bodyName,
  type Damage,
  documentText,
  entryStem,
  fetchedAtOf,
  narrowed,
  parseDocument,
  parseSidecar,
  requestedAtOf,
  SIDECAR,
  sidecarText,
} from './entry.ts';
import {
  compressBody,
  hasCode,
  makePrivateDirectory,
  nullWhenMissing,
  PART,
  PRIVATE,
  readDocument,
  writeDurably,
} from './files.ts';

/** Where the archive of a warehouse lies. */
export function archiveRoot(warehousePath: string): string {
  return `${warehousePath}.archive`;
}

const sliceFolder = (warehousePath: string, slice: string): string => join(archiveRoot(warehousePath), slice);

/** Keeps a loaded window's answer; `asOf` stood for its fetch. Throws `STORAGE_FAILED` and leaves nothing behind then. */
export async function keepWindow(warehousePath: string, spooled: Spooled, asOf: Date | null): Promise<void> {
  const folder = sliceFolder(warehousePath, spooled.window.slice.name);
  await onDisk('archive', folder, async () => {
    await makePrivateDirectory(folder);
    await refuseLink(folder);
    const entry = await newPath(join(folder, entryStem(spooled.window, spooled.requestedAt)));
    const part = `${entry}${PART}`;
    try {
      await rm(part, { recursive: true, force: true });
      await mkdir(part, { mode: PRIVATE.folder });
      const bodies: (BodyFile | null)[] = [];
      for (const { pages } of spooled.answers) {
        for (const page of pages) {
          const kept = await compressBody(page, join(part, bodyName(bodies.length)));
          bodies.push({ ...kept, plainBytes: page.plainBytes, encoding: 'gzip' });
        }
        if (pages.length === 0) bodies.push(null);
      }
      await writeDurably(join(part, SIDECAR), sidecarText(spooled, asOf, bodies));
      await rename(part, entry);
      await makeDurable(folder);
    } catch (error) {
      await rm(part, { recursive: true, force: true });
      throw error;
    }
  });
}

/** Two windows that were requested in one millisecond get two numbers. */
async function newPath(stem: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const path = `${stem}.${number}`;
    if ((await lstat(path).catch(nullWhenMissing)) === null) return path;
  }
}

/** Removes the entries that were requested before an instant, and what a killed run left unfinished. Throws `STORAGE_FAILED`. */
export async function removeEntries(warehousePath: string, before: Date): Promise<void> {
  const root = archiveRoot(warehousePath);
  await onDisk('archive', root, async () => {
    for (const folder of await foldersIn(root)) {
      await removeUnfinished(folder);
      for (const { path, requestedAt } of await entriesIn(folder)) {
        if (requestedAt < before) await removeEntry(path);
      }
    }
  });
}

/** What lies in a slice's folder, by the order of its fetches, and what cannot be loaded; unfinished entries are left out. Throws `STORAGE_FAILED`. */
export async function readArchive(
  warehousePath: string,
  slice: string,
): Promise<{ readonly windows: readonly ArchivedWindow[]; readonly damages: readonly Damage[] }> {
  const folder = sliceFolder(warehousePath, slice);
  return onDisk('archive', folder, async () => {
    const windows: ArchivedWindow[] = [];
    const damages: Damage[] = [];
    for (const found of (await folderExists(folder)) ? await readdir(folder, { withFileTypes: true }) : []) {
      if (found.name.endsWith(PART)) continue;
      const path = join(folder, found.name);
      const isEntry = found.isDirectory() && requestedAtOf(found.name) !== null;
      const entry = isEntry ? await readEntry(path, slice) : 'it was no entry of the archive';
      if (typeof entry === 'string') damages.push({ path, because: entry });
      else windows.push({ path, entry });
    }
    return { windows: windows.toSorted(byFetch), damages };
  });
}

/** The entry of a directory; a text says why it cannot be loaded, also where the disk refuses it. */
async function readEntry(path: string, slice: string): Promise<ArchivedWindow['entry'] | string> {
  try {
    const text = await readDocument(join(path, SIDECAR));
    if (text === null) return `its ${SIDECAR} was missing, or no file`;
    const entry = parseSidecar(text);
    return typeof entry === 'string' || entry.slice === slice ? entry : `it was an answer for slice ${entry.slice}`;
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return error.message;
    throw error;
  }
}

/** By the instant that counts as the fetch, then by the one of the request. */
function byFetch({ entry: one, path }: ArchivedWindow, { entry: other, path: otherPath }: ArchivedWindow): number {
  return (
    fetchedAtOf(one).getTime() - fetchedAtOf(other).getTime() ||
    one.requestedAt.getTime() - other.requestedAt.getTime() ||
    (path < otherPath ? -1 : 1)
  );
}

/** How many entries of a slice hold periods to drop: all, or those that ended by the start of a day. Throws `STORAGE_FAILED`. */
export async function answersToDrop(warehousePath: string, slice: string, before: Day | null): Promise<number> {
  const folder = sliceFolder(warehousePath, slice);
  if (before !== null) return (await partsToDrop(warehousePath, slice, before)).length;
  return onDisk('archive', folder, async () => ((await folderExists(folder)) ? (await entriesIn(folder)).length : 0));
}

/** Takes a slice, or its periods that ended by the start of a day, out of the archive. Throws `STORAGE_FAILED`. */
export async function dropAnswers(warehousePath: string, slice: string, before: Day | null): Promise<void> {
  const folder = sliceFolder(warehousePath, slice);
  const parts = before === null ? [] : await partsToDrop(warehousePath, slice, before);
  await onDisk('archive', folder, async () => {
    for (const { path, kept } of parts) {
      if (kept === undefined) await removeEntry(path);
      else await writeDurably(join(path, SIDECAR), documentText(kept.entry));
    }
    if (before !== null || !(await folderExists(folder))) return;
    await removeUnfinished(folder);
    for (const { path } of await entriesIn(folder)) await removeEntry(path);
    // What is not the archive's own stays where it lies.
    await rmdir(folder).catch((error: unknown) => {
      if (!hasCode(error, 'ENOTEMPTY')) throw error;
    });
  });
}

/** The entries that hold periods to drop, each with what is kept of it. */
async function partsToDrop(
  warehousePath: string,
  slice: string,
  before: Day,
): Promise<{ readonly path: string; readonly kept: ArchivedWindow | undefined }[]> {
  const { windows } = await readArchive(warehousePath, slice);
  return windows.flatMap((window) => {
    const [kept] = narrowed(window, ({ period }) => period.bucket.end > before);
    return kept?.entry.periods.length === window.entry.periods.length ? [] : [{ path: window.path, kept }];
  });
}

/** The directories of slices; no links. */
async function foldersIn(root: string): Promise<string[]> {
  const found = (await readdir(root, { withFileTypes: true }).catch(nullWhenMissing)) ?? [];
  return found.filter((each) => each.isDirectory()).map(({ name }) => join(root, name));
}

/** The entries in a slice's folder. */
async function entriesIn(folder: string): Promise<{ readonly path: string; readonly requestedAt: Date }[]> {
  const found = await readdir(folder, { withFileTypes: true });
  return found.flatMap((each) => {
    const requestedAt = each.isDirectory() ? requestedAtOf(each.name) : null;
    return requestedAt === null ? [] : [{ path: join(folder, each.name), requestedAt }];
  });
}

async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.endsWith(PART) && requestedAtOf(basename(name, PART)) !== null) await remove(join(folder, name));
  }
}

async function removeEntry(path: string): Promise<void> {
  const part = `${path}${PART}`;
  await remove(part);
  await rename(path, part);
  await remove(part);
}

const remove = async (path: string): Promise<void> => rm(path, { recursive: true, force: true });

/** Whether there is a directory. Throws `STORAGE_FAILED` for a symbolic link to one, as it could lead out of the archive. */
async function folderExists(path: string): Promise<boolean> {
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
});

/** A catalog, and when the service listed it. */
interface SeenCatalog {
  readonly seenAt: Date;
  readonly items: Catalog;
}

/** Keeps a catalog in the place of the one before: a new warehouse would have to guess the types without it. Throws `STORAGE_FAILED`. */
export async function keepCatalog(warehousePath: string, { seenAt, items }: SeenCatalog): Promise<void> {
  const root = archiveRoot(warehousePath);
  await onDisk('archive', root, async () => {
    await makePrivateDirectory(root);
    await writeDurably(join(root, CATALOG), documentText({ seenAt, items }));
  });
}

/** The kept catalog, or what is wrong with it; null when there is none. Throws `STORAGE_FAILED`. */
export async function readKeptCatalog(warehousePath: string): Promise<SeenCatalog | Damage | null> {
  const path = join(archiveRoot(warehousePath), CATALOG);
  return onDisk('archive', path, async () => {
    const text = await readDocument(path);
    if (text === null) return null;
    const found = parseDocument(text, catalogShape);
    return typeof found === 'string' ? { path, because: `it ${found}` } : found;
  });
}
