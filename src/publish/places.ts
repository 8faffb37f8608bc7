/**
 * May I write here? Every place a run would write to, judged without writing, before the first request.
 *
 * What is wrong with a path by itself, or with two together, is `USAGE_INVALID`; what lies there `STORAGE_FAILED`; what is another
 * warehouse's `WAREHOUSE_FOREIGN`.
 */

import { constants } from 'node:fs';
import { access, lstat, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import type { Config, ObjectStore, PublishTarget } from '../config/config.ts';
import { Failure } from '../errors.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { identityOf } from './identity.ts';
import { refuseOthersCopy } from './occupants.ts';
import { codeOf, ifThere, unfinishedPath } from './replacement.ts';

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
  const onDisk = async (what: Place['what'], path: string, beside: readonly string[]): Promise<Place> => {
    const real = await resolved(path);
    return { what, path, isInBucket: false, written: ['', ...beside].map((ending) => `${real}${ending}`) };
  };
  const copies = publish.map(async (target): Promise<Place> => {
    const { kind, path } = target;
    if (kind === 'duckdb') return onDisk(kind, path, besideSnapshot);
    if (target.store === undefined) return onDisk(kind, path, []);
    return { what: kind, path, isInBucket: true, written: [placeIn(target.store)] };
  });
  return Promise.all([onDisk('warehouse', warehouse, besideWarehouse), ...copies]);
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
  const obstacles = await Promise.all(places.filter(({ isInBucket }) => !isInBucket).map(obstacleAt));
  return [...places.flatMap(misnamed), ...overlaps, ...obstacles.flat()];
}

/** Throws the gravest of `unwritablePlaces`, with the words of all. */
export async function refuseUnwritablePlaces(destinations: Destinations): Promise<void> {
  refuse(await unwritablePlaces(destinations));
}

/** Throws for targets that are another warehouse's copies or hold a lake of the other kind, with the words of all. */
export async function refuseCopiesOfOthers(
  { publish }: Pick<Config, 'publish'>,
  warehouse: Warehouse,
  signal: AbortSignal,
): Promise<void> {
  const visitor = { own: await identityOf(warehouse), signal };
  const failures: Failure[] = [];
  for (const target of publish) {
    await refuseOthersCopy(target, visitor).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error;
      failures.push(error);
    });
  }
  refuse(failures);
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
  const pairs = [
    [one, other],
    [other, one],
  ] as const;
  for (const [inner, outer] of pairs) {
    const path = inner.written.find((each) => outer.written.some((around) => isWithin(each, around)));
    const around = outer.written.find((each) => path !== undefined && isWithin(path, each));
    if (path === undefined || around === undefined) continue;
    const where = path === around ? `${path} was written for both` : `${path} lay inside ${around}`;
    const names = `The ${inner.what} ${inner.path} and the ${outer.what} ${outer.path}`;
    return [
      new Failure('USAGE_INVALID', `${names} overlapped: ${where}.`, {
        facts: { path, around },
        hint: 'Give each a path of its own, outside of what is written for the others.',
      }),
    ];
  }
  return [];
}

const isWithin = (path: string, around: string): boolean => path === around || path.startsWith(join(around, '/'));

/**
 * Throws `USAGE_INVALID` for a file, or an object of a bucket, that the user named to be written and that is what ripen reads
 * or writes by itself: the configuration and the files it names, the warehouse with what lies beside it, a copy.
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
  const owner = taken.find(([, paths]) => paths.some((each) => isWithin(path, each)));
  if (owner === undefined) return;
  throw new Failure('USAGE_INVALID', `The output ${path} was not written: it belongs to the ${owner[0]}.`, {
    facts: { output: path },
    hint: 'Name a file outside of what ripen reads and writes by itself.',
  });
}

/** Why a place on disk could not be written: a link, a folder that takes no files, or what lies in the place of the file. */
async function obstacleAt({ what, path }: Place): Promise<Failure[]> {
  const failed = (message: string, facts: Readonly<Record<string, string>>, hint: string): Failure[] => [
    new Failure('STORAGE_FAILED', message, { facts: { path, ...facts }, hint }),
  ];
  const lying = await lstat(path).catch(() => null);
  const to = lying?.isSymbolicLink() === true ? await realpath(path).catch(() => '') : null;
  if (to !== null && what !== 'warehouse') {
    const words = `The ${what} ${path} was a symbolic link${to === '' ? '' : ` to ${to}`}.`;
    return failed(words, { to }, 'Publish to the path it leads to, or put a file or directory in its place.');
  }
  const isFile = what === 'warehouse' || what === 'duckdb';
  // A warehouse that is a link to nowhere is refused when it is opened.
  const existing = await nearestExisting(isFile ? dirname(to === null || to === '' ? path : to) : path);
  const reason = (await obstacleInDirectory(existing)) ?? (isFile ? await obstacleInFile(path, what) : null);
  if (reason === null) return [];
  const words = `The ${what} ${path} could not be written: ${existing} (${reason})`;
  const hint = `Give this user the right to write there, or choose another path for the ${what}.`;
  return failed(words, { existing, reason }, hint);
}

/** The path itself, or the nearest above it that exists. */
async function nearestExisting(path: string): Promise<string> {
  const above = dirname(path);
  return access(path, constants.F_OK).then(
    () => path,
    async () => (above === path ? path : nearestExisting(above)),
  );
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
    const found = await ifThere(stat(path));
    if (found?.isDirectory() === true) return 'a directory in the place of the file';
    if (found?.isFile() === false) return 'a pipe, a device or a socket in the place of the file';
    if (found !== null && what === 'warehouse') await access(path, constants.W_OK);
    return null;
  } catch (error) {
    return codeOf(error) ?? String(error);
  }
}
