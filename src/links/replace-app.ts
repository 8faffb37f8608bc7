/** Puts an app's staged links in the place of its stored ones, with their versions: the only writer of `main.links`. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { count, instant, statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { doubtfulList, doubtOf, recordBelieved, type ShortLists, type Subject } from './shrunk.ts';
import { clearStaged } from './staged-links.ts';

/** What the ledger keeps of a complete crawl. */
export interface CompleteCrawl {
  readonly maxLevel: number;
  readonly requests: number;
  readonly runId: string;
  readonly short: ShortLists;
  /** Links whose sub-links the service does not list, though it says that they have some. */
  readonly unanswered: readonly string[];
  /** Whether no other complete crawl is staged with it: links that it lacks, or finds below each other, may have been moved meanwhile. */
  readonly isFirst: boolean;
}

export interface Replaced {
  readonly links: number;
  /** Links that were stored and are not listed any more: closed in the history. */
  readonly removed: number;
  /** Links that were listed below their own sub-links as well, in order. */
  readonly cyclic: readonly string[];
}

const countsRow = z.object({ listed: count, reached: count, removed: count, changed_at: instant });

const tokenRow = z.object({ token: z.string() }).transform(({ token }) => token);

/** How every failure begins that left an app's links as they were. */
export const leftAsItWas = (appToken: string): string => `The links of the app ${appToken} stayed as they were:`;

export const appSubject = (appToken: string): Subject => ({
  key: appToken,
  name: `The app ${appToken}`,
  items: 'links',
});

/**
 * Replaces an app's links in one transaction: only what differs is touched, and only what differs gets a new version,
 * dated to the as-of instant (or to a newer change). Returns null, with no link changed and all of them still staged, when a
 * first crawl lacks stored links or finds some below each other; of a second one these are stored once each, where they were
 * listed first. Returns `DATA_SHRUNK`, with no link changed and what is missing recorded, when a list lost most of the stored ones
 * and no earlier night agrees. Throws `DATA_INCOMPLETE`, with nothing changed, when the staged links do not all hang together.
 */
export async function replaceApp(
  warehouse: Warehouse,
  appToken: string,
  planAt: Date,
  crawl: CompleteCrawl | null,
): Promise<Replaced | Failure | null> {
  return warehouse.transact(async () => {
    if (crawl !== null) {
      const unasked = [appToken, crawl.maxLevel, JSON.stringify(crawl.unanswered)];
      await warehouse.run(statement('links/stage_unasked_links'), unasked);
    }
    await stageTree(warehouse, appToken);
    const asked = [appToken, timestamp(planAt)];
    const doubted = [appToken, crawl?.maxLevel ?? 0, timestamp(planAt), appToken];
    const findLists = async () => warehouse.rows(statement('links/doubtful_links'), doubted, doubtfulList);
    let [counts] = await warehouse.rows(statement('links/tree_counts'), asked, countsRow);
    let cyclic: readonly string[] = [];
    const isTree = counts?.reached === counts?.listed;
    if (crawl?.isFirst === true && (!isTree || (await findLists()).length > 0)) return null;
    if (crawl !== null && !isTree) {
      const again = await warehouse.rows(statement('links/break_cycles'), [appToken], tokenRow);
      cyclic = [...new Set(again)].toSorted();
      await stageTree(warehouse, appToken);
      [counts] = await warehouse.rows(statement('links/tree_counts'), asked, countsRow);
    }
    if (counts === undefined || counts.reached !== counts.listed) throw torn(appToken, counts);
    if (crawl !== null) {
      const doubt = await doubtOf(warehouse, appSubject(appToken), await findLists(), crawl.short);
      if (doubt !== null) {
        await warehouse.run(statement('links/miss_links'), doubted);
        return doubt;
      }
    }
    const at = timestamp(counts.changed_at);
    await warehouse.run(statement('links/close_link_versions'), [appToken, at]);
    await warehouse.run(statement('links/drop_empty_link_versions'), [appToken]);
    await warehouse.run(statement('links/open_link_versions'), [appToken, at]);
    await warehouse.run(statement('links/delete_links'), [appToken]);
    await warehouse.run(statement('links/insert_links'), [appToken]);
    if (crawl !== null) {
      const { maxLevel, requests, runId } = crawl;
      const recorded = [appToken, timestamp(planAt), maxLevel, counts.removed, requests, runId];
      await warehouse.run(statement('links/record_crawl'), recorded);
      await recordBelieved(warehouse, appToken, crawl.short, maxLevel);
      await warehouse.run(statement('links/forget_given_partners'), [appToken]);
    }
    await clearStaged(warehouse, appToken);
    return { links: counts.reached, removed: counts.removed, cyclic };
  });
}

async function stageTree(warehouse: Warehouse, appToken: string): Promise<void> {
  await warehouse.run(statement('links/forget_staged_tree'), [appToken]);
  await warehouse.run(statement('links/stage_tree'), [appToken]);
}

function torn(appToken: string, counts: z.output<typeof countsRow> | undefined): Failure {
  const { listed = 0, reached = 0 } = counts ?? {};
  return new Failure(
    'DATA_INCOMPLETE',
    `${listed - reached} of ${listed} links of the app ${appToken} had no path up`,
    {
      facts: { app_token: appToken, listed, reached },
      hint: 'Run again: links were being moved during the crawl.',
    },
  );
}
