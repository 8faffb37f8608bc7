-- The periods that `retain` deleted from the warehouse and that Delta tables may keep.
-- Returns one row per slice and period: slice, period.
select distinct
    slice,
    period::varchar as period
from ripen.released
order by slice, period
