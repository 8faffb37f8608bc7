/**
 * Creating and updating links.
 *
 * Hides what is checked before the call, and how a creation whose answer was lost is looked up: it is sent once, whatever
 * happens.
 */

import * as z from 'zod';

import { asFailure, Failure, type WarningCode } from '../errors.ts';
import type { Emit } from '../events.ts';
import { isSameName, type Link, linkOf, type StatedLink } from '../model/link.ts';
import type { MachineClock } from '../service/machine-clock.ts';
import type { LinkChange, Service, ShortList } from '../service/service.ts';
import { count, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { checkAppToken, checkChange, checkName } from './check-write.ts';
import { takeTurns } from './in-parallel.ts';
import { replaceApp } from './replace-app.ts';
import { clearStaged, StagedLinks } from './staged-links.ts';

export interface LinkWriting {
  readonly service: Service;
  readonly clock: MachineClock;
  /** Null when there is none yet. */
  readonly warehouse: Warehouse | null;
  /** Dates the stored change. */
  readonly at: Date;
  readonly emit: Emit;
  readonly signal: AbortSignal;
}

export interface WrittenLink {
  readonly link: Link;
  /** Whether the warehouse holds the change; it does not where it does not know the app or the parent. */
  readonly isStored: boolean;
}

export interface CreatedLink extends WrittenLink {
  /** False when a link of the name was there, and nothing was sent. */
  readonly isCreated: boolean;
}

export interface NewLink {
  readonly appToken: string;
  readonly name: string;
  /** Token of the link above; null creates a network link. */
  readonly parent: string | null;
  /** Whether to create one although a link beside it has the name. */
  readonly evenIfTaken?: boolean;
}

/**
 * Creates a link and stores it. A link in use that has the name is taken for the one that is wanted, and returned: a
 * creation that is repeated after a lost answer or a kill creates nothing.
 *
 * Throws `USAGE_INVALID` before anything is sent, and `DATA_INCOMPLETE` where a list that is not whole lacks the name; else what
 * the service throws; when no answer told what became of it, and the link is not listed or could not be looked up, a
 * `SOURCE_UNAVAILABLE` with `outcome: 'unknown'`.
 */
export async function createLink(writing: LinkWriting, wanted: NewLink): Promise<CreatedLink> {
  const { service, signal } = writing;
  const { appToken, name, parent } = wanted;
  const before = await judgeLink(writing, wanted);
  const there = inPlaceOf(wanted, before);
  if (there !== null) {
    const known = await stored(writing, there, async (place) =>
      (await storeBelow(place, appToken, parent, there)) ? there : null,
    );
    return { ...known, isCreated: false };
  }
  const link = await service.createLink(appToken, name, parent, signal).catch(async (error: unknown) => {
    if (!(error instanceof Failure) || error.facts['outcome'] !== 'unknown') throw error;
    return lookUp(writing, wanted, before, error);
  });
  // Answers to writes show the inherited partner where lists show none (service-examples: tracker.create-sublink).
  const listed: Link = { ...link, hasSubtrackers: false, partnerId: parent === null ? link.partnerId : null };
  const kept = await stored(writing, link, async (place) =>
    (await storeBelow(place, appToken, parent, listed)) ? link : null,
  );
  return { ...kept, isCreated: true };
}

/** The link in use that already is what is wanted; null where one is to be created. */
function inPlaceOf({ evenIfTaken }: NewLink, found: readonly Link[]): Link | null {
  return evenIfTaken === true ? null : (found.find(({ archived }) => !archived) ?? null);
}

/** What can be known before a link is created: throws as `createLink` does, and returns the links of its name. Sends nothing. */
export async function judgeLink(
  writing: Omit<LinkWriting, 'warehouse' | 'at' | 'clock'>,
  wanted: NewLink,
): Promise<Link[]> {
  warnOf(writing, 'APP_TOKEN_UNUSUAL', checkAppToken(wanted.appToken));
  checkName(wanted.name);
  const { found: before, short } = await namesakes(writing, wanted);
  const isMissed = wanted.evenIfTaken !== true && inPlaceOf(wanted, before) === null;
  if (short !== null && isMissed) throw notLookedUp(wanted.name, short);
  if (before.length > 0) {
    const tokens = before.map(({ token }) => token).join(', ');
    warnOf(writing, 'LINK_NAME_TAKEN', `A link named ${JSON.stringify(wanted.name)} was there before: ${tokens}.`);
  }
  return before;
}

/**
 * Sets a link's partner, its cost data setting or both, and stores what the service states of it then. Throws
 * `USAGE_INVALID` before anything is sent, `SOURCE_REFUSED` where the link has something else then, else what the service throws.
 */
export async function updateLink(
  writing: LinkWriting,
  appToken: string,
  token: string,
  change: LinkChange,
): Promise<WrittenLink> {
  const { service, signal } = writing;
  warnOf(writing, 'APP_TOKEN_UNUSUAL', checkAppToken(appToken));
  warnOf(writing, 'PARTNER_UNKNOWN', await checkChange(change, writing.warehouse));
  const answered = await service.updateLink(appToken, token, change, signal);
  const stated = withChange(answered, change);
  const written = await stored(writing, linkOf(stated), (place) => storeUpdated(place, appToken, stated, change));
  const otherwise = unlike(change, stated);
  if (otherwise.length === 0) return written;
  throw new Failure('SOURCE_REFUSED', `The link ${token} was not changed as asked: ${otherwise.join('; ')}`, {
    facts: { token, stored: written.isStored },
    hint: 'Ask the operator of the service why it did not make the change; what the link has now is shown by `ripen links list`.',
  });
}

/** The answer to an update; what it leaves open is as asked for, since it is a success. Lists give the partner of a sub-link as null. */
function withChange(answered: StatedLink, { partnerId, costDataEnabled }: LinkChange): StatedLink {
  const isOpen = answered.partnerId === undefined || (answered.partnerId === null && answered.level > 1);
  return {
    ...answered,
    partnerId: isOpen ? partnerId : answered.partnerId,
    costDataEnabled: answered.costDataEnabled ?? costDataEnabled,
  };
}

/** What was asked for and is otherwise, in words. */
function unlike({ partnerId, costDataEnabled }: LinkChange, stated: StatedLink): string[] {
  const onOff = (is: boolean | undefined): string => (is === true ? 'on' : 'off');
  return [
    ...(partnerId === undefined || stated.partnerId === partnerId
      ? []
      : [`partner ${partnerId} was asked for, and it has ${stated.partnerId ?? 'none'}`]),
    ...(costDataEnabled === undefined || stated.costDataEnabled === costDataEnabled
      ? []
      : [`cost data ${onOff(costDataEnabled)} was asked for, and it is ${onOff(stated.costDataEnabled)}`]),
  ];
}

interface Namesakes {
  readonly found: Link[];
  /** What the list lacks; null where it was whole. */
  readonly short: ShortList | null;
}

/** The links beside a new one that have its name: a lost creation is recognised by not being among them. */
async function namesakes(
  { service, signal }: Pick<LinkWriting, 'service' | 'signal'>,
  { appToken, name, parent }: NewLink,
): Promise<Namesakes> {
  const found: Link[] = [];
  let short: ShortList | null = null;
  const onShort = (list: ShortList): void => {
    short = list;
  };
  for await (const page of service.links(appToken, parent, signal, onShort)) {
    found.push(...page.filter(({ label }) => isSameName(label, name)));
  }
  return { found, short };
}

function notLookedUp(name: string, { listed, stated }: ShortList): Failure {
  const message = `The link ${JSON.stringify(name)} was not created: the list it would stand in held ${listed} links, and the service said that there are ${stated}`;
  return new Failure('DATA_INCOMPLETE', message, {
    facts: { outcome: 'not created', name, listed, stated },
    hint: 'Try again later, or give --even-if-taken if no link beside it has the name.',
  });
}

/** The link that a creation without an answer made, or the failure that says that nobody knows. */
async function lookUp(writing: LinkWriting, wanted: NewLink, before: readonly Link[], unknown: Failure): Promise<Link> {
  const { found: after } = await namesakes(writing, wanted).catch(() => {
    throw unknown;
  });
  const known = new Set(before.map(({ token }) => token));
  const [created, ...others] = after.filter(({ token }) => !known.has(token));
  // Somebody else created one of the same name meanwhile: which one is ours cannot be told.
  if (others.length > 0) throw unknown;
  if (created === undefined) {
    // A list may lag behind what was created: that it is missing there says nothing for certain.
    throw new Failure('SOURCE_UNAVAILABLE', `${unknown.message}; it is not listed yet`, {
      facts: unknown.facts,
      hint: 'List the links in a minute, before creating it again: a second one would be a duplicate.',
      cause: unknown,
    });
  }
  warnOf(
    writing,
    'LINK_FOUND',
    `No answer came to the creation, but the link was listed afterwards: ${created.token}.`,
  );
  return created;
}

/** Where a link is stored, and when it changed. */
interface Place {
  readonly warehouse: Warehouse;
  readonly at: Date;
}

/**
 * What `store` has stored, or the link itself where it stored nothing. A failure to store is a warning, as is a clock that is
 * not trusted: the link is written, and the next crawl brings it.
 */
async function stored(
  writing: LinkWriting,
  link: Link,
  store: (place: Place) => Promise<Link | null>,
): Promise<WrittenLink> {
  const { warehouse, clock, at } = writing;
  if (warehouse === null) return { link, isStored: false };
  try {
    clock.check();
    const kept = await store({ warehouse, at });
    return { link: kept ?? link, isStored: kept !== null };
  } catch (error) {
    warnOf(writing, 'LINK_NOT_STORED', `The link ${link.token} was written, not stored: ${asFailure(error).message}`);
    return { link, isStored: false };
  }
}

function warnOf({ emit }: Pick<LinkWriting, 'emit'>, code: WarningCode, message: string | null): void {
  if (message !== null) emit({ type: 'warning', code, slice: null, window: null, message });
}

const storedRow = z
  .object({
    token: z.string(),
    parent_token: z.string().nullable(),
    level: count,
    name: z.string(),
    label: z.string(),
    archived: z.boolean(),
    has_subtrackers: z.boolean(),
    partner_id: z.string().nullable(),
    cost_data_enabled: z.boolean(),
    url: z.string().nullable(),
    click_url: z.string().nullable(),
    impression_url: z.string().nullable(),
  })
  .transform((row): Link & { readonly parent: string | null } => ({
    token: row.token,
    parent: row.parent_token,
    level: row.level,
    name: row.name,
    label: row.label,
    archived: row.archived,
    hasSubtrackers: row.has_subtrackers,
    partnerId: row.partner_id,
    costDataEnabled: row.cost_data_enabled,
    url: row.url,
    clickUrl: row.click_url,
    impressionUrl: row.impression_url,
  }));

/**
 * Stores a link as lists show it; false when the warehouse does not know its app, or its parent: a tree with one branch
 * would pass for a whole one.
 */
async function storeBelow(place: Place, appToken: string, parent: string | null, link: Link): Promise<boolean> {
  const { warehouse } = place;
  const isKnown =
    parent === null ? await isCrawled(warehouse, appToken) : (await readStored(warehouse, appToken, parent)) !== null;
  if (!isKnown) return false;
  await store(place, appToken, parent, link);
  return true;
}

/**
 * Stores what is stated of a changed link over what is stored of it, and returns that; null when the warehouse does not hold
 * the link. Of a sub-link only a partner that it was given is its own, until an answer states another one: answers show the one
 * it inherits.
 */
async function storeUpdated(
  place: Place,
  appToken: string,
  stated: StatedLink,
  { partnerId }: LinkChange,
): Promise<Link | null> {
  const before = await readStored(place.warehouse, appToken, stated.token);
  if (before === null) return null;
  const link = linkOf(stated, before);
  const isOwn = before.level === 1 || (partnerId !== undefined && stated.partnerId === partnerId);
  const isAsBefore = (stated.partnerId ?? before.partnerId) === before.partnerId;
  const listed = { ...link, partnerId: isOwn ? link.partnerId : isAsBefore ? before.partnerId : null };
  if (before.level > 1 && (isOwn || !isAsBefore)) await giveOwn(place.warehouse, appToken, listed);
  await store(place, appToken, before.parent, listed);
  return link;
}

/** Records the partner that a sub-link was given, or that it was taken from it: lists may say neither. */
async function giveOwn(warehouse: Warehouse, appToken: string, { token, partnerId }: Link): Promise<void> {
  await warehouse.run(statement('links/take_partner'), [appToken, token]);
  if (partnerId !== null) await warehouse.run(statement('links/give_partner'), [appToken, token, partnerId]);
}

async function store({ warehouse, at }: Place, appToken: string, parent: string | null, link: Link): Promise<void> {
  const staged = new StagedLinks(warehouse, takeTurns(), appToken);
  await clearStaged(warehouse, appToken);
  await warehouse.run(statement('links/stage_stored_links'), [appToken]);
  if (parent !== null) await warehouse.run(statement('links/stage_sublinks_of'), [appToken, parent]);
  await staged.add(parent, [link]);
  await staged.flush();
  await replaceApp(warehouse, appToken, at, null);
}

async function isCrawled(warehouse: Warehouse, appToken: string): Promise<boolean> {
  const sql = 'select count(*) as crawls from ripen.link_crawls where app_token = $1';
  const [known] = await warehouse.rows(sql, [appToken], z.object({ crawls: count }));
  return (known?.crawls ?? 0) > 0;
}

async function readStored(
  warehouse: Warehouse,
  appToken: string,
  token: string,
): Promise<z.output<typeof storedRow> | null> {
  const sql = 'select * from main.links where app_token = $1 and token = $2';
  const [found] = await warehouse.rows(sql, [appToken, token], storedRow);
  return found ?? null;
}
