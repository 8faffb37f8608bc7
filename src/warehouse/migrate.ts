/** Brings a warehouse to the version of this program, and refuses what is not one. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { count } from './shapes.ts';
import { migrations, statement } from './statements.ts';
import type { Warehouse } from './warehouse.ts';

const found = z.object({ objects: count, ledger: count });
const applied = z.object({ version: count });

/** Applies what is missing, each migration in a transaction of its own; throws `WAREHOUSE_NEWER`, `WAREHOUSE_FOREIGN`. */
export async function migrate(
  warehouse: Warehouse,
  how: { readonly mayChange: boolean; readonly isNew: boolean },
): Promise<void> {
  const [state] = await warehouse.rows(statement('ledger/held_objects'), [], found);
  const hasLedger = state !== undefined && state.ledger > 0;
  if (!hasLedger && (state?.objects ?? 0) > 0) {
    throw new Failure(
      'WAREHOUSE_FOREIGN',
      `The database ${warehouse.path} held tables or views that are not ripen's.`,
      {
        hint: 'Point `warehouse` at a path of its own.',
      },
    );
  }
  const steps = migrations();
  const newest = steps.at(-1)?.version ?? 0;
  const versions = hasLedger ? await warehouse.rows('select version from ripen.migrations', [], applied) : [];
  const current = Math.max(0, ...versions.map(({ version }) => version));
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
      for (const sql of step.statements) await warehouse.run(sql);
      await warehouse.run("insert into ripen.migrations values ($1, $2, now() at time zone 'UTC')", [
        step.version,
        step.name,
      ]);
    });
  }
}
