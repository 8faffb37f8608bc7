/**
 * Checks, without writing, whether a run may write to each of its places. A copy is judged by its own content, so that the
 * verdict stays right when files are moved by hand.
 */

import { constants, existsSync } from 'node:fs';
import { access, lstat, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import type { Config, PublishTarget } from '../../config/config.ts';
import { asFailure, Failure, isOfStorage, storageFailed, textOf } from '../../errors.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { copyAt } from '../copies.ts';
import type { CopyOrigin, Publisher } from '../target.ts';
import { publisherOf } from './database.ts';
import { codeOf, ifThere } from './replacement.ts';

type Destinations = Pick<Config, 'warehouse' | 'publish'>;

/** A destination with all files and folders that are written for it, links resolved. */
interface Destination {
  readonly what: 'warehouse' | PublishTarget['kind'];
  readonly path: string;
  readonly isInBucket: boolean;
  readonly written: readonly string[];
}

/**
 * Written beside it: DuckDB's log and spill, spool, archive, drafts of copies, the note of a run not started, the copy for audits.
 */
const besideWarehouse = [
  '.wal',
  '.tmp',
  '.spool',
  '.archive',
  '.drafts',
  '.unstarted',
  '.audit',
  '.audit.wal',
];

async function destinationsOf({ warehouse, publish }: Destinations): Promise<Destination[]> {
  const places = publish.map((target) => ({ ...target, beside: copyAt(target).beside }));
  return Promise.all(
    [{ kind: 'warehouse' as const, path: warehouse, beside: besideWarehouse }, ...places].map(
      async (target) => {
        const { kind: what, path, beside } = target;
        if ('store' in target && target.store !== undefined) {
          const { endpoint, bucket, prefix } = target.store;
          // A bucket's name is unique across the regions of a store, but not across stores.
          const place = join(`s3://${endpoint ?? ''}`, bucket, prefix);
          return { what, path, isInBucket: true, written: [place] };
        }
        const real = await resolved(path);
        const written = ['', ...beside].map((ending) => `${real}${ending}`);
        return { what, path, isInBucket: false, written };
      },
    ),
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
  const own = await publisherOf(warehouse, warehouse.path);
  const failures: Failure[] = [];
  for (const target of publish) {
    try {
      const failure = foreignCopy(target, own, await copyAt(target).owner(own, signal));
      if (failure !== null) failures.push(failure);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Failure && error.code === 'USAGE_INVALID') failures.push(error);
    }
  }
  refuse(failures);
}

/**
 * Returns what a target states of itself; null if it is free. Throws `WAREHOUSE_FOREIGN` for the copy of another warehouse, and
 * as `Copy.owner` does.
 */
export async function assertOwnTarget(
  target: PublishTarget,
  own: Publisher,
  signal: AbortSignal,
): Promise<CopyOrigin | null> {
  try {
    const origin = await copyAt(target).owner(own, signal);
    const failure = foreignCopy(target, own, origin);
    if (failure !== null) throw failure;
    return origin;
  } catch (error) {
    signal.throwIfAborted();
    throw asPublishFailure(target, error);
  }
}

function foreignCopy(
  { path }: PublishTarget,
  own: Publisher,
  origin: CopyOrigin | null,
): Failure | null {
  if (origin === null || origin.warehouse === own.id) return null;
  const message = `The publish target ${path} was a copy of the warehouse ${origin.warehouse}, not of ${own.path}, which is ${own.id ?? 'new'}.`;
  return new Failure('WAREHOUSE_FOREIGN', message, {
    facts: { target: path, found: origin.warehouse, expected: own.id },
    hint: 'Publish to a path of its own. If its warehouse was lost, copy the published snapshot to its place, or move the copy away to start again.',
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
