/**
 * Lists that lost half of what they held, or more: not believed before a sync of a later night finds about the same.
 *
 * The service answers an empty list, or one that ends early, like a whole one; stored links and partners would be closed.
 */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { statement, timestamp } from '../warehouse/sql.ts';
import type { ShortList } from '../service/service.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** Items listed against those that are stored. */
export interface Counts {
  readonly listed: number;
  /** Stored items that a whole list would hold. */
  readonly before: number;
  /** Of these, not listed. */
  readonly lost: number;
}

/** Everything that was listed of a subject. */
export interface Listed extends Counts {
  /** Such as `The app abc123def456`. */
  readonly subject: string;
  readonly items: 'links' | 'partners';
  /** How a failure begins that left what is stored of it as it was. */
  readonly left: string;
  /** The single lists that lost any; each is answered for itself. */
  readonly lists: readonly Counts[];
  /** The list that lacks most of what the service said it held; null where all of them were whole. */
  readonly short: ShortList | null;
}

/** Of fewer items most may well go in a night. */
const FEW = 4;
/** A second night finds the same where it misses as many, but for this share, or so few: items come and go meanwhile. */
const SAME_SHARE = 1 / 5;
const SAME_FEW = 2;

const toldRow = z.object({ summary: z.string().nullable() });

/**
 * Throws `DATA_SHRUNK` where a list is empty or lost half or more, where all lists lost half or more, or any while one lacks more
 * of what it said it held than when it was believed last, unless the last sync of an earlier night missed about as many.
 */
export async function refuseShrunk(warehouse: Warehouse, planAt: Date, stood: Listed): Promise<void> {
  const { subject, items, listed, before, lost, lists, short } = stood;
  if (lost === 0) return;
  const isShorter = short !== null && lackingIn(short) > (await lackedBefore(warehouse, planAt, stood));
  if (!isShorter && ![stood, ...lists].some((list) => lostHalf(list))) return;
  const [last] = await warehouse.rows(statement('links/told_before'), [timestamp(planAt)], toldRow);
  const told = new RegExp(`${subject} listed \\d+ ${items}, and (\\d+) of the`).exec(last?.summary ?? '');
  if (told !== null && isAbout(lost, Number(told[1]))) return;
  const fewer = short === null ? '' : `; a list of ${short.listed} said it held ${short.stated}`;
  const missing = `${lost} of the ${before} that are stored were not among them`;
  throw new Failure('DATA_SHRUNK', `${subject} listed ${listed} ${items}, and ${missing}${fewer}`, {
    facts: { listed, before, lost },
    hint: 'Wait for the next night if that is right: what a second one finds again is stored.',
  });
}

/** What is to be told of a list that was believed although it is not whole; null of one that is. */
export function shortOf(subject: string, items: Listed['items'], short: ShortList | null): string | null {
  if (short === null) return null;
  return `${subject} listed ${short.listed} ${items} in a list that said it held ${short.stated}.`;
}

/** Of two lists the one that lacks more. */
export function shorter(one: ShortList | null, other: ShortList): ShortList {
  return one !== null && lackingIn(one) >= lackingIn(other) ? one : other;
}

const messageRow = z.object({ message: z.string() });

/** How many items the list lacked that was believed last: a service may count some that it never lists. */
async function lackedBefore(warehouse: Warehouse, planAt: Date, { subject, items, left }: Listed): Promise<number> {
  const asked = [timestamp(planAt), left, `${subject} listed `];
  const [last] = await warehouse.rows(statement('links/lacked_before'), asked, messageRow);
  const told = new RegExp(`^${subject} listed (\\d+) ${items} in a list that said it held (\\d+)\\.$`).exec(
    last?.message ?? '',
  );
  return told === null ? 0 : lackingIn({ listed: Number(told[1]), stated: Number(told[2]) });
}

const lackingIn = ({ listed, stated }: ShortList): number => stated - listed;

const lostHalf = ({ listed, before, lost }: Counts): boolean => listed === 0 || (before >= FEW && lost * 2 >= before);

const isAbout = (one: number, other: number): boolean =>
  Math.abs(one - other) <= Math.max(SAME_FEW, Math.max(one, other) * SAME_SHARE);
