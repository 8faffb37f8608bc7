/** Checks, without writing, whether a run may write to each of its places. */

import { constants, existsSync, statSync } from 'node:fs';
import { access, lstat, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import type { Config, PublishTarget } from '../../config/config.ts';
import { Failure } from '../../errors.ts';
import { copyAt, throwAll } from '../copies.ts';
import type { Copy } from '../copy.ts';
import { codeOf, ifThere, UNFINISHED } from './replacement.ts';

type Destinations = Pick<Config, 'warehouse' | 'publish'>;

interface Destination {
  readonly what: 'warehouse' | PublishTarget['kind'];
  readonly path: string;
  readonly form: Copy['form'];
  /** Files and folders that are written for it, links resolved. */
  readonly written: readonly string[];
}

/** DuckDB's log and spill, spool, archive, drafts of copies, the note of a run not started, the copy for audits. */
const ofWarehouse = [
  '',
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
  const withEndings = async (path: string, endings: readonly string[]) => {
    const real = await resolved(path);
    return endings.map((ending) => `${real}${ending}`);
  };
  const written = await withEndings(warehouse, ofWarehouse);
  const destinations: Destination[] = [
    { what: 'warehouse', path: warehouse, form: 'file', written },
  ];
  for (const target of publish) {
    const { kind: what, path } = target;
    const { form } = copyAt(target);
    const { endpoint, bucket, prefix } = ('store' in target ? target.store : null) ?? {};
    // A bucket's name is unique across the regions of a store, but not across stores.
    const place = join(`s3://${endpoint ?? ''}`, bucket ?? '', prefix ?? '');
    const endings = form === 'file' ? ['', '.wal', '.tmp', UNFINISHED] : [''];
    const paths = form === 'bucket' ? [place] : await withEndings(path, endings);
    destinations.push({ what, path, form, written: paths });
  }
  return destinations;
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
  const obstacles = await Promise.all(places.map(whyNotWritable));
  return [...places.flatMap(misnamed), ...overlaps, ...obstacles.flat()];
}

export async function assertWritable(destinations: Destinations): Promise<void> {
  throwAll(await unwritablePlaces(destinations));
}

/** Returns failures for misleading paths. DuckDB names a database after its file. */
function misnamed({ what, path, form, written: [place = path] }: Destination): Failure[] {
  const [name = ''] = basename(path).replace(/^\.+/, '').split(/[.?]/);
  const folder = place.split('/').find((step) => /^[^=]+=/.test(step));
  const isFile = form === 'file';
  const wrong: string[] = [];
  if (isFile && path.includes('?'))
    wrong.push('contains a ?, after which DuckDB looks for no file');
  if (isFile && /^ripen(_internal)?$/i.test(name))
    wrong.push(`makes ${name} the name of the database, which is that of a schema in it`);
  if (!isFile && folder !== undefined)
    wrong.push(`holds the folder ${folder}, which engines take for a column of every table`);
  return wrong.map((words) => {
    const message = `The ${what} ${path} could not be read by its users: its path ${words}.`;
    const hint = `Give the ${what} another path.`;
    return new Failure('USAGE_INVALID', message, { facts: { path }, hint });
  });
}

function overlap(one: Destination, other: Destination) {
  const pairs = one.written.flatMap((path) =>
    other.written.flatMap((around) => [[path, around] as const, [around, path] as const]),
  );
  const [path, around] = pairs.find(([inner, outer]) => isWithin(inner, outer)) ?? [];
  if (path === undefined || around === undefined) return [];
  const where = path === around ? `${path} was written for both` : `${path} lay inside ${around}`;
  const message = `The ${one.what} ${one.path} and the ${other.what} ${other.path} overlap: ${where}.`;
  const hint = 'Give each a path of its own that does not overlap with the others.';
  return [new Failure('USAGE_INVALID', message, { facts: { path, around }, hint })];
}

const isWithin = (path: string, around: string) =>
  path === around || path.startsWith(join(around, '/'));

async function whyNotWritable({ what, path, form }: Destination): Promise<Failure[]> {
  if (form === 'bucket') return [];
  const stats = await lstat(path).catch(() => null);
  if (stats?.isSymbolicLink() === true && what !== 'warehouse') {
    const message = `The ${what} ${path} is a symbolic link to ${await readlink(path)}.`;
    const hint = 'Publish to the path it leads to, or put a file or directory in its place.';
    return [new Failure('STORAGE_FAILED', message, { facts: { path }, hint })];
  }
  // A warehouse that is a link to nowhere is refused when it is opened.
  let existing = form === 'file' ? dirname(await resolved(path)) : path;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  let reason: string | null = null;
  try {
    const isFolder = (await stat(existing)).isDirectory();
    if (isFolder) await access(existing, constants.W_OK | constants.X_OK);
    const file = isFolder && form === 'file' ? ifThere(() => statSync(path)) : null;
    if (!isFolder) reason = 'not a directory';
    else if (file?.isDirectory() === true) reason = 'a directory in the place of the file';
    else if (file?.isFile() === false)
      reason = 'a pipe, a device or a socket in the place of the file';
    // Another file is renamed over a snapshot, so its own rights do not matter.
    else if (file !== null && what === 'warehouse') await access(path, constants.W_OK);
  } catch (error) {
    reason = codeOf(error) || String(error);
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
  const inputs = { configuration: file, 'token file': tokenFile, 'certificate authority': caFile };
  for (const [what, input] of Object.entries(inputs))
    if (input) files.push({ what, path: input, written: [await resolved(input)] });
  const place = files.find(({ written }) => written.some((around) => isWithin(path, around)));
  if (place === undefined) return;
  const message = `The output ${path} was not written: it belongs to the ${place.what} ${place.path}.`;
  throw new Failure('USAGE_INVALID', message, {
    facts: { output: path },
    hint: 'Name a file that ripen does not read or write itself.',
  });
}
