/** Puts an app's listed links in the place of its stored ones. */

import * as z from 'zod';

import type { Link } from '../model/link.ts';
import { count, instant, statement, storable, timestamp } from '../warehouse/sql.ts';
import type { Bindable, Warehouse } from '../warehouse/warehouse.ts';
import { doubtText, isDoubted } from './doubt.ts';
import { replaceStaged } from './replace-staged.ts';

/** A few hundred kilobytes of JSON. */
const LINKS_PER_STATEMENT = 500;

/** A row of `main.links`, and how deep the link stands. */
export type ListedLink = ReturnType<typeof listedLink>;

/** What is known of the link above. */
interface Above {
  readonly depth: number;
  readonly token: string;
  readonly root_token: string;
  readonly has_subtrackers: boolean;
  readonly partner_id: string | null;
  readonly inherited_partner_id: string | null;
  readonly labels: readonly string[];
}

/** A link as it is stored when it is listed below another, or (null) as a network. */
export function listedLink(appToken: string, above: Above | null, link: Link) {
  const labels = [...(above?.labels ?? []), storable(link.label)];
  const [network = null, campaign = null, adgroup = null, creative = null] = labels;
  return {
    depth: labels.length,
    labels,
    token: link.token,
    app_token: appToken,
    parent_token: above?.token ?? null,
    root_token: above?.root_token ?? link.token,
    level: link.level,
    name: storable(link.name),
    label: storable(link.label),
    archived: link.archived,
    has_subtrackers: link.hasSubtrackers,
    partner_id: link.partnerId,
    inherited_partner_id: above?.partner_id ?? above?.inherited_partner_id ?? null,
    cost_data_enabled: link.costDataEnabled,
    url: stored(link.url),
    click_url: stored(link.clickUrl),
    impression_url: stored(link.impressionUrl),
    network_name: network,
    campaign_name: campaign,
    adgroup_name: adgroup,
    creative_name: creative,
  } satisfies Above & Record<string, unknown>;
}

const stored = (url: string | null): string | null => (url === null ? null : storable(url));

/** An app whose lists were all read. */
export interface CompleteCrawl {
  readonly appToken: string;
  readonly maxLevel: number;
  readonly links: readonly ListedLink[];
  readonly requests: number;
  readonly runId: string;
}

export interface ReplacedApp {
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
export async function replaceApp(warehouse: Warehouse, planAt: Date, crawl: CompleteCrawl): Promise<ReplacedApp> {
  const { appToken, maxLevel, links, requests, runId } = crawl;
  const run = async (name: string, ...parameters: Bindable[]): Promise<number> =>
    warehouse.run(statement(name), parameters);
  return warehouse.transact(async () => {
    for (let first = 0; first < links.length; first += LINKS_PER_STATEMENT) {
      await run('links/stage_links', JSON.stringify(links.slice(first, first + LINKS_PER_STATEMENT)));
    }
    await run('links/stage_missing_links', appToken, false, maxLevel);
    const compared = [appToken, timestamp(planAt)];
    const [counts] = await warehouse.rows(statement('links/app_counts'), compared, countsRow);
    const { open = 0, missing = 0, changed_at: changedAt = planAt } = counts ?? {};
    const listed = { subject: appToken, open, missing };
    const stays = await isDoubted(warehouse, planAt, listed);
    if (stays) await run('links/stage_missing_links', appToken, true, maxLevel);
    const removed = stays ? 0 : missing;
    await run('links/record_crawl', appToken, timestamp(planAt), maxLevel, removed, requests, runId);
    const [staged] = await warehouse.rows('select count(*) as rows from ripen_internal.staged_links', [], rowsRow);
    await replaceStaged(warehouse, { of: 'links', appToken }, changedAt);
    const doubt = stays ? doubtText(`The app ${appToken}`, 'links', listed) : null;
    return { links: staged?.rows ?? 0, removed, doubt };
  });
}

const rowsRow = z.object({ rows: count });
