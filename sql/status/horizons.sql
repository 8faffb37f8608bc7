-- What control totals show of the horizons of each slice.
-- Returns one row per slice and metric whose totals were read, in configured order: its horizon in days (null: never final),
-- whether it was told as restless, the periods whose total was read again after it was final, how many of them had changed, and the day that
-- last was found (null: never); the highest age at which any total had changed; the horizon in days that the history supports (null: none), the periods it rests on, and how
-- many of them changed later.
select
    e.slice,
    m.metric,
    m.horizon_seconds / 86400.0 as horizon_days,
    r.metric is not null as is_restless,
    e.final_periods,
    e.final_moved,
    e.last_moved_day,
    e.last_change_age,
    e.supported_days,
    e.supported_periods,
    e.supported_moved
from ripen_internal.horizon_evidence as e
join ripen.slice_metrics as m on m.slice = e.slice and m.metric = e.metric
left join ripen_internal.restless_metrics as r on r.slice = e.slice and r.metric = e.metric
order by e.slice, m.position
