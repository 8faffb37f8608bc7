/**
 * Lists that lost half of what they held, or more: not believed before a sync of a later night misses the same.
 *
 * The service answers an empty list, or one that ends early, like a whole one; stored links and partners would be closed.
 */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import type { ShortList } from '../service/service.ts';
import { count, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** What lists are of: the links of an app, or the partners. */
export interface Subject {
  /** In the ledger. */
  readonly key: string;
  /** In messages, such as `The app abc123def456`. */
  readonly name: string;
  readonly items: 'links' | 'partners';
}

/** Lists that held fewer items than they said, by the link whose sub-links they list; of networks or partners by ''. */
export type ShortLists = ReadonlyMap<string, ShortList>;

/** A list that lacks stored items. */
export const doubtfulList = z.object({
  is_asked: z.boolean(),
  listed: count,
  before: count,
  lost: count,
  known: count,
  all_listed: count,
  all_before: count,
});

export type DoubtfulList = z.output<typeof doubtfulList>;

/** Items listed, those stored that were to be listed, and how many of these were not. */
interface Counts {
  readonly listed: number;
  readonly before: number;
  readonly lost: number;
}

/** Of fewer items most may well go in a night. */
const FEW = 4;
/** A second night may miss so many more, or this share: items come and go meanwhile. */
const SAME_FEW = 2;
const SAME_SHARE = 1 / 5;

/**
 * Why what was listed is not believed, `DATA_SHRUNK`; null where it is. Items that an earlier night missed, and that were not
 * believed to be gone then, are; of the others a list may not have lost half or more, nor all lists together, nor any while a list
 * lacks more of what it says it holds than when it was believed last.
 */
export async function doubtOf(
  warehouse: Warehouse,
  { key, name, items }: Subject,
  lists: readonly DoubtfulList[],
  short: ShortLists,
): Promise<Failure | null> {
  const [all] = lists;
  if (all === undefined) return null;
  const sum = (of: 'lost' | 'known'): number => lists.reduce((total, list) => total + list[of], 0);
  const [lost, known] = [sum('lost'), sum('known')];
  const whole: Counts = { listed: all.all_listed, before: all.all_before - known, lost: lost - known };
  const asked = lists.filter((list) => list.is_asked).map(unknownIn);
  const few = known === 0 ? 0 : Math.max(SAME_FEW, lost * SAME_SHARE);
  const isDoubted =
    [whole, ...asked].some((counts) => lostHalf(counts)) ||
    (whole.lost > few && (await isShorter(warehouse, key, short)));
  if (!isDoubted) return null;
  const worst = shortest(short);
  const fewer = worst === null ? '' : `; a list of ${worst.listed} said it held ${worst.stated}`;
  const missing = `${lost} of the ${all.all_before} that are stored were not among them`;
  return new Failure('DATA_SHRUNK', `${name} listed ${all.all_listed} ${items}, and ${missing}${fewer}`, {
    facts: { listed: all.all_listed, before: all.all_before, lost },
    hint: 'Wait for the next night if that is right: what a second one misses again is gone then.',
  });
}

const unknownIn = ({ listed, before, lost, known }: DoubtfulList): Counts => ({
  listed,
  before: before - known,
  lost: lost - known,
});

const lostHalf = ({ listed, before, lost }: Counts): boolean =>
  lost > 0 && (listed === 0 || (before >= FEW && lost * 2 >= before));

const shortRow = z.object({ list: z.string(), lacking: count });

/** Whether a list lacks more of what it says it holds than when it was believed last: a service may count some that it never lists. */
async function isShorter(warehouse: Warehouse, key: string, short: ShortLists): Promise<boolean> {
  if (short.size === 0) return false;
  const lists = JSON.stringify([...short.keys()]);
  const rows = await warehouse.rows(statement('links/short_lists'), [key, lists], shortRow);
  const before = new Map(rows.map(({ list, lacking }) => [list, lacking]));
  return [...short].some(([list, each]) => lackingIn(each) > (before.get(list) ?? 0));
}

/** Records that the lists of a subject, down to a level, are believed; in the transaction that stores what they hold. */
export async function recordBelieved(
  warehouse: Warehouse,
  key: string,
  short: ShortLists,
  maxLevel: number,
): Promise<void> {
  await warehouse.run(statement('links/forget_unlisted'), [key]);
  await warehouse.run(statement('links/forget_short_lists'), [key, maxLevel]);
  if (short.size === 0) return;
  const lists = [...short].map(([list, each]) => ({ list, lacking: lackingIn(each) }));
  await warehouse.run(statement('links/record_short_lists'), [key, JSON.stringify(lists)]);
}

/** What is to be told of lists that were believed although they are not whole; null where all are. */
export function shortOf({ name, items }: Subject, short: ShortLists): string | null {
  const worst = shortest(short);
  if (worst === null) return null;
  const others = short.size === 1 ? '' : `; lists that held less than they said: ${short.size}`;
  return `${name} listed ${worst.listed} ${items} in a list that said it held ${worst.stated}${others}.`;
}

/** The list that lacks most; null where all are whole. */
function shortest(short: ShortLists): ShortList | null {
  return [...short.values()].toSorted((one, other) => lackingIn(other) - lackingIn(one))[0] ?? null;
}

const lackingIn = ({ listed, stated }: ShortList): number => stated - listed;
