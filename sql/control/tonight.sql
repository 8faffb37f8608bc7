-- What was read of control totals in a run, or in an earlier one as of the same instant.
-- $1 run, $2 as-of instant (UTC)
-- Returns one row per control and stretch of days: control, start_day, end_day.
select
    control,
    start_day::varchar as start_day,
    end_day::varchar as end_day
from ripen.control_readings
where run_id = $1 or read_at = $2::timestamp
order by control, start_day
