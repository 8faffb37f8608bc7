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
/** Of fewer items most may well go in a night; a second night may miss two, or a fifth, that the first did not. */
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
  /** What is remembered of each app's lists, and of the partners'. */
  readonly memories: ReadonlyMap<string, Memory>;
  readonly crawled: ReadonlySet<string>;
  readonly hasSucceeded: boolean;
}

/** What later nights judge lists by. */
interface Memory {
  /** Items that a doubted list lacked: since when, and whether it held nothing. */
  readonly missed: ReadonlyMap<string, { readonly sinceMs: number; readonly wasEmpty: boolean }>;
  /** How many items each list lacked of what it said, when it was believed last. */
  readonly lacking: ReadonlyMap<string, number>;
}

const NOTHING: Memory = { missed: new Map(), lacking: new Map() };

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
  const memories = new Map(pasts.at(-1)?.memories);
  const crawled = new Set<string>();
  const isDone = pasts.some((past) => past.nowMs === nowMs && past.hasSucceeded);
  for (const app of apps) {
    const mine = (rows: readonly Row[]): readonly Row[] => rows.filter((row) => row['app_token'] === app);
    const wasCrawled = isDone || pasts.some((past) => past.nowMs === nowMs && past.crawled.has(app));
    const stood = mine(before.links);
    const outcome = wasCrawled ? ({ kind: 'kept' } as const) : judgedLinks(night, app, stood);
    if ('memory' in outcome) memories.set(app, outcome.memory);
    if (outcome.kind === 'listed') crawled.add(app);
    same(mine(held.links), outcome.kind === 'listed' ? outcome.links : stood, `links of ${app}, ${outcome.kind}`);
    const named = [...codes]
      .filter(([message]) => message.includes(app))
      .map(([, code]) => (code === 'DATA_SHRUNK' ? 'doubted' : 'failed'));
    same(named, outcome.kind === 'doubted' || outcome.kind === 'failed' ? [outcome.kind] : [], `failures of ${app}`);
  }
  const listedBefore = before.partners.filter((row) => row['is_listed'] === true);
  const partners = isDone ? ({ kind: 'kept' } as const) : judgedPartners(night, listedBefore);
  if ('memory' in partners) memories.set(PARTNERS, partners.memory);
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
  return { nowMs, held, memories, crawled, hasSucceeded: summary.status === 'succeeded' };
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

/** What the lists of a subject hold, what is stored of them, and what they say: items by the list they stand in. */
interface Lists {
  readonly come: readonly (readonly [list: string, item: string])[];
  readonly stored: readonly (readonly [list: string, item: string])[];
  readonly asked: ReadonlySet<string>;
  readonly lacking: ReadonlyMap<string, number>;
}

/** What is remembered of lists once they were judged, and whether they are doubted. */
function judged({ nowMs, pasts }: Night, subject: string, lists: Lists): { isDoubted: boolean; memory: Memory } {
  const { missed, lacking } = pasts.at(-1)?.memories.get(subject) ?? NOTHING;
  const items = new Set(lists.come.map(([, item]) => item));
  const lengthOf = (list: string): number => lists.come.filter(([in_]) => in_ === list).length;
  const isKnown = ([list, item]: readonly [string, string]): boolean => {
    const then = missed.get(item);
    if (then === undefined || items.has(item) || then.sinceMs > nowMs - 6 * HOUR_MS) return false;
    return lengthOf(list) === 0 || !then.wasEmpty;
  };
  const gone = lists.stored.filter(([, item]) => !items.has(item));
  const countsOf = (isOf: (list: string) => boolean, listed: number): Counts => {
    const mine = lists.stored.filter((each) => isOf(each[0]) && !isKnown(each));
    return { listed, before: mine.length, lost: mine.filter(([, item]) => !items.has(item)).length };
  };
  const whole = countsOf(() => true, lists.come.length);
  const each = [...lists.asked].map((list) => countsOf((in_) => in_ === list, lengthOf(list)));
  const isHeld = (list: string): boolean => list === '' || lists.stored.some(([in_]) => in_ === list);
  const before = (list: string): number => lacking.get(list) ?? (isHeld(list) ? 0 : Math.max(0, ...lacking.values()));
  const isShorter = [...lists.lacking].some(([list, by]) => by > before(list));
  const few = whole.lost < gone.length ? Math.max(SAME_FEW, gone.length * SAME_SHARE) : 0;
  const isDoubted = [whole, ...each].some((counts) => lostHalf(counts)) || (isShorter && whole.lost > few);
  if (!isDoubted) return { isDoubted, memory: { missed: new Map(), lacking: lists.lacking } };
  const missing = gone.map(([list, item]) => {
    const [then, wasEmpty] = [missed.get(item), lengthOf(list) === 0];
    const isSame = then !== undefined && (wasEmpty || !then.wasEmpty);
    return [item, { sinceMs: isSame ? Math.min(then.sinceMs, nowMs) : nowMs, wasEmpty }] as const;
  });
  return { isDoubted, memory: { missed: new Map(missing), lacking } };
}

/** How many items a list had fewer than its pages said. */
const lackingOf = <T>({ items, total }: ServedList<T>, hasTotals: boolean): number =>
  hasTotals ? Math.max(0, total - items.length) : 0;

const PARTNERS = 'partners';

type LinksOutcome =
  | { readonly kind: 'listed'; readonly links: readonly Row[]; readonly memory: Memory }
  | { readonly kind: 'doubted'; readonly memory: Memory }
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
  const hasTotals = !listing.knowsV2 && statesTotal(listing);
  const lacking = asked.flatMap(([key, list]): [string, number][] => {
    const by = lackingOf(list, hasTotals);
    return by > 0 ? [[key ?? '', by]] : [];
  });
  const { isDoubted, memory } = judged(night, app, {
    come: come.map(({ parent, token }) => [parent ?? '', token]),
    stored: stored.map((row) => [textIn(row, 'parent_token'), textIn(row, 'token')]),
    asked: new Set(asked.map(([key]) => key ?? '')),
    lacking: new Map(lacking),
  });
  if (isDoubted) return { kind: 'doubted', memory };
  return { kind: 'listed', memory, links: come.map((link) => storedLink(link, account.links)).toSorted(byToken) };
}

/** The text in a column, empty for NULL. */
const textIn = (row: Row, column: string): string => {
  const value = row[column];
  return typeof value === 'string' ? value : '';
};

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
  | { readonly kind: 'listed'; readonly partners: readonly Row[]; readonly memory: Memory }
  | { readonly kind: 'doubted'; readonly memory: Memory }
  | { readonly kind: 'failed' };

function judgedPartners(night: Night, stored: readonly Row[]): PartnersOutcome {
  const { account, listing } = night;
  const list = servedAs(account.partners, listing.partners);
  if (list.fails !== null) return { kind: 'failed' };
  const by = lackingOf(list, statesTotal(listing));
  const { isDoubted, memory } = judged(night, PARTNERS, {
    come: list.items.map(({ id }) => ['', String(id)]),
    stored: stored.map((row) => ['', textIn(row, 'partner_id')]),
    asked: new Set(['']),
    lacking: by > 0 ? new Map([['', by]]) : new Map(),
  });
  if (isDoubted) return { kind: 'doubted', memory };
  const partners = list.items.map(({ id, name }) => ({
    partner_id: String(id),
    display_name: name,
    supports_cost_data: id % 2 === 0,
    is_listed: true,
  }));
  const byId = (one: Row, other: Row): number => (String(one['partner_id']) < String(other['partner_id']) ? -1 : 1);
  return { kind: 'listed', memory, partners: partners.toSorted(byId) };
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
