/**
 * Links in the warehouse: every app crawled, each replaced only when its crawl was complete.
 *
 * Hides crawling, staging and versions. A failed page costs its own app only, and that app nothing: it stays as it was.
 */

import * as z from 'zod';

import type { Links } from '../config/config.ts';
import { asFailure, Failure, type FailureCode, type WarningCode } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Link } from '../model/link.ts';
import type { MachineClock } from '../service/machine-clock.ts';
import type { Service, ShortList } from '../service/service.ts';
import { recordWarning } from '../warehouse/runs.ts';
import { count, statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { eachInParallel, takeTurns, type Turn } from './in-parallel.ts';
import { readLiveSlices } from './live-slices.ts';
import { appSubject, leftAsItWas, replaceApp, type Replaced } from './replace-app.ts';
import { type ShortLists, shortOf } from './shrunk.ts';
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

/**
 * Replaces an app's links. A link that is removed while a list is paged may make another one slip from one page to the one
 * before, which was read already: where the crawl lacks stored links, the app is crawled once more, and what neither has is
 * closed.
 */
async function refreshApp(run: Refreshing, appToken: string, maxLevel: number, turn: Turn): Promise<Replaced> {
  const { warehouse, clock, runId, planAt } = run;
  const staged = new StagedLinks(warehouse, turn, appToken);
  await turn(() => clearStaged(warehouse, appToken));
  let requests = 0;
  /** Links that vanished while their app was crawled: those that are listed again have no sub-links to be asked for. */
  let vanished: ReadonlySet<string> | null = null;
  for (let isFirst = true; ;) {
    const crawled = await crawlApp(run, { appToken, maxLevel, staged });
    requests += crawled.requests;
    const unseen = crawled.unanswered.find((token) => vanished?.has(token) !== true);
    if (unseen !== undefined) {
      if (vanished !== null) throw tornBy(unseen);
      vanished = new Set(crawled.unanswered);
      // What was read before and after a removal is the tree of no instant.
      await turn(() => clearStaged(warehouse, appToken));
      isFirst = true;
      continue;
    }
    clock.check();
    const { short, unanswered } = crawled;
    const complete = { maxLevel, requests, runId, short, unanswered, isFirst };
    const replaced = await turn(() => replaceApp(warehouse, appToken, planAt, complete));
    isFirst = false;
    if (replaced === null) continue;
    if (replaced instanceof Failure) throw replaced;
    await tellOf(run, appToken, { ...replaced, short, unanswered }, turn);
    run.emit({ type: 'links_loaded', app: appToken, rows: replaced.links, requests });
    return replaced;
  }
}

/** Links named in one message. */
const MOST_NAMED = 20;

function someOf(tokens: readonly string[]): string {
  const more = tokens.length > MOST_NAMED ? ` and ${tokens.length - MOST_NAMED} more` : '';
  return tokens.slice(0, MOST_NAMED).join(', ') + more;
}

/** Warns of what was odd about the lists of an app that was replaced. */
async function tellOf(
  run: Refreshing,
  appToken: string,
  { cyclic, short, unanswered }: Pick<Replaced, 'cyclic'> & Pick<Crawled, 'short' | 'unanswered'>,
  turn: Turn,
): Promise<void> {
  const told = shortOf(appSubject(appToken), short);
  if (told !== null) await turn(() => warn(run, 'LIST_SHORT', told));
  if (unanswered.length > 0) {
    const message = `The app ${appToken} lists links with sub-links, and the service answers that these are not there; those stored stay: ${someOf(unanswered)}.`;
    await turn(() => warn(run, 'SUBLINKS_UNANSWERED', message));
  }
  if (cyclic.length > 0) {
    const message = `The app ${appToken} listed links below their own sub-links, and they were stored where they stood first: ${someOf(cyclic)}.`;
    await turn(() => warn(run, 'LINKS_CYCLE', message));
  }
}

/** What an app's failure is to the run: null when only loaded rows name the app and the service does not know it. */
async function judged(run: Refreshing, app: ChosenApp, failure: Failure, turn: Turn): Promise<Failure | null> {
  if (endsAll.has(failure.code)) throw failure;
  await turn(() => clearStaged(run.warehouse, app.token));
  const message = `${leftAsItWas(app.token)} ${failure.message}`;
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

/** The apps to crawl: without those whose complete crawl of this instant, or of a later one that has come, is stored already. */
async function chooseApps({ warehouse, planAt }: Refreshing, links: Links): Promise<ChosenApps> {
  const asked = [timestamp(planAt), links.maxLevel, timestamp(new Date())];
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

interface Crawl {
  readonly appToken: string;
  readonly maxLevel: number;
  readonly staged: StagedLinks;
}

interface Crawled {
  /** Pages it took. */
  readonly requests: number;
  readonly short: ShortLists;
  /** Links that say they have sub-links, and whose list is not there: they vanished meanwhile, or the service has none. */
  readonly unanswered: readonly string[];
}

/** Stages every link of an app down to a level. Throws what listing throws. */
async function crawlApp({ service, signal }: Refreshing, { appToken, maxLevel, staged }: Crawl): Promise<Crawled> {
  let requests = 0;
  const short = new Map<string, ShortList>();
  const unanswered: string[] = [];
  async function* listed(parent: string | null): AsyncGenerator<readonly Link[], void> {
    try {
      yield* service.links(appToken, parent, signal, (found) => short.set(parent ?? '', found));
    } catch (error) {
      if (parent === null || !(error instanceof Failure) || error.code !== 'SOURCE_MISSING') throw error;
      unanswered.push(parent);
    }
  }
  const asked = new Set<string>();
  let parents: readonly (string | null)[] = [null];
  for (let level = 1; level <= maxLevel && parents.length > 0; level += 1) {
    const below: string[] = [];
    await eachInParallel(parents, LISTINGS_AT_ONCE, async (parent) => {
      let pages = 0;
      for await (const links of listed(parent)) {
        pages += 1;
        await staged.add(parent, links);
        if (level === maxLevel) continue;
        for (const { token, hasSubtrackers } of links) {
          if (!hasSubtrackers || asked.has(token)) continue;
          asked.add(token);
          below.push(token);
        }
      }
      // A list that turns out to be empty took a page as well.
      requests += Math.max(1, pages);
    });
    parents = below;
  }
  await staged.flush();
  return { requests, short, unanswered: unanswered.toSorted() };
}

const tornBy = (link: string): Failure =>
  new Failure('DATA_INCOMPLETE', `The link ${link} vanished while its app's links were listed`, {
    facts: { link },
    hint: 'Run again: links were being removed during the crawl.',
  });
