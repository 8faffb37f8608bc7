-- What replacing an app's links by the staged ones amounts to, and the earliest instant it can be dated to.
-- $1 app token, $2 as-of instant
-- Returns one row: listed (links staged), reached (of these, with a path up to a network), removed (links stored that are not
-- staged), changed_at (the as-of instant, or that of a newer crawl or version).
select
    (select count(distinct token) from ripen.staged_links where app_token = $1) as listed,
    (select count(*) from ripen.staged_tree where app_token = $1) as reached,
    (
        select count(*)
        from main.links
        where
            app_token = $1
            and token not in (select token from ripen.staged_tree where app_token = $1)
    ) as removed,
    greatest(
        $2::timestamp,
        (select max(valid_from) from main.links_history where app_token = $1),
        (select max(crawled_at) from ripen.link_crawls where app_token = $1)
    ) as changed_at
