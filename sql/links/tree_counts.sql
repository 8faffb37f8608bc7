-- What replacing an app's links by the staged ones amounts to, and the earliest instant it can be dated to.
-- $1 app token, $2 as-of instant, $3 max level
-- Returns one row: listed (links staged), reached (of these, with a path up to a network), before (links stored, down to
-- the level), lost (of these, not staged), removed (of all links stored, not staged), changed_at (the as-of instant, or that of a newer crawl or version).
select
    (select count(distinct token) from ripen.staged_links where app_token = $1) as listed,
    (select count(*) from ripen.staged_tree where app_token = $1) as reached,
    (select count(*) from main.links where app_token = $1 and level <= $3) as before,
    (
        select count(*)
        from main.links
        where
            app_token = $1
            and level <= $3
            and token not in (select token from ripen.staged_tree where app_token = $1)
    ) as lost,
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
