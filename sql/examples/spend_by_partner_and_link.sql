-- Which partner, and which of its links, did installs and spend come from?
-- network_daily_links leads from a row to its link and partner. The name is the one the link has today, whatever it was called
-- then. Rows that fit no link, organic ones among them, stay in the result without one.
-- Returns one row per partner and link, the dearest first.
select
    coalesce(r.matched_partner_name, 'no partner') as partner,
    p.supports_cost_data,
    r.link_token,
    l.name as link,
    l.archived,
    sum(r.installs) as installs,
    sum(r.cost) as spend,
    sum(r.cost) / nullif(sum(r.installs), 0) as cost_per_install
from network_daily_links as r
left join links as l on l.app_token = r.app_token and l.token = r.link_token
left join partners as p on p.partner_id = r.matched_partner_id
group by all
order by spend desc nulls last, installs desc, partner, r.link_token
