-- The warnings of one run.
-- $1 run
-- Returns one row per warning in the order they were seen; the window is null if it concerns none, both days inclusive.
select
    slice,
    start_day || ':' || (end_day - 1) as window,
    code,
    message
from ripen.warnings
where run_id = $1
order by seen_at, code, slice
