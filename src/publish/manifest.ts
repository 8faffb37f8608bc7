/**
 * What a lake holds, as stated in the lake itself: `_manifest.json`.
 *
 * Readers find each file's rows and exact sums there; the next publish finds which content each file was written from.
 * While files are being replaced, `_unfinished.json` lists them: until it is gone nothing is believed of those. So a
 * lake that was killed, emptied or restored from elsewhere is repaired, not trusted. Both names begin with an
 * underscore, which the engines pass over.
 */

import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import { replaceText, syncDirectory } from './replacement.ts';

const MANIFEST = '_manifest.json';
const JOURNAL = '_unfinished.json';

const lakeFile = z.object({
  /** Relative to the lake, with `/`. */
  path: z.string(),
  rows: z.number(),
  /** Per metric of an exact type, the sum as decimal text; null when every value is. */
  sums: z.record(z.string(), z.string().nullable()),
  bytes: z.number(),
  /** Equal for equal rows of equal columns. */
  content: z.string(),
});

const manifest = z.object({
  files: z.array(lakeFile),
  /** The views beside the files. */
  catalog: z.object({ path: z.string(), bytes: z.number(), content: z.string() }),
});

export type LakeFile = z.infer<typeof lakeFile>;
export type Manifest = z.infer<typeof manifest>;

/** What is known of a lake: the manifest's text and its entries but for those being replaced, by path. */
export interface KnownLake {
  readonly text: string | null;
  readonly entries: ReadonlyMap<string, { readonly bytes: number; readonly content: string }>;
}

/** Reads what a lake says of itself; a manifest or journal that cannot be understood says nothing. */
export async function readManifest(root: string): Promise<KnownLake> {
  const text = await readIfThere(join(root, MANIFEST));
  const journal = await readIfThere(join(root, JOURNAL));
  const stated = parsed(manifest, text);
  const unfinished = journal === null ? [] : parsed(z.array(z.string()), journal);
  if (stated === null || unfinished === null) return { text, entries: new Map() };
  const entries = new Map([...stated.files, stated.catalog].map((entry) => [entry.path, entry]));
  for (const path of unfinished) entries.delete(path);
  return { text, entries };
}

/** Declares files unknown, before the first of them is replaced. */
export async function beginReplacing(root: string, paths: readonly string[], mode: number): Promise<void> {
  await replaceText(join(root, JOURNAL), `${JSON.stringify(paths)}\n`, mode);
}

/** States what the lake holds, after the last file is in place; writes nothing when it says so already. */
export async function finishReplacing(root: string, known: KnownLake, stated: Manifest, mode: number): Promise<void> {
  const files = stated.files.map((file) => JSON.stringify(file)).join(',\n');
  const text = `{"files":[\n${files}\n],\n"catalog":${JSON.stringify(stated.catalog)}}\n`;
  if (text !== known.text) await replaceText(join(root, MANIFEST), text, mode);
  await rm(join(root, JOURNAL), { force: true });
  await syncDirectory(root);
}

async function readIfThere(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  });
}

function parsed<T>(shape: z.ZodType<T>, text: string | null): T | null {
  if (text === null) return null;
  try {
    return shape.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
