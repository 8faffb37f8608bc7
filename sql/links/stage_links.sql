-- Stages one batch of listed links of an app.
-- $1 app token, $2 the links as a JSON list, $3 the order of the batch's first link
-- Returns nothing.
insert into ripen.staged_links
select
    l.token,
    $1 as app_token,
    l.parent_token,
    l.level,
    l.name,
    l.label,
    l.archived,
    l.has_subtrackers,
    l.partner_id,
    l.cost_data_enabled,
    l.url,
    l.click_url,
    l.impression_url,
    $3::bigint + l.position as seen
from (
    select
        unnest(
            from_json(
                $2::json,
                '[{"position":"BIGINT","token":"VARCHAR","parent_token":"VARCHAR","level":"INTEGER","name":"VARCHAR","label":"VARCHAR","archived":"BOOLEAN","has_subtrackers":"BOOLEAN","partner_id":"VARCHAR","cost_data_enabled":"BOOLEAN","url":"VARCHAR","click_url":"VARCHAR","impression_url":"VARCHAR"}]'
            ),
            recursive := true
        )
) as l
