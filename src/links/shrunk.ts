/**
 * Lists that lost half of what they held, or more: not believed before a sync of a later night finds about the same.
 *
 * The service answers an empty list, or one that ends early, like a whole one; stored links and partners would be closed.
 */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { statement, timestamp } from '../warehouse/sql.ts';
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
  /** The single lists that lost any; each is answered for itself. */
  readonly lists: readonly Counts[];
  /** Whether fewer items came than the service said there are. */
  readonly isShort: boolean;
}

/** Of fewer items most may well go in a night. */
const FEW = 4;
/** A second night finds the same where it misses as many, but for this share: items come and go meanwhile. */
const SAME_SHARE = 1 / 5;

const toldRow = z.object({ summary: z.string().nullable() });

/**
 * Throws `DATA_SHRUNK` where a list is empty or lost half or more, where all lists lost half or more, or any while they
 * are shorter than the service said, unless the last sync of an earlier night missed about as many.
 */
export async function refuseShrunk(warehouse: Warehouse, planAt: Date, stood: Listed): Promise<void> {
  const { subject, items, listed, before, lost, lists, isShort } = stood;
  const isDoubtful = lost > 0 && (isShort || [stood, ...lists].some((list) => lostHalf(list)));
  if (!isDoubtful) return;
  const [last] = await warehouse.rows(statement('links/told_before'), [timestamp(planAt)], toldRow);
  const told = new RegExp(`${subject} listed \\d+ ${items}, and (\\d+) of the`).exec(last?.summary ?? '');
  if (told !== null && isAbout(lost, Number(told[1]))) return;
  throw new Failure(
    'DATA_SHRUNK',
    `${subject} listed ${listed} ${items}, and ${lost} of the ${before} that are stored were not among them`,
    {
      facts: { listed, before, lost },
      hint: 'Wait for the next night if that is right: what a second one finds again is stored.',
    },
  );
}

const lostHalf = ({ listed, before, lost }: Counts): boolean => listed === 0 || (before >= FEW && lost * 2 >= before);

const isAbout = (one: number, other: number): boolean => Math.abs(one - other) <= Math.max(one, other) * SAME_SHARE;
