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
/** Of fewer items most may well go in a night; a second night may miss a fifth, or two, more or less. */
const [FEW, SAME_SHARE, SAME_FEW] = [4, 0.2, 2];

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
  /** How many items each doubted subject missed. */
  readonly told: ReadonlyMap<string, number>;
  readonly crawled: ReadonlySet<string>;
  readonly hasSucceeded: boolean;
  /** How many items the list of each subject lacked that lacked most, where nothing was left as it was; of a sync that failed, of none. */
  readonly lacked: ReadonlyMap<string, number>;
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
  const codes = new Map(summary.failures.map(({ code, message }) => [message, code]));
  const told = new Map<string, number>();
  const crawled = new Set<string>();
  const lacked = new Map<string, number>();
  /** A sync at an instant that brought the lists before reads them no more. */
  const lackedThen = (subject: string): number =>
    Math.max(0, ...pasts.filter((past) => past.nowMs === nowMs).map((past) => past.lacked.get(subject) ?? 0));
  const isDone = pasts.some((past) => past.nowMs === nowMs && past.hasSucceeded);
  for (const app of apps) {
    const mine = (rows: readonly Row[]): readonly Row[] => rows.filter((row) => row['app_token'] === app);
    const wasCrawled = isDone || pasts.some((past) => past.nowMs === nowMs && past.crawled.has(app));
    const stood = mine(before.links);
    const outcome = wasCrawled ? ({ kind: 'kept' } as const) : judgedLinks(night, app, stood);
    if (outcome.kind === 'doubted') told.set(`The app ${app}`, outcome.lost);
    if (outcome.kind === 'listed') crawled.add(app);
    if (outcome.kind === 'listed') lacked.set(`The app ${app}`, outcome.lacking);
    if (outcome.kind === 'kept') lacked.set(`The app ${app}`, lackedThen(`The app ${app}`));
    same(mine(held.links), outcome.kind === 'listed' ? outcome.links : stood, `links of ${app}, ${outcome.kind}`);
    const named = [...codes]
      .filter(([message]) => message.includes(app))
      .map(([, code]) => (code === 'DATA_SHRUNK' ? 'doubted' : 'failed'));
    same(named, outcome.kind === 'doubted' || outcome.kind === 'failed' ? [outcome.kind] : [], `failures of ${app}`);
  }
  const listedBefore = before.partners.filter((row) => row['is_listed'] === true);
  const partners = isDone ? ({ kind: 'kept' } as const) : judgedPartners(night, listedBefore);
  if (partners.kind === 'doubted') told.set('The service', partners.lost);
  else lacked.set('The service', partners.kind === 'listed' ? partners.lacking : lackedThen('The service'));
  const listed = held.partners.filter((row) => row['is_listed'] === true);
  same(listed, partners.kind === 'listed' ? partners.partners : listedBefore, `partners, ${partners.kind}`);
  const ids = new Set([...listed.map((row) => row['partner_id']), ...joined.carried]);
  same(
    held.partners.map((row) => row['partner_id']),
    [...ids].map(String).toSorted((one, other) => (one < other ? -1 : 1)),
    'partners that are listed or carried',
  );
  same([joined.astray, joined.joined], [0, joined.rows], 'rows with their links');
  for (const [at, rows] of histories.entries()) {
    const then = [...pasts.map((past) => ({ nowMs: past.nowMs, held: past.held })), { nowMs, held }];
    const newest = then.findLast((past) => past.nowMs === then[at]?.nowMs);
    same(rows, newest?.held, `history of night ${at + 1}`);
  }
  const gone = before.links.filter(
    (row) => !held.links.some((each) => each['token'] === row['token'] && each['app_token'] === row['app_token']),
  );
  same(summary.links.removed, gone.length, 'links removed');
  const { status } = summary;
  if (status !== 'succeeded' && status !== 'partial') lacked.clear();
  return { nowMs, held, told, crawled, lacked, hasSucceeded: status === 'succeeded' };
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

interface Counts {
  readonly listed: number;
  readonly before: number;
  readonly lost: number;
}

const lostHalf = ({ listed, before, lost }: Counts): boolean =>
  lost > 0 && (listed === 0 || (before >= FEW && lost * 2 >= before));

/** Whether a subject that lost items is to be doubted on a night: unless the night before missed about as many. */
function isDoubted({ nowMs, pasts }: Night, subject: string, lost: number, isDoubtful: boolean): boolean {
  const last = pasts.findLast((past) => past.nowMs <= nowMs - 6 * HOUR_MS);
  const told = last?.told.get(subject);
  const isSame = told !== undefined && Math.abs(told - lost) <= Math.max(SAME_FEW, Math.max(told, lost) * SAME_SHARE);
  return isDoubtful && lost > 0 && !isSame;
}

/** How many items a list had fewer than its pages said; items that a page repeats count twice. */
function lackingOf<T>({ items, total }: ServedList<T>, listing: Listing, hasTotals: boolean): number {
  const pages = Math.ceil(items.length / listing.size);
  const seen = items.length + (listing.shifts ? Math.max(0, pages - 1) : 0);
  return hasTotals ? Math.max(0, total - seen) : 0;
}

/** How many a list of a subject lacked when it was believed last. */
function lackedBefore({ nowMs, pasts }: Night, subject: string): number {
  const believed = pasts.filter((past) => past.nowMs <= nowMs && past.lacked.has(subject));
  const newest = Math.max(...believed.map((past) => past.nowMs));
  return believed.findLast((past) => past.nowMs === newest)?.lacked.get(subject) ?? 0;
}

type LinksOutcome =
  | { readonly kind: 'listed'; readonly links: readonly Row[]; readonly lacking: number }
  | { readonly kind: 'doubted'; readonly lost: number }
  | { readonly kind: 'failed' };

/** What an app's lists of a night come to, by what is stored of it. */
function judgedLinks(night: Night, app: string, stored: readonly Row[]): LinksOutcome {
  const { account, listing } = night;
  const lists = listsOf(account, listing);
  const come: AccountLink[] = [];
  const asked: [string | null, ServedList<AccountLink>][] = [];
  let keys: (string | null)[] = [null];
  while (keys.length > 0) {
    const below: string[] = [];
    for (const key of keys) {
      const list = lists.get(key ?? app);
      if (list === undefined) throw new RangeError('A list was asked for that nobody has.');
      if (list.fails !== null) return { kind: 'failed' };
      asked.push([key, list]);
      come.push(...list.items);
      below.push(...list.items.filter(({ token }) => lists.has(token)).map(({ token }) => token));
    }
    keys = below;
  }
  const tokens = new Set<unknown>(come.map(({ token }) => token));
  const isLost = (row: Row): boolean => !tokens.has(row['token']);
  const counts = asked.map(([key, { items }]): Counts => {
    const before = stored.filter((row) => row['parent_token'] === key);
    return { listed: items.length, before: before.length, lost: before.filter((row) => isLost(row)).length };
  });
  const lost = stored.filter((row) => isLost(row)).length;
  const hasTotals = !listing.knowsV2 && statesTotal(listing);
  const most = [{ listed: come.length, before: stored.length, lost }, ...counts].some((each) => lostHalf(each));
  const lacking = Math.max(0, ...asked.map(([, list]) => lackingOf(list, listing, hasTotals)));
  const short = lacking > lackedBefore(night, `The app ${app}`);
  if (isDoubted(night, `The app ${app}`, lost, most || short)) return { kind: 'doubted', lost };
  return { kind: 'listed', lacking, links: come.map((link) => storedLink(link, account.links)).toSorted(byToken) };
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

type PartnersOutcome =
  | { readonly kind: 'listed'; readonly partners: readonly Row[]; readonly lacking: number }
  | { readonly kind: 'doubted'; readonly lost: number }
  | { readonly kind: 'failed' };

function judgedPartners(night: Night, stored: readonly Row[]): PartnersOutcome {
  const { account, listing } = night;
  const list = servedAs(account.partners, listing.partners);
  if (list.fails !== null) return { kind: 'failed' };
  const ids = new Set<unknown>(list.items.map(({ id }) => String(id)));
  const lost = stored.filter((row) => !ids.has(row['partner_id'])).length;
  const most = lostHalf({ listed: list.items.length, before: stored.length, lost });
  const lacking = lackingOf(list, listing, statesTotal(listing));
  if (isDoubted(night, 'The service', lost, most || lacking > lackedBefore(night, 'The service')))
    return { kind: 'doubted', lost };
  const partners = list.items.map(({ id, name }) => ({
    partner_id: String(id),
    display_name: name,
    supports_cost_data: id % 2 === 0,
    is_listed: true,
  }));
  const byId = (one: Row, other: Row): number => (String(one['partner_id']) < String(other['partner_id']) ? -1 : 1);
  return { kind: 'listed', lacking, partners: partners.toSorted(byId) };
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
