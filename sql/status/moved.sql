-- When the control totals of periods last moved.
-- $1 since which instant (UTC)
-- Returns the newest five periods of each slice: slice, period, moved_at, metrics (how many moved then).
select
    slice,
    period,
    strftime(max(found_at), '%Y-%m-%dT%H:%M:%S.%gZ') as moved_at,
    count(*) as metrics
from (
    from ripen_internal.moved_totals
    where found_at >= $1::timestamp
    qualify found_at = max(found_at) over (partition by slice, period)
)
group by slice, period
qualify row_number() over (partition by slice order by moved_at desc, period desc) <= 5
order by slice, moved_at desc, period desc
