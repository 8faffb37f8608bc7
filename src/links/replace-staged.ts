/** Puts staged links or partners in the place of the stored ones, with their versions: the only writer of both tables. */

import { asScript, literal, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** Stored rows that the staged ones replace: the links of an app, or every partner. */
export type Replaced = { readonly of: 'links'; readonly appToken: string } | { readonly of: 'partners' };

/**
 * Replaces, inside the caller's transaction, only what differs; only that gets a new version, from an instant on. A version that
 * ends at the instant it began is dropped, as no instant lies inside it. What is missing among the staged rows is closed.
 */
export async function replaceStaged(warehouse: Warehouse, replaced: Replaced, from: Date): Promise<void> {
  const [table, history, staged] = [
    `main.${replaced.of}`,
    `main.${replaced.of}_history`,
    `ripen_internal.staged_${replaced.of}`,
  ];
  const key = replaced.of === 'links' ? 'token' : 'partner_id';
  const scope = replaced.of === 'links' ? `app_token = ${literal(replaced.appToken)}` : 'true';
  const at = `timestamp ${literal(timestamp(from))}`;
  const fresh = `from ${staged} except from ${table} where ${scope}`;
  const changed = `${key} in (select ${key} from (from ${table} where ${scope} except from ${staged}))`;
  await warehouse.run(
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
