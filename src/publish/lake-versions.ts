/**
 * The files of a local lake once more, under names that say their content, for the catalog to read.
 *
 * DuckDB opens a Parquet file twice in a query, for its footer and for its rows, and a file replaced in between is an
 * error or, at worst, rows cut short (measured: an error in 3 of 796 sessions of 100 readers without a pause). A version
 * is never replaced, so every session of the catalog sees one state of the whole lake. It is a hard link, which takes no
 * room until its file is replaced, and stays for sessions that are still open on an older catalog.
 */

import { constants } from 'node:fs';
import { copyFile, link, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { codeOf, makeInnerDirectory, sync, unfinishedPath } from './replacement.ts';

/** Engines pass over names that begin with an underscore. */
export const VERSIONS = '_versions';

/** A notebook left open on Friday still answers on Monday. */
const KEPT_MS = 3 * 86_400_000;

/** A version no catalog reads any more. */
export interface RetiredVersion {
  readonly path: string;
  /** The instant, ISO 8601, it was first found to be one. */
  readonly since: string;
}

/** Where a file's version of some content lies, relative to the lake. */
export function versionPath(path: string, content: string): string {
  return [VERSIONS, dirname(path), `${content}.parquet`].join('/');
}

/**
 * Sees to it that every file has its version; one that was written again gets a new one, whatever was there. Returns how
 * many were made. A power cut can lose some on a file system without a journal; the next publish makes them.
 */
export async function keepVersions(
  root: string,
  mode: number,
  files: readonly { readonly path: string; readonly content: string }[],
  rewritten: { has(path: string): boolean },
): Promise<number> {
  let made = 0;
  const folders = new Set<string>();
  for (const { path, content } of files) {
    const [file, version] = [join(root, path), join(root, versionPath(path, content))];
    if (await isVersion(file, version, rewritten.has(path))) continue;
    for (const folder of foldersTo(root, version)) {
      if (!folders.has(folder)) await makeInnerDirectory(folder, mode);
      folders.add(folder);
    }
    await makeVersion(file, version);
    made += 1;
  }
  return made;
}

async function isVersion(file: string, version: string, isRewritten: boolean): Promise<boolean> {
  const [one, other] = [await stat(file), await stat(version).catch(() => null)];
  if (other === null) return false;
  return one.ino === other.ino || (!isRewritten && one.size === other.size);
}

/** `<root>/_versions`, `<root>/_versions/<table>` and so on down to what the path lies in. */
function foldersTo(root: string, path: string): string[] {
  const steps = dirname(path)
    .slice(root.length + 1)
    .split('/');
  return steps.map((_, index) => join(root, ...steps.slice(0, index + 1)));
}

async function makeVersion(file: string, version: string): Promise<void> {
  const unfinished = unfinishedPath(version);
  await rm(unfinished, { force: true });
  try {
    await link(file, unfinished);
  } catch (error) {
    if (!withoutLinks.has(codeOf(error) ?? '')) throw error;
    await copyFile(file, unfinished, constants.COPYFILE_FICLONE);
    await sync(unfinished);
  }
  await rename(unfinished, version);
}

/** What file systems say that have no hard links, or no more of them. */
const withoutLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS']);

/** What is known of versions no catalog reads: since when, and of which files none is to be kept. */
export interface PastVersions {
  readonly retired: readonly RetiredVersion[];
  readonly dropped: ReadonlySet<string>;
}

/**
 * Removes what was retired long enough ago or dropped, and whatever killed runs left unfinished. Returns what is retired
 * now, by path. `current` are the paths the catalog reads.
 */
export async function retireVersions(
  root: string,
  current: ReadonlySet<string>,
  past: PastVersions,
  nowMs: number,
): Promise<RetiredVersion[]> {
  const since = new Map(past.retired.map((version) => [version.path, version.since]));
  const dropped = new Set([...past.dropped].map((path) => dirname(versionPath(path, ''))));
  const retired: RetiredVersion[] = [];
  for (const path of await versionsIn(root)) {
    if (current.has(path)) continue;
    const found = { path, since: since.get(path) ?? new Date(nowMs).toISOString() };
    const isKept = path.endsWith('.parquet') && !dropped.has(dirname(path));
    if (isKept && nowMs - Date.parse(found.since) < KEPT_MS) {
      retired.push(found);
      continue;
    }
    await rm(join(root, path), { force: true });
    await removeIfEmpty(dirname(join(root, path)));
  }
  return retired.sort((one, other) => (one.path < other.path ? -1 : 1));
}

async function versionsIn(root: string): Promise<string[]> {
  const entries = await readdir(join(root, VERSIONS), { recursive: true, withFileTypes: true }).catch(
    (error: unknown) => {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    },
  );
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
}

async function removeIfEmpty(directory: string): Promise<void> {
  await rmdir(directory).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOTEMPTY') throw error;
  });
}
