-- The slices with periods that were recorded as fetched in the future.
-- $1 the latest instant that counts as now
-- Returns one row per slice: slice, how many of its periods are in the future, start_day and end_day (exclusive) over all of its
-- periods, fetched_at of the latest (UTC).
select
    slice,
    count(distinct start_day) filter (where fetched_at > $1::timestamp) as periods,
    min(start_day) as start_day,
    max(end_day) as end_day,
    max(fetched_at) as fetched_at
from ripen.periods
group by slice
having max(fetched_at) > $1::timestamp
order by slice
