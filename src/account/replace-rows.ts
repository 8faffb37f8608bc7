/** Replaces stored links or partners with staged rows, unless what is missing is doubted. */

import * as z from 'zod';

import type { Emit } from '../events.ts';
import type { MachineClock } from '../service/machine-clock.ts';
import type { Service } from '../service/service.ts';
import { asScript, count, insertRows, literal, statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

export interface Refreshing {
  readonly warehouse: Warehouse;
  readonly service: Service;
  readonly clock: MachineClock;
  readonly runId: string;
  readonly planAt: Date;
  readonly emit: Emit;
  readonly signal: AbortSignal;
}

export async function storedRows(warehouse: Warehouse, of: 'links' | 'partners'): Promise<number> {
  const sql = `select count(*) as rows from main.${of}`;
  const [total] = await warehouse.rows(sql, [], z.object({ rows: count }));
  return total?.rows ?? 0;
}

const doubtRow = z.object({ is_earlier_night: z.boolean() });

/**
 * Returns why stored links of an app, or partners, that a list lacks must stay: if more than half are missing, until a list of
 * a later night lacks as many: an empty or cut list of one night closes nothing. Runs inside the caller's transaction.
 */
export async function doubtAbout(
  warehouse: Warehouse,
  planAt: Date,
  app: string | null,
  { open, missing }: { readonly open: number; readonly missing: number },
): Promise<string | null> {
  const subject = app ?? 'partners';
  const [name, items] = app === null ? ['The service', 'partners'] : [`The app ${app}`, 'links'];
  const doubt = `${name} listed no more than ${open - missing} of the ${open} ${items} that are stored: the others stay until a list of a later night lacks ${missing} or more.`;
  const isDoubted = missing * 2 > open;
  const counted = [subject, missing, timestamp(planAt)];
  const [agreeing] = isDoubted
    ? await warehouse.rows(statement('links/agreeing_doubt'), counted, doubtRow)
    : [];
  if (agreeing?.is_earlier_night === false) return doubt;
  await warehouse.run(statement('links/delete_doubt'), [subject]);
  if (!isDoubted || agreeing !== undefined) return null;
  await insertRows(warehouse, 'ripen_internal.doubted_lists', [
    { subject, missing, seen_at: planAt },
  ]);
  return doubt;
}

/**
 * Replaces the stored links of an app, or partners. What differs gets a new version, and what is missing is closed. Returns how
 * many were staged. Runs inside the caller's transaction.
 */
export async function replaceStaged(
  warehouse: Warehouse,
  app: string | null,
  from: Date,
): Promise<number> {
  const [items, key] = app === null ? ['partners', 'partner_id'] : ['links', 'token'];
  const [table, history] = [`main.${items}`, `main.${items}_history`];
  const staged = `ripen_internal.staged_${items}`;
  const scope = app === null ? 'true' : `app_token = ${literal(app)}`;
  const at = `timestamp ${literal(timestamp(from))}`;
  const fresh = `from ${staged} except from ${table} where ${scope}`;
  const changed = `${key} in (select ${key} from (from ${table} where ${scope} except from ${staged}))`;
  return warehouse.run(
    asScript([
      `update ${history} set valid_to = ${at} where ${scope} and valid_to is null and ${changed}`,
      `delete from ${history} where ${scope} and valid_to <= valid_from`,
      `insert into ${history} select f.*, ${at} as valid_from, null as valid_to from (${fresh}) as f`,
      `delete from ${table} where ${scope} and ${changed}`,
      `insert into ${table} ${fresh}`,
      `delete from ${staged}`,
    ]),
  );
}
