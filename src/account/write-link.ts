/** Creates and updates links. A creation that may have had an effect is never repeated. */

import { Failure } from '../errors.ts';
import { isSameName, type Link, linkOf } from '../model/link.ts';
import type { LinkChange, Service } from '../service/service.ts';

export interface LinkWriting {
  readonly service: Service;
  readonly signal: AbortSignal;
}

export interface CreatedLink {
  readonly link: Link;
  /** False if a link with the name existed. */
  readonly isCreated: boolean;
}

/**
 * Creates a network link, or a sub-link of `parent`. Throws `USAGE_INVALID` before anything is sent, and `SOURCE_UNAVAILABLE`
 * with `outcome: 'unknown'` if no answer states the outcome.
 */
export async function createLink(
  { service, signal }: LinkWriting,
  { appToken, name, parent }: { appToken: string; name: string; parent: string | null },
): Promise<CreatedLink> {
  const bare = name.trim();
  let problem: string | null = null;
  if (bare === '') problem = 'was empty';
  else if (/\p{Cc}/u.test(name)) problem = 'held control characters';
  else if (bare !== name) problem = 'has blanks around it';
  if (problem !== null) {
    const message = `The name ${JSON.stringify(name)} of the link ${problem}.`;
    const hint = 'Use printable characters, without blanks before or after.';
    throw new Failure('USAGE_INVALID', message, { facts: { name }, hint });
  }
  for await (const page of service.links(appToken, parent, signal)) {
    const link = page.find(({ label, archived }) => !archived && isSameName(label, name));
    if (link !== undefined) return { link, isCreated: false };
  }
  return { link: await service.createLink(appToken, name, parent, signal), isCreated: true };
}

/** Throws `USAGE_INVALID` before anything is sent, and `SOURCE_REFUSED` if the link then has another value. */
export async function updateLink(
  { service, signal }: LinkWriting,
  appToken: string,
  token: string,
  change: LinkChange,
): Promise<Link> {
  if (change.partnerId === undefined && change.costDataEnabled === undefined) {
    throw new Failure('USAGE_INVALID', 'There is nothing to change.', {
      hint: 'Pass --partner, --cost-data or both.',
    });
  }
  const answered = await service.updateLink(appToken, token, change, signal);
  // What the answer leaves open, even as a sub-link's null partner, is as requested.
  const isOpen =
    answered.partnerId === undefined || (answered.partnerId === null && answered.level > 1);
  const partnerId = isOpen ? change.partnerId : answered.partnerId;
  const costDataEnabled = answered.costDataEnabled ?? change.costDataEnabled;
  const differences: string[] = [];
  if (change.partnerId !== undefined && partnerId !== change.partnerId)
    differences.push(
      `partner ${change.partnerId} was requested, and it has ${partnerId ?? 'none'}`,
    );
  if (change.costDataEnabled !== undefined && costDataEnabled !== change.costDataEnabled) {
    const [wanted, actual] = change.costDataEnabled ? ['on', 'off'] : ['off', 'on'];
    differences.push(`cost data ${wanted} was requested, and it is ${actual}`);
  }
  if (differences.length === 0) return linkOf({ ...answered, partnerId, costDataEnabled });
  const message = `The link ${token} was not changed as requested: ${differences.join('; ')}`;
  throw new Failure('SOURCE_REFUSED', message, {
    facts: { token },
    hint: 'Report it to the service. `ripen links list` shows the link as it is.',
  });
}
