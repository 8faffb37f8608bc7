-- When each app that has links in the warehouse was last crawled completely.
-- Returns app_token, crawled_at; the oldest crawl first.
select app_token, max(crawled_at) as crawled_at
from ripen.link_crawls
group by app_token
order by crawled_at, app_token
