/** The text of the views that lead from the rows of a slice to links and partners. Pure. */

import { identifier, literal } from '../warehouse/sql.ts';
import { fittingLinks, joinedLink, levels, rowsWithLink } from './fitting-links.ts';
import { namesLinks, namesPartners, rowIdSql, type LiveSlice } from './live-slices.ts';

export const joinedColumns: readonly (readonly [name: string, comment: string])[] = [
  ['link_token', 'The link the row belongs to; NULL when none or more than one fits'],
  ['link_level', 'Level of that link: 1 network, 2 campaign, 3 ad group, 4 creative'],
  ['link_name', 'Name of that link in the version that fits the period of the row'],
  ['network_name', 'Label of the network in the path of that link'],
  ['campaign_name', 'Label of the campaign in the path of that link'],
  ['adgroup_name', 'Label of the ad group in the path of that link'],
  ['creative_name', 'Label of the creative in the path of that link'],
  ['matched_partner_id', 'The partner the row names, else the one of its link'],
  ['matched_partner_name', 'Name of that partner now'],
  ['is_matched', 'Whether the row found its link; in a slice without networks, its partner'],
];

/** Whether a slice carries what leads to a link or a partner, and leaves the names of the joined columns free. */
export function isJoinable(slice: LiveSlice): boolean {
  const isFree = joinedColumns.every(([name]) => !slice.columns.includes(name));
  return isFree && (namesLinks(slice) || namesPartners(slice));
}

export const joinedView = (slice: string): string => `main.${identifier(`${slice}_links`)}`;

/** The view of a slice: its columns, then the joined ones. */
export function linksView(slice: LiveSlice): string {
  const own = slice.columns.map((name) => `s.${identifier(name)}`);
  const hasLinks = namesLinks(slice);
  const fromLink = (name: string, type: string, as = name): string =>
    hasLinks ? `${joinedLink}.${name} as ${as}` : `null::${type} as ${as}`;
  const ownPartner = namesPartners(slice) ? [rowIdSql(slice, 'partner_id')] : [];
  const partner = [...ownPartner, ...(hasLinks ? [`${joinedLink}.partner_id`] : [])].join(', ');
  return `create or replace view ${joinedView(slice.slice)} as
${hasLinks ? fittingLinks(slice) : ''}
select
    ${[
      ...own,
      fromLink('token', 'varchar', 'link_token'),
      fromLink('level', 'integer', 'link_level'),
      fromLink('name', 'varchar', 'link_name'),
      ...levels.map(({ label }) => fromLink(label, 'varchar')),
      'p.partner_id as matched_partner_id',
      'p.display_name as matched_partner_name',
      `${hasLinks ? `${joinedLink}.token` : 'p.partner_id'} is not null as is_matched`,
    ].join(',\n    ')}
${hasLinks ? rowsWithLink(slice) : `from ${slice.table} as s`}
left join main.partners as p on p.partner_id = coalesce(${partner}, null)`;
}

/** The view over all slices' views: how many rows of an app and network found no link (or no partner). */
export function unmatchedView(slices: readonly LiveSlice[]): string {
  const parts = slices.map((slice) => {
    const own = (name: string): string => (slice.columns.includes(name) ? identifier(name) : 'null::varchar');
    return `select
    ${literal(slice.slice)} as slice,
    ${own('app_token')} as app_token,
    ${own('network')} as network,
    count(*) as rows,
    count(*) filter (where not is_matched) as unmatched_rows,
    count(*) filter (where not is_matched) / count(*) as unmatched_share
from ${joinedView(slice.slice)}
group by all`;
  });
  const nothing = `select
    null::varchar as slice,
    null::varchar as app_token,
    null::varchar as network,
    0::bigint as rows,
    0::bigint as unmatched_rows,
    0::double as unmatched_share
where false`;
  return `create or replace view ripen.unmatched_rows as\n${[nothing, ...parts].join('\nunion all\n')}`;
}
