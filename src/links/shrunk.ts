/**
 * Lists that lost most of what they held: not believed before a sync of a later night finds the same.
 *
 * The service answers an empty list, or one that ends early, like a whole one; stored links and partners would be closed.
 */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** A list against what is stored of it. */
export interface Listed {
  /** Such as `The app abc123def456`. */
  readonly subject: string;
  readonly items: 'links' | 'partners';
  readonly listed: number;
  /** Stored items that a whole list would hold. */
  readonly before: number;
  /** Of these, not listed. */
  readonly lost: number;
  /** Whether fewer items came than the service said there are. */
  readonly isShort: boolean;
}

/** Of fewer items most may well go in a night. */
const FEW = 10;

const toldRow = z.object({ is_told: z.boolean() });

/**
 * Throws `DATA_SHRUNK` for a list that is empty, lost more than half, or lost any and is shorter than the service said, unless
 * the last sync of an earlier night told the same.
 */
export async function refuseShrunk(warehouse: Warehouse, planAt: Date, list: Listed): Promise<void> {
  const { subject, items, listed, before, lost, isShort } = list;
  const isMost = listed === 0 || (before >= FEW && lost * 2 > before);
  const isDoubtful = lost > 0 && (isMost || isShort);
  if (!isDoubtful) return;
  const message = `${subject} listed ${listed} ${items}, and ${lost} of the ${before} that are stored were not among them`;
  const [last] = await warehouse.rows(statement('links/told_before'), [timestamp(planAt), message], toldRow);
  if (last?.is_told === true) return;
  throw new Failure('DATA_SHRUNK', message, {
    facts: { listed, before, lost },
    hint: 'Wait for the next night if that is right: what a second one finds the same is stored.',
  });
}
