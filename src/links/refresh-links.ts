/**
 * Links in the warehouse: every app crawled, each replaced only when its crawl was complete.
 *
 * Hides crawling, staging and versions. A failed page costs its own app only, and that app nothing: it stays as it was.
 */

import * as z from 'zod';

import type { Links } from '../config/config.ts';
import { asFailure, Failure, type FailureCode } from '../errors.ts';
import { statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { unlinkedPaths } from '../tables/linked-rows.ts';
import { namesLinks, readLiveSlices, readSliceTables, rowScan } from '../tables/stored-slices.ts';
import { refreshApp } from './refresh-app.ts';
import { type Refreshing, storedRows, warn } from './replace.ts';

export interface RefreshedLinks {
  /** Links there are now, of all apps. */
  readonly rows: number;
  /** Links that were there before and are no longer listed. */
  readonly removed: number;
  /** One per app that stayed as it was. */
  readonly failures: readonly Failure[];
}

/** Failures that concern every app, or that no other app would escape. */
const endsAll: ReadonlySet<FailureCode> = new Set(['CLOCK_UNTRUSTED', 'CREDENTIALS_REFUSED', 'STORAGE_FAILED']);
/** How the service may answer for an app that it does not know, or that the account has lost. */
const unknownApp: ReadonlySet<FailureCode> = new Set(['ACCESS_FORBIDDEN', 'SOURCE_MISSING', 'SOURCE_REFUSED']);

/**
 * Crawls the configured apps that were not yet crawled at the as-of instant, and replaces each one's links. Throws when
 * credentials or the clock are refused, the database fails or the run is stopped; apps that were complete by then are kept. Nothing
 * else may use the warehouse meanwhile.
 */
export async function refreshLinks(run: Refreshing, links: Links): Promise<RefreshedLinks> {
  const { apps, left } = await chooseApps(run, links);
  const refreshed = await crawlApps(run, apps, links.maxLevel);
  if (left.length > 0) {
    const message = `Apps the catalog no longer lists kept their links as they were: ${left.join(', ')}.`;
    await warn(run, 'LINKS_APPS_LEFT', message);
  }
  return refreshed;
}

/**
 * Crawls once more the apps whose rows, loaded since the last search, name a link that is not known, although `every` would let
 * them wait; not an app whose crawl failed already. A path is looked for by one crawl: `Organic` never has a link.
 */
export async function refreshNamedLinks(
  run: Refreshing,
  links: Links,
  failed: ReadonlySet<unknown>,
): Promise<RefreshedLinks> {
  const { warehouse, planAt } = run;
  const { searched, newest } = await rowScan(warehouse, 'links');
  const slices = (await readSliceTables(warehouse)).filter((slice) => namesLinks(slice));
  await warehouse.transact(async () => {
    for (const slice of newest <= searched ? [] : slices) {
      await warehouse.run(
        `insert into ripen_internal.unlisted_links
select f.*, $1::timestamp as seen_at
from (${unlinkedPaths(slice, searched)}) as f
anti join ripen_internal.unlisted_links as u on u.app_token = f.app_token and u.path = f.path`,
        [timestamp(planAt)],
      );
    }
    await warehouse.run(statement('links/record_row_scan'), ['links', newest]);
  });
  const naming = await warehouse.rows(statement('links/apps_naming_unlisted'), [timestamp(planAt)], appRow);
  const { apps } = await chooseApps(run, links);
  const due = apps.filter(({ token }) => naming.includes(token) && !failed.has(token));
  return crawlApps(run, due, links.maxLevel);
}

async function crawlApps(run: Refreshing, apps: readonly ChosenApp[], maxLevel: number): Promise<RefreshedLinks> {
  const failures: Failure[] = [];
  let removed = 0;
  for (const app of apps) {
    run.signal.throwIfAborted();
    try {
      const closed = await refreshApp(run, app.token, maxLevel);
      removed += closed;
    } catch (error) {
      run.signal.throwIfAborted();
      const failure = await judged(run, app, asFailure(error));
      if (failure !== null) failures.push(failure);
    }
  }
  return { rows: await storedRows(run.warehouse, 'links'), removed, failures };
}

/** What an app's failure is to the run: null when only loaded rows name the app and the service does not know it. */
async function judged(run: Refreshing, app: ChosenApp, failure: Failure): Promise<Failure | null> {
  if (endsAll.has(failure.code)) throw failure;
  const message = `The links of the app ${app.token} stayed as they were: ${failure.message}`;
  if (!app.isNamed && unknownApp.has(failure.code)) {
    await warn(run, 'LINKS_APP_UNKNOWN', message);
    return null;
  }
  const { facts, hint, cause } = failure;
  return new Failure(failure.code, message, {
    facts: { ...facts, app_token: app.token },
    ...(hint === null ? {} : { hint }),
    cause: cause ?? failure,
  });
}

interface ChosenApp {
  readonly token: string;
  /** Named by the catalog or the configuration; others only by loaded rows, so that the service may not know them. */
  readonly isNamed: boolean;
}

/** The forms of an app token (observed: Campaign API); rows may hold `unknown` in its place. */
const APP_TOKEN = /^[A-Za-z0-9]{10,12}$/;

const appRow = z.object({ app_token: z.string() }).transform((row) => row.app_token);

/** A nightly run begins some minutes earlier or later; it must not put a crawl off for another night. */
const NIGHTLY_SHIFT_MS = 3_600_000;

/**
 * The apps to crawl, in order of their tokens: without those whose complete crawl of this instant, of the time it counts for, or of a
 * later one that has come, is stored already. Those that are `left` have stored links, and nothing names them any more; none where
 * the configuration lists the apps.
 */
async function chooseApps({ warehouse, planAt }: Refreshing, links: Links) {
  const since = new Date(planAt.getTime() - Math.max(0, (links.everyMs ?? 0) - NIGHTLY_SHIFT_MS));
  const parameters = [timestamp(since), links.maxLevel, timestamp(new Date())];
  const done = await warehouse.rows(statement('links/crawled_apps'), parameters, appRow);
  const isDue = ({ token }: ChosenApp): boolean => !done.includes(token);
  if (links.apps !== 'all') {
    const tokens = [...new Set(links.apps)].toSorted();
    return { apps: tokens.map((token) => ({ token, isNamed: true })).filter(isDue), left: [] };
  }
  const listed = new Set(await warehouse.rows(statement('links/catalog_apps'), [], appRow));
  const loaded = (await loadedApps(warehouse)).filter((token) => APP_TOKEN.test(token));
  const tokens = new Set([...listed, ...loaded]);
  const apps = [...tokens].toSorted().map((token) => ({ token, isNamed: listed.has(token) }));
  const stored = await warehouse.rows(statement('links/linked_apps'), [], appRow);
  return { apps: apps.filter(isDue), left: stored.filter((token) => !tokens.has(token)) };
}

async function loadedApps(warehouse: Warehouse): Promise<string[]> {
  const slices = (await readLiveSlices(warehouse)).filter(({ columns }) => columns.includes('app_token'));
  if (slices.length === 0) return [];
  const tokens = slices.map(({ table }) => `select app_token from ${table} where app_token is not null`);
  return warehouse.rows(tokens.join('\nunion\n'), [], appRow);
}
