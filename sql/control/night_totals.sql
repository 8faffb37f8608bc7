-- The totals that the service states now for the periods of some days, over the hours of a day.
-- $1 control, $2 first day, $3 day after the last, $4 metrics (JSON list)
-- Returns one row per period and metric with a value: start_day, metric, value.
with latest as (
    select
        starts_at,
        metric,
        arg_max_null(value, seen_at) as value
    from ripen.control_totals
    where
        control = $1
        and starts_at >= $2::date
        and starts_at < $3::date
        and list_contains(from_json($4::json, '["VARCHAR"]'), metric)
    group by starts_at, metric
)

select
    starts_at::date::varchar as start_day,
    metric,
    sum(value) as value
from latest
where value is not null
group by starts_at::date, metric
