-- What was read of control totals in a run, or by others as of its instant or later.
-- $1 run, $2 as-of instant (UTC)
-- Returns one row per control and stretch of days: control, start_day, end_day, metrics.
select
    control,
    start_day::varchar as start_day,
    end_day::varchar as end_day,
    metrics
from ripen.control_readings
where
    metrics is not null
    and (
        run_id = $1
        or read_at >= $2::timestamp
        -- An answer from a cache was computed before its run.
        or run_id in (select r.run_id from ripen.runs as r where r.as_of >= $2::timestamp)
    )
order by control, start_day
