/**
 * Nights of links and partners on a real warehouse: whatever the lists do, what is stored is what was listed, or stays as it
 * was and the run says so; and the history has every night as it was.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { DuckDBInstance } from '@duckdb/node-api';

import { readConfig } from '../../src/config/read-config.ts';
import { fromService } from '../../src/run/service-source.ts';
import type { SyncSummary } from '../../src/run/summary.ts';
import { connect } from '../../src/service/connect.ts';
import { sync } from '../../src/sync.ts';
import { startScriptedServer, swiftClock } from '../support/scripted-server.ts';
import { dayNumber, dayText } from '../support/tiny-world.ts';
import {
  type Account,
  type AccountLink,
  apps,
  changed,
  firstAccount,
  levelOf,
  type Listing,
  listingReply,
  type ListingSequence,
  listsOf,
  nameOf,
  servedAs,
  type ServedList,
  statesTotal,
} from './listing-world.ts';
import { plainRequest } from '../support/plain-request.ts';

const LIMIT_MS = 60_000;
const HOUR_MS = 3_600_000;
const START_MS = Date.parse('2026-03-02T03:00:00Z');
/** Runs that are closer together belong to one night. */
const NIGHT_MS = 6 * HOUR_MS;

type Row = Readonly<Record<string, unknown>>;

/** What is stored after a run. */
interface Held {
  readonly links: readonly Row[];
  readonly partners: readonly Row[];
}

/** A run, as far as later ones depend on it. */
interface Past {
  readonly nowMs: number;
  readonly held: Held;
  /** Of each app's lists, and of the partners'. */
  readonly doubts: ReadonlyMap<string, Doubt>;
  readonly crawled: ReadonlySet<string>;
  readonly hasSucceeded: boolean;
}

/** How many stored items a doubted list lacked, and when. */
interface Doubt {
  readonly missing: number;
  readonly sinceMs: number;
}

/** Runs every night of a sequence, and holds every law after each. Throws for the first that does not hold. */
export async function runListings(sequence: ListingSequence): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'ripen-fuzz-'));
  let account = firstAccount(sequence);
  let listing: Listing | null = null;
  const server = await startScriptedServer((request) => {
    if (listing === null) throw new RangeError('No night was begun.');
    return listingReply(request, account, listing, () => reportOf(account, request.query.get('date_period') ?? ''));
  });
  const pasts: Past[] = [];
  let nowMs = START_MS;
  try {
    for (const [at, night] of sequence.nights.entries()) {
      nowMs += at === 0 ? 0 : night.pauseHours * HOUR_MS;
      account = at === 0 ? account : night.changes.reduce((was, change) => changed(was, change), account);
      listing = night.listing;
      const summary = await runNight(directory, server.origin, new Date(nowMs));
      pasts.push(await hold({ directory, account, listing, nowMs, summary, pasts }));
    }
  } finally {
    await server.close();
    await rm(directory, { recursive: true, force: true });
  }
}

async function runNight(directory: string, origin: string, asOf: Date): Promise<SyncSummary> {
  const document = {
    service: { base_url: origin, reports_url: origin, token: '${RIPEN_TOKEN}', max_starts_per_second: 50 },
    warehouse: 'warehouse.duckdb',
    partners: true,
    links: { apps },
    slices: [
      {
        name: 'facts',
        dimensions: ['day', 'app_token', 'network', 'partner_id', 'partner_name'],
        metrics: ['installs'],
        date_period: '-2d:yesterday',
        refresh: 'nightly',
      },
    ],
  };
  await writeFile(join(directory, 'ripen.yaml'), JSON.stringify(document));
  const config = await readConfig({ directory, environment: { RIPEN_TOKEN: 'fuzz-token' } });
  if (config.service.kind !== 'http') throw new TypeError('The configured service is no address.');
  const service = connect(config.service, () => {}, swiftClock());
  try {
    const request = { ...plainRequest, command: 'sync', asOf } as const;
    return await sync(config, request, fromService(service), { emit: () => {}, signal: AbortSignal.timeout(LIMIT_MS) });
  } finally {
    await service.close();
  }
}

/** A row a day for each network that an app has. */
function reportOf({ links, partners }: Account, datePeriod: string): Row {
  const [first = '', last = first] = datePeriod.split(':');
  const networks = links.filter(({ parent }) => parent === null);
  const byName = new Map(networks.map((link) => [`${link.app} ${link.label}`, link]));
  const rows: Row[] = [];
  for (let day = dayNumber(first); day <= dayNumber(last); day += 1) {
    for (const { app, label, partner } of byName.values()) {
      const name = partners.find(({ id }) => id === partner)?.name ?? 'gone';
      rows.push({
        day: dayText(day),
        app_token: app,
        network: label,
        partner_id: partner === null ? '' : String(partner),
        partner_name: partner === null ? '' : name,
        installs: '3',
        attr_dependency: {},
      });
    }
  }
  return { rows, totals: { installs: rows.length * 3 }, warnings: [] };
}

interface Night {
  readonly directory: string;
  readonly account: Account;
  readonly listing: Listing;
  readonly nowMs: number;
  readonly summary: SyncSummary;
  readonly pasts: readonly Past[];
}

/** Holds every law after a night. */
async function hold(night: Night): Promise<Past> {
  const { directory, nowMs, summary, pasts } = night;
  const before = pasts.at(-1)?.held ?? { links: [], partners: [] };
  const { held, histories, joined } = await readHeld(directory, [...pasts.map((past) => past.nowMs), nowMs]);
  const doubts = new Map(pasts.at(-1)?.doubts);
  const crawled = new Set<string>();
  const isDone = pasts.some((past) => past.nowMs === nowMs && past.hasSucceeded);
  for (const app of apps) {
    const ofApp = (rows: readonly Row[]): readonly Row[] => rows.filter((row) => row['app_token'] === app);
    const isCrawled = isDone || pasts.some((past) => past.nowMs === nowMs && past.crawled.has(app));
    const stored = ofApp(before.links);
    const listed = isCrawled ? null : listedLinks(night, app);
    if (listed !== null) crawled.add(app);
    const kept = listed === null ? stored : stayingOf(night, doubts, { subject: app, key: 'token', listed, stored });
    const links = [...(listed?.items ?? []), ...(listed === null ? kept : withPaths(kept, listed.items))];
    same(ofApp(held.links), links.toSorted(byToken), `links of ${app}`);
    const failures = summary.failures.filter(({ message }) => message.includes(app));
    same(failures.length, isCrawled || listed !== null ? 0 : 1, `failures of ${app}`);
  }
  const listed = isDone ? null : listedPartners(night);
  const stored = before.partners.filter((row) => row['is_listed'] === true);
  const kept =
    listed === null ? stored : stayingOf(night, doubts, { subject: PARTNERS, key: 'partner_id', listed, stored });
  const partners = [...(listed?.items ?? []), ...kept].toSorted(byId);
  same(
    held.partners.filter((row) => row['is_listed'] === true),
    partners,
    'listed partners',
  );
  const ids = new Set([...partners, ...before.partners].map((row) => row['partner_id']));
  same(
    held.partners.map((row) => row['partner_id']),
    [...new Set([...ids, ...joined.carried])].map(String).toSorted((one, other) => (one < other ? -1 : 1)),
    'partners that are, or once were, listed or carried',
  );
  same([joined.astray, joined.joined], [0, joined.rows], 'rows with their links');
  const then = [...pasts, { nowMs, held }];
  for (const [at, rows] of histories.entries()) {
    same(rows, then.findLast((past) => past.nowMs === then[at]?.nowMs)?.held, `history of night ${at + 1}`);
  }
  const closed = before.links.filter(
    (row) => !held.links.some((each) => each['token'] === row['token'] && each['app_token'] === row['app_token']),
  );
  same(summary.links.removed, closed.length, 'links removed');
  return { nowMs, held, doubts, crawled, hasSucceeded: summary.status === 'succeeded' };
}

/** Throws with the first difference. */
function same(found: unknown, wanted: unknown, what: string): void {
  const [one, other] = [found, wanted].map((each) => JSON.stringify(each));
  if (one === other) return;
  const [rows, others] = [found, wanted].map((each) =>
    Array.isArray(each) ? each.map((row) => JSON.stringify(row)) : [],
  );
  const lacks = others?.find((row) => rows?.includes(row) !== true);
  const has = rows?.find((row) => others?.includes(row) !== true);
  throw new Error(`${what}: has ${has ?? one}, should have ${lacks ?? other}`);
}

/** A whole reading of a subject's lists, and whether some list said that it held more. */
interface Listed {
  readonly items: readonly Row[];
  readonly isShort: boolean;
}

interface Compared {
  readonly subject: string;
  readonly key: 'token' | 'partner_id';
  readonly listed: Listed;
  readonly stored: readonly Row[];
}

/** The stored items that are not listed and stay all the same; remembers why. */
function stayingOf({ nowMs }: Night, doubts: Map<string, Doubt>, compared: Compared): readonly Row[] {
  const { subject, key, listed, stored } = compared;
  const missing = stored.filter((row) => !listed.items.some((each) => each[key] === row[key]));
  const isOdd = missing.length > stored.length / 2 || (listed.isShort && missing.length > 0);
  const before = doubts.get(subject);
  const agrees = before !== undefined && missing.length >= before.missing;
  if (isOdd && agrees && nowMs - before.sinceMs < NIGHT_MS) return missing;
  doubts.delete(subject);
  if (!isOdd || agrees) return [];
  doubts.set(subject, { missing: missing.length, sinceMs: nowMs });
  return missing;
}

/** Whether a list held fewer items than its pages said. */
const isCut = <T>({ items, total }: ServedList<T>, hasTotals: boolean): boolean => hasTotals && items.length < total;

const PARTNERS = 'partners';

/** What an app's lists of a night come to; null where one of them fails. */
function listedLinks({ account, listing }: Night, app: string): Listed | null {
  const lists = listsOf(account, listing);
  const links: AccountLink[] = [];
  let isShort = false;
  let keys = [app];
  while (keys.length > 0) {
    const below: string[] = [];
    for (const key of keys) {
      const list = lists.get(key);
      if (list === undefined) throw new RangeError('A list was asked for that nobody has.');
      if (list.fails !== null) return null;
      isShort ||= isCut(list, !listing.knowsV2 && statesTotal(listing));
      links.push(...list.items);
      below.push(...list.items.filter(({ token }) => lists.has(token)).map(({ token }) => token));
    }
    keys = below;
  }
  return { items: links.map((link) => storedLink(link, account.links)), isShort };
}

/** Stored links that stay, under the names of what is listed above them. */
function withPaths(kept: readonly Row[], listed: readonly Row[]): readonly Row[] {
  const rows = new Map([...kept, ...listed].map((row) => [row['token'], row]));
  const above = ({ parent_token: parent }: Row): Row | undefined => rows.get(parent);
  const placed = (row: Row): Row => {
    const parent = above(row);
    if (parent === undefined || !kept.includes(row)) return row;
    const over = placed(parent);
    const labels = ['network_name', 'campaign_name', 'adgroup_name', 'creative_name'] as const;
    const depth = labels.findLastIndex((label) => over[label] !== null) + 1;
    return {
      ...row,
      root_token: over['root_token'],
      inherited_partner_id: over['partner_id'] ?? over['inherited_partner_id'],
      ...Object.fromEntries(
        labels.map((label, at) => [label, at < depth ? over[label] : at === depth ? row['label'] : null]),
      ),
    };
  };
  return kept.map((row) => placed(row));
}

const byToken = (one: Row, other: Row): number => (String(one['token']) < String(other['token']) ? -1 : 1);

function storedLink(link: AccountLink, links: readonly AccountLink[]): Row {
  const path = pathOf(link, links);
  const above = path.slice(0, -1).findLast(({ partner }) => partner !== null)?.partner ?? null;
  const idText = (id: number | null): string | null => (id === null ? null : String(id));
  return {
    token: link.token,
    app_token: link.app,
    parent_token: link.parent,
    root_token: path[0]?.token,
    level: levelOf(link, links),
    name: nameOf(link, links),
    label: link.label,
    archived: link.archived,
    has_subtrackers: links.some(({ parent }) => parent === link.token),
    partner_id: idText(link.partner),
    inherited_partner_id: idText(above),
    cost_data_enabled: link.label.length % 2 === 0,
    url: `https://link.example.com/${link.token}?c={campaign_name}`,
    click_url: null,
    impression_url: `https://view.example.com/${link.token}?i=[idfa] x`,
    network_name: path[0]?.label,
    campaign_name: path[1]?.label ?? null,
    adgroup_name: path[2]?.label ?? null,
    creative_name: path[3]?.label ?? null,
  };
}

function pathOf(link: AccountLink, links: readonly AccountLink[]): AccountLink[] {
  const above = links.find(({ token }) => token === link.parent);
  return above === undefined ? [link] : [...pathOf(above, links), link];
}

const byId = (one: Row, other: Row): number => (String(one['partner_id']) < String(other['partner_id']) ? -1 : 1);

/** What the list of partners comes to; null where it fails. */
function listedPartners({ account, listing }: Night): Listed | null {
  const list = servedAs(account.partners, listing.partners);
  if (list.fails !== null) return null;
  const items = list.items.map(({ id, name }) => ({
    partner_id: String(id),
    display_name: name,
    supports_cost_data: id % 2 === 0,
    is_listed: true,
  }));
  return { items, isShort: isCut(list, statesTotal(listing)) };
}

interface Read {
  readonly held: Held;
  /** As the history has each instant. */
  readonly histories: readonly Held[];
  readonly joined: {
    readonly rows: number;
    readonly joined: number;
    readonly astray: number;
    readonly carried: readonly unknown[];
  };
}

async function readHeld(directory: string, instants: readonly number[]): Promise<Read> {
  const instance = await DuckDBInstance.create(join(directory, 'warehouse.duckdb'), {
    access_mode: 'READ_ONLY',
    threads: '1',
  });
  const connection = await instance.connect();
  const ask = async (sql: string): Promise<Row[]> => (await connection.runAndReadAll(sql)).getRowObjectsJson();
  try {
    const heldIn = async (suffix: string, where: string): Promise<Held> => ({
      links: await ask(
        `select * ${where === '' ? '' : 'exclude (valid_from, valid_to) '}from main.links${suffix} ${where} order by token, app_token`,
      ),
      partners: await ask(
        `select partner_id, display_name, supports_cost_data, is_listed from main.partners${suffix} ${where} order by partner_id`,
      ),
    });
    const histories: Held[] = [];
    for (const instant of instants) {
      const at = `make_timestamp_ms(${instant})`;
      histories.push(await heldIn('_history', `where valid_from <= ${at} and (valid_to is null or valid_to > ${at})`));
    }
    const [counts = {}] = await ask(
      `select
         (select count(*)::int from main.facts) as rows,
         (select count(*)::int from main.facts_links) as joined,
         (select count(*)::int from main.facts_links where link_token is not null and network_name <> network) as astray`,
    );
    const carried = await ask(`select distinct partner_id from main.facts where partner_id <> ''`);
    return {
      held: await heldIn('', ''),
      histories,
      joined: {
        rows: Number(counts['rows']),
        joined: Number(counts['joined']),
        astray: Number(counts['astray']),
        carried: carried.map((row) => row['partner_id']),
      },
    };
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
