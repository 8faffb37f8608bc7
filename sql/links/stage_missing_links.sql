-- Stages, as they are stored, links of an app that are not staged, so that they stay: all of them, or those that are below the
-- level that was crawled and whose parent is staged or stays.
-- $1 app token, $2 whether all, $3 max level
-- Returns nothing.
insert into ripen_internal.staged_links
with recursive missing as (
    select *
    from main.links
    where
        app_token = $1
        and ($2 or level > $3)
        and token not in (select token from ripen_internal.staged_links)
),

kept as (
    select *
    from missing
    where $2 or parent_token in (select token from ripen_internal.staged_links)
    union
    select m.*
    from missing as m
    join kept as k on m.parent_token = k.token
)

from kept
