/**
 * Creating and updating links.
 *
 * Hides what is checked before the call, and how a creation whose answer was lost is looked up: it is sent once, whatever
 * happens. The warehouse learns of it by the next crawl, as of every other change at the service.
 */

import { Failure, type WarningCode } from '../errors.ts';
import type { Emit } from '../events.ts';
import { isSameName, type Link, linkOf, type StatedLink } from '../model/link.ts';
import type { LinkChange, Service, ShortList } from '../service/service.ts';
import { checkAppToken, checkChange, checkName } from './check-write.ts';

export interface LinkWriting {
  readonly service: Service;
  readonly emit: Emit;
  readonly signal: AbortSignal;
}

export interface CreatedLink {
  readonly link: Link;
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
 * Creates a link. A link in use that has the name is taken for the one that is wanted, and returned: a creation that is
 * repeated after a lost answer or a kill creates nothing.
 *
 * Throws `USAGE_INVALID` before anything is sent, and `DATA_INCOMPLETE` where a list that is not whole lacks the name; else what
 * the service throws; when no answer says what became of it, and the link is not listed or could not be looked up, a
 * `SOURCE_UNAVAILABLE` with `outcome: 'unknown'`.
 */
export async function createLink(writing: LinkWriting, wanted: NewLink): Promise<CreatedLink> {
  const { service, signal } = writing;
  const { appToken, name, parent } = wanted;
  const before = await judgeLink(writing, wanted);
  const there = inPlaceOf(wanted, before);
  if (there !== null) return { link: there, isCreated: false };
  const link = await service.createLink(appToken, name, parent, signal).catch(async (error: unknown) => {
    if (!(error instanceof Failure) || error.facts['outcome'] !== 'unknown') throw error;
    return lookUp(writing, wanted, before, error);
  });
  return { link, isCreated: true };
}

/** The link in use that already is what is wanted; null where one is to be created. */
function inPlaceOf({ evenIfTaken }: NewLink, found: readonly Link[]): Link | null {
  return evenIfTaken === true ? null : (found.find(({ archived }) => !archived) ?? null);
}

/** What can be known before a link is created: throws as `createLink` does, and returns the links of its name. Sends nothing. */
export async function judgeLink(writing: LinkWriting, wanted: NewLink): Promise<Link[]> {
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
 * Sets a link's partner, its cost data setting or both; returns the link as the service then states it. Throws
 * `USAGE_INVALID` before anything is sent, `SOURCE_REFUSED` where the link has something else then, else what the service throws.
 */
export async function updateLink(
  writing: LinkWriting,
  appToken: string,
  token: string,
  change: LinkChange,
): Promise<Link> {
  const { service, signal } = writing;
  warnOf(writing, 'APP_TOKEN_UNUSUAL', checkAppToken(appToken));
  warnOf(writing, 'PARTNER_UNKNOWN', await checkChange(change, service, signal));
  const stated = withChange(await service.updateLink(appToken, token, change, signal), change);
  const otherwise = unlike(change, stated);
  if (otherwise.length === 0) return linkOf(stated);
  throw new Failure('SOURCE_REFUSED', `The link ${token} was not changed as asked: ${otherwise.join('; ')}`, {
    facts: { token },
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
async function namesakes({ service, signal }: LinkWriting, { appToken, name, parent }: NewLink): Promise<Namesakes> {
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

function warnOf({ emit }: Pick<LinkWriting, 'emit'>, code: WarningCode, message: string | null): void {
  if (message !== null) emit({ type: 'warning', code, slice: null, window: null, message });
}
