/**
 * The archive: the answers that were loaded, kept for a while so that they can be loaded again.
 *
 * It lies beside its warehouse, in `<warehouse>.archive/<slice>/`, and only the holder of the run lock touches it. An
 * answer is in it wholly or not at all; what a killed run left half written is removed by the next one.
 */

import { existsSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import {
  bodyName,
  entryStem,
  parseEntryName,
  SIDECAR,
  sidecarText,
  type BodyFile,
  type EntryName,
} from './archive-entry.ts';
import {
  compressBody,
  makeNewDirectory,
  makePrivateDirectory,
  nullWhenMissing,
  refuseLink,
  syncPath,
  writeDurably,
} from './archive-files.ts';
import { onDisk } from './on-disk.ts';
import type { Spooled } from './spool.ts';

/** Where the archive of a warehouse lies. */
export function archiveRoot(warehousePath: string): string {
  return `${warehousePath}.archive`;
}

/** Whether a warehouse has an archive at all. */
export function archiveExists(warehousePath: string): boolean {
  return existsSync(archiveRoot(warehousePath));
}

/** Keeps a loaded window's answer; `asOf` stood for its fetch. Throws `STORAGE_FAILED` and leaves nothing behind then. */
export async function keepWindow(warehousePath: string, spooled: Spooled, asOf: Date | null): Promise<void> {
  const folder = join(archiveRoot(warehousePath), spooled.window.slice.name);
  await onDisk('archive', folder, async () => {
    await makePrivateDirectory(folder);
    await refuseLink(folder);
    const entry = await newEntry(folder, entryStem(spooled.window, spooled.requestedAt));
    try {
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
    const slices = (await readdir(root, { withFileTypes: true }).catch(nullWhenMissing)) ?? [];
    for (const slice of slices) {
      if (!slice.isDirectory()) continue;
      const folder = join(root, slice.name);
      await removeUnfinished(folder);
      for (const { path, name } of await entriesIn(folder)) {
        if (name.requestedAt < before) await removeEntry(path);
      }
    }
  });
}

/** Removes the entries of a slice's folder that a killed run did not finish. */
export async function removeUnfinished(folder: string): Promise<void> {
  for (const { path, name } of await entriesIn(folder)) {
    const isFinished = name.isSetAside || (await stat(join(path, SIDECAR)).catch(nullWhenMissing)) !== null;
    if (!isFinished) await removeEntry(path);
  }
}

async function entriesIn(folder: string): Promise<{ readonly path: string; readonly name: EntryName }[]> {
  const found = await readdir(folder, { withFileTypes: true });
  return found.flatMap((each) => {
    const name = each.isDirectory() ? parseEntryName(each.name) : null;
    return name === null ? [] : [{ path: join(folder, each.name), name }];
  });
}

/** The sidecar first, so that an interrupted removal leaves an unfinished entry and not a corrupt one. */
async function removeEntry(path: string): Promise<void> {
  await rm(join(path, SIDECAR), { force: true });
  await rm(path, { recursive: true, force: true });
}
