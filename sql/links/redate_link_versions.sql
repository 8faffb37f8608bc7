-- Dates what of an app's links is dated later than now, by a clock that was ahead, to just before the as-of instant, or to
-- the newest instant that has come, if that is later.
-- $1 app token, $2 now, $3 just before the as-of instant
-- Returns nothing.
update main.links_history
set
    valid_from = case when valid_from > $2::timestamp then come.at else valid_from end,
    valid_to = case when valid_to > $2::timestamp then come.at else valid_to end
from (
    select
        greatest(
            $3::timestamp,
            max(valid_from) filter (where valid_from <= $2::timestamp),
            max(valid_to) filter (where valid_to <= $2::timestamp)
        ) as at
    from main.links_history
    where app_token = $1
) as come
where app_token = $1 and (valid_from > $2::timestamp or valid_to > $2::timestamp)
