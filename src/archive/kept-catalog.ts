/** The archive's catalog: without it, a new warehouse would have to guess the types that answers were loaded with. */

import { join } from 'node:path';

import * as z from 'zod';

import type { Catalog } from '../model/catalog.ts';
import { onDisk } from '../spool/spool.ts';
import { archiveRoot } from './archive.ts';
import { type Damage, documentText, parseDocument } from './entry.ts';
import { makePrivateDirectory, readDocument, writeDurably } from './files.ts';

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

/** Keeps a catalog in the place of the one before. Throws `STORAGE_FAILED`. */
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
