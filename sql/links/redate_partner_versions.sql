-- Dates what of the partners is dated later than now, by a clock that was ahead, to just before the as-of instant, or to the
-- newest instant that has come, if that is later.
-- $1 now, $2 just before the as-of instant
-- Returns nothing.
update main.partners_history
set
    valid_from = case when valid_from > $1::timestamp then come.at else valid_from end,
    valid_to = case when valid_to > $1::timestamp then come.at else valid_to end
from (
    select
        greatest(
            $2::timestamp,
            max(valid_from) filter (where valid_from <= $1::timestamp),
            max(valid_to) filter (where valid_to <= $1::timestamp)
        ) as at
    from main.partners_history
) as come
where valid_from > $1::timestamp or valid_to > $1::timestamp
