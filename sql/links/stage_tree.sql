-- Gives every staged link of an app its path: root, inherited partner, the labels above it. Of a link that was listed
-- twice the later listing counts; one whose path does not lead up to a network is left out, to be found by its absence. Where the
-- lists name no partner of any sub-link, they do not say which ones have one: those that were given one keep it.
-- $1 app token
-- Returns nothing.
insert into ripen.staged_tree
with recursive
given as (
    select
        token,
        partner_id
    from ripen.given_partners
    where
        app_token = $1
        and not exists (
            select 1
            from ripen.staged_links
            where app_token = $1 and parent_token is not null and seen > 0 and partner_id is not null
        )
),
latest as (
    select distinct on (l.token) l.* replace (
        case when l.parent_token is null then l.partner_id else coalesce(l.partner_id, g.partner_id) end as partner_id
    )
    from ripen.staged_links as l
    left join given as g on g.token = l.token
    where l.app_token = $1
    order by l.token, l.seen desc
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
    from latest as l
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
    join latest as l on l.parent_token = p.token
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
