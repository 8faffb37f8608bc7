/** What can be known to be wrong with a link that is to be written, before the service is asked. */

import * as z from 'zod';

import { nearest } from '../config/nearest.ts';
import { Failure } from '../errors.ts';
import { isPartnerId } from '../model/link.ts';
import type { LinkChange } from '../service/service.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

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

const partnerRow = z.object({ partner_id: z.string(), display_name: z.string() });

/**
 * Throws `USAGE_INVALID` for a change of nothing, or to a partner id that is no integer; returns a warning when the stored
 * partner list lacks it, naming the nearest partner, else null. Without a stored list any integer passes.
 */
export async function checkChange(change: LinkChange, warehouse: Warehouse | null): Promise<string | null> {
  const { partnerId, costDataEnabled } = change;
  if (partnerId === undefined && costDataEnabled === undefined) {
    throw new Failure('USAGE_INVALID', 'The link was given nothing to change.', {
      hint: 'Give --partner, --cost-data or both.',
    });
  }
  if (partnerId === undefined) return null;
  const sql = 'select partner_id, display_name from main.partners where is_listed order by partner_id';
  const partners = warehouse === null ? [] : await warehouse.rows(sql, [], partnerRow);
  const byName = new Map(partners.map((partner) => [partner.display_name, partner.partner_id]));
  if (!isPartnerId(partnerId)) {
    const name = nearest(partnerId, byName.keys()) ?? onlyHolding(partnerId, [...byName.keys()]);
    throw new Failure('USAGE_INVALID', `The partner id ${JSON.stringify(partnerId)} was no integer.`, {
      facts: { partner_id: partnerId },
      hint: name === null ? 'Take the id from `ripen partners`.' : `Give ${byName.get(name)}, the id of ${name}.`,
    });
  }
  if (partners.length === 0 || partners.some((partner) => partner.partner_id === partnerId)) return null;
  const ids = partners.map((partner) => partner.partner_id);
  const meant = partners.find((partner) => partner.partner_id === nearest(partnerId, ids));
  const suggestion = meant === undefined ? '' : `; the nearest is ${meant.partner_id} (${meant.display_name})`;
  return `The partner id ${partnerId} is not in the stored list of ${partners.length} partners${suggestion}.`;
}

/** The one name that holds a text, whatever its case; null for none or several. */
function onlyHolding(part: string, names: readonly string[]): string | null {
  const [first, ...others] = names.filter((name) => name.toLowerCase().includes(part.toLowerCase()));
  return others.length === 0 ? (first ?? null) : null;
}
