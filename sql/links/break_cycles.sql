-- Of the links of an app that lead up to no network, keeps the first listing only: whatever lists a link again below its own
-- sub-links came later in the crawl.
-- $1 app token
-- Returns the tokens of the links that were listed again.
delete from ripen.staged_links as l
where
    l.app_token = $1
    and l.token not in (select token from ripen.staged_tree where app_token = $1)
    and l.seen > (
        select min(first.seen) from ripen.staged_links as first where first.app_token = $1 and first.token = l.token
    )
returning l.token
