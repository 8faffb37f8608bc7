/** Crawls apps and replaces the links of each whose crawl is complete; if a page fails, only its own app stays as it was. */

import * as z from 'zod';

import type { Links } from '../config/config.ts';
import { asFailure, Failure, type FailureCode } from '../errors.ts';
import { statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { unlinkedPaths } from '../tables/linked-rows.ts';
import {
  namesLinks,
  readLiveSlices,
  readSliceTables,
  readRowScan,
} from '../tables/stored-slices.ts';
import { refreshApp } from './refresh-app.ts';
import { type Refreshing, storedRows, warn } from './replace.ts';

export interface RefreshedLinks {
  /** Links stored now, of all apps. */
  readonly rows: number;
  /** Links that were stored before and are no longer listed. */
  readonly removed: number;
  /** One per app whose links stayed as they were. */
  readonly failures: readonly Failure[];
}

/** Failures that concern every app, or that every other app would meet, too. */
const endsAll: ReadonlySet<FailureCode> = new Set([
  'CLOCK_UNTRUSTED',
  'CREDENTIALS_REFUSED',
  'STORAGE_FAILED',
]);
/** Failures that the service may return for an app that it does not know, or that the account has lost. */
const unknownApp: ReadonlySet<FailureCode> = new Set([
  'ACCESS_FORBIDDEN',
  'SOURCE_MISSING',
  'SOURCE_REFUSED',
]);

/**
 * Crawls the configured apps without a crawl that counts at the as-of instant, and replaces each one's links. Throws if the
 * credentials or the clock are refused, the database fails or the run is stopped; apps that were complete by then are kept.
 * Nothing else may use the warehouse meanwhile.
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
 * Crawls apps again before `every` requires it, if their rows, loaded since the last search, name an unknown link. Skips apps
 * whose crawl has already failed. A path causes only one crawl: `Organic` never has a link.
 */
export async function refreshNamedLinks(
  run: Refreshing,
  links: Links,
  failed: ReadonlySet<unknown>,
): Promise<RefreshedLinks> {
  const { warehouse, planAt } = run;
  const { searched: lastScannedLoad, newest } = await readRowScan(warehouse, 'links');
  const slices = (await readSliceTables(warehouse)).filter((slice) => namesLinks(slice));
  await warehouse.transact(async () => {
    for (const slice of newest <= lastScannedLoad ? [] : slices) {
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
  const naming = await warehouse.rows(
    statement('links/apps_naming_unlisted'),
    [timestamp(planAt)],
    appRow,
  );
  const { apps } = await chooseApps(run, links);
  const due = apps.filter(({ token }) => naming.includes(token) && !failed.has(token));
  return crawlApps(run, due, links.maxLevel);
}

async function crawlApps(
  run: Refreshing,
  apps: readonly ChosenApp[],
  maxLevel: number,
): Promise<RefreshedLinks> {
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

/** The failure to report for an app; null, with a warning, if only loaded rows name it and the service does not know it. */
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
  /** Whether the catalog or the configuration names it; the service may not know an app that only loaded rows name. */
  readonly isNamed: boolean;
}

/** The form of an app token (observed: Campaign API); rows may contain `unknown` in its place. */
const APP_TOKEN = /^[A-Za-z0-9]{10,12}$/;

const appRow = z.object({ app_token: z.string() }).transform((row) => row.app_token);

/** A nightly run may begin some minutes earlier or later; that must not delay a crawl by another night. */
const NIGHTLY_SHIFT_MS = 3_600_000;

/**
 * The apps to crawl, in the order of their tokens: those without a complete crawl that still counts, or is later but not in the
 * future. `left` are apps with stored links that nothing names any more; empty if the configuration lists the apps.
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
  const slices = (await readLiveSlices(warehouse)).filter(({ columns }) =>
    columns.includes('app_token'),
  );
  if (slices.length === 0) return [];
  const tokens = slices.map(
    ({ table }) => `select app_token from ${table} where app_token is not null`,
  );
  return warehouse.rows(tokens.join('\nunion\n'), [], appRow);
}
