/** Puts an app's staged links in the place of its stored ones, with their versions: the only writer of `main.links`. */

import * as z from 'zod';

import { count, instant, statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { doubtText, isDoubted } from './doubt.ts';
import { clearStaged } from './staged-links.ts';

/** A crawl whose links are all staged. */
export interface CompleteCrawl {
  readonly appToken: string;
  readonly maxLevel: number;
  readonly requests: number;
  readonly runId: string;
  /** Whether some list held fewer links than it said. */
  readonly isShort: boolean;
  /** Links whose sub-links the service does not list, though it says that they have some. */
  readonly unanswered: readonly string[];
}

export interface Replaced {
  readonly links: number;
  /** Links that were stored and are not listed any more: closed in the history. */
  readonly removed: number;
  /** Why links that are not listed stay; null where none does. */
  readonly doubt: string | null;
}

const countsRow = z.object({ open: count, missing: count, changed_at: instant });

/**
 * Replaces an app's links in one transaction: only what differs is touched, and only what differs gets a new version,
 * dated to the as-of instant (or to a newer change). Links that are not listed stay while the list is doubted.
 */
export async function replaceApp(warehouse: Warehouse, planAt: Date, crawl: CompleteCrawl): Promise<Replaced> {
  const { appToken, maxLevel, requests, runId, isShort, unanswered } = crawl;
  return warehouse.transact(async () => {
    await warehouse.run(statement('links/stage_unasked_links'), [appToken, maxLevel, JSON.stringify(unanswered)]);
    const compared = [appToken, timestamp(planAt)];
    const [counts] = await warehouse.rows(statement('links/app_counts'), compared, countsRow);
    const { open = 0, missing = 0, changed_at: changedAt = planAt } = counts ?? {};
    const listed = { subject: appToken, open, missing, isShort };
    const stays = await isDoubted(warehouse, planAt, listed);
    if (stays) await warehouse.run(statement('links/stage_missing_links'), [appToken]);
    await warehouse.run(statement('links/stage_tree'), [appToken]);
    const at = timestamp(changedAt);
    await warehouse.run(statement('links/close_link_versions'), [appToken, at]);
    await warehouse.run(statement('links/drop_empty_link_versions'), [appToken]);
    await warehouse.run(statement('links/open_link_versions'), [appToken, at]);
    await warehouse.run(statement('links/delete_links'), [appToken]);
    const removed = stays ? 0 : missing;
    await warehouse.run(statement('links/insert_links'), [appToken]);
    const recorded = [appToken, timestamp(planAt), maxLevel, removed, requests, runId];
    await warehouse.run(statement('links/record_crawl'), recorded);
    const links = await linksOf(warehouse, appToken);
    await clearStaged(warehouse, appToken);
    return { links, removed, doubt: stays ? doubtText(`The app ${appToken}`, 'links', listed) : null };
  });
}

async function linksOf(warehouse: Warehouse, appToken: string): Promise<number> {
  const sql = 'select count(*) as rows from main.links where app_token = $1';
  const [total] = await warehouse.rows(sql, [appToken], z.object({ rows: count }));
  return total?.rows ?? 0;
}
