-- How many periods of one slice that `retain` deleted copies with keep_released still hold.
-- $1 slice
-- Returns one row.
select count(distinct period) as periods
from ripen.released
where slice = $1
