/** Brings a warehouse to the version of this program, and refuses what is not one. */

import * as z from 'zod';

import { Failure, textOf } from '../errors.ts';
import { asScript, count, literal, migrations } from './sql.ts';
import { isUnknownToEngine, type Warehouse } from './warehouse.ts';

const found = z.object({ objects: count });
const applied = z.object({ version: count, name: z.string() });
type Applied = z.infer<typeof applied>;

/**
 * Applies what is missing, each migration in a transaction of its own, and to a new warehouse all in one; where nothing may
 * change, throws `WAREHOUSE_OLDER` for what is missing. Throws `WAREHOUSE_NEWER`, `WAREHOUSE_FOREIGN`, and `STORAGE_FAILED` for a
 * migration that does not go through.
 */
export async function migrate(warehouse: Warehouse, how: { readonly mayChange: boolean }): Promise<void> {
  const steps = migrations();
  const versions = await readVersions(warehouse);
  if (versions === null) await refuseForeign(warehouse);
  else refuseUnknown(warehouse, versions, steps);
  const missing = steps.filter(({ version }) => !(versions ?? []).some((known) => known.version === version));
  if (!how.mayChange) {
    if (missing.length > 0) throw olderWarehouse(warehouse, versions ?? [], steps);
    return;
  }
  const scripts = missing.map(({ script, version, name }) => ({
    name,
    script: asScript([
      script,
      `insert into ripen.migrations values (${version}, ${literal(name)}, now() at time zone 'UTC')`,
    ]),
  }));
  if (versions === null) {
    // In one transaction the engine alters no table of which it has changed rows, and a new warehouse has none.
    const whole = asScript([LEDGER_OF_MIGRATIONS, ...scripts.map(({ script }) => script)]);
    await warehouse.transact(async () => warehouse.run(whole));
    return;
  }
  for (const { name, script } of scripts) {
    await warehouse
      .transact(async () => warehouse.run(script))
      .catch((error: unknown) => {
        throw error instanceof Failure ? error : notMigrated(warehouse, name, error);
      });
  }
}

function notMigrated({ path }: Warehouse, name: string, error: unknown): Failure {
  const [reason = ''] = textOf(error).split('\n');
  return new Failure('STORAGE_FAILED', `The migration ${name} of the warehouse ${path} did not go through: ${reason}`, {
    facts: { migration: name },
    hint: 'It changed nothing. Remove what somebody added to the tables of the schema ripen, as a column or an index, and run again; else restore a copy.',
    cause: error,
  });
}

const LEDGER_OF_MIGRATIONS = `
create schema if not exists ripen;
create table ripen.migrations (version integer not null, name varchar not null, applied_at timestamp not null)`;

const newestOf = (steps: readonly Pick<Applied, 'version'>[]): number =>
  Math.max(0, ...steps.map(({ version }) => version));

/** Throws for a warehouse that another program brought on: `WAREHOUSE_NEWER`, or `WAREHOUSE_FOREIGN` for other steps. */
function refuseUnknown({ path }: Warehouse, versions: readonly Applied[], steps: readonly Applied[]): void {
  const found = newestOf(versions);
  const known = newestOf(steps);
  if (found > known) {
    throw new Failure('WAREHOUSE_NEWER', `The warehouse ${path} had version ${found}; this program knows ${known}.`, {
      facts: { found, known },
      hint: 'Use the version of ripen that wrote it, or a newer one.',
    });
  }
  const stranger = versions.find(
    ({ version, name }) => !steps.some((step) => step.version === version && step.name === name),
  );
  if (stranger === undefined) return;
  throw new Failure(
    'WAREHOUSE_FOREIGN',
    `The warehouse ${path} had a migration this program does not know: ${stranger.name}.`,
    {
      facts: { version: stranger.version, migration: stranger.name },
      hint: 'Use the version of ripen that wrote it, or restore the file from a copy.',
    },
  );
}

function olderWarehouse({ path }: Warehouse, versions: readonly Applied[], steps: readonly Applied[]): Failure {
  const [found, known] = [newestOf(versions), newestOf(steps)];
  const has = found < known ? `had version ${found}; this program needs ${known}` : `lacked migrations before ${known}`;
  return new Failure('WAREHOUSE_OLDER', `The warehouse ${path} ${has}.`, {
    facts: { found, known },
    hint: 'The next `ripen sync` migrates it; `ripen publish` does so without asking the service. Copy the file first.',
  });
}

/** What was applied; null without a ledger. Asking for it is a fifth of the work of looking through the tables. */
async function readVersions(warehouse: Warehouse): Promise<Applied[] | null> {
  return warehouse.rows('select version, name from ripen.migrations', [], applied).catch((error: unknown) => {
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
