/** A link the service said it wrote, stored as the next crawl would find it. */

import * as z from 'zod';

import type { Link } from '../model/link.ts';
import { count } from '../warehouse/shapes.ts';
import { statement } from '../warehouse/statements.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { takeTurns } from './in-parallel.ts';
import { replaceApp } from './replace-app.ts';
import { clearStaged, StagedLinks } from './staged-links.ts';

const storedRow = z.object({ parent_token: z.string().nullable(), partner_id: z.string().nullable(), level: count });

/**
 * Stores a new link; false when the warehouse does not know its app, or its parent: a tree with one branch would pass for
 * a whole one.
 */
export async function storeCreated(
  warehouse: Warehouse,
  appToken: string,
  parent: string | null,
  link: Link,
  at: Date,
): Promise<boolean> {
  const isKnown =
    parent === null ? await isCrawled(warehouse, appToken) : (await readStored(warehouse, appToken, parent)) !== null;
  if (!isKnown) return false;
  // Answers to writes show the inherited partner where lists show none (service-examples: tracker.create-sublink).
  const listed: Link = { ...link, hasSubtrackers: false, partnerId: parent === null ? link.partnerId : null };
  await store(warehouse, appToken, parent, listed, at);
  return true;
}

/** Stores a changed link; false when the warehouse does not hold it. `partnerId` is the one it was given, if any. */
export async function storeUpdated(
  warehouse: Warehouse,
  appToken: string,
  link: Link,
  partnerId: string | undefined,
  at: Date,
): Promise<boolean> {
  const stored = await readStored(warehouse, appToken, link.token);
  if (stored === null) return false;
  const ownPartner = partnerId ?? (stored.level === 1 ? link.partnerId : stored.partner_id);
  await store(warehouse, appToken, stored.parent_token, { ...link, partnerId: ownPartner }, at);
  return true;
}

async function store(
  warehouse: Warehouse,
  appToken: string,
  parent: string | null,
  link: Link,
  at: Date,
): Promise<void> {
  const staged = new StagedLinks(warehouse, takeTurns(), appToken);
  await clearStaged(warehouse, appToken);
  await warehouse.run(statement('links/stage_stored_links'), [appToken]);
  if (parent !== null) await warehouse.run(statement('links/stage_sublinks_of'), [appToken, parent]);
  await staged.add(parent, [link]);
  await staged.flush();
  await replaceApp(warehouse, appToken, at, null);
}

async function isCrawled(warehouse: Warehouse, appToken: string): Promise<boolean> {
  const sql = 'select count(*) as crawls from ripen.link_crawls where app_token = $1';
  const [known] = await warehouse.rows(sql, [appToken], z.object({ crawls: count }));
  return (known?.crawls ?? 0) > 0;
}

async function readStored(
  warehouse: Warehouse,
  appToken: string,
  token: string,
): Promise<z.output<typeof storedRow> | null> {
  const sql = 'select parent_token, partner_id, level from main.links where app_token = $1 and token = $2';
  const [found] = await warehouse.rows(sql, [appToken, token], storedRow);
  return found ?? null;
}
