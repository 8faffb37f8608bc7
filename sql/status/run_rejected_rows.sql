-- The rows one run could not store exactly, counted by slice, window and reason.
-- $1 run
-- Returns one row per slice, window and reason, end_day exclusive.
select
    slice,
    start_day,
    end_day,
    reason,
    count(*) as rows
from ripen.rejected_rows
where run_id = $1
group by slice, start_day, end_day, reason
order by slice, start_day, reason
