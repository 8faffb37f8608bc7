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
import { refuseOthersCopy } from './occupants.ts';
import { publisherOf } from './other-database.ts';
import { outputAt } from './output-file.ts';
import { codeOf, ifThere, unfinishedPath } from './replacement.ts';

type Destinations = Pick<Config, 'warehouse' | 'publish'>;

/** A destination with all that is written for it, links resolved: files, or folders with what they hold. */
interface Destination {
  readonly what: 'warehouse' | PublishTarget['kind'];
  readonly path: string;
  readonly isInBucket: boolean;
  readonly written: readonly string[];
}

/** What is written beside each: DuckDB's log and spill, raw answers, the archive, drafts of copies, the note of a run that did not start. */
const beside: Readonly<Record<Destination['what'], readonly string[]>> = {
  warehouse: ['.wal', '.tmp', '.spool', '.archive', '.drafts', '.unstarted'],
  duckdb: ['.wal', '.tmp', unfinishedPath('')],
  delta: [],
  parquet: [],
};

async function destinationsOf({ warehouse, publish }: Destinations): Promise<Destination[]> {
  const all: { what: Destination['what']; path: string; store?: ObjectStore }[] = [
    { what: 'warehouse', path: warehouse },
    ...publish.map((target) => ({ ...target, what: target.kind })),
  ];
  return Promise.all(
    all.map(async ({ what, path, store }) => {
      if (store !== undefined) return { what, path, isInBucket: true, written: [placeIn(store)] };
      const real = await resolved(path);
      return { what, path, isInBucket: false, written: ['', ...beside[what]].map((ending) => `${real}${ending}`) };
    }),
  );
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
  const places = await destinationsOf(destinations);
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
  const own = await publisherOf(warehouse);
  const failures: Failure[] = [];
  for (const target of publish) {
    await refuseOthersCopy(target, own, signal).catch((error: unknown) => {
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
function misnamed({ what, path, written: [place = path] }: Destination): Failure[] {
  const isDatabase = what === 'warehouse' || what === 'duckdb';
  const [name = ''] = basename(path).replace(/^\.+/, '').split(/[.?]/);
  const folder = isDatabase ? undefined : place.split('/').find((step) => /^[^=]+=/.test(step));
  const wrong = new Map([
    ['holds a ?, behind which DuckDB looks for no file', isDatabase && path.includes('?')],
    [
      `makes ${name} the name of the database, which is that of a schema in it`,
      isDatabase && /^ripen(_internal)?$/i.test(name),
    ],
    [`holds the folder ${folder ?? ''}, which engines take for a column of every table`, folder !== undefined],
  ]);
  return [...wrong].flatMap(([words, isWrong]) => {
    const message = `The ${what} ${path} could not be read by its users: its path ${words}.`;
    const hint = `Give the ${what} another path.`;
    return isWrong ? [new Failure('USAGE_INVALID', message, { facts: { path }, hint })] : [];
  });
}

/** A failure where one of two places is, or lies inside, what is written for the other. */
function overlap(one: Destination, other: Destination): Failure[] {
  for (const [inner, outer] of [[one, other] as const, [other, one] as const]) {
    const path = inner.written.find((each) => outer.written.some((around) => isWithin(each, around)));
    const around = outer.written.find((each) => path !== undefined && isWithin(path, each));
    if (path === undefined || around === undefined) continue;
    const where = path === around ? `${path} was written for both` : `${path} lay inside ${around}`;
    const message = `The ${inner.what} ${inner.path} and the ${outer.what} ${outer.path} overlapped: ${where}.`;
    const hint = 'Give each a path of its own, outside of what is written for the others.';
    return [new Failure('USAGE_INVALID', message, { facts: { path, around }, hint })];
  }
  return [];
}

const isWithin = (path: string, around: string): boolean => path === around || path.startsWith(join(around, '/'));

/**
 * Throws `USAGE_INVALID` for a file that the user named to be written and that is what ripen reads or writes by itself: the
 * configuration and the files it names, the warehouse with what lies beside it, a copy; and for any other DuckDB database.
 */
export async function refuseOutput(
  config: Destinations & Pick<Config, 'file' | 'service'>,
  output: string,
): Promise<void> {
  const path = await resolved(output);
  const { file, service } = config;
  const named = [
    ['configuration', file],
    ...(service.kind === 'http'
      ? [['token file', service.tokenFile] as const, ['certificate authority', service.caFile] as const]
      : []),
  ] as const;
  const taken = await destinationsOf(config);
  const places: { readonly owner: string; readonly written: readonly string[] }[] = taken.map((place) => {
    return { owner: `${place.what} ${place.path}`, written: place.written };
  });
  for (const [what, each] of named)
    if (each) places.push({ owner: `${what} ${each}`, written: [await resolved(each)] });
  const found = places.find(({ written }) => written.some((each) => isWithin(path, each)));
  if (found === undefined) {
    // Whatever else is wrong with it waits until it is written.
    await outputAt(output).catch((error: unknown) => {
      if (error instanceof Failure && error.code === 'USAGE_INVALID') throw error;
    });
    return;
  }
  throw new Failure('USAGE_INVALID', `The output ${path} was not written: it belongs to the ${found.owner}.`, {
    facts: { output: path },
    hint: 'Name a file outside of what ripen reads and writes by itself.',
  });
}

/** Why a place on disk could not be written: a link, a folder that takes no files, or what lies in the place of the file. */
async function obstacleAt({ what, path }: Destination): Promise<Failure[]> {
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
  const existing = await nearestExisting(isFile ? dirname(to || path) : path);
  const reason = await obstacleIn(existing, isFile ? path : null, what);
  if (reason === null) return [];
  const words = `The ${what} ${path} could not be written: ${existing} (${reason})`;
  const hint = `Give this user the right to write there, or choose another path for the ${what}.`;
  return failed(words, { existing, reason }, hint);
}

/** The path itself, or the nearest above it that exists. */
async function nearestExisting(path: string): Promise<string> {
  const above = dirname(path);
  const isThere = await access(path, constants.F_OK).then(
    () => true,
    () => false,
  );
  return isThere || above === path ? path : nearestExisting(above);
}

/** Why files could not be made in a directory, or put in the place of one, in a word; null where they could. */
async function obstacleIn(directory: string, file: string | null, what: Destination['what']): Promise<string | null> {
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
