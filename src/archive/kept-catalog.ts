/** The archive's catalog: without it, a new warehouse would have to guess the types that answers were loaded with. */

import { join } from 'node:path';

import * as z from 'zod';

import type { Catalog } from '../model/catalog.ts';
import { longerHorizon, type RememberedMetrics } from '../model/metric.ts';
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
    }),
  ),
  /** In milliseconds, null: never final. */
  horizons: z.array(z.object({ metric: z.string(), ms: z.number().nullable() })),
});

/** A catalog, when the service listed it, and the longest horizons that earlier ones gave. */
interface SeenCatalog {
  readonly seenAt: Date;
  readonly items: Catalog;
  readonly horizons: RememberedMetrics['horizons'];
}

/** Keeps a catalog in the place of the one before; of horizons the longer one stays. Throws `STORAGE_FAILED`. */
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
    if (text === null) return null;
    const found = parseDocument(text, catalogShape);
    if (typeof found === 'string') return { path, because: `it ${found}` };
    return { ...found, horizons: new Map(found.horizons.map(({ metric, ms }) => [metric, ms])) };
  });
}
