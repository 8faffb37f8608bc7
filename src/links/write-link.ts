/** Creates and updates links; the next crawl stores the result. A creation that may have had an effect is never repeated. */

import { Failure } from '../errors.ts';
import { isSameName, type Link, linkOf, type StatedLink } from '../model/link.ts';
import type { LinkChange, Service } from '../service/service.ts';

export interface LinkWriting {
  readonly service: Service;
  readonly signal: AbortSignal;
}

export interface CreatedLink {
  readonly link: Link;
  /** False if a link with the name existed; nothing was sent then. */
  readonly isCreated: boolean;
}

export interface NewLink {
  readonly appToken: string;
  readonly name: string;
  /** Token of the parent link; null for a network link. */
  readonly parent: string | null;
}

/**
 * Creates a link, or returns the link in use that already has the name: repeating a creation after a lost answer or a kill
 * creates no second one. Throws `USAGE_INVALID` before anything is sent, else what the service throws: `SOURCE_UNAVAILABLE`
 * with `outcome: 'unknown'` if no answer states the outcome.
 */
export async function createLink(
  { service, signal }: LinkWriting,
  { appToken, name, parent }: NewLink,
): Promise<CreatedLink> {
  checkName(name);
  for await (const page of service.links(appToken, parent, signal)) {
    const link = page.find(({ label, archived }) => !archived && isSameName(label, name));
    if (link !== undefined) return { link, isCreated: false };
  }
  return { link: await service.createLink(appToken, name, parent, signal), isCreated: true };
}

/**
 * Sets a link's partner, its cost data setting or both; returns the link as the service then states it. Throws `USAGE_INVALID`
 * before anything is sent, `SOURCE_REFUSED` if the link then has another value, else what the service throws.
 */
export async function updateLink(
  { service, signal }: LinkWriting,
  appToken: string,
  token: string,
  change: LinkChange,
): Promise<Link> {
  if (change.partnerId === undefined && change.costDataEnabled === undefined) {
    throw new Failure('USAGE_INVALID', 'The link was given nothing to change.', {
      hint: 'Give --partner, --cost-data or both.',
    });
  }
  const stated = withChange(await service.updateLink(appToken, token, change, signal), change);
  const otherwise = unlike(change, stated);
  if (otherwise.length === 0) return linkOf(stated);
  throw new Failure(
    'SOURCE_REFUSED',
    `The link ${token} was not changed as requested: ${otherwise.join('; ')}`,
    {
      facts: { token },
      hint: 'Ask the operator of the service why it did not make the change; what the link has now is shown by `ripen links list`.',
    },
  );
}

/** The link after a successful update. What the answer leaves open, even as a sub-link's null partner, is as requested. */
function withChange(answered: StatedLink, { partnerId, costDataEnabled }: LinkChange): StatedLink {
  const isOpen =
    answered.partnerId === undefined || (answered.partnerId === null && answered.level > 1);
  return {
    ...answered,
    partnerId: isOpen ? partnerId : answered.partnerId,
    costDataEnabled: answered.costDataEnabled ?? costDataEnabled,
  };
}

/** The requested values that the link does not have, in words; empty if it has all. */
function unlike({ partnerId, costDataEnabled }: LinkChange, stated: StatedLink): string[] {
  const onOff = (is: boolean | undefined): string => (is === true ? 'on' : 'off');
  const words: string[] = [];
  if (partnerId !== undefined && stated.partnerId !== partnerId) {
    words.push(`partner ${partnerId} was requested, and it has ${stated.partnerId ?? 'none'}`);
  }
  if (costDataEnabled !== undefined && stated.costDataEnabled !== costDataEnabled) {
    words.push(
      `cost data ${onOff(costDataEnabled)} was requested, and it is ${onOff(stated.costDataEnabled)}`,
    );
  }
  return words;
}

/** Throws `USAGE_INVALID` if a name is blank, has control characters, or has blanks around it, with which no label matches. */
function checkName(name: string): void {
  const bare = name.trim();
  const defect = /\p{Cc}/u.test(name)
    ? 'held control characters'
    : bare === name
      ? null
      : 'had blanks around it';
  const problem = bare === '' ? 'was empty' : defect;
  if (problem === null) return;
  throw new Failure('USAGE_INVALID', `The name ${JSON.stringify(name)} of the link ${problem}.`, {
    facts: { name },
    hint: 'Give a name of printable characters, without blanks before or after it.',
  });
}
