/** When a list is not trusted: it lost more than half of what is stored. */

import * as z from 'zod';

import { statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** What a complete reading of a list found of the stored items. */
export interface Listed {
  /** In the ledger: the token of an app, or `partners`. */
  readonly subject: string;
  /** Items that are stored as listed. */
  readonly open: number;
  /** Of these, not listed. */
  readonly missing: number;
}

const doubtRow = z.object({ is_earlier_night: z.boolean() });

/**
 * Whether what is missing has to stay open. It closes once a list of a later night lacks as many, or more: a service that
 * answers with an empty or a cut list for one night closes nothing. Records the count; runs inside the caller's transaction.
 */
export async function isDoubted(
  warehouse: Warehouse,
  planAt: Date,
  { subject, open, missing }: Listed,
): Promise<boolean> {
  const isOdd = missing * 2 > open;
  const counted = [subject, missing, timestamp(planAt)];
  const [agreeing] = isOdd ? await warehouse.rows(statement('links/agreeing_doubt'), counted, doubtRow) : [];
  if (agreeing?.is_earlier_night === false) return true;
  await warehouse.run(statement('links/forget_doubt'), [subject]);
  if (!isOdd || agreeing !== undefined) return false;
  await warehouse.run(statement('links/record_doubt'), counted);
  return true;
}

/** What is told of a doubted list. */
export function doubtText(name: string, items: string, { open, missing }: Listed): string {
  return `${name} listed no more than ${open - missing} of the ${open} ${items} that are stored: the others stay until a list of a later night lacks ${missing} or more.`;
}
