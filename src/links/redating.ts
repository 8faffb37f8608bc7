/**
 * What a clock that was ahead has dated: an instant that has not come would keep every later change from being told apart
 * until it has.
 */

import { statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** What a change is dated by. */
export interface Dating {
  /** The as-of instant. */
  readonly planAt: Date;
  /** Now, where answers agree with this machine's clock; null where nobody can say: then nothing is dated anew. */
  readonly confirmedNow: Date | null;
}

/** Dates the partners' versions that are dated later than now to before it; inside the caller's transaction. */
export async function redatePartners(warehouse: Warehouse, { planAt, confirmedNow }: Dating): Promise<void> {
  if (confirmedNow === null) return;
  await warehouse.run(statement('links/redate_partner_versions'), [timestamp(confirmedNow), justBefore(planAt)]);
}

/** The same of the links of an app, and of its crawls. */
export async function redateLinks(
  warehouse: Warehouse,
  appToken: string,
  { planAt, confirmedNow }: Dating,
): Promise<void> {
  if (confirmedNow === null) return;
  const told = [appToken, timestamp(confirmedNow), justBefore(planAt)];
  await warehouse.run(statement('links/redate_crawls'), told);
  await warehouse.run(statement('links/redate_link_versions'), told);
}

/** A version that is replaced at the instant it began is none, and this one was somebody's. */
const justBefore = (planAt: Date): string => timestamp(new Date(planAt.getTime() - 1));
