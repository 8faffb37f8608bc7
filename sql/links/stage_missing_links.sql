-- Stages, as they are stored, the links of an app that are not staged, so that they stay.
-- $1 app token
-- Returns nothing.
insert into ripen.staged_links
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
from main.links
where app_token = $1 and token not in (select token from ripen.staged_links where app_token = $1)
