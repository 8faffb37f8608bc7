-- Records that an app was crawled completely.
-- $1 app token, $2 as-of instant, $3 max level, $4 links removed, $5 requests, $6 run id
-- Returns nothing.
insert into ripen.link_crawls
select
    $1 as app_token,
    $2::timestamp as crawled_at,
    $3 as max_level,
    count(*) as links,
    $4 as removed,
    $5 as requests,
    $6 as run_id
from ripen_internal.staged_links
