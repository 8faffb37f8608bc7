/** What can be known to be wrong with a link that is to be written, before the service is asked. */

import { nearest } from '../config/nearest.ts';
import { Failure } from '../errors.ts';
import { isPartnerId } from '../model/link.ts';
import type { LinkChange, Service } from '../service/service.ts';

const APP_TOKEN = /^[A-Za-z0-9]+$/;
/** service-interface: "exactly 12 alphanumeric characters"; some of its examples have 10 (observed). */
const USUAL_LENGTH = 12;

/**
 * Throws `USAGE_INVALID` for what holds more than letters and digits; returns a warning for a token of an unusual length,
 * on which the service has the last word, else null.
 */
export function checkAppToken(token: string): string | null {
  if (!APP_TOKEN.test(token)) {
    throw new Failure('USAGE_INVALID', `The app token ${JSON.stringify(token)} was not made of letters and digits.`, {
      facts: { app_token: token },
      hint: 'Take the token from `ripen catalog`.',
    });
  }
  return token.length === USUAL_LENGTH ? null : `The app token ${token} had ${token.length} characters instead of 12.`;
}

/** Throws `USAGE_INVALID` for a name that is blank, has blanks around it, with which no label matches, or holds control characters. */
export function checkName(name: string): void {
  const problem = nameProblem(name);
  if (problem === null) return;
  throw new Failure('USAGE_INVALID', `The name ${JSON.stringify(name)} of the link ${problem}.`, {
    facts: { name },
    hint: 'Give a name of printable characters, without blanks before or behind it.',
  });
}

function nameProblem(name: string): string | null {
  const bare = name.trim();
  if (bare === '') return 'was empty';
  if (/\p{Cc}/u.test(name)) return 'held control characters';
  return bare === name ? null : 'had blanks around it';
}

/**
 * Throws `USAGE_INVALID` for a change of nothing, or to a partner id that is no integer; returns a warning when the service's
 * partners lack it, else null. Both name the nearest partner.
 */
export async function checkChange(
  { partnerId, costDataEnabled }: LinkChange,
  service: Pick<Service, 'partners'>,
  signal: AbortSignal,
): Promise<string | null> {
  if (partnerId === undefined && costDataEnabled === undefined) {
    throw new Failure('USAGE_INVALID', 'The link was given nothing to change.', {
      hint: 'Give --partner, --cost-data or both.',
    });
  }
  if (partnerId === undefined) return null;
  const nameOf = new Map<string, string>();
  for await (const page of service.partners(signal)) {
    for (const { id, displayName } of page) nameOf.set(id, displayName);
  }
  if (nameOf.has(partnerId)) return null;
  if (!isPartnerId(partnerId)) {
    const idOf = new Map([...nameOf].map(([id, name]) => [name, id]));
    const name = nearest(partnerId, idOf.keys());
    throw new Failure('USAGE_INVALID', `The partner id ${JSON.stringify(partnerId)} was no integer.`, {
      facts: { partner_id: partnerId },
      hint: name === null ? 'Take the id from `ripen partners`.' : `Give ${idOf.get(name)}, the id of ${name}.`,
    });
  }
  const id = nearest(partnerId, nameOf.keys());
  const suggestion = id === null ? '' : `; the nearest is ${id} (${nameOf.get(id)})`;
  return `The partner id ${partnerId} is not among the ${nameOf.size} partners of the service${suggestion}.`;
}
