-- How the staged links of an app compare with the stored ones, and the earliest instant a change can be dated to.
-- $1 app token, $2 as-of instant
-- Returns one row: open (links stored), missing (of these, not staged), changed_at (the as-of instant, or that of a newer crawl or
-- version).
select
    count(*) as open,
    count(*) filter (token not in (select token from ripen_internal.staged_links)) as missing,
    greatest(
        $2::timestamp,
        (select max(valid_from) from main.links_history where app_token = $1),
        (select max(crawled_at) from ripen.link_crawls where app_token = $1)
    ) as changed_at
from main.links
where app_token = $1
