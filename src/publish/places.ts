/**
 * May I write here? Every place a run would write to, judged without writing, before the first request.
 *
 * What is wrong with a path by itself, or with two together, is `USAGE_INVALID`; what lies there `STORAGE_FAILED`; what is another
 * warehouse's `WAREHOUSE_FOREIGN`.
 */

import { constants } from 'node:fs';
import { access, lstat, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

import type { Config, ObjectStore, PublishTarget } from '../config/config.ts';
import { Failure } from '../errors.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { identityOf } from './identity.ts';
import { foreignCopies, ofOtherKind, signOfOtherKind } from './occupants.ts';
import { codeOf, unfinishedPath } from './replacement.ts';

type Destinations = Pick<Config, 'warehouse' | 'publish'>;

/** A destination with all that is written for it, links resolved: files, or folders with what they hold. */
interface Place {
  readonly what: 'warehouse' | PublishTarget['kind'];
  readonly path: string;
  readonly isInBucket: boolean;
  readonly written: readonly string[];
}

/** What lies beside a warehouse and is its own: DuckDB's log and spill, raw answers, the archive, drafts of copies, the note of a run that did not start. */
const besideWarehouse = ['.wal', '.tmp', '.spool', '.archive', '.drafts', '.unstarted'];
/** What DuckDB and publishing put beside a snapshot. */
const besideSnapshot = ['.wal', '.tmp', unfinishedPath(''), unfinishedPath('.compact')];

async function placesOf({ warehouse, publish }: Destinations): Promise<Place[]> {
  const beside = async (path: string, endings: readonly string[]): Promise<string[]> => {
    const real = await resolved(path);
    return ['', ...endings].map((ending) => `${real}${ending}`);
  };
  const copies = publish.map(async (target): Promise<Place> => {
    const { kind, path } = target;
    const store = kind === 'duckdb' ? undefined : target.store;
    if (store !== undefined) return { what: kind, path, isInBucket: true, written: [placeIn(store)] };
    return {
      what: kind,
      path,
      isInBucket: false,
      written: await beside(path, kind === 'duckdb' ? besideSnapshot : []),
    };
  });
  const written = await beside(warehouse, besideWarehouse);
  return [{ what: 'warehouse', path: warehouse, isInBucket: false, written }, ...(await Promise.all(copies))];
}

/** A name of a bucket is one in every region, but each store has its own. */
const placeIn = ({ endpoint, bucket, prefix }: ObjectStore): string => join(`s3://${endpoint ?? ''}`, bucket, prefix);

/** The path without links, as far as it exists. */
async function resolved(path: string): Promise<string> {
  const above = dirname(path);
  return realpath(path).catch(async () => (above === path ? path : join(await resolved(above), basename(path))));
}

/** A failure for the warehouse and for each copy that could not be written, those that only another path helps first; empty when all could. */
export async function unwritablePlaces(destinations: Destinations): Promise<Failure[]> {
  const places = await placesOf(destinations);
  const overlaps = places.flatMap((place, index) => places.slice(0, index).flatMap((other) => overlap(other, place)));
  const onDisk = places.filter(({ isInBucket }) => !isInBucket);
  return [...places.flatMap(misnamed), ...overlaps, ...(await Promise.all(onDisk.map(failuresAt))).flat()];
}

/** Throws the gravest of `unwritablePlaces`, with the words of all. */
export async function refuseUnwritablePlaces(destinations: Destinations): Promise<void> {
  refuse(await unwritablePlaces(destinations));
}

/** Throws the gravest of `foreignCopies`, with the words of all. */
export async function refuseCopiesOfOthers(
  { publish }: Pick<Config, 'publish'>,
  warehouse: Warehouse,
  signal: AbortSignal,
): Promise<void> {
  refuse(await foreignCopies(publish, await identityOf(warehouse), { mayCopy: true, signal }));
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

/** What readers take from a path: DuckDB the name of a database, and what follows a `?` for no path; engines columns of a lake. */
function misnamed({ what, path, written: [place = path] }: Place): Failure[] {
  const isDatabase = what === 'warehouse' || what === 'duckdb';
  const [name = ''] = basename(path).replace(/^\.+/, '').split(/[.?]/);
  const folder = place.split('/').find((step) => /^[^=]+=/.test(step));
  const wrong =
    isDatabase && path.includes('?')
      ? 'holds a ?, behind which DuckDB looks for no file'
      : isDatabase && name.toLowerCase() === 'ripen'
        ? 'makes ripen the name of the database, which is that of a schema in it'
        : !isDatabase && folder !== undefined
          ? `holds the folder ${folder}, which engines take for a column of every table`
          : null;
  if (wrong === null) return [];
  return [
    new Failure('USAGE_INVALID', `The ${what} ${path} could not be read by its users: its path ${wrong}.`, {
      facts: { path },
      hint: `Give the ${what} another path.`,
    }),
  ];
}

/** A failure where one of two places is, or lies inside, what is written for the other. */
function overlap(one: Place, other: Place): Failure[] {
  for (const [inner, outer] of [
    [one, other],
    [other, one],
  ] as const) {
    for (const path of inner.written) {
      const around = outer.written.find((each) => isWithin(path, each));
      if (around === undefined) continue;
      const where = path === around ? `${path} was written for both` : `${path} lay inside ${around}`;
      const names = `The ${inner.what} ${inner.path} and the ${outer.what} ${outer.path}`;
      return [
        new Failure('USAGE_INVALID', `${names} overlapped: ${where}.`, {
          facts: { path, around },
          hint: 'Give each a path of its own, outside of what is written for the others.',
        }),
      ];
    }
  }
  return [];
}

const isWithin = (path: string, around: string): boolean => path === around || path.startsWith(join(around, '/'));

/**
 * Throws `USAGE_INVALID` for a file, or an object of a bucket, that the user named to be written and that is what ripen reads
 * or writes by itself: the configuration and the files it names, the warehouse with what lies beside it, a copy. A second name of such a file is it.
 */
export async function refuseOutput(
  config: Destinations & Pick<Config, 'file' | 'service'>,
  output: string | ObjectStore,
): Promise<void> {
  const path = typeof output === 'string' ? await resolved(output) : placeIn(output);
  const { file, service } = config;
  const { tokenFile, caFile } = service.kind === 'http' ? service : { tokenFile: undefined, caFile: null };
  const read = [
    ['configuration', file],
    ['token file', tokenFile],
    ['certificate authority', caFile],
  ] as const;
  const taken: [string, readonly string[]][] = [];
  for (const [what, each] of read) if (each) taken.push([`${what} ${each}`, [await resolved(each)]]);
  for (const place of await placesOf(config)) taken.push([`${place.what} ${place.path}`, place.written]);
  const own = await inodeOf(path);
  for (const [what, paths] of taken) {
    const inodes = own === null ? [] : await Promise.all(paths.map(inodeOf));
    if (!paths.some((each) => isWithin(path, each)) && !inodes.includes(own)) continue;
    throw new Failure('USAGE_INVALID', `The output ${path} was not written: it belongs to the ${what}.`, {
      facts: { output: path },
      hint: 'Name a file outside of what ripen reads and writes by itself.',
    });
  }
}

/** What tells a file from any other of this machine; null where there is none. */
async function inodeOf(path: string): Promise<string | null> {
  return stat(path, { bigint: true }).then(
    ({ dev, ino }) => `${dev} ${ino}`,
    () => null,
  );
}

async function failuresAt({ what, path }: Place): Promise<Failure[]> {
  const isLinked = await isLink(path);
  const sign = signOfOtherKind(what);
  if (sign !== null && (await nearestExisting(join(path, sign))) === join(path, sign)) return [ofOtherKind(what, path)];
  if (what !== 'warehouse' && isLinked) {
    const to = await realpath(path).catch(() => null);
    const message = `The ${what} ${path} was a symbolic link${to === null ? '' : ` to ${to}`}.`;
    const hint = 'Publish to the path it leads to, or put a file or directory in its place.';
    return [new Failure('STORAGE_FAILED', message, { facts: { path, to }, hint })];
  }
  const target = isLinked ? await missingTarget(path) : null;
  const isFile = what === 'warehouse' || what === 'duckdb';
  const wanted = isFile ? dirname(target ?? path) : path;
  const existing = await nearestExisting(wanted);
  if (target !== null && existing !== wanted) {
    const message = `The warehouse ${path} could not be written: it is a symbolic link to ${target}, whose folder is not there.`;
    const hint = 'Mount the disk or make the folder it leads to, or give `warehouse` another path.';
    return [new Failure('STORAGE_FAILED', message, { facts: { path, to: target }, hint })];
  }
  const reason = (await obstacleInDirectory(existing)) ?? (isFile ? await obstacleInFile(path, what) : null);
  if (reason === null) return [];
  return [
    new Failure('STORAGE_FAILED', `The ${what} ${path} could not be written: ${existing} (${reason})`, {
      facts: { path, existing, reason },
      hint: `Give this user the right to write there, or choose another path for the ${what}.`,
    }),
  ];
}

/** A snapshot would take a link's place and leave what it leads to; a lake would be in two places once it is turned. */
async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isSymbolicLink(),
    () => false,
  );
}

/** Where the file is to be made that a symbolic link leads to and that is not there; null for a link that leads to one, or to itself. */
async function missingTarget(path: string): Promise<string | null> {
  const isMissing = await realpath(path).then(
    () => false,
    (error: unknown) => codeOf(error) === 'ENOENT',
  );
  return isMissing ? linkEnd(path) : null;
}

const linkEnd = async (path: string): Promise<string> =>
  (await isLink(path)) ? linkEnd(resolve(dirname(path), await readlink(path))) : path;

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
    return codeOf(error) ?? String(error);
  }
}

/** Of a file that is there: another is renamed over a snapshot, so its own rights do not matter. */
async function obstacleInFile(path: string, what: Place['what']): Promise<string | null> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) return 'a directory in the place of the file';
    if (!found.isFile()) return 'a pipe, a device or a socket in the place of the file';
    if (what === 'warehouse') await access(path, constants.W_OK);
    return null;
  } catch (error) {
    const code = codeOf(error) ?? String(error);
    return code === 'ENOENT' ? null : code;
  }
}
