/**
 * What a clock that was ahead has dated: an instant that has not come would keep every later change from being told apart
 * until it has.
 */

import { literal, statement, timestamp } from '../warehouse/sql.ts';
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
  await warehouse.run(redateVersions('partners_history', 'true'), [timestamp(confirmedNow), timestamp(planAt)]);
}

/** The same of the links of an app, and of its crawls. */
export async function redateLinks(
  warehouse: Warehouse,
  appToken: string,
  { planAt, confirmedNow }: Dating,
): Promise<void> {
  if (confirmedNow === null) return;
  const told = [timestamp(confirmedNow), timestamp(planAt)];
  await warehouse.run(statement('links/redate_crawls'), [appToken, ...told]);
  await warehouse.run(redateVersions('links_history', `app_token = ${literal(appToken)}`), told);
}

/**
 * Dates the instants of a history that have not come: in their order, a millisecond apart, to just before the as-of instant or
 * just after the newest that has come, if that is later. Two of them that became one would end a version where it began.
 * $1 now, $2 the as-of instant.
 */
const redateVersions = (history: 'partners_history' | 'links_history', within: string): string => `with instants as (
    select distinct unnest([valid_from, valid_to]) as moment from main.${history} where ${within}
),
ahead as (
    select moment, row_number() over (order by moment) as place, count(*) over () as all_of_them
    from instants
    where moment > $1::timestamp
),
come as (
    select max(moment) as moment from instants where moment <= $1::timestamp
),
dated as (
    select
        a.moment,
        greatest($2::timestamp - to_milliseconds(a.all_of_them + 1), c.moment) + to_milliseconds(a.place) as anew
    from ahead as a, come as c
)
update main.${history}
set
    valid_from = coalesce((select anew from dated where dated.moment = valid_from), valid_from),
    valid_to = coalesce((select anew from dated where dated.moment = valid_to), valid_to)
where ${within} and (valid_from > $1::timestamp or valid_to > $1::timestamp)`;
