/** The places a run writes to, held against each other: none may lie inside what another writes. Looks, writes nothing. */

import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import type { Config, PublishTarget } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { unfinishedPath } from '../publish/replacement.ts';

/** A destination and everything that is written for it, links resolved: files, or folders with all they hold. */
interface Claim {
  readonly what: string;
  readonly paths: readonly string[];
}

/** What lies beside a warehouse and is its own: DuckDB's log and spill, raw answers, the archive, drafts for a bucket. */
const besideWarehouse = ['.wal', '.tmp', '.spool', '.archive', '.drafts'];
/** What DuckDB and publishing put beside a snapshot. */
const besideSnapshot = ['.wal', '.tmp', unfinishedPath(''), unfinishedPath('.compact')];

/** A `USAGE_INVALID` for each two destinations of which one is, or lies inside, what is written for the other. */
export async function overlappingPlaces({
  warehouse,
  publish,
}: Pick<Config, 'warehouse' | 'publish'>): Promise<Failure[]> {
  const claims = [
    await claimOf('warehouse', warehouse, besideWarehouse),
    ...(await Promise.all(publish.map(claimFor))),
  ];
  return claims.flatMap((claim, index) => claims.slice(0, index).flatMap((other) => overlap(other, claim) ?? []));
}

async function claimFor({ path, ...target }: PublishTarget): Promise<Claim> {
  if (target.kind === 'duckdb') return claimOf('duckdb', path, besideSnapshot);
  if (target.store === undefined) return claimOf(target.kind, path, []);
  const { endpoint, bucket, prefix } = target.store;
  // A name of a bucket is one in every region, but each store has its own.
  return { what: `${target.kind} ${path}`, paths: [join(`s3://${endpoint ?? ''}`, bucket, prefix)] };
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
