/**
 * Replaces files so that only whole ones are ever seen: one is built under an unfinished name beside its target, made durable,
 * then renamed. The name derives from the target, so that the next run removes what a killed run left. Outputs that a user names
 * and drafts of tables have unique names, as several processes may write to one target.
 */

import { randomUUID } from 'node:crypto';
import { chmodSync, statSync } from 'node:fs';
import { realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import { Failure, systemText } from '../../errors.ts';
import { makeDirectories, makeDurable } from '../../warehouse/directories.ts';

/** Must not end in `.parquet`: engines match such names, even hidden ones (measured). */
export const UNFINISHED = '.ripen-unfinished';

export async function makeReady(unfinished: string, mode: number): Promise<void> {
  chmodSync(unfinished, mode);
  await makeDurable(unfinished);
}

export async function putInPlace(target: string, mode: number, unfinished: string): Promise<void> {
  await makeReady(unfinished, mode);
  await rename(unfinished, target);
  await makeDurable(dirname(target));
}

export async function replaceFile<T>(
  target: string,
  mode: number,
  build: (unfinished: string) => Promise<T>,
  unfinished = `${target}${UNFINISHED}`,
): Promise<T> {
  const remove = async () => {
    for (const ending of ['', '.wal', '.tmp'])
      await rm(`${unfinished}${ending}`, { recursive: true, force: true });
  };
  await remove();
  try {
    const built = await build(unfinished);
    await putInPlace(target, mode, unfinished);
    return built;
  } finally {
    await remove();
  }
}

/** As `replaceFile`, for a target that other processes may write to at once: the last one wins. */
export const replaceShared: typeof replaceFile = async (target, mode, build) =>
  replaceFile(target, mode, build, `${target}.${randomUUID().slice(0, 8)}${UNFINISHED}`);

/** Returns where to write an output that a user named: a file without its links. Throws `STORAGE_FAILED` without its folder. */
export async function outputAt(path: string) {
  const stats = ifThere(() => statSync(path));
  if (stats !== null) {
    const isStream = !stats.isFile() && !stats.isDirectory();
    return { path: isStream ? path : await realpath(path), isStream };
  }
  const folder = dirname(path);
  if (ifThere(() => statSync(folder)) !== null) return { path, isStream: false };
  const message = `The output ${path} was not written: there was no folder ${folder}.`;
  throw new Failure('STORAGE_FAILED', message, {
    facts: { output: path, folder },
    hint: `Make the folder ${folder}, or name a file elsewhere.`,
  });
}

export async function writeOutput(named: string, text: string, mode: number): Promise<void> {
  const { path, isStream } = await outputAt(named);
  if (isStream) return writeFile(path, text);
  return replaceShared(path, mode, async (unfinished) => writeFile(unfinished, text, { mode }));
}

export const codeOf = (error: unknown): string => systemText(error, 'code');

export function ifThere<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Makes a directory and its missing parents. Who may read files of this mode may enter them. */
export async function makeDirectory(path: string, fileMode: number): Promise<void> {
  const first = makeDirectories(path);
  if (first === null) return;
  // Reading a file needs search permission on its directory; the owner needs all permissions.
  const mode = 0o700 | fileMode | ((fileMode & 0o444) >> 2);
  for (let made = resolve(path); made.length >= first.length; made = dirname(made))
    chmodSync(made, mode);
}
