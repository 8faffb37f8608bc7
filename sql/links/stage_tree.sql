-- Gives every staged link of an app its path: root, inherited partner, the labels above it. Of a link that was listed twice the first
-- listing counts: the link above it was listed before, so that every path leads up to a network.
-- $1 app token
-- Returns nothing.
insert into ripen.staged_tree
with recursive
listed as (
    select distinct on (token) *
    from ripen.staged_links
    where app_token = $1
    order by token, seen
),
tree as (
    select
        l.*,
        1 as depth,
        l.token as root_token,
        null::varchar as inherited_partner_id,
        l.label as network_name,
        null::varchar as campaign_name,
        null::varchar as adgroup_name,
        null::varchar as creative_name
    from listed as l
    where l.parent_token is null
    union all
    select
        l.*,
        p.depth + 1 as depth,
        p.root_token,
        coalesce(p.partner_id, p.inherited_partner_id) as inherited_partner_id,
        p.network_name,
        case when p.depth = 1 then l.label else p.campaign_name end as campaign_name,
        case when p.depth = 2 then l.label else p.adgroup_name end as adgroup_name,
        case when p.depth = 3 then l.label else p.creative_name end as creative_name
    from tree as p
    join listed as l on l.parent_token = p.token
)
select
    token,
    app_token,
    parent_token,
    root_token,
    level,
    name,
    label,
    archived,
    has_subtrackers,
    partner_id,
    inherited_partner_id,
    cost_data_enabled,
    url,
    click_url,
    impression_url,
    network_name,
    campaign_name,
    adgroup_name,
    creative_name
from tree
