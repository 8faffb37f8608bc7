/** What tells that rows may belong to other links than when they were last read: by period, and for all that is read beside the slice. Pure. */

import { createHash } from 'node:crypto';

import { literal } from '../warehouse/sql.ts';
import { CRAWLS, levels, levelsOf, linkedRows } from './linked-rows.ts';
import type { StoredSlice } from './stored-slices.ts';

/** Columns of a version of a link on which it depends which rows belong to it and what they show of it. */
const telling = [
  'token',
  'level',
  'name',
  ...levels.map(({ label }) => label),
  'partner_id',
  'inherited_partner_id',
  'valid_from',
  'valid_to',
];

const summedHash = (columns: readonly string[]): string => `coalesce(sum(hash(${columns.join(', ')})::hugeint), 0)`;

/** A query of what `linkedRows` reads beside the slice, as texts that change with it: `links`, versions of links, and `rule`, all else. */
export function listsFingerprint(slice: StoredSlice): string {
  const text = createHash('sha256').update(linkedRows(slice)).digest('hex').slice(0, 16);
  return `select
    concat_ws('-',
        ${literal(text)},
        (select ${summedHash(['app_token', 'max_level'])} from (${CRAWLS})),
        (select ${summedHash(['partner_id', 'display_name'])} from main.partners)
    ) as rule,
    (select ${summedHash(['app_token', ...telling])}::varchar from main.links_history where level <= ${deepestOf(slice)}) as links`;
}

const deepestOf = (slice: StoredSlice): number => levelsOf(slice).at(-1)?.level ?? 0;

/**
 * A query of `period` and `links`, a number that changes with any link that could be one of the period's rows: of the same app and network
 * and, below the network, of the same campaign name, of which only what stands before ` (` is compared, as an id may follow it.
 */
export function linksOfPeriods(slice: StoredSlice, period: string): string {
  const hasCampaigns = slice.columns.includes('campaign');
  const nameOf = (column: string): string => `split_part(coalesce(${column}, ''), ' (', 1)`;
  return `with links as (
    select app_token, network_name, level = 1 as is_network, ${hasCampaigns ? nameOf('campaign_name') : `''`} as campaign, ${summedHash(telling)} as links
    from main.links_history
    where level <= ${deepestOf(slice)}
    group by all
),
named as (
    select distinct ${period} as period, s.app_token, s.network, ${hasCampaigns ? nameOf('s.campaign') : `''`} as campaign
    from ${slice.table} as s
)
select n.period::varchar as period, coalesce(sum(l.links), 0)::varchar as links
from named as n
left join links as l on l.app_token = n.app_token and l.network_name = n.network and (l.is_network or l.campaign = n.campaign)
group by n.period`;
}
