/**
 * What a lake holds, as stated in the lake itself: `_manifest.json`.
 *
 * Readers find each file's rows and exact sums there; the next publish finds which content each file was written from.
 * While files are being replaced, `_unfinished.json` lists them: until it is gone nothing is believed of those. So a
 * lake that was killed, emptied or restored from elsewhere is repaired, not trusted. All names begin with an
 * underscore, which the engines pass over.
 */

import * as z from 'zod';

import type { LakeStore } from './lake-store.ts';

export const MANIFEST = '_manifest.json';
const JOURNAL = '_unfinished.json';
/** Whose the lake is, from before its manifest says so. */
const CLAIM = '_warehouse.json';

const claim = z.object({ warehouse: z.string() });

const lakeFile = z.object({
  /** Relative to the lake, with `/`. */
  path: z.string(),
  rows: z.number(),
  /** Per metric of an exact type, the sum as decimal text; null when every value is. */
  sums: z.record(z.string(), z.string().nullable()),
  bytes: z.number(),
  /** Equal for equal rows of equal columns. */
  content: z.string(),
  /** What the rows are known again by without reading them: the load that brought all of them; none of other tables. */
  stamp: z.string().optional(),
  /** What the store called the file when it took it. */
  etag: z.string().optional(),
});

const manifest = z.object({
  files: z.array(lakeFile),
  /** The id of the warehouse it is a copy of; lakes from before there were ids state none. */
  warehouse: z.string().optional(),
  /** A lake from before Delta tables states the views beside it. */
  catalog: z.unknown().optional(),
});

export type LakeFile = z.infer<typeof lakeFile>;
export type Manifest = Omit<z.infer<typeof manifest>, 'catalog'>;

/** What a lake says of itself. */
export interface KnownLake {
  /** The manifest as it stands there; null without one. */
  readonly text: string | null;
  readonly hasJournal: boolean;
  /** What the manifest states, by path. */
  readonly entries: ReadonlyMap<string, LakeFile>;
  /** Whether views over versions of the files stand beside them, as before there were Delta tables. */
  readonly hasCatalog: boolean;
  /** The id of the warehouse it is a copy of; null where it states none. */
  readonly warehouse: string | null;
  /** Whether a killed publish may have left a file in any state, whatever the manifest states. */
  isUnfinished(path: string): boolean;
}

/** Reads what a lake says of itself; a manifest that cannot be understood states nothing, such a journal doubts all. */
export async function readManifest(store: LakeStore): Promise<KnownLake> {
  const text = await store.read(MANIFEST);
  const journal = await store.read(JOURNAL);
  const stated = parsed(manifest, text);
  const listed = journal === null ? [] : parsed(z.array(z.string()), journal);
  const unfinished = listed === null ? null : new Set(listed);
  return {
    text,
    hasJournal: journal !== null,
    entries: new Map((stated?.files ?? []).map((entry) => [entry.path, entry])),
    hasCatalog: stated?.catalog !== undefined,
    warehouse: stated?.warehouse ?? null,
    isUnfinished: (path) => unfinished === null || unfinished.has(path),
  };
}

/** The id of the warehouse that a manifest's text states; null for none. */
export function statedWarehouse(text: string | null): string | null {
  return parsed(manifest, text)?.warehouse ?? null;
}

/**
 * Makes a lake without a manifest that of a warehouse: of two that begin at one moment one does. Returns whose it is then; null where
 * nobody can tell.
 */
export async function claimLake(store: LakeStore, warehouse: string): Promise<string | null> {
  await store.placeNewText(CLAIM, `${JSON.stringify({ warehouse })}\n`);
  return parsed(claim, await store.read(CLAIM))?.warehouse ?? null;
}

/** Declares files unknown, before the first of them is replaced. */
export async function beginReplacing(store: LakeStore, paths: readonly string[]): Promise<void> {
  await store.replaceText(JOURNAL, `${JSON.stringify(paths)}\n`);
}

/**
 * States what the lake holds, after the last file is in place; writes nothing when it says so already. Returns whether
 * it wrote.
 */
export async function finishReplacing(
  store: LakeStore,
  known: KnownLake,
  stated: Manifest,
  hasBegun: boolean,
): Promise<boolean> {
  const { files, ...others } = stated;
  // Rows that came again unchanged have another stamp, which alone is no reason to write.
  const isSame = !hasBegun && files.every(({ path, content }) => known.entries.get(path)?.content === content);
  const lines = files.map((file) =>
    JSON.stringify(isSame ? { ...file, stamp: known.entries.get(file.path)?.stamp } : file),
  );
  const members = Object.entries(others).map(([name, value]) => `,\n"${name}":${JSON.stringify(value)}`);
  const text = `{"files":[\n${lines.join(',\n')}\n]${members.join('')}}\n`;
  if (text !== known.text) await store.replaceText(MANIFEST, text);
  if (!hasBegun && !known.hasJournal) return text !== known.text;
  await store.remove(JOURNAL);
  await store.settle('');
  return text !== known.text;
}

function parsed<T>(shape: z.ZodType<T>, text: string | null): T | null {
  if (text === null) return null;
  try {
    return shape.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
