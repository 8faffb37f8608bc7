-- The apps that need no crawl: crawled completely at an instant or after it, deep enough, and since loaded rows last named a link
-- that is not stored. A crawl that was recorded in the future does not count, nor one whose list was doubted: the next one
-- decides.
-- $1 instant, $2 max level, $3 now
-- Returns app_token.
select distinct c.app_token
from ripen.link_crawls as c
where
    c.crawled_at between $1::timestamp and $3::timestamp
    and c.max_level >= $2
    and c.app_token not in (select subject from ripen_internal.doubted_lists)
    and not exists (
        select 1
        from ripen_internal.unlisted_links as u
        where u.app_token = c.app_token and u.seen_at > c.crawled_at
    )
