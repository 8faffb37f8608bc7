-- Stages, as they are stored, the links of an app that were not asked for, where the link above them is listed and says that it has
-- sub-links: those below the level that was crawled, and those whose list the service does not give.
-- $1 app token, $2 max level, $3 JSON list of the links whose sub-links it does not list
-- Returns nothing.
insert into ripen.staged_links
with recursive
unasked as (
    select l.*
    from main.links as l
    join ripen.staged_links as above on
        above.app_token = $1
        and above.token = l.parent_token
        and above.has_subtrackers
        and above.level <= $2
        and (l.level > $2 or above.token in (select unnest(from_json($3::json, '["VARCHAR"]'))))
    where l.app_token = $1 and l.token not in (select token from ripen.staged_links where app_token = $1)
    union
    select l.*
    from main.links as l
    join unasked as u on u.token = l.parent_token
    where l.app_token = $1 and l.token not in (select token from ripen.staged_links where app_token = $1)
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
from unasked
