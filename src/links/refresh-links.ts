/**
 * Links in the warehouse: every app crawled, each replaced only when its crawl was complete.
 *
 * Hides crawling, staging and versions. A failed page costs its own app only, and that app nothing: it stays as it was.
 */

import * as z from 'zod';

import type { Links } from '../config/config.ts';
import { asFailure, Failure, type FailureCode, type WarningCode } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { MachineClock } from '../service/machine-clock.ts';
import type { Service, ShortList } from '../service/service.ts';
import { recordWarning } from '../warehouse/runs.ts';
import { count, statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { eachInParallel, takeTurns, type Turn } from './in-parallel.ts';
import { readLiveSlices } from './slice-tables.ts';
import { replaceApp, type Replaced } from './replace-app.ts';
import { clearStaged, StagedLinks } from './staged-links.ts';

/** What a refresh of partners or links works with. */
export interface Refreshing {
  readonly warehouse: Warehouse;
  readonly service: Service;
  /** Looked at before anything is stored. */
  readonly clock: MachineClock;
  readonly runId: string;
  /** Dates what changed. */
  readonly planAt: Date;
  readonly emit: Emit;
  readonly signal: AbortSignal;
}

export interface RefreshedLinks {
  /** Links there are now, of all apps. */
  readonly rows: number;
  /** Links that were there before and are no longer listed. */
  readonly removed: number;
  /** One per app that stayed as it was. */
  readonly failures: readonly Failure[];
}

/** Apps with few links would otherwise leave the campaign API's limit unused. */
const APPS_AT_ONCE = 4;
/** Failures that concern every app, or that no other app would escape. */
const endsAll: ReadonlySet<FailureCode> = new Set<FailureCode>([
  'CLOCK_UNTRUSTED',
  'CREDENTIALS_REFUSED',
  'STORAGE_FAILED',
]);
/** How the service may answer for an app that it does not know, or that the account has lost. */
const unknownApp: ReadonlySet<FailureCode> = new Set<FailureCode>([
  'ACCESS_FORBIDDEN',
  'SOURCE_MISSING',
  'SOURCE_REFUSED',
]);

/**
 * Crawls the configured apps that were not yet crawled at the as-of instant, and replaces each one's links. Throws when
 * credentials or the clock are refused, the database fails or the run is stopped; apps that were complete by then are kept. Nothing
 * else may use the warehouse meanwhile.
 */
export async function refreshLinks(run: Refreshing, links: Links): Promise<RefreshedLinks> {
  const { apps, left } = await chooseApps(run, links);
  // What a killed run staged.
  await run.warehouse.run(statement('links/forget_left_links'));
  const turn = takeTurns();
  const failures: Failure[] = [];
  let removed = 0;
  await eachInParallel(apps, APPS_AT_ONCE, async (app) => {
    run.signal.throwIfAborted();
    try {
      const replaced = await refreshApp(run, app.token, links.maxLevel, turn);
      removed += replaced.removed;
    } catch (error) {
      run.signal.throwIfAborted();
      const failure = await judged(run, app, asFailure(error), turn);
      if (failure !== null) failures.push(failure);
    }
  });
  if (left.length > 0) {
    await warn(
      run,
      'LINKS_APPS_LEFT',
      `Apps the catalog no longer lists kept their links as they were: ${left.join(', ')}.`,
    );
  }
  return { rows: await storedLinks(run.warehouse), removed, failures };
}

/** Links there are now, of all apps. */
export async function storedLinks(warehouse: Warehouse): Promise<number> {
  const [total] = await warehouse.rows('select count(*) as rows from main.links', [], z.object({ rows: count }));
  return total?.rows ?? 0;
}

/** Crawls an app and replaces its links. */
async function refreshApp(run: Refreshing, appToken: string, maxLevel: number, turn: Turn): Promise<Replaced> {
  const { warehouse, clock, runId, planAt } = run;
  const staged = new StagedLinks(warehouse, turn, appToken);
  await turn(() => clearStaged(warehouse, appToken));
  const crawl: Crawl = {
    appToken,
    maxLevel,
    staged,
    requests: 0,
    read: new Set(),
    short: new Map(),
    unanswered: new Set(),
  };
  await crawlLists(run, crawl, [{ parent: null, level: 1 }]);
  // A link may slip from one page to the one before, which was read already, when another is removed meanwhile.
  const lacking = await turn(() => warehouse.rows(statement('links/lacking_lists'), [appToken, maxLevel], listRow));
  await crawlLists(run, crawl, lacking);
  clock.check();
  const { requests, short } = crawl;
  const unanswered = [...crawl.unanswered].toSorted();
  const complete = { appToken, maxLevel, requests, runId, isShort: short.size > 0, unanswered };
  const replaced = await turn(() => replaceApp(warehouse, planAt, complete));
  const tell = async (code: WarningCode, message: string | null): Promise<void> => {
    if (message !== null) await turn(() => warn(run, code, message));
  };
  await tell('LIST_SHRUNK', replaced.doubt);
  await tell('LIST_SHORT', shortText(`The app ${appToken}`, 'links', [...short.values()]));
  await tell('SUBLINKS_UNANSWERED', unansweredText(appToken, unanswered));
  run.emit({ type: 'links_loaded', app: appToken, rows: replaced.links, requests });
  return replaced;
}

/** What is told of lists that held fewer items than they said; null where there are none. */
export function shortText(name: string, items: string, short: readonly ShortList[]): string | null {
  const [worst] = short.toSorted((one, other) => other.stated - other.listed - (one.stated - one.listed));
  if (worst === undefined) return null;
  const others = short.length === 1 ? '' : `; lists that held less than they said: ${short.length}`;
  return `${name} listed ${worst.listed} ${items} in a list that said it held ${worst.stated}${others}.`;
}

/** Links named in one message. */
const MOST_NAMED = 20;

function unansweredText(appToken: string, tokens: readonly string[]): string | null {
  if (tokens.length === 0) return null;
  const more = tokens.length > MOST_NAMED ? ` and ${tokens.length - MOST_NAMED} more` : '';
  const named = tokens.slice(0, MOST_NAMED).join(', ') + more;
  return `The app ${appToken} lists links with sub-links, and the service answers that these are not there; those stored stay: ${named}.`;
}

/** What an app's failure is to the run: null when only loaded rows name the app and the service does not know it. */
async function judged(run: Refreshing, app: ChosenApp, failure: Failure, turn: Turn): Promise<Failure | null> {
  if (endsAll.has(failure.code)) throw failure;
  await turn(() => clearStaged(run.warehouse, app.token));
  const message = `The links of the app ${app.token} stayed as they were: ${failure.message}`;
  if (!app.isNamed && unknownApp.has(failure.code)) {
    await turn(() => warn(run, 'LINKS_APP_UNKNOWN', message));
    return null;
  }
  const { facts, hint, cause } = failure;
  return new Failure(failure.code, message, {
    facts: { ...facts, app_token: app.token },
    ...(hint === null ? {} : { hint }),
    cause: cause ?? failure,
  });
}

/** Records and tells it. */
export async function warn({ warehouse, runId, emit }: Refreshing, code: WarningCode, message: string): Promise<void> {
  await recordWarning(warehouse, { runId, slice: null, days: null, code, message });
  emit({ type: 'warning', code, slice: null, window: null, message });
}

interface ChosenApp {
  readonly token: string;
  /** Named by the catalog or the configuration; others only by loaded rows, so that the service may not know them. */
  readonly isNamed: boolean;
}

interface ChosenApps {
  /** To be crawled, in order of their tokens. */
  readonly apps: readonly ChosenApp[];
  /** Apps with stored links that nothing names any more; empty when the configuration lists the apps. */
  readonly left: readonly string[];
}

/** The forms of an app token (observed: Campaign API); rows may hold `unknown` in its place. */
const APP_TOKEN = /^[A-Za-z0-9]{10,12}$/;

const appRow = z.object({ app_token: z.string() }).transform((row) => row.app_token);

/** A nightly run begins some minutes earlier or later; it must not put a crawl off for another night. */
const NIGHTLY_SHIFT_MS = 3_600_000;

/** The apps to crawl: without those whose complete crawl of this instant, of the time it counts for, or of a later one that has come, is stored already. */
async function chooseApps({ warehouse, planAt }: Refreshing, links: Links): Promise<ChosenApps> {
  const since = new Date(planAt.getTime() - Math.max(0, (links.everyMs ?? 0) - NIGHTLY_SHIFT_MS));
  const asked = [timestamp(since), links.maxLevel, timestamp(new Date())];
  const done = await warehouse.rows(statement('links/crawled_apps'), asked, appRow);
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

/** Keeps the campaign API's own limit busy; what exceeds it waits there. */
const LISTINGS_AT_ONCE = 8;

/** A list of links: an app's networks, or the sub-links of a link. */
interface LinkList {
  readonly parent: string | null;
  /** Of the links it holds. */
  readonly level: number;
}

const listRow = z
  .object({ parent_token: z.string().nullable(), level: count })
  .transform(({ parent_token: parent, level }): LinkList => ({ parent, level }));

/** An app's crawl so far. */
interface Crawl {
  readonly appToken: string;
  readonly maxLevel: number;
  readonly staged: StagedLinks;
  /** Pages it took. */
  requests: number;
  /** Links whose sub-links were asked for. */
  readonly read: Set<string>;
  /** Lists that held fewer links than they said, by the link above; of the networks by ''. */
  readonly short: Map<string, ShortList>;
  /** Links that say they have sub-links, and whose list is not there. */
  readonly unanswered: Set<string>;
}

/** Stages every link of some lists of an app, and those below them down to its level. Throws what listing throws. */
async function crawlLists(run: Refreshing, crawl: Crawl, lists: readonly LinkList[]): Promise<void> {
  for (let next = lists; next.length > 0;) {
    const below: LinkList[] = [];
    await eachInParallel(next, LISTINGS_AT_ONCE, async (list) => {
      below.push(...(await readList(run, crawl, list)));
    });
    next = below;
  }
  await crawl.staged.flush();
}

/** Stages one list; returns the lists below it that were not read yet. */
async function readList(
  { service, signal }: Refreshing,
  crawl: Crawl,
  { parent, level }: LinkList,
): Promise<readonly LinkList[]> {
  const { appToken, maxLevel, staged, read, short, unanswered } = crawl;
  const key = parent ?? '';
  const below: LinkList[] = [];
  short.delete(key);
  unanswered.delete(key);
  let pages = 0;
  try {
    for await (const links of service.links(appToken, parent, signal, (found) => short.set(key, found))) {
      pages += 1;
      await staged.add(parent, links);
      for (const { token, hasSubtrackers } of links) {
        if (level >= maxLevel || !hasSubtrackers || read.has(token)) continue;
        read.add(token);
        below.push({ parent: token, level: level + 1 });
      }
    }
  } catch (error) {
    if (parent === null || !(error instanceof Failure) || error.code !== 'SOURCE_MISSING') throw error;
    unanswered.add(parent);
  }
  // A list that turns out to be empty took a page as well.
  crawl.requests += Math.max(1, pages);
  return below;
}
