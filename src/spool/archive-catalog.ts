/**
 * The catalog in the archive: without it, a new warehouse would have to guess the types that answers were loaded with.
 * The newest one replaces the one before.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import type { Catalog } from '../model/catalog.ts';
import { archiveRoot } from './archive.ts';
import { documentText, parseDocument, type Damage } from './archive-entry.ts';
import { makePrivateDirectory, nullWhenMissing, writeDurably } from './archive-files.ts';
import { onDisk } from './on-disk.ts';

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
    }),
  ),
});

/** A catalog, and when the service listed it. */
export interface SeenCatalog {
  readonly seenAt: Date;
  readonly items: Catalog;
}

/** Keeps a catalog in the place of the one before. Throws `STORAGE_FAILED`. */
export async function keepCatalog(warehousePath: string, catalog: SeenCatalog): Promise<void> {
  const root = archiveRoot(warehousePath);
  await onDisk('archive', root, async () => {
    await makePrivateDirectory(root);
    await writeDurably(join(root, CATALOG), documentText(catalog));
  });
}

/** The kept catalog, or what is wrong with it; null when there is none. Throws `STORAGE_FAILED`. */
export async function readKeptCatalog(warehousePath: string): Promise<SeenCatalog | Damage | null> {
  const path = join(archiveRoot(warehousePath), CATALOG);
  return onDisk('archive', path, async () => {
    const text = await readFile(path, 'utf8').catch(nullWhenMissing);
    if (text === null) return null;
    const found = parseDocument(text, catalogShape, 'the catalog');
    return 'because' in found ? { path, ...found } : found;
  });
}
