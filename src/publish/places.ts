/**
 * Checks, without writing, whether a run may write to each of its places. A copy is judged by its own content, so that the
 * verdict stays right when files are moved by hand.
 */

import { constants, existsSync } from 'node:fs';
import { access, lstat, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import type { Config, PublishTarget } from '../config/config.ts';
import { asFailure, Failure, isOfStorage, storageFailed, textOf } from '../errors.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { CATALOG } from './delta/catalog.ts';
import { listTables, ownerIn, readTable } from './delta/commit.ts';
import { FINALITY } from './lake-table.ts';
import { type LakeTarget, withStore } from './open-store.ts';
import { publisherOf, readOwner, withDatabase, type Publisher } from './other-database.ts';
import { MANIFEST, readManifest } from './plain.ts';
import { codeOf, ifThere, unfinishedPath } from './replacement.ts';

type Destinations = Pick<Config, 'warehouse' | 'publish'>;

/** A destination with all files and folders that are written for it, links resolved. */
interface Destination {
  readonly what: 'warehouse' | PublishTarget['kind'];
  readonly path: string;
  readonly isInBucket: boolean;
  readonly written: readonly string[];
}

/** Written beside each: DuckDB's log and spill, spool, archive, drafts of copies, the note of a run not started. */
const beside: Readonly<Record<Destination['what'], readonly string[]>> = {
  warehouse: ['.wal', '.tmp', '.spool', '.archive', '.drafts', '.unstarted'],
  duckdb: ['.wal', '.tmp', unfinishedPath('')],
  delta: [],
  parquet: [],
};

async function destinationsOf({ warehouse, publish }: Destinations): Promise<Destination[]> {
  const places = [{ kind: 'warehouse', path: warehouse } as const, ...publish];
  return Promise.all(
    places.map(async (target) => {
      const { kind: what, path } = target;
      if ('store' in target && target.store !== undefined) {
        const { endpoint, bucket, prefix } = target.store;
        // A bucket's name is unique across the regions of a store, but not across stores.
        const place = join(`s3://${endpoint ?? ''}`, bucket, prefix);
        return { what, path, isInBucket: true, written: [place] };
      }
      const real = await resolved(path);
      const written = ['', ...beside[what]].map((ending) => `${real}${ending}`);
      return { what, path, isInBucket: false, written };
    }),
  );
}

async function resolved(path: string): Promise<string> {
  const parent = dirname(path);
  return realpath(path).catch(async () =>
    parent === path ? path : join(await resolved(parent), basename(path)),
  );
}

/** Returns failures for the warehouse and copies, first those that only another path solves. */
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

/** Throws the first of `unwritablePlaces` with the messages of all. */
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

/**
 * Returns failures for misleading paths: DuckDB names a database after its file and stops at a `?`. Engines read `a=b` as a
 * column.
 */
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

/** Returns a failure if one of two places equals, or is inside, what is written for the other. */
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

/** Returns failures for a link, a folder that takes no files, or anything but a file at the path of a file. */
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
  let reason: string | null = null;
  try {
    const isFolder = (await stat(existing)).isDirectory();
    if (isFolder) await access(existing, constants.W_OK | constants.X_OK);
    const file = isFolder && isDatabase(what) ? await ifThere(stat(path)) : null;
    if (!isFolder) reason = 'not a directory';
    else if (file?.isDirectory() === true) reason = 'a directory in the place of the file';
    else if (file?.isFile() === false)
      reason = 'a pipe, a device or a socket in the place of the file';
    // Another file is renamed over a snapshot, so its own rights do not matter.
    else if (file !== null && what === 'warehouse') await access(path, constants.W_OK);
  } catch (error) {
    reason = codeOf(error) ?? String(error);
  }
  if (reason === null) return [];
  const message = `The ${what} ${path} could not be written: ${existing} (${reason})`;
  const hint = `Give this user the right to write there, or choose another path for the ${what}.`;
  return [new Failure('STORAGE_FAILED', message, { facts: { path, existing, reason }, hint })];
}

/** Throws `USAGE_INVALID` if the output is a file that ripen reads or writes itself. */
export async function assertOutput(
  config: Destinations & Pick<Config, 'file' | 'service'>,
  output: string,
): Promise<void> {
  const path = await resolved(output);
  const { file, service } = config;
  const { tokenFile = null, caFile = null } = service.kind === 'http' ? service : {};
  const files: { what: string; path: string; written: readonly string[] }[] =
    await destinationsOf(config);
  const read = { configuration: file, 'token file': tokenFile, 'certificate authority': caFile };
  for (const [what, named] of Object.entries(read))
    if (named) files.push({ what, path: named, written: [await resolved(named)] });
  const place = files.find(({ written }) => written.some((around) => isWithin(path, around)));
  if (place === undefined) return;
  const message = `The output ${path} was not written: it belongs to the ${place.what} ${place.path}.`;
  throw new Failure('USAGE_INVALID', message, {
    facts: { output: path },
    hint: 'Name a file that ripen does not read or write itself.',
  });
}

/** Throws, with all messages, for copies of other warehouses and for `USAGE_INVALID`. Publishing reports the other failures. */
export async function assertOwnCopies(
  { publish }: Pick<Config, 'publish'>,
  warehouse: Warehouse,
  signal: AbortSignal,
): Promise<void> {
  const own = await publisherOf(warehouse);
  const failures: Failure[] = [];
  for (const target of publish) {
    try {
      const failure = await foreignOwner(target, own, signal);
      if (failure !== null) failures.push(failure);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Failure && error.code === 'USAGE_INVALID') failures.push(error);
    }
  }
  refuse(failures);
}

/**
 * Throws unless a target is free or this warehouse's: `WAREHOUSE_FOREIGN` as `readOwner` does, `USAGE_INVALID` for a lake of
 * the other kind, `STORAGE_FAILED` if the target cannot be read.
 */
export async function assertOwnTarget(
  target: PublishTarget,
  own: Publisher,
  signal: AbortSignal,
): Promise<void> {
  try {
    const foreign = await foreignOwner(target, own, signal);
    if (foreign !== null) throw foreign;
  } catch (error) {
    signal.throwIfAborted();
    throw asPublishFailure(target, error);
  }
}

/** Returns the failure for a copy of another warehouse. Throws as `readOwner` and `ownerOfLake` do. */
async function foreignOwner(
  target: PublishTarget,
  { path: warehouse, id }: Publisher,
  signal: AbortSignal,
): Promise<Failure | null> {
  const { kind, path } = target;
  const own = { path: warehouse, id };
  const owner = kind === 'duckdb' ? await readOwner(path, own) : await ownerOfLake(target, signal);
  if (owner !== null && owner !== id) {
    const message = `The publish target ${path} was a copy of the warehouse ${owner}, not of ${warehouse}, which is ${id ?? 'new'}.`;
    return new Failure('WAREHOUSE_FOREIGN', message, {
      facts: { target: path, found: owner, expected: id },
      hint: 'Publish to a path of its own. If its warehouse was lost, copy the published snapshot to its place, or move the copy away to start again.',
    });
  }
  if (kind === 'delta' && target.store === undefined) await readOwner(join(path, CATALOG), own);
  return null;
}

/** Throws `USAGE_INVALID` for a lake of the other kind: readers would read both. */
async function ownerOfLake(target: LakeTarget, signal: AbortSignal): Promise<string | null> {
  return withStore(target, null, signal, async (store) => {
    const storedFiles = (await listTables(store, FINALITY)).get(FINALITY);
    const isPlain = target.kind === 'parquet';
    const isOfOtherKind = isPlain
      ? [...(storedFiles?.keys() ?? [])].some((path) => path.startsWith('_delta_log/'))
      : (await store.read(MANIFEST)) !== null;
    if (isOfOtherKind) {
      const kinds = ['plain files', 'Delta tables'];
      const [wanted, stored] = isPlain ? kinds : kinds.toReversed();
      const message = `The folder ${target.path}, meant for ${wanted}, held ${stored} of an earlier configuration.`;
      throw new Failure('USAGE_INVALID', message, {
        facts: { path: target.path },
        hint: 'Publish to a folder of its own, or remove this one.',
      });
    }
    if (isPlain) return (await readManifest(store))?.warehouse ?? null;
    return withDatabase(':memory:', 'READ_WRITE', async (database) =>
      ownerIn(await readTable(store, database, FINALITY, storedFiles)),
    );
  });
}

/** Returns `STORAGE_FAILED` for errors of the disk or of DuckDB's memory, else the error as `asFailure` has it. */
export function asPublishFailure({ path }: PublishTarget, error: unknown): Failure {
  const isOfPlace = isOfStorage(error) || textOf(error).startsWith('Out of Memory Error');
  if (error instanceof Failure || !isOfPlace) return asFailure(error);
  return storageFailed(`Publishing to ${path} failed`, error, {
    facts: { target: path },
    hint: 'Check free space and permissions of the target; the next run completes what is missing.',
  });
}
