-- What was odd in one run and did not stop a load.
-- $1 run
-- Returns one row per warning in the order they were seen; days null where it concerns no window, end_day exclusive.
select
    slice,
    start_day,
    end_day,
    code,
    message
from ripen.warnings
where run_id = $1
order by seen_at, code, slice
