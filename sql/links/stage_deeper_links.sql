-- Stages the stored links of an app that lie below the level that was crawled, as they are stored, where the links above them are
-- listed still and say that they have sub-links: nobody asked whether these are there.
-- $1 app token, $2 max level
-- Returns nothing.
insert into ripen.staged_links
with recursive
deeper as (
    select l.*
    from main.links as l
    where
        l.app_token = $1
        and l.level > $2
        and l.parent_token in (select token from ripen.staged_links where app_token = $1 and level <= $2 and has_subtrackers)
    union
    select l.*
    from main.links as l
    join deeper as d on d.token = l.parent_token
    where l.app_token = $1 and l.level > $2
)
select
    token,
    app_token,
    parent_token,
    level,
    name,
    label,
    archived,
    has_subtrackers,
    partner_id,
    cost_data_enabled,
    url,
    click_url,
    impression_url,
    0 as seen
from deeper
