-- The slice whose periods were recorded as fetched furthest in the future.
-- $1 the latest instant that counts as now
-- Returns at most one row: slice, its periods of that kind, start_day and end_day (exclusive) over all of them, fetched_at of the
-- latest (UTC).
select
    slice,
    count(distinct start_day) as periods,
    min(start_day) as start_day,
    max(end_day) as end_day,
    max(fetched_at) as fetched_at
from ripen.periods
where fetched_at > $1::timestamp
group by slice
order by fetched_at desc, slice
limit 1
