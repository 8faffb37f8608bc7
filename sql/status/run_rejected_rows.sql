-- The rows one run could not store exactly, counted by slice, window and reason.
-- $1 run
-- Returns one row per slice, window (both days inclusive) and reason.
select
    slice,
    start_day || ':' || (end_day - 1) as window,
    reason,
    count(*) as rows
from ripen.rejected_rows
where run_id = $1
group by slice, start_day, end_day, reason
order by slice, start_day, reason
