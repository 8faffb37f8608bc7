-- The apps that need no crawl: crawled completely at the as-of instant or after it, and deep enough.
-- $1 as-of instant, $2 max level
-- Returns app_token.
select distinct app_token
from ripen.link_crawls
where crawled_at >= $1::timestamp and max_level >= $2
