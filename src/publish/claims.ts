/** What each destination takes up on disk and in object stores, so that nothing is written over anything else. */

import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import type { Config, ObjectStore, PublishTarget } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { unfinishedPath } from './replacement.ts';

type Destinations = Pick<Config, 'warehouse' | 'publish'>;

/** A destination and everything that is written for it, links resolved: files, or folders with all they hold. */
interface Claim {
  readonly what: string;
  readonly paths: readonly string[];
}

/** What lies beside a warehouse and is its own: DuckDB's log and spill, raw answers, the archive, drafts of copies, the note of a run that did not start. */
const besideWarehouse = ['.wal', '.tmp', '.spool', '.archive', '.drafts', '.unstarted'];
/** What DuckDB and publishing put beside a snapshot. */
const besideSnapshot = ['.wal', '.tmp', unfinishedPath(''), unfinishedPath('.compact')];

/** A `USAGE_INVALID` for each two destinations of which one is, or lies inside, what is written for the other. */
export async function overlappingPlaces(destinations: Destinations): Promise<Failure[]> {
  const claims = await claimsOf(destinations);
  return claims.flatMap((claim, index) => claims.slice(0, index).flatMap((other) => overlap(other, claim) ?? []));
}

async function claimsOf({ warehouse, publish }: Destinations): Promise<Claim[]> {
  return [await claimOf('warehouse', warehouse, besideWarehouse), ...(await Promise.all(publish.map(claimFor)))];
}

/**
 * Throws `USAGE_INVALID` for a file, or an object of a bucket, that the user named to be written and that is what ripen reads
 * or writes by itself: the configuration and the files it names, the warehouse with what lies beside it, a copy. A second name of such a file is it.
 */
export async function refuseOutput(
  config: Destinations & Pick<Config, 'file' | 'service'>,
  output: string | ObjectStore,
): Promise<void> {
  const path = typeof output === 'string' ? await resolved(output) : placeIn(output);
  const read = await Promise.all(filesRead(config).map(async ([what, file]) => claimOf(what, file, [])));
  const claims = [...read, ...(await claimsOf(config))];
  const own = await identityOf(path);
  for (const { what, paths } of claims) {
    const taken = paths.find((each) => path === each || path.startsWith(join(each, '/')));
    const same = own === null ? [] : (await Promise.all(paths.map(identityOf))).filter((each) => each === own);
    if (taken === undefined && same.length === 0) continue;
    throw new Failure('USAGE_INVALID', `The output ${path} was not written: it belongs to the ${what}.`, {
      facts: { output: path },
      hint: 'Name a file outside of what ripen reads and writes by itself.',
    });
  }
}

/** The files that are read, never written: the configuration, and those it names. */
function filesRead({ file, service }: Pick<Config, 'file' | 'service'>): (readonly [string, string])[] {
  if (service.kind !== 'http') return [['configuration', file]];
  const { tokenFile, caFile } = service;
  return [
    ['configuration', file],
    ...(tokenFile === undefined ? [] : [['token file', tokenFile] as const]),
    ...(caFile === null ? [] : [['certificate authority', caFile] as const]),
  ];
}

/** What tells a file from any other of this machine; null where there is none. */
async function identityOf(path: string): Promise<string | null> {
  return stat(path, { bigint: true }).then(
    ({ dev, ino }) => `${dev} ${ino}`,
    () => null,
  );
}

/** A name of a bucket is one in every region, but each store has its own. */
const placeIn = ({ endpoint, bucket, prefix }: ObjectStore): string => join(`s3://${endpoint ?? ''}`, bucket, prefix);

async function claimFor({ path, ...target }: PublishTarget): Promise<Claim> {
  if (target.kind === 'duckdb') return claimOf('duckdb', path, besideSnapshot);
  if (target.store === undefined) return claimOf(target.kind, path, []);
  return { what: `${target.kind} ${path}`, paths: [placeIn(target.store)] };
}

async function claimOf(what: string, path: string, beside: readonly string[]): Promise<Claim> {
  const real = await resolved(path);
  return { what: `${what} ${path}`, paths: ['', ...beside].map((ending) => `${real}${ending}`) };
}

/** The path without links, as far as it exists. */
async function resolved(path: string): Promise<string> {
  const above = dirname(path);
  return realpath(path).catch(async () => (above === path ? path : join(await resolved(above), basename(path))));
}

function overlap(one: Claim, other: Claim): Failure | null {
  for (const [inner, outer] of [
    [one, other],
    [other, one],
  ] as const) {
    for (const path of inner.paths) {
      const around = outer.paths.find((each) => path === each || path.startsWith(join(each, '/')));
      if (around !== undefined) return overlapping(inner.what, outer.what, { path, around });
    }
  }
  return null;
}

function overlapping(inner: string, outer: string, at: { readonly path: string; readonly around: string }): Failure {
  const where = at.path === at.around ? `${at.path} was written for both` : `${at.path} lay inside ${at.around}`;
  return new Failure('USAGE_INVALID', `The ${inner} and the ${outer} overlapped: ${where}.`, {
    facts: at,
    hint: 'Give each a path of its own, outside of what is written for the others.',
  });
}
