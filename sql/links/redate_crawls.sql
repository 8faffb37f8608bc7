-- Dates crawls of an app that are dated later than now, by a clock that was ahead, to a millisecond before the as-of instant.
-- $1 app token, $2 now, $3 as-of instant
-- Returns nothing.
update ripen.link_crawls
set crawled_at = $3::timestamp - to_milliseconds(1)
where app_token = $1 and crawled_at > $2::timestamp
