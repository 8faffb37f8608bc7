/** The places on disk a run would write to, looked at without writing, so that what is wrong is known before anything is asked. */

import { constants } from 'node:fs';
import { access, lstat, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';

import type { Config, PublishTarget } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { copiesOfOthers, identityOf } from '../publish/identity.ts';
import { otherKindIn } from '../publish/other-kind.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { overlappingPlaces } from '../publish/claims.ts';

type Destinations = Pick<Config, 'warehouse' | 'publish'>;

interface Place {
  readonly what: 'warehouse' | PublishTarget['kind'];
  readonly path: string;
  /** Where its files are made; need not exist yet. */
  readonly directory: string;
}

/**
 * A failure for the warehouse and for each copy on disk that could not be written; empty when all could. `USAGE_INVALID`
 * where only another path helps, then `STORAGE_FAILED` for what lies there.
 */
export async function unwritablePlaces({ warehouse, publish }: Destinations): Promise<Failure[]> {
  const copies = publish.filter(({ path }) => !path.includes('://'));
  const places: readonly Place[] = [
    { what: 'warehouse', path: warehouse, directory: dirname(warehouse) },
    ...copies.map(({ kind, path }) => ({ what: kind, path, directory: kind === 'duckdb' ? dirname(path) : path })),
  ];
  const misnamed = places.flatMap(misnaming);
  const overlapping = await overlappingPlaces({ warehouse, publish });
  return [...misnamed, ...overlapping, ...(await Promise.all(places.map(failuresAt))).flat()];
}

/** Throws the gravest of `unwritablePlaces`, with the words of all. */
export async function refuseUnwritablePlaces(destinations: Destinations): Promise<void> {
  refuse(await unwritablePlaces(destinations));
}

/** Throws `WAREHOUSE_FOREIGN`, naming every target that is another warehouse or a copy of one. */
export async function refuseCopiesOfOthers(
  { publish }: Pick<Config, 'publish'>,
  warehouse: Warehouse,
  signal: AbortSignal,
): Promise<void> {
  refuse(await copiesOfOthers(publish, await identityOf(warehouse), { mayCopy: true, signal }));
}

function refuse(failures: readonly Failure[]): void {
  const [first] = failures;
  if (first === undefined) return;
  if (failures.length === 1) throw first;
  throw new Failure(first.code, failures.map(({ message }) => message).join('; '), {
    facts: { places: failures.length },
    hint: first.hint ?? '',
    cause: first,
  });
}

/** DuckDB calls a database after its file, and takes what follows a `?` for something else than a path. */
function misnaming({ what, path }: Place): Failure[] {
  if (what === 'delta' || what === 'parquet') return [];
  const [name = ''] = basename(path).replace(/^\.+/, '').split(/[.?]/);
  const wrong = path.includes('?')
    ? 'holds a ?, behind which DuckDB looks for no file'
    : `makes ripen the name of the database, which is that of a schema in it`;
  if (!path.includes('?') && name.toLowerCase() !== 'ripen') return [];
  return [
    new Failure('USAGE_INVALID', `The ${what} ${path} could not be read by its users: its path ${wrong}.`, {
      facts: { path },
      hint: `Give the ${what} another path.`,
    }),
  ];
}

async function failuresAt({ what, path, directory }: Place): Promise<Failure[]> {
  const otherKind = await otherKindIn(what, path);
  if (otherKind !== null) return [otherKind];
  if (what !== 'warehouse' && (await isLink(path))) return [linked(what, path, await realpath(path).catch(() => null))];
  const target = what === 'warehouse' ? await missingTarget(path) : null;
  const wanted = target === null ? directory : dirname(target);
  const existing = await nearestExisting(wanted);
  if (target !== null && existing !== wanted) return [leadingNowhere(path, target)];
  const reason =
    (await obstacleInDirectory(existing)) ??
    (what === 'warehouse' || what === 'duckdb' ? await obstacleInFile(path, what) : null);
  if (reason === null) return [];
  return [
    new Failure('STORAGE_FAILED', `The ${what} ${path} could not be written: ${existing} (${reason})`, {
      facts: { path, existing, reason },
      hint: `Give this user the right to write there, or choose another path for the ${what}.`,
    }),
  ];
}

async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isSymbolicLink(),
    () => false,
  );
}

/** A snapshot would take the link's place and leave what it leads to; a lake would be in two places once it is turned. */
function linked(what: string, path: string, to: string | null): Failure {
  return new Failure('STORAGE_FAILED', `The ${what} ${path} was a symbolic link${to === null ? '' : ` to ${to}`}.`, {
    facts: { path, to },
    hint: 'Publish to the path it leads to, or put a file or directory in its place.',
  });
}

/** Where the file is to be made that a symbolic link leads to and that is not there; null for any other path. */
async function missingTarget(path: string): Promise<string | null> {
  // Of a link to itself another error is told.
  const isThere = await realpath(path).then(
    () => true,
    (error: unknown) => codeOf(error) !== 'ENOENT',
  );
  return isThere || !(await isLink(path)) ? null : linkEnd(path);
}

const linkEnd = async (path: string): Promise<string> =>
  (await isLink(path)) ? linkEnd(resolve(dirname(path), await readlink(path))) : path;

function leadingNowhere(path: string, target: string): Failure {
  const message = `The warehouse ${path} could not be written: it is a symbolic link to ${target}, whose folder is not there.`;
  return new Failure('STORAGE_FAILED', message, {
    facts: { path, to: target },
    hint: 'Mount the disk or make the folder it leads to, or give `warehouse` another path.',
  });
}

/** The path itself, or the nearest above it that exists. */
async function nearestExisting(path: string): Promise<string> {
  try {
    await access(path, constants.F_OK);
    return path;
  } catch {
    const above = dirname(path);
    return above === path ? path : nearestExisting(above);
  }
}

/** Why files could not be made in a directory, in a word; null where they could. */
export async function obstacleInDirectory(path: string): Promise<string | null> {
  try {
    if (!(await stat(path)).isDirectory()) return 'not a directory';
    await access(path, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return codeOf(error);
  }
}

/** Of a file that is there: another is renamed over a snapshot, so its own rights do not matter. */
async function obstacleInFile(path: string, what: 'warehouse' | 'duckdb'): Promise<string | null> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) return 'a directory in the place of the file';
    if (!found.isFile()) return 'a pipe, a device or a socket in the place of the file';
    if (what === 'warehouse') await access(path, constants.W_OK);
    return null;
  } catch (error) {
    const code = codeOf(error);
    return code === 'ENOENT' ? null : code;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
