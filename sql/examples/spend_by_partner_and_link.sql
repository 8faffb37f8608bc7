-- Which partner, and which of its links, did installs and spend come from?
-- network_daily_links leads from a row to its link and partner. The name is the one the link has today, whatever it was called
-- then, or its last one if it is no longer listed. Rows that fit no link, organic ones among them, stay in the result without
-- one. A partner without a name is shown by its id; -300 is the service's for organic.
-- Returns one row per partner and link, the dearest first.
select
    r.matched_partner_id as partner_id,
    case
        when r.matched_partner_name <> '' then r.matched_partner_name
        when r.matched_partner_id = '-300' then 'Organic'
        else coalesce(r.matched_partner_id, 'no partner')
    end as partner,
    p.supports_cost_data,
    r.link_token,
    coalesce(l.name, arg_max(r.link_name, r.day)) as link,
    l.archived,
    sum(r.installs) as installs,
    sum(r.cost) as spend,
    sum(r.cost) / nullif(sum(r.installs) filter (where r.cost is not null), 0) as cost_per_install
from network_daily_links as r
left join links as l on l.app_token = r.app_token and l.token = r.link_token
left join partners as p on p.partner_id = r.matched_partner_id
group by r.matched_partner_id, r.matched_partner_name, p.supports_cost_data, r.link_token, l.app_token, l.name, l.archived
order by spend desc nulls last, installs desc, partner, partner_id, r.link_token
