/**
 * Checks, without writing, whether a run may write to each of its places, and what is there.
 *
 * `USAGE_INVALID`: a path is wrong by itself or together with another. `STORAGE_FAILED`: what is there is in the way.
 * `WAREHOUSE_FOREIGN`: it is another warehouse's or program's. A copy is judged by its own content, not by a note about it, so
 * that the verdict stays right when files are moved by hand.
 */

import { constants, existsSync } from 'node:fs';
import { access, lstat, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import type { Config, ObjectStore, PublishTarget } from '../config/config.ts';
import { asFailure, Failure, isOfStorage, storageFailed, textOf } from '../errors.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { CATALOG } from './delta/catalog.ts';
import { listTables, ownerIn, readTable } from './delta/commit.ts';
import { FINALITY } from './lake-table.ts';
import { type LakeTarget, withStore } from './open-store.ts';
import {
  foreignCopy,
  publisherOf,
  readOwner,
  withDatabase,
  type Publisher,
} from './other-database.ts';
import { MANIFEST, plainOwner } from './plain.ts';
import { codeOf, ifThere, unfinishedPath } from './replacement.ts';

type Destinations = Pick<Config, 'warehouse' | 'publish'>;

/** A destination with all paths that are written for it, links resolved: files, or folders with all their content. */
interface Destination {
  readonly what: 'warehouse' | PublishTarget['kind'];
  readonly path: string;
  readonly isInBucket: boolean;
  readonly written: readonly string[];
}

/** Endings written beside each: DuckDB's log and spill, spool, archive, drafts of copies, the note of a run not started. */
const beside: Readonly<Record<Destination['what'], readonly string[]>> = {
  warehouse: ['.wal', '.tmp', '.spool', '.archive', '.drafts', '.unstarted'],
  duckdb: ['.wal', '.tmp', unfinishedPath('')],
  delta: [],
  parquet: [],
};

async function destinationsOf({ warehouse, publish }: Destinations): Promise<Destination[]> {
  const of = async (
    what: Destination['what'],
    path: string,
    store?: ObjectStore,
  ): Promise<Destination> => {
    if (store === undefined) {
      const real = await resolved(path);
      return {
        what,
        path,
        isInBucket: false,
        written: ['', ...beside[what]].map((ending) => `${real}${ending}`),
      };
    }
    // A bucket's name is unique across the regions of a store, but not across stores.
    const place = join(`s3://${store.endpoint ?? ''}`, store.bucket, store.prefix);
    return { what, path, isInBucket: true, written: [place] };
  };
  const copies = publish.map(async (target) =>
    of(target.kind, target.path, 'store' in target ? target.store : undefined),
  );
  return Promise.all([of('warehouse', warehouse), ...copies]);
}

/** The path without links, as far as it exists. */
async function resolved(path: string): Promise<string> {
  const parent = dirname(path);
  return realpath(path).catch(async () =>
    parent === path ? path : join(await resolved(parent), basename(path)),
  );
}

/** Failures for the warehouse and copies that cannot be written, first those that only another path solves; empty if none. */
export async function unwritablePlaces(destinations: Destinations): Promise<Failure[]> {
  const places = await destinationsOf(destinations);
  const overlaps = places.flatMap((place, index) =>
    places.slice(0, index).flatMap((other) => overlap(other, place)),
  );
  const obstacles = await Promise.all(
    places.filter(({ isInBucket }) => !isInBucket).map(whyNotWritable),
  );
  return [...places.flatMap(misnamed), ...overlaps, ...obstacles.flat()];
}

/** Throws the first of `unwritablePlaces`, with the messages of all. */
export async function assertWritable(destinations: Destinations): Promise<void> {
  refuse(await unwritablePlaces(destinations));
}

function refuse(failures: readonly Failure[]): void {
  const [first, second] = failures;
  if (first === undefined) return;
  if (second === undefined) throw first;
  throw new Failure(first.code, failures.map(({ message }) => message).join('; '), {
    facts: { places: failures.length },
    hint: first.hint ?? '',
    cause: first,
  });
}

const isDatabase = (what: Destination['what']): boolean =>
  what === 'warehouse' || what === 'duckdb';

/** Failures for misleading paths: DuckDB names a database after its file and stops at a `?`; engines read `a=b` as a column. */
function misnamed({ what, path, written: [place = path] }: Destination): Failure[] {
  const [name = ''] = basename(path).replace(/^\.+/, '').split(/[.?]/);
  const folder = place.split('/').find((step) => /^[^=]+=/.test(step));
  const wrong: string[] = [];
  if (isDatabase(what) && path.includes('?'))
    wrong.push('contains a ?, after which DuckDB looks for no file');
  if (isDatabase(what) && /^ripen(_internal)?$/i.test(name))
    wrong.push(`makes ${name} the name of the database, which is that of a schema in it`);
  if (!isDatabase(what) && folder !== undefined)
    wrong.push(`holds the folder ${folder}, which engines take for a column of every table`);
  return wrong.map((words) => {
    const message = `The ${what} ${path} could not be read by its users: its path ${words}.`;
    return new Failure('USAGE_INVALID', message, {
      facts: { path },
      hint: `Give the ${what} another path.`,
    });
  });
}

/** A failure if one of two places equals, or is inside, what is written for the other. */
function overlap(one: Destination, other: Destination): Failure[] {
  const pairs = one.written.flatMap((path) =>
    other.written.flatMap((around) => [[path, around] as const, [around, path] as const]),
  );
  const [path, around] = pairs.find(([inner, outer]) => isWithin(inner, outer)) ?? [];
  if (path === undefined || around === undefined) return [];
  const where = path === around ? `${path} was written for both` : `${path} lay inside ${around}`;
  const message = `The ${one.what} ${one.path} and the ${other.what} ${other.path} overlapped: ${where}.`;
  const hint = 'Give each a path of its own that does not overlap with the others.';
  return [new Failure('USAGE_INVALID', message, { facts: { path, around }, hint })];
}

const isWithin = (path: string, around: string): boolean =>
  path === around || path.startsWith(join(around, '/'));

/** Failures for a place on disk that cannot be written: a link, a folder that takes no files, or what is at the file's path. */
async function whyNotWritable({ what, path }: Destination): Promise<Failure[]> {
  const stats = await lstat(path).catch(() => null);
  if (stats?.isSymbolicLink() === true && what !== 'warehouse') {
    const message = `The ${what} ${path} was a symbolic link to ${await readlink(path)}.`;
    const hint = 'Publish to the path it leads to, or put a file or directory in its place.';
    return [new Failure('STORAGE_FAILED', message, { facts: { path }, hint })];
  }
  // A warehouse that is a link to nowhere is refused when it is opened.
  let existing = isDatabase(what) ? dirname(await resolved(path)) : path;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  const reason = await obstacleIn(existing, isDatabase(what) ? path : null, what);
  if (reason === null) return [];
  const message = `The ${what} ${path} could not be written: ${existing} (${reason})`;
  const hint = `Give this user the right to write there, or choose another path for the ${what}.`;
  return [new Failure('STORAGE_FAILED', message, { facts: { path, existing, reason }, hint })];
}

/** Why a file cannot be made in a directory or replaced there, in a few words; null if it can. */
async function obstacleIn(
  directory: string,
  file: string | null,
  what: Destination['what'],
): Promise<string | null> {
  try {
    if (!(await stat(directory)).isDirectory()) return 'not a directory';
    await access(directory, constants.W_OK | constants.X_OK);
    const found = file === null ? null : await ifThere(stat(file));
    if (found?.isDirectory() === true) return 'a directory in the place of the file';
    if (found?.isFile() === false) return 'a pipe, a device or a socket in the place of the file';
    // Another file is renamed over a snapshot, so its own rights do not matter.
    if (file !== null && found !== null && what === 'warehouse') await access(file, constants.W_OK);
    return null;
  } catch (error) {
    return codeOf(error) ?? String(error);
  }
}

/**
 * Throws `USAGE_INVALID` if an output that the user named is a file that ripen itself reads or writes: the configuration and
 * the files it names, the warehouse and the files beside it, a copy.
 */
export async function assertOutput(
  config: Destinations & Pick<Config, 'file' | 'service'>,
  output: string,
): Promise<void> {
  const path = await resolved(output);
  const { file, service } = config;
  const { tokenFile = null, caFile = null } = service.kind === 'http' ? service : {};
  const owned: { what: string; path: string; written: readonly string[] }[] =
    await destinationsOf(config);
  const read = { configuration: file, 'token file': tokenFile, 'certificate authority': caFile };
  for (const [what, named] of Object.entries(read)) {
    if (named) owned.push({ what, path: named, written: [await resolved(named)] });
  }
  const found = owned.find(({ written }) => written.some((each) => isWithin(path, each)));
  if (found === undefined) return;
  throw new Failure(
    'USAGE_INVALID',
    `The output ${path} was not written: it belongs to the ${found.what} ${found.path}.`,
    {
      facts: { output: path },
      hint: 'Name a file that ripen does not read or write itself.',
    },
  );
}

/** Throws, with all messages, for copies of other warehouses and for `USAGE_INVALID`; publishing reports the other failures. */
export async function assertOwnCopies(
  { publish }: Pick<Config, 'publish'>,
  warehouse: Warehouse,
  signal: AbortSignal,
): Promise<void> {
  const own = await publisherOf(warehouse);
  const failures: Failure[] = [];
  for (const target of publish) {
    const failure = await ownerOf(target, own, signal).then(
      (owner) => foreignCopy(target.path, owner, own),
      (error: unknown) => {
        signal.throwIfAborted();
        return error instanceof Failure && error.code === 'USAGE_INVALID' ? error : null;
      },
    );
    if (failure !== null) failures.push(failure);
  }
  refuse(failures);
}

/**
 * Throws unless a target is free or this warehouse's: `WAREHOUSE_FOREIGN` for another warehouse or its copy, another program's
 * tables, a file that is no DuckDB database, or a write-ahead log beside it, which DuckDB would replay into the new file;
 * `USAGE_INVALID` for a lake of the other kind; `STORAGE_FAILED` if the target cannot be read.
 */
export async function assertOwnTarget(
  target: PublishTarget,
  own: Publisher,
  signal: AbortSignal,
): Promise<void> {
  try {
    const other = foreignCopy(target.path, await ownerOf(target, own, signal), own);
    if (other !== null) throw other;
  } catch (error) {
    signal.throwIfAborted();
    throw asPublishFailure(target, error);
  }
}

/** The id of the warehouse that a target is a copy of; null if none. Throws as `readOwner` and `ownerOfLake` do. */
async function ownerOf(
  target: PublishTarget,
  own: Publisher,
  signal: AbortSignal,
): Promise<string | null> {
  const { kind, path } = target;
  if (kind === 'duckdb') return readOwner(path, own);
  const owner = await ownerOfLake(target, signal);
  const isOther = owner !== null && owner !== own.id;
  if (kind === 'delta' && target.store === undefined && !isOther)
    await readOwner(join(path, CATALOG), own);
  return owner;
}

/** Throws `USAGE_INVALID` for a lake of the other kind: readers would read both. */
async function ownerOfLake(target: LakeTarget, signal: AbortSignal): Promise<string | null> {
  return withStore(target, null, signal, async (store) => {
    const storedFiles = (await listTables(store, FINALITY)).get(FINALITY);
    if (target.kind === 'parquet') {
      if ([...(storedFiles?.keys() ?? [])].some((path) => path.startsWith('_delta_log/')))
        throw otherKind(target);
      return plainOwner(store);
    }
    if ((await store.read(MANIFEST)) !== null) throw otherKind(target);
    const stored = await withDatabase(':memory:', 'READ_WRITE', async (database) =>
      readTable(store, database, FINALITY, storedFiles),
    );
    return ownerIn(stored);
  });
}

function otherKind({ kind, path }: LakeTarget): Failure {
  const [wanted, found] =
    kind === 'parquet' ? ['plain files', 'Delta tables'] : ['Delta tables', 'plain files'];
  const message = `The folder ${path}, meant for ${wanted}, held ${found} of an earlier configuration.`;
  return new Failure('USAGE_INVALID', message, {
    facts: { path },
    hint: 'Publish to a folder of its own, or remove this one.',
  });
}

/** The failure of publishing: `STORAGE_FAILED` for errors of the disk or of DuckDB's memory, else as `asFailure` has it. */
export function asPublishFailure({ path }: PublishTarget, error: unknown): Failure {
  const isOfPlace = isOfStorage(error) || textOf(error).startsWith('Out of Memory Error');
  if (error instanceof Failure || !isOfPlace) return asFailure(error);
  return storageFailed(`Publishing to ${path} failed`, error, {
    facts: { target: path },
    hint: 'Check free space and permissions of the target; the next run completes what is missing.',
  });
}
