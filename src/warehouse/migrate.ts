/** Brings a warehouse to the version of this program, and refuses what is not one. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { count, migrations } from './sql.ts';
import { isUnknownToEngine, type Warehouse } from './warehouse.ts';

const found = z.object({ objects: count });
const applied = z.object({ version: count });

/** Applies what is missing, each migration in a transaction of its own; throws `WAREHOUSE_NEWER`, `WAREHOUSE_FOREIGN`. */
export async function migrate(
  warehouse: Warehouse,
  how: { readonly mayChange: boolean; readonly isNew: boolean },
): Promise<void> {
  const steps = migrations();
  const newest = steps.at(-1)?.version ?? 0;
  const versions = await readVersions(warehouse);
  const hasLedger = versions !== null;
  if (!hasLedger) await refuseForeign(warehouse);
  const current = Math.max(0, ...(versions ?? []).map(({ version }) => version));
  if (current > newest) {
    throw new Failure(
      'WAREHOUSE_NEWER',
      `The warehouse ${warehouse.path} had version ${current}; this program knows ${newest}.`,
      {
        facts: { found: current, known: newest },
        hint: 'Use the version of ripen that wrote it, or a newer one.',
      },
    );
  }
  if (!how.mayChange) return;
  if (!hasLedger) {
    await warehouse.run('create schema if not exists ripen');
    await warehouse.run(
      'create table ripen.migrations (version integer not null, name varchar not null, applied_at timestamp not null)',
    );
  }
  for (const step of steps.filter(({ version }) => version > current)) {
    await warehouse.transact(async () => {
      await warehouse.run(step.script);
      await warehouse.run("insert into ripen.migrations values ($1, $2, now() at time zone 'UTC')", [
        step.version,
        step.name,
      ]);
    });
  }
}

/** What was applied; null without a ledger. Asking for it is a fifth of the work of looking through the tables. */
async function readVersions(warehouse: Warehouse): Promise<z.infer<typeof applied>[] | null> {
  return warehouse.rows('select version from ripen.migrations', [], applied).catch((error: unknown) => {
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
