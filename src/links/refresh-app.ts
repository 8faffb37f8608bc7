/** The links of one app: reads all its lists first, then replaces its stored links in one transaction. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import type { Link } from '../model/link.ts';
import { count, insertRows, instant, statement, timestamp } from '../warehouse/sql.ts';
import type { Bindable } from '../warehouse/warehouse.ts';
import { doubtAbout, type Refreshing, replaceStaged, warn } from './replace.ts';

/** A listed link; `above` is the link in whose list it stands, null for a network. */
interface ListedLink {
  readonly link: Link;
  readonly parent: ListedLink | null;
  /** 1 for a network. */
  readonly depth: number;
}

/** Crawls an app down to a level and replaces its links. Returns how many are no longer listed and closed in the history. */
export async function refreshApp(
  run: Refreshing,
  appToken: string,
  maxLevel: number,
): Promise<number> {
  const crawl = await crawlApp(run, appToken, maxLevel);
  run.clock.check();
  const { rows, removed, doubt } = await replaceApp(run, appToken, maxLevel, crawl);
  if (doubt !== null) await warn(run, 'LIST_SHRUNK', doubt);
  run.emit({ type: 'links_loaded', app: appToken, rows, requests: crawl.requests });
  return removed;
}

const storedRow = z.object({ token: z.string(), parent_token: z.string().nullable() });

/** The pages below a listed link. The list is only unavailable if the service no longer knows the link: it changed meanwhile. */
async function* listedBelow(
  pages: AsyncIterable<readonly Link[]>,
  { link }: ListedLink,
): AsyncGenerator<readonly Link[]> {
  try {
    yield* pages;
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'SOURCE_MISSING') throw error;
    const message = `The link ${link.token} was listed, and its own list was missing: ${error.message}`;
    throw new Failure('SOURCE_UNAVAILABLE', message, {
      hint: 'Run again later; its app kept its links.',
      cause: error,
    });
  }
}

/** Reads the lists of an app, down to a level. Throws what listing throws, and requests nothing more after that. */
async function crawlApp(run: Refreshing, appToken: string, maxLevel: number) {
  const stop = new AbortController();
  const signal = AbortSignal.any([run.signal, stop.signal]);
  // If a link is listed twice, the first listing counts, so that every path leads up to a network.
  const links = new Map<string, ListedLink>();
  const read = new Set<string>();
  let requests = 0;

  /** Reads the list below a link, or of the networks if null. Returns the links in it whose own lists were not read yet. */
  const readList = async (parent: ListedLink | null): Promise<readonly ListedLink[]> => {
    const children: ListedLink[] = [];
    let pages = 0;
    const found = run.service.links(appToken, parent?.link.token ?? null, signal);
    for await (const page of parent === null ? found : listedBelow(found, parent)) {
      pages += 1;
      for (const link of page) {
        const listed = links.get(link.token) ?? { link, parent, depth: (parent?.depth ?? 0) + 1 };
        links.set(link.token, listed);
        if (listed.depth >= maxLevel || !link.hasSubtrackers || read.has(link.token)) continue;
        read.add(link.token);
        children.push(listed);
      }
    }
    // An empty list takes a page, too.
    requests += Math.max(1, pages);
    return children;
  };

  /** Reads lists and those below them, level by level; calls beyond the limit of the campaign API wait in its lane. */
  const readFrom = async (lists: readonly (ListedLink | null)[]): Promise<void> => {
    for (let next = lists; next.length > 0;) next = (await Promise.all(next.map(readList))).flat();
  };

  try {
    await readFrom([null]);
    // If a link is removed meanwhile, another may move to a page already read: lists with missing links are read again.
    const stored = `select token, parent_token from main.links where app_token = $1 and level <= $2`;
    const missing = (await run.warehouse.rows(stored, [appToken, maxLevel], storedRow))
      .filter(({ token }) => !links.has(token))
      .map(({ parent_token: parent }) => (parent === null ? null : links.get(parent)));
    const lists = [...new Set(missing)].filter((parent) => parent !== undefined);
    await readFrom(lists.filter((parent) => parent?.link.hasSubtrackers !== false));
  } finally {
    stop.abort();
  }
  return { links: [...links.values()], requests };
}

/** A row of `main.links`. */
function rowOf(appToken: string, { link, parent }: ListedLink) {
  const path = [link];
  for (let up = parent; up !== null; up = up.parent) path.unshift(up.link);
  const [network = null, campaign = null, adgroup = null, creative = null] = path.map(({ label }) =>
    label.toWellFormed(),
  );
  const inheritedFrom = path.slice(0, -1).findLast(({ partnerId }) => partnerId !== null);
  return {
    token: link.token,
    app_token: appToken,
    parent_token: parent?.link.token ?? null,
    root_token: path[0]?.token,
    level: link.level,
    name: link.name.toWellFormed(),
    label: link.label.toWellFormed(),
    archived: link.archived,
    has_subtrackers: link.hasSubtrackers,
    partner_id: link.partnerId,
    inherited_partner_id: inheritedFrom?.partnerId ?? null,
    cost_data_enabled: link.costDataEnabled,
    url: link.url?.toWellFormed() ?? null,
    click_url: link.clickUrl?.toWellFormed() ?? null,
    impression_url: link.impressionUrl?.toWellFormed() ?? null,
    network_name: network,
    campaign_name: campaign,
    adgroup_name: adgroup,
    creative_name: creative,
  };
}

const countsRow = z.object({ open: count, missing: count, changed_at: instant });
const rowsRow = z.object({ rows: count });

/**
 * Replaces an app's links in one transaction. Only what differs is touched and gets a new version, dated to the as-of instant
 * (or to a newer change). Links that are not listed stay while the list is doubted.
 */
async function replaceApp(
  { warehouse, planAt, runId }: Refreshing,
  appToken: string,
  maxLevel: number,
  { links, requests }: Awaited<ReturnType<typeof crawlApp>>,
) {
  const listed = links.map((link) => rowOf(appToken, link));
  const run = async (name: string, ...parameters: Bindable[]): Promise<number> =>
    warehouse.run(statement(name), parameters);
  return warehouse.transact(async () => {
    await insertRows(warehouse, 'ripen_internal.staged_links', listed);
    await run('links/stage_missing_links', appToken, false, maxLevel);
    const compared = [appToken, timestamp(planAt)];
    const [counts] = await warehouse.rows(statement('links/app_counts'), compared, countsRow);
    const { open = 0, missing = 0, changed_at: changedAt = planAt } = counts ?? {};
    const listing = { of: 'links', appToken } as const;
    const doubt = await doubtAbout(warehouse, planAt, listing, { open, missing });
    if (doubt !== null) await run('links/stage_missing_links', appToken, true, maxLevel);
    const removed = doubt === null ? missing : 0;
    await run(
      'links/record_crawl',
      appToken,
      timestamp(planAt),
      maxLevel,
      removed,
      requests,
      runId,
    );
    const [staged] = await warehouse.rows(
      'select count(*) as rows from ripen_internal.staged_links',
      [],
      rowsRow,
    );
    await replaceStaged(warehouse, listing, changedAt);
    return { rows: staged?.rows ?? 0, removed, doubt };
  });
}
