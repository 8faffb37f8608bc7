/** Crawls apps and replaces the links of each. If a page fails, only its own app stays as it was. */

import * as z from 'zod';

import type { Links } from '../config/config.ts';
import { asFailure, Failure, type FailureCode } from '../errors.ts';
import { warningEvent } from '../events.ts';
import { MS_PER_DAY } from '../model/calendar.ts';
import type { Link } from '../model/link.ts';
import { countText } from '../model/measure.ts';
import { count, insertRows, instant, statement, timestamp } from '../warehouse/sql.ts';
import { readLostApps } from '../warehouse/tables/lost-apps.ts';
import type { Bindable } from '../warehouse/warehouse.ts';
import { unlinkedPaths } from './joins.ts';
import { namesLinks, readSliceTables, readRowScan } from './stored-slices.ts';
import { doubtAbout, type Refreshing, replaceStaged } from './replace-rows.ts';

/** Failures that every other app would meet, too. */
const endsAll: ReadonlySet<FailureCode> = new Set([
  'CLOCK_UNTRUSTED',
  'CREDENTIALS_REFUSED',
  'STORAGE_FAILED',
]);

/** Apps in a row. At the default time-out each takes 6 minutes. */
const MAX_LATE_APPS = 3;

/**
 * Crawls the apps whose last crawl is too old. Returns failures of apps whose links stayed as they were, and adds those apps to
 * `failed`. Nothing else may use the session meanwhile.
 */
export async function refreshLinks(
  run: Refreshing,
  links: Links,
  failed = new Set<string>(),
): Promise<Failure[]> {
  const apps = await appsOf(run, links);
  if (links.apps === 'all' && apps.length === 0) {
    const message = 'The catalog lists no app, so that `links.apps: all` updated no links.';
    run.emit(warningEvent('CATALOG_LIST_EMPTY', message));
  }
  return crawlApps(run, links, apps, failed);
}

const appsOf = async ({ warehouse }: Refreshing, { apps }: Links) =>
  apps === 'all'
    ? warehouse.rows(statement('links/catalog_apps'), [], appRow)
    : [...new Set(apps)].toSorted();

const appRow = z.object({ app_token: z.string() }).transform((row) => row.app_token);

/** Crawls apps whose newly loaded rows name an unknown link. A path causes only one crawl: `Organic` never has a link. */
export async function refreshNamedLinks(
  run: Refreshing,
  links: Links,
  failed: Set<string>,
): Promise<Failure[]> {
  const { warehouse, planAt } = run;
  const { searched: lastScannedLoad, newest } = await readRowScan(warehouse, 'links');
  const slices = newest <= lastScannedLoad ? [] : await readSliceTables(warehouse);
  await warehouse.transact(async () => {
    for (const slice of slices.filter(namesLinks)) {
      await warehouse.run(
        `insert into ripen_internal.unlisted_links
select f.*, $1::timestamp as seen_at
from (${unlinkedPaths(slice, lastScannedLoad)}) as f
anti join ripen_internal.unlisted_links as u on u.app_token = f.app_token and u.path = f.path`,
        [timestamp(planAt)],
      );
    }
    await warehouse.run(statement('links/record_row_scan'), ['links', newest]);
  });
  const sql = statement('links/apps_naming_unlisted');
  const naming = await warehouse.rows(sql, [timestamp(planAt)], appRow);
  const apps = await appsOf(run, links);
  const wanted = apps.filter((app) => naming.includes(app) && !failed.has(app));
  return crawlApps(run, links, wanted, failed);
}

/** A run that begins earlier than the last must not delay a crawl by a night. */
const NIGHTLY_SHIFT_MS = 3_600_000;

async function crawlApps(
  run: Refreshing,
  { everyMs, maxLevel }: Links,
  apps: readonly string[],
  failed: Set<string>,
) {
  const { warehouse, planAt } = run;
  const since = new Date(planAt.getTime() - Math.max(0, everyMs - NIGHTLY_SHIFT_MS));
  const parameters = [timestamp(since), maxLevel, timestamp(new Date())];
  const crawled = await warehouse.rows(statement('links/crawled_apps'), parameters, appRow);
  const failures: Failure[] = [];
  const waiting = apps.filter((app) => !crawled.includes(app));
  // Another one is the first on each day, so that those who are never answered keep the others waiting for some days at most.
  const first = Math.floor(+planAt / MS_PER_DAY) % Math.max(1, waiting.length);
  const due = [...waiting.slice(first), ...waiting.slice(0, first)];
  let late = 0;
  for (const [at, app] of due.entries()) {
    run.signal.throwIfAborted();
    try {
      const crawl = await crawlApp(run, app, maxLevel);
      run.clock.check();
      await replaceApp(run, app, maxLevel, crawl);
      late = 0;
    } catch (error) {
      run.signal.throwIfAborted();
      const failure = asFailure(error);
      const { code, hint, cause } = failure;
      if (endsAll.has(code)) throw failure;
      failed.add(app);
      late = code === 'SOURCE_TIMEOUT' ? late + 1 : 0;
      const isRefused = code === 'SOURCE_MISSING' || code === 'ACCESS_FORBIDDEN';
      if (isRefused && (await readLostApps(warehouse)).has(app)) {
        const message = `The app ${app} is no longer listed; its links are kept: ${failure.message}`;
        run.emit(warningEvent('ACCESS_LOST', message));
        continue;
      }
      const rest = due.slice(at + 1);
      const endsCrawl = late === MAX_LATE_APPS && rest.length > 0;
      const message = endsCrawl
        ? `The links of ${late} apps in a row were not updated, and those of ${countText(rest.length, 'more app')} not requested: ${failure.message}`
        : `The links of the app ${app} were not updated: ${failure.message}`;
      const details = { facts: { ...failure.facts, app_token: app }, cause: cause ?? failure };
      // One failure speaks for all of them.
      if (endsCrawl) failures.splice(1 - late);
      failures.push(new Failure(code, message, hint === null ? details : { ...details, hint }));
      if (!endsCrawl) continue;
      for (const unasked of rest) failed.add(unasked);
      break;
    }
  }
  return failures;
}

interface ListedLink {
  readonly link: Link;
  readonly parent: ListedLink | null;
  /** 1 for a network. */
  readonly depth: number;
}

const storedRow = z.object({ token: z.string(), parent_token: z.string().nullable() });

async function crawlApp(run: Refreshing, appToken: string, maxLevel: number) {
  const stop = new AbortController();
  const signal = AbortSignal.any([run.signal, stop.signal]);
  // The first listing of a link counts, so that every path leads up to a network.
  const links = new Map<string, ListedLink>();
  const read = new Set<string>();
  let requests = 0;

  const readList = async (parent: ListedLink | null): Promise<readonly ListedLink[]> => {
    const children: ListedLink[] = [];
    let pages = 0;
    try {
      for await (const page of run.service.links(appToken, parent?.link.token ?? null, signal)) {
        pages += 1;
        for (const link of page) {
          const listed = links.get(link.token) ?? { link, parent, depth: (parent?.depth ?? 0) + 1 };
          links.set(link.token, listed);
          if (listed.depth >= maxLevel || !link.hasSubtrackers || read.has(link.token)) continue;
          read.add(link.token);
          children.push(listed);
        }
      }
    } catch (error) {
      if (parent === null || !(error instanceof Failure) || error.code !== 'SOURCE_MISSING')
        throw error;
      // It changed while its app was crawled.
      const message = `The link ${parent.link.token} is listed, but its sub-links are missing: ${error.message}`;
      throw new Failure('SOURCE_UNAVAILABLE', message, {
        hint: 'Run again later. The app keeps its links.',
        cause: error,
      });
    }
    // An empty list takes a page, too.
    requests += Math.max(1, pages);
    return children;
  };

  const readFrom = async (lists: readonly (ListedLink | null)[]) => {
    for (let next = lists; next.length > 0;) next = (await Promise.all(next.map(readList))).flat();
  };

  try {
    await readFrom([null]);
    // If a link is removed meanwhile, another may move to a page already read.
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

function rowOf(appToken: string, { link, parent }: ListedLink) {
  const path = [link];
  for (let up = parent; up !== null; up = up.parent) path.unshift(up.link);
  const labels = path.map(({ label }) => label.toWellFormed());
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
    network_name: labels[0] ?? null,
    campaign_name: labels[1] ?? null,
    adgroup_name: labels[2] ?? null,
    creative_name: labels[3] ?? null,
  };
}

const countsRow = z.object({ open: count, missing: count, changed_at: instant });

/** Dates the links to the as-of instant or a newer change. */
async function replaceApp(
  { warehouse, planAt, runId, emit }: Refreshing,
  app: string,
  maxLevel: number,
  { links, requests }: Awaited<ReturnType<typeof crawlApp>>,
) {
  const run = async (name: string, ...parameters: Bindable[]) =>
    warehouse.run(statement(name), parameters);
  const { rows, removed, doubt } = await warehouse.transact(async () => {
    const listed = links.map((link) => rowOf(app, link));
    await insertRows(warehouse, 'ripen_internal.staged_links', listed);
    await run('links/stage_missing_links', app, false, maxLevel);
    const at = timestamp(planAt);
    const [counts] = await warehouse.rows(statement('links/app_counts'), [app, at], countsRow);
    const { open = 0, missing = 0, changed_at: changedAt = planAt } = counts ?? {};
    const doubt = await doubtAbout(warehouse, planAt, app, { open, missing });
    if (doubt !== null) await run('links/stage_missing_links', app, true, maxLevel);
    const removed = doubt === null ? missing : 0;
    await run('links/record_crawl', app, at, maxLevel, removed, requests, runId);
    return { rows: await replaceStaged(warehouse, app, changedAt), removed, doubt };
  });
  if (doubt !== null) emit(warningEvent('LIST_SHRUNK', doubt));
  emit({ type: 'links_loaded', app, rows, requests, removed });
}
