/** Brings a warehouse to the version of this program, and refuses what is not one. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { asScript, count, literal, migrations } from './sql.ts';
import { isUnknownToEngine, type Warehouse } from './warehouse.ts';

const found = z.object({ objects: count });
const applied = z.object({ version: count, name: z.string() });
type Applied = z.infer<typeof applied>;

/**
 * Applies what is missing, each migration in a transaction of its own, and to a new warehouse all in one; where nothing may
 * change, throws `WAREHOUSE_OLDER` for what is missing. Throws `WAREHOUSE_NEWER` and `WAREHOUSE_FOREIGN`.
 */
export async function migrate(warehouse: Warehouse, how: { readonly mayChange: boolean }): Promise<void> {
  const known = migrations();
  const versions = await readVersions(warehouse);
  if (versions === null) await refuseForeign(warehouse);
  else refuseUnknown(warehouse, versions, known);
  const missing = known.filter(({ version }) => !(versions ?? []).some((applied) => applied.version === version));
  if (!how.mayChange) {
    if (missing.length > 0) throw olderWarehouse(warehouse, versions ?? [], known);
    return;
  }
  const scripts = missing.map(({ script, version, name }) =>
    asScript([
      script,
      `insert into ripen_internal.migrations values (${version}, ${literal(name)}, now() at time zone 'UTC')`,
    ]),
  );
  // In one transaction the engine alters no table of which it has changed rows, and a new warehouse has none.
  const steps = versions === null ? [asScript([LEDGER_OF_MIGRATIONS, ...scripts])] : scripts;
  for (const step of steps) await warehouse.transact(async () => warehouse.run(step));
}

const LEDGER_OF_MIGRATIONS = `
create schema ripen;
create schema ripen_internal;
create table ripen_internal.migrations (version integer not null, name varchar not null, applied_at timestamp not null)`;

const newestOf = (steps: readonly Pick<Applied, 'version'>[]): number =>
  Math.max(0, ...steps.map(({ version }) => version));

/** Throws for a warehouse that another program brought on: `WAREHOUSE_NEWER`, or `WAREHOUSE_FOREIGN` for other steps. */
function refuseUnknown({ path }: Warehouse, versions: readonly Applied[], steps: readonly Applied[]): void {
  const [found, known] = [newestOf(versions), newestOf(steps)];
  if (found > known) {
    throw new Failure('WAREHOUSE_NEWER', `The warehouse ${path} had version ${found}; this program knows ${known}.`, {
      facts: { found, known },
      hint: 'Use the version of ripen that wrote it, or a newer one.',
    });
  }
  const names = new Set(steps.map(({ version, name }) => `${version} ${name}`));
  const stranger = versions.find(({ version, name }) => !names.has(`${version} ${name}`));
  if (stranger === undefined) return;
  const message = `The warehouse ${path} had a migration this program does not know: ${stranger.name}.`;
  throw new Failure('WAREHOUSE_FOREIGN', message, {
    facts: { version: stranger.version, migration: stranger.name },
    hint: 'Use the version of ripen that wrote it, or restore the file from a copy.',
  });
}

function olderWarehouse({ path }: Warehouse, versions: readonly Applied[], steps: readonly Applied[]): Failure {
  const [found, known] = [newestOf(versions), newestOf(steps)];
  return new Failure('WAREHOUSE_OLDER', `The warehouse ${path} had version ${found}; this program needs ${known}.`, {
    facts: { found, known },
    hint: 'The next `ripen sync` migrates it; `ripen publish` does so without asking the service. Copy the file first.',
  });
}

/** What was applied; null without a ledger. Asking for it is a fifth of the work of looking through the tables. */
async function readVersions(warehouse: Warehouse): Promise<Applied[] | null> {
  return warehouse.rows('select version, name from ripen_internal.migrations', [], applied).catch((error: unknown) => {
    if (isUnknownToEngine(error)) return null;
    throw error;
  });
}

/** Throws `WAREHOUSE_FOREIGN` for a database without a ledger that holds something. */
async function refuseForeign(warehouse: Warehouse): Promise<void> {
  const [state] = await warehouse.rows(
    `select count(*) as objects
     from (
         select table_name from duckdb_tables() where not temporary
         union all
         select view_name from duckdb_views() where not internal and not temporary
     )`,
    [],
    found,
  );
  if ((state?.objects ?? 0) === 0) return;
  throw new Failure('WAREHOUSE_FOREIGN', `The database ${warehouse.path} held tables or views that are not ripen's.`, {
    hint: 'Point `warehouse` at a path of its own.',
  });
}
